//! The bytes of a connection: a client that takes nothing of its answer for `limits.idle_timeout`, or takes it more
//! slowly than the slowest body may arrive, is left. One whose request was answered before it was read gets a
//! lingering close (RFC 9112 §9.6), since a close with unread bytes would reset the connection and could take the
//! answer with it.

use super::connection::WebConnection;
use crate::gateway::{BodyPace, LINGER_BYTES, LINGER_SILENCE, LINGER_TIME};
use crate::observe::EndReason;
use pingora_core::protocols::Stream;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that are dropped at a time.
const DROPPED: usize = 8 << 10;

/// A client's connection.
pub(super) struct GuardedIo {
    stream: Stream,
    connection: Arc<WebConnection>,
    /// Runs while a write waits for the client.
    blocked: Option<Blocked>,
    pace: BodyPace,
    linger: Option<Linger>,
}

/// A write that waits for the client.
struct Blocked {
    since: Instant,
    too_long: Pin<Box<Sleep>>,
}

/// What is still dropped of an unread request.
struct Linger {
    bytes_left: usize,
    ends: Instant,
    silence: Pin<Box<Sleep>>,
}

impl GuardedIo {
    pub(super) fn new(stream: Stream, connection: Arc<WebConnection>) -> Self {
        Self {
            pace: BodyPace::new(connection.limits.idle_timeout),
            stream,
            connection,
            blocked: None,
            linger: None,
        }
    }

    /// The result of a write of so many bytes, or an error once the client has taken too little for too long.
    fn bounded<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        bytes: impl FnOnce(&T) -> usize,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(written) = written {
            let blocked = self.blocked.take();
            let waited = blocked.map_or(Duration::ZERO, |blocked| blocked.since.elapsed());
            let bytes = written.as_ref().map_or(0, bytes);
            return Poll::Ready(match self.pace.keeps_up(waited, bytes) {
                true => written,
                false => Err(self.too_slow()),
            });
        }
        let limit = self.connection.limits.idle_timeout;
        let blocked = self.blocked.get_or_insert_with(|| Blocked {
            since: Instant::now(),
            too_long: Box::pin(sleep(limit)),
        });
        ready!(blocked.too_long.as_mut().poll(cx));
        Poll::Ready(Err(self.too_slow()))
    }

    fn too_slow(&self) -> io::Error {
        self.connection.ends(EndReason::UnreadAnswer);
        io::ErrorKind::TimedOut.into()
    }

    /// Resolves when the client has nothing more to send, or the bounds are reached.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(linger) = &mut self.linger else {
            return Poll::Ready(());
        };
        loop {
            let mut dropped = [0; DROPPED];
            let mut dropped = ReadBuf::new(&mut dropped);
            match Pin::new(&mut self.stream).poll_read(cx, &mut dropped) {
                Poll::Ready(Ok(())) if !dropped.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if self.connection.has_unread_body() => {
                    return linger.silence.as_mut().poll(cx);
                }
                Poll::Pending => return Poll::Ready(()),
            }
            // More was on its way, whether it was a body or not.
            let now = Instant::now();
            linger.bytes_left = linger.bytes_left.saturating_sub(dropped.filled().len());
            if linger.bytes_left == 0 || now >= linger.ends {
                return Poll::Ready(());
            }
            let next = (now + LINGER_SILENCE).min(linger.ends);
            linger.silence.as_mut().reset(next);
        }
    }
}

impl Linger {
    fn new() -> Self {
        Self {
            bytes_left: LINGER_BYTES,
            ends: Instant::now() + LINGER_TIME,
            silence: Box::pin(sleep(LINGER_SILENCE)),
        }
    }
}

impl AsyncRead for GuardedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for GuardedIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.bounded(written, |bytes| *bytes, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.bounded(written, |bytes| *bytes, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.connection.flushed();
        }
        self.bounded(flushed, |()| 0, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            let closed = Pin::new(&mut self.stream).poll_shutdown(cx);
            ready!(self.bounded(closed, |()| 0, cx))?;
            self.linger = Some(Linger::new());
        }
        self.poll_linger(cx).map(Ok)
    }
}
