//! The body of an upload, read only a limited number of bytes ahead of the parser: otherwise a part header
//! that never ends would fill the memory. `attachments` reads the content.

use crate::analysis::BodyMemory;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use futures_util::Stream;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// Bytes read since the parser returned something.
const AHEAD: usize = 1024 * 1024;

/// How far the body is ahead of the parser.
#[derive(Clone)]
pub(crate) struct ReadAhead(Arc<State>);

struct State {
    /// Where the listener counts what is in memory.
    memory: Option<BodyMemory>,
    ahead: AtomicUsize,
    has_waited: AtomicBool,
}

struct LimitedBody {
    body: BodyDataStream,
    read_ahead: ReadAhead,
}

impl ReadAhead {
    /// Of the body of a request.
    pub(crate) fn of(request: &Request) -> Self {
        Self(Arc::new(State {
            memory: request.extensions().get().cloned(),
            ahead: AtomicUsize::new(0),
            has_waited: AtomicBool::new(false),
        }))
    }

    /// The parser returned something, and what it returned before has been passed on.
    pub(crate) fn taken(&self) {
        if let Some(memory) = &self.0.memory {
            memory.release();
        }
        self.0.ahead.store(0, Ordering::Relaxed);
        self.0.has_waited.store(false, Ordering::Relaxed);
    }

    /// The request with its body under this limit.
    pub(crate) fn bound(&self, request: Request) -> Request {
        request.map(|body| {
            Body::from_stream(LimitedBody {
                body: body.into_data_stream(),
                read_ahead: self.clone(),
            })
        })
    }
}

impl Stream for LimitedBody {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let state = self.read_ahead.0.clone();
        if state.ahead.load(Ordering::Relaxed) > AHEAD {
            // A parser that has read everything gets one more chance to return something; if it does not,
            // more bytes would not help.
            if state.has_waited.swap(true, Ordering::Relaxed) {
                return Poll::Ready(Some(Err(io::ErrorKind::InvalidData.into())));
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = Pin::new(&mut self.body).poll_next(context);
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            state.ahead.fetch_add(bytes.len(), Ordering::Relaxed);
        }
        next.map_err(io::Error::other)
    }
}
