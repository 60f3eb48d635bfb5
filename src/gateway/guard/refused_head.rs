//! The answer to a request head that there is no memory for. Pingora answers only what it has parsed, so the
//! answer is written here, with the lingering close of an early answer.

use super::linger::{LINGER_BYTES, LINGER_TIME};
use crate::observe::Exhausted;
use bytes::{Buf, Bytes};
use monitor_model::{ErrorEnvelope, ErrorType};
use pingora_core::protocols::Stream;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Bytes that are dropped at a time.
const DROPPED: usize = 8 << 10;

/// What is left to do for a client whose head was refused.
#[derive(Debug)]
pub(super) struct RefusedHead {
    answer: Bytes,
    is_closed: bool,
    bytes_left: usize,
    ends: Pin<Box<Sleep>>,
}

impl RefusedHead {
    pub(super) fn new(room: Exhausted) -> Self {
        Self {
            answer: answer(room).into(),
            is_closed: false,
            bytes_left: LINGER_BYTES,
            ends: Box::pin(sleep(LINGER_TIME)),
        }
    }

    /// Answers and closes, and then drops what the client still sends.
    pub(super) fn poll(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.ends.as_mut().poll(cx).is_ready() || ready!(self.poll_close(stream, cx)).is_err() {
            return Poll::Ready(refused());
        }
        loop {
            let mut dropped = [0; DROPPED];
            let mut dropped = ReadBuf::new(&mut dropped);
            let read = ready!(Pin::new(&mut *stream).poll_read(cx, &mut dropped));
            let bytes = dropped.filled().len();
            self.bytes_left = self.bytes_left.saturating_sub(bytes);
            if read.is_err() || bytes == 0 || self.bytes_left == 0 {
                return Poll::Ready(refused());
            }
        }
    }

    fn poll_close(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.answer.has_remaining() {
            let written = ready!(Pin::new(&mut *stream).poll_write(cx, &self.answer))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.answer.advance(written);
        }
        if !self.is_closed {
            ready!(Pin::new(&mut *stream).poll_flush(cx))?;
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            self.is_closed = true;
        }
        Poll::Ready(Ok(()))
    }
}

fn answer(room: Exhausted) -> Vec<u8> {
    let why = match room {
        Exhausted::ClientMemory => "one client address (limits.client_bytes)",
        _ => "all calls in progress (limits.buffered_bytes)",
    };
    let text =
        format!("the gateway's memory for the request heads of {why} is exhausted; try again");
    let body = ErrorEnvelope::new(ErrorType::GatewayError, 503, text).to_json();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_ref()].concat()
}

fn refused() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}
