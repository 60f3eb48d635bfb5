//! Judges what a client sends before pingora reads it: a head must be complete within
//! `limits.header_timeout` of its first byte on HTTP/1.1 and HTTP/2 alike, there must be memory for it, chunks must
//! be well formed, and HTTP/2 frames that cause work without asking for anything have a budget.

use super::chunks::{ChunkParser, MalformedChunk};
use super::http1::{BodyFraming, Http1State, ParsedHead};
use super::http2::Http2Frames;
use super::slow_client::HeadDeadline;
use crate::gateway::limits::{Full, HeadShare};
use crate::observe::events::{ConnectionEnded, Overloaded};
use crate::observe::{EndReason, Exhausted, Metrics};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

/// Bytes of a body that are read at once from a client without an accepted access key.
pub(crate) const SMALL_READ: usize = 16 << 10;

/// The guard of one client connection.
pub(crate) struct ClientGuard {
    protocol: Protocol,
    deadline: HeadDeadline,
    /// What there was none left of for the current head.
    exhausted: Option<Exhausted>,
    metrics: Arc<Metrics>,
}

enum Protocol {
    /// Locked because pingora gives only a shared reference to the stream when a head is complete.
    Http1(Mutex<Http1State>),
    Http2(Http2Frames, HeadShare),
}

impl ClientGuard {
    /// Guards an HTTP/1.1 connection whose first head has begun with `first`.
    pub(crate) fn http1(
        first: &[u8],
        share: HeadShare,
        limit: Duration,
        metrics: Arc<Metrics>,
    ) -> Self {
        let state = Http1State::new(first, share);
        Self::new(Protocol::Http1(Mutex::new(state)), limit, metrics)
    }

    /// Guards an HTTP/2 connection from its preface on.
    pub(crate) fn http2(share: HeadShare, limit: Duration, metrics: Arc<Metrics>) -> Self {
        Self::new(Protocol::Http2(Http2Frames::new(), share), limit, metrics)
    }

    fn new(protocol: Protocol, limit: Duration, metrics: Arc<Metrics>) -> Self {
        Self {
            protocol,
            deadline: HeadDeadline::new(limit),
            exhausted: None,
            metrics,
        }
    }

    /// HTTP/1.1: the next byte begins a head, unless it was pipelined.
    pub(super) fn start_head(&mut self) {
        self.deadline.clear();
        if let Protocol::Http1(http1) = &mut self.protocol {
            exclusive(http1).start_head();
        }
    }

    /// HTTP/1.1: ends the wait for a head and tells how the body behind it is framed.
    pub(crate) fn end_head(&self, parsed: ParsedHead, raw: &[u8]) -> BodyFraming {
        match &self.protocol {
            Protocol::Http1(http1) => {
                let mut http1 = http1.lock().unwrap_or_else(PoisonError::into_inner);
                http1.end_head(parsed, raw)
            }
            Protocol::Http2(..) => BodyFraming::Valid,
        }
    }

    /// HTTP/1.1: whether the request was read to its end and nothing behind it, so far as its length is known.
    pub(super) fn is_read_exactly(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(http1) => {
                let http1 = http1.lock().unwrap_or_else(PoisonError::into_inner);
                http1.is_read_exactly()
            }
            Protocol::Http2(..) => false,
        }
    }

    /// HTTP/1.1: whether the whole request was read, so far as it is known where it ends.
    pub(super) fn has_ended(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).has_ended(),
            Protocol::Http2(..) => false,
        }
    }

    /// HTTP/1.1: the head begins with bytes that pingora had read already.
    pub(super) fn has_begun_head(&mut self) {
        self.deadline.start();
    }

    /// HTTP/1.1: counts the memory of the head for the client that a proxy names.
    ///
    /// # Errors
    /// When the client's part of the memory, or all of it, is used up.
    pub(crate) fn count_for_client(&self, client: IpAddr) -> Result<(), Full> {
        match &self.protocol {
            Protocol::Http1(http1) => {
                let mut http1 = http1.lock().unwrap_or_else(PoisonError::into_inner);
                http1.count_for_client(client)
            }
            Protocol::Http2(..) => Ok(()),
        }
    }

    /// HTTP/1.1: counts the memory of the head for a known access key.
    pub(crate) fn count_for(&self, holder: u64) {
        if let Protocol::Http1(http1) = &self.protocol {
            let mut http1 = http1.lock().unwrap_or_else(PoisonError::into_inner);
            http1.count_for(holder);
        }
    }

    /// HTTP/1.1: reads the body of the request in portions of [`SMALL_READ`], so that pingora's buffer takes no more
    /// memory than that.
    pub(crate) fn read_little(&self) {
        if let Protocol::Http1(http1) = &self.protocol {
            let mut http1 = http1.lock().unwrap_or_else(PoisonError::into_inner);
            http1.read_little();
        }
    }

    /// HTTP/1.1: the most that is read at once; None without such a bound.
    pub(super) fn most_read(&mut self) -> Option<u64> {
        let reads_little = match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).reads_little(),
            Protocol::Http2(..) => false,
        };
        reads_little.then_some(SMALL_READ as u64)
    }

    /// HTTP/1.1: whether the next bytes are collected before pingora gets them.
    pub(super) fn collects(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).collects(),
            Protocol::Http2(..) => false,
        }
    }

    /// HTTP/1.1: whether pingora has to get what was collected.
    pub(super) fn is_due(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).is_due(),
            Protocol::Http2(..) => true,
        }
    }

    /// HTTP/1.1: pingora gets what was collected.
    pub(super) fn pass_on(&mut self) {
        if let Protocol::Http1(http1) = &mut self.protocol {
            exclusive(http1).pass_on();
        }
    }

    /// After an error: what there was none left of for the head, once.
    pub(super) fn take_exhausted(&mut self) -> Option<Exhausted> {
        self.exhausted.take()
    }

    /// Counts bytes that were written to the client.
    pub(super) fn add_sent(&mut self, bytes: usize) {
        if let Protocol::Http2(frames, _) = &mut self.protocol {
            frames.add_sent(bytes);
        }
    }

    /// Returns the result of a read, or an error when the connection has to end.
    pub(super) fn check(
        &mut self,
        cx: &mut Context<'_>,
        read: Poll<io::Result<()>>,
        bytes: &[u8],
    ) -> Poll<io::Result<()>> {
        let reason = match read {
            Poll::Ready(Ok(())) => {
                if !self.push_http1(bytes) {
                    return Poll::Ready(Err(io::Error::other(MalformedChunk)));
                }
                if !self.cover_head() {
                    return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
                }
                self.check_bytes(bytes)
            }
            Poll::Pending if self.in_head() => {
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

    /// HTTP/1.1: where the next bytes of a chunked body stand.
    pub(super) fn chunks(&mut self) -> Option<ChunkParser> {
        match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).chunks(),
            Protocol::Http2(..) => None,
        }
    }

    /// After [`Self::check`]: joins the small chunks in `bytes`, which began at `before`. Gives how many bytes are left,
    /// and how long nothing more is read of a client that sends very many small chunks or DATA frames.
    pub(super) fn join_chunks(
        &mut self,
        before: Option<ChunkParser>,
        bytes: &mut [u8],
    ) -> (usize, Option<Duration>) {
        match (&mut self.protocol, before) {
            (Protocol::Http1(http1), Some(before)) => exclusive(http1).join_chunks(before, bytes),
            (Protocol::Http1(_), None) => (bytes.len(), None),
            (Protocol::Http2(frames, share), _) => {
                let small = frames.take_small();
                let pause = (small > 0).then(|| share.pause_after(small)).flatten();
                (bytes.len(), pause)
            }
        }
    }

    fn push_http1(&mut self, bytes: &[u8]) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).push(bytes),
            Protocol::Http2(..) => true,
        }
    }

    /// Reserves the memory of an HTTP/1.1 head; false, counted, where there is none left.
    fn cover_head(&mut self) -> bool {
        let covered = match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).cover(),
            Protocol::Http2(..) => Ok(()),
        };
        let Err(full) = covered else {
            return true;
        };
        Overloaded { room: full.0 }.emit(&self.metrics);
        self.exhausted = Some(full.0);
        false
    }

    /// Why the connection has to end after these bytes, if it has to.
    fn check_bytes(&mut self, bytes: &[u8]) -> Option<EndReason> {
        if let Protocol::Http2(frames, _) = &mut self.protocol
            && !frames.push(bytes)
        {
            return Some(EndReason::IdleFrames);
        }
        if !self.in_head() {
            self.deadline.clear();
            return None;
        }
        if !bytes.is_empty() && self.deadline.start() {
            return None;
        }
        self.deadline.is_over().then_some(EndReason::SlowHead)
    }

    /// Whether a head is expected (HTTP/1.1) or incomplete. Takes no lock, unlike a method on `&self` would.
    fn in_head(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => exclusive(http1).is_in_head(),
            Protocol::Http2(frames, _) => frames.is_in_head(),
        }
    }
}

/// The state behind an exclusive reference, which needs no lock.
fn exclusive(http1: &mut Mutex<Http1State>) -> &mut Http1State {
    http1.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for ClientGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientGuard").finish_non_exhaustive()
    }
}
