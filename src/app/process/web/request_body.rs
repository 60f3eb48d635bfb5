//! The body of a request as a handler reads it: it must keep arriving (`limits.header_timeout`), and what of it
//! is in memory counts against the client's share.

use super::connection::WebConnection;
use crate::analysis::RefusedBody;
use crate::gateway::BodyPace;
use crate::observe::EndReason;
use axum::BoxError;
use axum::body::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep};

type Piece = Option<Result<Frame<Bytes>, BoxError>>;

/// A body under the limits of its connection.
pub(super) struct RequestBody {
    body: Incoming,
    connection: Arc<WebConnection>,
    pace: BodyPace,
    silence: Option<Silence>,
    waiting: Option<WaitingPiece>,
}

/// The client has sent nothing since `begun`.
struct Silence {
    begun: Instant,
    timer: Pin<Box<Sleep>>,
}

/// A piece that there is no memory for yet.
struct WaitingPiece {
    frame: Frame<Bytes>,
    memory: BoxFuture<'static, bool>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, connection: Arc<WebConnection>) -> Self {
        connection.begin(!body.is_end_stream());
        Self {
            pace: BodyPace::new(connection.limits.header_timeout),
            body,
            connection,
            silence: None,
            waiting: None,
        }
    }

    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        let limit = self.connection.limits.header_timeout;
        let silence = self.silence.get_or_insert_with(|| Silence {
            begun: Instant::now(),
            timer: Box::pin(sleep(limit)),
        });
        ready!(silence.timer.as_mut().poll(cx));
        Poll::Ready(self.too_slow())
    }

    fn too_slow(&self) -> Piece {
        self.connection.ends(EndReason::SlowBody);
        Some(Err(RefusedBody::TooSlow.into()))
    }

    fn accept(&mut self, frame: Frame<Bytes>, cx: &mut Context<'_>) -> Poll<Piece> {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let waited = self.silence.take().map(|silence| silence.begun.elapsed());
        if !self.pace.keeps_up(waited.unwrap_or(Duration::ZERO), bytes) {
            return Poll::Ready(self.too_slow());
        }
        if self.connection.grow(bytes) {
            return Poll::Ready(Some(Ok(frame)));
        }
        let memory = Box::pin(self.connection.clone().grow_in_time(bytes));
        self.waiting = Some(WaitingPiece { frame, memory });
        self.poll_waiting(cx)
    }

    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        let Some(waiting) = &mut self.waiting else {
            return Poll::Pending;
        };
        let has_memory = ready!(waiting.memory.as_mut().poll(cx));
        let frame = self.waiting.take().map(|waiting| waiting.frame);
        Poll::Ready(match frame.filter(|_| has_memory) {
            Some(frame) => Some(Ok(frame)),
            None => Some(Err(RefusedBody::NoMemory.into())),
        })
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Piece> {
        let this = self.get_mut();
        if this.waiting.is_some() {
            return this.poll_waiting(cx);
        }
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Pending => this.poll_silence(cx),
            Poll::Ready(Some(Ok(frame))) => this.accept(frame, cx),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                this.connection.body_has_ended();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.is_end_stream() {
            self.connection.body_has_ended();
        }
    }
}
