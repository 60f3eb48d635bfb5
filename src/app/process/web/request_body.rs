//! The body of a request as a handler reads it: it must keep arriving (`limits.header_timeout`), and what of it
//! is in memory counts against the client's share.

use super::connection::WebConnection;
use super::silence::Silence;
use super::waiting_piece::{Piece, WaitingPiece};
use crate::analysis::RefusedBody;
use crate::gateway::BodyPace;
use crate::observe::EndReason;
use axum::BoxError;
use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A body under the limits of its connection.
pub(super) struct RequestBody {
    /// Present until it is dropped.
    body: Option<Incoming>,
    connection: Arc<WebConnection>,
    pace: BodyPace,
    silence: Option<Silence>,
    waiting: WaitingPiece,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, connection: Arc<WebConnection>) -> Self {
        connection.begin(!body.is_end_stream());
        Self {
            pace: BodyPace::new(connection.limits.header_timeout),
            body: Some(body),
            connection,
            silence: None,
            waiting: WaitingPiece::default(),
        }
    }

    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        let limit = self.connection.limits.header_timeout;
        let silence = self.silence.get_or_insert_with(|| Silence::new(limit));
        ready!(silence.poll_too_long(cx));
        Poll::Ready(self.too_slow())
    }

    fn too_slow(&self) -> Piece {
        self.connection.ends(EndReason::SlowBody);
        Some(Err(RefusedBody::TooSlow.into()))
    }

    fn accept(&mut self, frame: Frame<Bytes>, cx: &mut Context<'_>) -> Poll<Piece> {
        if frame.is_trailers() {
            self.connection.trailers_came();
        }
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let waited = self.silence.take().map_or(Duration::ZERO, Silence::ended);
        if !self.pace.keeps_up(waited, bytes) {
            return Poll::Ready(self.too_slow());
        }
        if self.connection.grow(bytes) {
            return Poll::Ready(Some(Ok(frame)));
        }
        let memory = self.connection.clone().grow_in_time(bytes);
        self.waiting.set(frame, memory);
        self.poll_waiting(cx)
    }

    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        self.waiting.poll(cx, || RefusedBody::NoMemory.into())
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Piece> {
        let this = self.get_mut();
        if !this.waiting.is_empty() {
            return this.poll_waiting(cx);
        }
        let Some(body) = &mut this.body else {
            return Poll::Ready(None);
        };
        match Pin::new(body).poll_frame(cx) {
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
        self.waiting.is_empty() && self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map(Incoming::size_hint)
            .unwrap_or_default()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.is_end_stream() {
            self.connection.body_has_ended();
        } else if let Some(rest) = self.body.take() {
            self.connection.leave_rest(rest);
        }
    }
}
