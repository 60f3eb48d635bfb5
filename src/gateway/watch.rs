//! What a client sends, judged from the bytes before pingora reads them: a head must be whole within
//! `limits.header_timeout` of its first byte, on HTTP/1.1 and HTTP/2 alike, chunks must be framed well,
//! and frames of HTTP/2 that cost work and ask for nothing have a budget.

use super::chunks::{BadChunk, Chunks};
use super::frames::Frames;
use crate::observe::events::ConnectionEnded;
use crate::observe::{EndReason, Metrics};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{fmt, io};
use tokio::time::{Sleep, sleep_until};

/// More of a head, and of what came with it, is not kept.
const LONGEST_SEEN: usize = 64 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";

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

    /// HTTP/1.1: ends the wait for a head. A chunked body is followed from here on.
    pub(crate) fn end_head(&self, chunked: bool) -> Framing {
        match &self.protocol {
            Protocol::Http1(http1) => {
                let mut http1 = http1.lock().unwrap_or_else(PoisonError::into_inner);
                http1.end_head(chunked)
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
        if self.deadline.began.is_none() && !bytes.is_empty() {
            self.deadline.began = Some(Instant::now());
            return None;
        }
        self.deadline.is_over().then_some(EndReason::SlowHead)
    }

    fn head_is_open(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => {
                let http1 = http1.get_mut().unwrap_or_else(PoisonError::into_inner);
                matches!(http1.phase, Phase::Head)
            }
            Protocol::Http2(frames) => frames.head_is_open(),
        }
    }
}

impl Http1 {
    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_SEEN.saturating_sub(self.seen.len());
        self.seen.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_head(&mut self, chunked: bool) -> Framing {
        self.phase = Phase::Rest;
        // Not kept for the length of a stream.
        let seen = std::mem::take(&mut self.seen);
        if !chunked {
            return Framing::Good;
        }
        let whole = seen.len() < LONGEST_SEEN;
        let end = memchr::memmem::find(&seen, HEAD_END).filter(|_| whole);
        let Some(end) = end else {
            return Framing::Unseen;
        };
        let mut chunks = Chunks::START;
        if !chunks.push(&seen[end + HEAD_END.len()..]) {
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
