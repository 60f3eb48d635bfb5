//! What a client sends, judged from the bytes before pingora reads them: a head must be whole within
//! `limits.header_timeout` of its first byte, on HTTP/1.1 and HTTP/2 alike, chunks must be framed well,
//! and frames of HTTP/2 that cost work and ask for nothing have a budget.

use super::chunks::{BadChunk, Chunks};
use crate::observe::events::ConnectionEnded;
use crate::observe::{EndReason, Metrics};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{fmt, io};
use tokio::time::{Sleep, sleep_until};

/// Frames that cost work and ask for nothing, at once; a client that cancels every one of a hundred
/// streams and sends a ping with each is far below.
const IDLE_FRAMES: u32 = 1000;
/// So many come back with each second.
const IDLE_FRAMES_PER_SECOND: u32 = 100;
/// More of a head, and of what came with it, is not kept.
const LONGEST_SEEN: usize = 64 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";
/// RFC 9113 §3.4.
const PREFACE_LENGTH: usize = 24;
/// RFC 9113 §4.1.
const FRAME_HEAD: usize = 9;

/// Watches one client connection.
pub(crate) struct Watch {
    protocol: Protocol,
    deadline: Deadline,
    metrics: Arc<Metrics>,
}

enum Protocol {
    Http1(Mutex<Http1>),
    Http2(Frames),
}

/// Where the request of an HTTP/1.1 connection is.
struct Http1 {
    phase: Phase,
    /// What was read since the head is awaited, as far as it is kept.
    seen: Vec<u8>,
}

enum Phase {
    /// A head is awaited.
    Head,
    /// A chunked body is followed.
    Chunks(Chunks),
    /// A body that needs no following, the answer, and what comes early of the next request.
    Rest,
}

/// How the body behind a head is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Good,
    Bad,
    /// The head came with the request before it, so its chunks cannot be followed.
    Unseen,
}

/// When the head that has begun must be whole.
struct Deadline {
    limit: Duration,
    began: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Watch {
    /// Of an HTTP/1.1 connection whose first head has begun with `seen`.
    pub(crate) fn http1(seen: &[u8], limit: Duration, metrics: Arc<Metrics>) -> Self {
        let mut http1 = Http1 {
            phase: Phase::Head,
            seen: Vec::new(),
        };
        http1.keep(seen);
        Self::over(Protocol::Http1(Mutex::new(http1)), limit, metrics)
    }

    /// Of an HTTP/2 connection, from its preface on.
    pub(crate) fn http2(limit: Duration, metrics: Arc<Metrics>) -> Self {
        Self::over(Protocol::Http2(Frames::new()), limit, metrics)
    }

    fn over(protocol: Protocol, limit: Duration, metrics: Arc<Metrics>) -> Self {
        let deadline = Deadline {
            limit,
            began: None,
            alarm: None,
        };
        Self {
            protocol,
            deadline,
            metrics,
        }
    }

    /// HTTP/1.1: the next byte to come is the first of a head, unless some came early.
    pub(crate) fn awaits_head(&mut self) {
        self.deadline.clear();
        if let Protocol::Http1(http1) = &mut self.protocol {
            let http1 = http1.get_mut().unwrap_or_else(PoisonError::into_inner);
            http1.phase = Phase::Head;
            http1.seen.clear();
        }
    }

    /// HTTP/1.1: the head is whole. A chunked body is followed from here on.
    pub(crate) fn has_head(&self, chunked: bool) -> Framing {
        match &self.protocol {
            Protocol::Http1(http1) => {
                let mut http1 = http1.lock().unwrap_or_else(PoisonError::into_inner);
                http1.has_head(chunked)
            }
            Protocol::Http2(_) => Framing::Good,
        }
    }

    /// Passes on what a read gave, unless the connection has to end.
    pub(crate) fn judge(
        &mut self,
        cx: &mut Context<'_>,
        read: Poll<io::Result<()>>,
        bytes: &[u8],
    ) -> Poll<io::Result<()>> {
        let reason = match read {
            Poll::Ready(Ok(())) => {
                if !self.chunks_are_good(bytes) {
                    return Poll::Ready(Err(io::Error::other(BadChunk)));
                }
                self.saw(bytes)
            }
            Poll::Pending if self.head_is_open() => {
                self.deadline.poll(cx).then_some(EndReason::SlowHead)
            }
            _ => None,
        };
        let Some(reason) = reason else {
            return read;
        };
        ConnectionEnded { reason }.emit(&self.metrics);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn chunks_are_good(&mut self, bytes: &[u8]) -> bool {
        let Protocol::Http1(http1) = &mut self.protocol else {
            return true;
        };
        let http1 = http1.get_mut().unwrap_or_else(PoisonError::into_inner);
        match &mut http1.phase {
            Phase::Head => http1.keep(bytes),
            Phase::Chunks(chunks) => return chunks.push(bytes),
            Phase::Rest => {}
        }
        true
    }

    fn saw(&mut self, bytes: &[u8]) -> Option<EndReason> {
        if let Protocol::Http2(frames) = &mut self.protocol
            && !frames.push(bytes)
        {
            return Some(EndReason::IdleFrames);
        }
        if !self.head_is_open() {
            self.deadline.clear();
            return None;
        }
        if !bytes.is_empty() {
            self.deadline.begin();
        }
        self.deadline.is_over().then_some(EndReason::SlowHead)
    }

    fn head_is_open(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => {
                let http1 = http1.get_mut().unwrap_or_else(PoisonError::into_inner);
                matches!(http1.phase, Phase::Head)
            }
            Protocol::Http2(frames) => frames.head_open,
        }
    }
}

impl Http1 {
    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_SEEN.saturating_sub(self.seen.len());
        self.seen.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn has_head(&mut self, chunked: bool) -> Framing {
        self.phase = Phase::Rest;
        if !chunked {
            return Framing::Good;
        }
        let whole = self.seen.len() < LONGEST_SEEN;
        let end = memchr::memmem::find(&self.seen, HEAD_END).filter(|_| whole);
        let Some(end) = end else {
            return Framing::Unseen;
        };
        let mut chunks = Chunks::START;
        if !chunks.push(&self.seen[end + HEAD_END.len()..]) {
            return Framing::Bad;
        }
        self.phase = Phase::Chunks(chunks);
        Framing::Good
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Deadline {
    fn begin(&mut self) {
        self.began.get_or_insert_with(Instant::now);
    }

    fn clear(&mut self) {
        self.began = None;
        self.alarm = None;
    }

    fn is_over(&self) -> bool {
        self.began
            .is_some_and(|began| began.elapsed() >= self.limit)
    }

    /// True when it is over; else the task is woken when it will be.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(began) = self.began else {
            return false;
        };
        let end = tokio::time::Instant::from_std(began + self.limit);
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(end)));
        alarm.as_mut().poll(cx).is_ready()
    }
}

/// Follows the frames of HTTP/2 by their heads alone.
struct Frames {
    preface_left: usize,
    head: [u8; FRAME_HEAD],
    head_filled: usize,
    payload_left: usize,
    /// A header block has begun and is not whole.
    head_open: bool,
    /// The frame under way is the last of its header block.
    closes_head: bool,
    budget: u32,
    refilled: Instant,
}

impl Frames {
    fn new() -> Self {
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
    fn push(&mut self, mut bytes: &[u8]) -> bool {
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
