//! A piece of a body that there is no memory for yet.

use axum::BoxError;
use axum::body::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::Frame;
use std::future::Future;
use std::task::{Context, Poll, ready};

/// What a body gives when it is polled.
pub(super) type Piece = Option<Result<Frame<Bytes>, BoxError>>;

/// None, or the piece that waits for its memory.
#[derive(Default)]
pub(super) struct WaitingPiece(Option<Waiting>);

struct Waiting {
    frame: Frame<Bytes>,
    memory: BoxFuture<'static, bool>,
}

impl WaitingPiece {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The piece waits until this resolves to true.
    pub(super) fn set(
        &mut self,
        frame: Frame<Bytes>,
        memory: impl Future<Output = bool> + Send + 'static,
    ) {
        let memory = Box::pin(memory);
        self.0 = Some(Waiting { frame, memory });
    }

    /// The piece once it has its memory, or this error where it gets none.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        error: impl FnOnce() -> BoxError,
    ) -> Poll<Piece> {
        let Some(waiting) = &mut self.0 else {
            return Poll::Pending;
        };
        let has_memory = ready!(waiting.memory.as_mut().poll(cx));
        let frame = self.0.take().map(|waiting| waiting.frame);
        let frame = frame.filter(|_| has_memory);
        Poll::Ready(Some(frame.ok_or_else(error)))
    }
}
