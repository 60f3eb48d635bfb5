//! Follows the frames of an HTTP/2 client by their heads: where a header block begins and ends, and how
//! many frames cause work without asking for anything. The h2 crate parses the frames themselves.
//!
//! Pingora and h2 bound neither the time that a header block may stay incomplete nor the rate of frames that
//! ask for nothing. Every frame that is neither part of a header block nor content costs one of a budget,
//! acknowledgements and unknown types included: h2 logs each ping acknowledgement that it did not wait for.
//! Window updates are paid for by the bytes that the client was sent, since reading an answer takes them.

use std::time::Instant;

/// Idle frames that a client may send at once. A client that cancels each of a hundred streams and sends
/// a ping with each stays far below.
const IDLE_FRAMES: u32 = 1000;
/// Idle frames that a refill grants for each second since the one before.
const IDLE_FRAMES_PER_SECOND: u32 = 100;
/// Bytes sent to the client that pay for one window update. The smallest DATA frame with content has ten
/// bytes, and a client may open two windows for each.
const BYTES_PER_WINDOW_UPDATE: u64 = 4;
/// RFC 9113 §3.4.
const PREFACE_LENGTH: usize = 24;
/// RFC 9113 §4.1.
const FRAME_HEAD: usize = 9;
/// A DATA frame with fewer bytes costs more than they do.
const SMALL_DATA: usize = 256;

/// The position in an HTTP/2 client's bytes.
pub(super) struct Http2Frames {
    preface_left: usize,
    head: [u8; FRAME_HEAD],
    head_filled: usize,
    payload_left: usize,
    in_header_block: bool,
    /// The current frame is the last of its header block.
    ends_header_block: bool,
    /// The next byte is the pad length of a DATA frame that does not end its stream.
    awaits_pad_length: bool,
    /// Bytes sent to the client that no window update has used up.
    unspent_bytes: u64,
    idle_frames_left: u32,
    /// DATA frames of few bytes, not taken yet.
    small: usize,
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
            awaits_pad_length: false,
            unspent_bytes: 0,
            idle_frames_left: IDLE_FRAMES,
            small: 0,
            refilled: Instant::now(),
        }
    }

    /// Reads the next bytes; false when the client has sent too many idle frames.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> bool {
        skip(&mut self.preface_left, &mut bytes);
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                if !self.check_padding(bytes[0]) {
                    return false;
                }
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

    /// Counts bytes that were sent to the client.
    pub(super) fn add_sent(&mut self, bytes: usize) {
        self.unspent_bytes = self.unspent_bytes.saturating_add(bytes as u64);
    }

    /// How many DATA frames of few bytes have come since this was asked before.
    pub(super) fn take_small(&mut self) -> usize {
        std::mem::take(&mut self.small)
    }

    /// Whether a header block has begun and is incomplete.
    pub(super) fn is_in_head(&self) -> bool {
        self.in_header_block
    }

    fn start_frame(&mut self) -> bool {
        const DATA: u8 = 0x0;
        const HEADERS: u8 = 0x1;
        const WINDOW_UPDATE: u8 = 0x8;
        const CONTINUATION: u8 = 0x9;
        const END_STREAM: u8 = 0x1;
        const END_HEADERS: u8 = 0x4;
        const PADDED: u8 = 0x8;
        let [a, b, c, kind, flags, ..] = self.head;
        self.payload_left = u32::from_be_bytes([0, a, b, c]) as usize;
        self.small += usize::from(kind == DATA && self.payload_left < SMALL_DATA);
        let is_allowed = match kind {
            HEADERS | CONTINUATION => {
                self.in_header_block = true;
                self.ends_header_block = flags & END_HEADERS != 0;
                true
            }
            DATA if flags & END_STREAM != 0 => true,
            DATA if self.payload_left > 0 => {
                self.awaits_pad_length = flags & PADDED != 0;
                true
            }
            WINDOW_UPDATE if self.unspent_bytes >= BYTES_PER_WINDOW_UPDATE => {
                self.unspent_bytes -= BYTES_PER_WINDOW_UPDATE;
                true
            }
            _ => self.spend_idle_frame(),
        };
        self.end_header_block_if_complete();
        is_allowed
    }

    /// Counts a DATA frame of padding alone as an idle one; false when there are too many. `first` is the
    /// first byte of what is left of the payload.
    fn check_padding(&mut self, first: u8) -> bool {
        let is_padded = std::mem::take(&mut self.awaits_pad_length);
        let is_empty = is_padded && usize::from(first) + 1 >= self.payload_left;
        !is_empty || self.spend_idle_frame()
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

    /// How many of the same frame are taken, at most twice the budget.
    fn taken(frames: &mut Http2Frames, bytes: &[u8]) -> u32 {
        let sent = 0..IDLE_FRAMES * 2;
        u32::try_from(sent.take_while(|_| frames.push(bytes)).count()).unwrap()
    }

    #[test]
    fn small_frames_of_data_are_counted() {
        let mut frames = after_preface();
        for size in [1, SMALL_DATA - 1, SMALL_DATA, 16 << 10] {
            assert!(frames.push(&frame(0, 0, &vec![b' '; size])));
        }
        assert_eq!((frames.take_small(), frames.take_small()), (2, 0));
    }

    #[test]
    fn every_frame_without_work_costs_one_of_the_budget() {
        let ping: &[u8] = b"12345678";
        for (kind, flags, payload) in [
            (6, 0, ping),
            (6, 1, ping),
            (4, 0, b""),
            (4, 1, b""),
            (0, 0, b""),
            (0, 8, b"\x02\0\0"),
            (2, 0, b"\0\0\0\0\x10"),
            (3, 0, b"\0\0\0\x08"),
            (5, 4, b"\0\0\0\x02"),
            (7, 0, ping),
            (8, 0, b"\0\0\0\x01"),
            (0xfa, 0, b"grease"),
        ] {
            let taken = taken(&mut after_preface(), &frame(kind, flags, payload));
            // The refill grants a few more where the test is slow.
            assert!(
                (IDLE_FRAMES..IDLE_FRAMES * 2).contains(&taken),
                "type {kind} flags {flags}: {taken}"
            );
        }
    }

    #[test]
    fn content_and_the_windows_for_what_was_sent_cost_nothing() {
        let mut frames = after_preface();
        let padded = frame(0, 8, b"\x02body\0\0");
        for _ in 0..IDLE_FRAMES * 2 {
            assert!(frames.push(&frame(0, 0, b"body")) && frames.push(&padded));
            assert!(frames.push(&frame(0, 1, b"")) && frames.push(&frame(0, 9, b"\x01\0")));
            // The smallest DATA frame, and the windows of its stream and of the connection.
            frames.add_sent(10);
            let update = frame(8, 0, b"\0\0\0\x01");
            assert!(frames.push(&update) && frames.push(&update));
        }
        assert_eq!(frames.idle_frames_left, IDLE_FRAMES);
    }
}
