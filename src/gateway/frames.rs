//! The frames of HTTP/2 as a client sends them, by their heads alone: where a header block begins and
//! ends, and how many frames cost work and ask for nothing. Reading them is h2's.

use std::time::Instant;

/// Frames that cost work and ask for nothing, at once; a client that cancels every one of a hundred
/// streams and sends a ping with each is far below.
const IDLE_FRAMES: u32 = 1000;
/// So many come back with each second.
const IDLE_FRAMES_PER_SECOND: u32 = 100;
/// RFC 9113 §3.4.
const PREFACE_LENGTH: usize = 24;
/// RFC 9113 §4.1.
const FRAME_HEAD: usize = 9;

/// Follows the frames of HTTP/2 by their heads alone.
pub(super) struct Frames {
    preface_left: usize,
    head: [u8; FRAME_HEAD],
    head_filled: usize,
    payload_left: usize,
    head_open: bool,
    /// The frame under way is the last of its header block.
    closes_head: bool,
    budget: u32,
    refilled: Instant,
}

impl Frames {
    /// From the preface on.
    pub(super) fn new() -> Self {
        Self {
            preface_left: PREFACE_LENGTH,
            head: [0; FRAME_HEAD],
            head_filled: 0,
            payload_left: 0,
            head_open: false,
            closes_head: false,
            budget: IDLE_FRAMES,
            refilled: Instant::now(),
        }
    }

    /// False when the budget is spent.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> bool {
        skip(&mut self.preface_left, &mut bytes);
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                skip(&mut self.payload_left, &mut bytes);
                self.frame_may_end();
                continue;
            }
            let taken = bytes.len().min(FRAME_HEAD - self.head_filled);
            self.head[self.head_filled..][..taken].copy_from_slice(&bytes[..taken]);
            self.head_filled += taken;
            bytes = &bytes[taken..];
            if self.head_filled == FRAME_HEAD {
                self.head_filled = 0;
                if !self.frame_begins() {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a header block has begun and is not whole.
    pub(super) fn head_is_open(&self) -> bool {
        self.head_open
    }

    fn frame_begins(&mut self) -> bool {
        const DATA: u8 = 0x0;
        const HEADERS: u8 = 0x1;
        const SETTINGS: u8 = 0x4;
        const PING: u8 = 0x6;
        const GOAWAY: u8 = 0x7;
        const WINDOW_UPDATE: u8 = 0x8;
        const CONTINUATION: u8 = 0x9;
        // END_STREAM of DATA and ACK of SETTINGS and PING are the same bit.
        const END_STREAM_OR_ACK: u8 = 0x1;
        const END_HEADERS: u8 = 0x4;
        let [a, b, c, kind, flags, ..] = self.head;
        self.payload_left = u32::from_be_bytes([0, a, b, c]) as usize;
        let within = match kind {
            HEADERS | CONTINUATION => {
                self.head_open = true;
                self.closes_head = flags & END_HEADERS != 0;
                true
            }
            GOAWAY | WINDOW_UPDATE => true,
            DATA if self.payload_left > 0 => true,
            DATA | SETTINGS | PING if flags & END_STREAM_OR_ACK != 0 => true,
            _ => self.spend(),
        };
        self.frame_may_end();
        within
    }

    fn frame_may_end(&mut self) {
        if self.payload_left == 0 && self.head_open && self.closes_head {
            self.head_open = false;
            self.closes_head = false;
        }
    }

    fn spend(&mut self) -> bool {
        if self.budget == 0 {
            let earned = self.refilled.elapsed().as_secs_f64() * f64::from(IDLE_FRAMES_PER_SECOND);
            self.budget = (earned as u32).min(IDLE_FRAMES);
            self.refilled = Instant::now();
        }
        match self.budget.checked_sub(1) {
            None => false,
            Some(left) => {
                self.budget = left;
                true
            }
        }
    }
}

fn skip(left: &mut usize, bytes: &mut &[u8]) {
    let skipped = bytes.len().min(*left);
    *left -= skipped;
    *bytes = &bytes[skipped..];
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [length[1], length[2], length[3], kind, flags, 0, 0, 0, 1];
        [&head, payload].concat()
    }

    fn after_preface() -> Frames {
        let mut frames = Frames::new();
        assert!(frames.push(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        frames
    }

    #[test]
    fn a_header_block_is_open_until_its_last_byte_whatever_the_cuts() {
        let block = [frame(1, 0, b"abc"), frame(9, 0, b""), frame(9, 4, b"de")].concat();
        let mut frames = after_preface();
        for (at, byte) in block.iter().enumerate() {
            assert!(frames.push(&[*byte]));
            let open = (8..block.len() - 1).contains(&at);
            assert_eq!(frames.head_open, open, "after byte {at}");
        }
        assert!(frames.push(&frame(1, 5, b"whole")) && !frames.head_open);
        assert!(frames.push(&frame(1, 5, b"")) && !frames.head_open);
    }

    #[test]
    fn frames_that_ask_for_nothing_are_numbered_and_others_are_not() {
        let mut frames = after_preface();
        for _ in 0..IDLE_FRAMES * 2 {
            assert!(frames.push(&frame(0, 0, b"body")) && frames.push(&frame(0, 1, b"")));
            assert!(frames.push(&frame(8, 0, b"upd8")) && frames.push(&frame(6, 1, b"12345678")));
        }
        let ping = frame(6, 0, b"12345678");
        let taken = (0..IDLE_FRAMES * 2).take_while(|_| frames.push(&ping));
        assert!((IDLE_FRAMES as usize..).contains(&taken.count()));
    }
}
