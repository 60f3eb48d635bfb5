//! The body of an answer on its way to the client: what waits for a slow reader counts against the client's
//! share.

use super::connection::WebConnection;
use super::waiting_piece::{Piece, WaitingPiece};
use axum::BoxError;
use axum::body::{Body as AxumBody, Bytes};
use hyper::body::{Body, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// An answer's body; the end of its life is the end of the answer.
pub(super) struct AnswerBody {
    body: AxumBody,
    connection: Arc<WebConnection>,
    waiting: WaitingPiece,
}

impl AnswerBody {
    pub(super) fn new(body: AxumBody, connection: Arc<WebConnection>) -> Self {
        connection.answer_begins();
        Self {
            body,
            connection,
            waiting: WaitingPiece::default(),
        }
    }

    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        // The head has been sent: an answer that is cut does not look complete.
        let cut = || io::Error::from(io::ErrorKind::OutOfMemory).into();
        self.waiting.poll(cx, cut)
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Piece> {
        let this = self.get_mut();
        if !this.waiting.is_empty() {
            return this.poll_waiting(cx);
        }
        let frame = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            None => return Poll::Ready(None),
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        if this.connection.cover(bytes) {
            return Poll::Ready(Some(Ok(frame)));
        }
        let memory = this.connection.clone().cover_in_time(bytes);
        this.waiting.set(frame, memory);
        this.poll_waiting(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.connection.answer_has_ended();
    }
}
