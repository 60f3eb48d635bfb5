//! Follows the frames of an HTTP/2 client by their heads: where a header block begins and ends, and how
//! many frames cause work without asking for anything. The h2 crate parses the frames themselves.
//!
//! Pingora and h2 bound neither the time that a header block may stay incomplete nor the rate of pings,
//! settings and empty frames.

use std::time::Instant;

/// Idle frames that a client may send at once. A client that cancels each of a hundred streams and sends
/// a ping with each stays far below.
const IDLE_FRAMES: u32 = 1000;
/// Idle frames that a refill grants for each second since the one before.
const IDLE_FRAMES_PER_SECOND: u32 = 100;
/// RFC 9113 §3.4.
const PREFACE_LENGTH: usize = 24;
/// RFC 9113 §4.1.
const FRAME_HEAD: usize = 9;

/// The position in an HTTP/2 client's bytes.
pub(super) struct Http2Frames {
    preface_left: usize,
    head: [u8; FRAME_HEAD],
    head_filled: usize,
    payload_left: usize,
    in_header_block: bool,
    /// The current frame is the last of its header block.
    ends_header_block: bool,
    idle_frames_left: u32,
    refilled: Instant,
}

impl Http2Frames {
    /// Starts before the connection preface.
    pub(super) fn new() -> Self {
        Self {
            preface_left: PREFACE_LENGTH,
            head: [0; FRAME_HEAD],
            head_filled: 0,
            payload_left: 0,
            in_header_block: false,
            ends_header_block: false,
            idle_frames_left: IDLE_FRAMES,
            refilled: Instant::now(),
        }
    }

    /// Reads the next bytes; false when the client has sent too many idle frames.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> bool {
        skip(&mut self.preface_left, &mut bytes);
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                skip(&mut self.payload_left, &mut bytes);
                self.end_header_block_if_complete();
                continue;
            }
            let taken = bytes.len().min(FRAME_HEAD - self.head_filled);
            self.head[self.head_filled..][..taken].copy_from_slice(&bytes[..taken]);
            self.head_filled += taken;
            bytes = &bytes[taken..];
            if self.head_filled == FRAME_HEAD {
                self.head_filled = 0;
                if !self.start_frame() {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a header block has begun and is incomplete.
    pub(super) fn is_in_head(&self) -> bool {
        self.in_header_block
    }

    fn start_frame(&mut self) -> bool {
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
        let is_allowed = match kind {
            HEADERS | CONTINUATION => {
                self.in_header_block = true;
                self.ends_header_block = flags & END_HEADERS != 0;
                true
            }
            GOAWAY | WINDOW_UPDATE => true,
            DATA if self.payload_left > 0 => true,
            DATA | SETTINGS | PING if flags & END_STREAM_OR_ACK != 0 => true,
            _ => self.spend_idle_frame(),
        };
        self.end_header_block_if_complete();
        is_allowed
    }

    fn end_header_block_if_complete(&mut self) {
        if self.payload_left == 0 && self.in_header_block && self.ends_header_block {
            self.in_header_block = false;
            self.ends_header_block = false;
        }
    }

    /// Takes one frame from the budget. The budget is refilled only when it is spent, so the clock is not
    /// read for each frame.
    fn spend_idle_frame(&mut self) -> bool {
        if self.idle_frames_left == 0 {
            let earned = self.refilled.elapsed().as_secs_f64() * f64::from(IDLE_FRAMES_PER_SECOND);
            self.idle_frames_left = (earned as u32).min(IDLE_FRAMES);
            self.refilled = Instant::now();
        }
        let Some(left) = self.idle_frames_left.checked_sub(1) else {
            return false;
        };
        self.idle_frames_left = left;
        true
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

    fn after_preface() -> Http2Frames {
        let mut frames = Http2Frames::new();
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
            assert_eq!(frames.in_header_block, open, "after byte {at}");
        }
        assert!(frames.push(&frame(1, 5, b"whole")) && !frames.in_header_block);
        assert!(frames.push(&frame(1, 5, b"")) && !frames.in_header_block);
    }

    #[test]
    fn idle_frames_are_bounded_and_others_are_not() {
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
