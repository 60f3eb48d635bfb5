//! The request body, whole (CONTRACT 1). One chunk is taken as it is; more are put together in one
//! buffer, so a body costs its own size and one chunk; where it waits until it is whole is
//! [`super::arrival`]'s.

use super::arrival::{Arrival, PATIENCE, fits};
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::expects_continue;
use crate::gateway::memory::Share;
use crate::gateway::pace::Pace;
use crate::gateway::proxy::classify;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorType};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A body, and the room it takes until it is dropped.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) share: Share,
}

pub(super) async fn request_body(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<Body, CallError> {
    let started = Instant::now();
    let reading = Reading {
        shared,
        session,
        limit: shared.settings.limits.header_timeout,
        share: Share::new(&shared.memory),
    };
    let body = reading.whole(started).await;
    ctx.clock.waited_for_client(started);
    body
}

struct Reading<'a> {
    shared: &'a Shared,
    session: &'a mut ServerSession,
    limit: Duration,
    share: Share,
}

impl Reading<'_> {
    async fn whole(mut self, started: Instant) -> Result<Body, CallError> {
        fits(self.shared, announced(self.session))?;
        if expects_continue(self.session.req_header()) {
            let told = self.session.write_continue_response().await;
            told.map_err(of_the_client)?;
        }
        let Some(first) = chunk(self.session, self.limit).await? else {
            return Ok(self.body(Bytes::new()));
        };
        let since = Instant::now();
        self.hold(first.len()).await?;
        let started = started + since.elapsed();
        let Some(second) = chunk(self.session, self.limit).await? else {
            return Ok(self.body(first));
        };
        Box::pin(self.together(started, first, second)).await
    }

    /// Accounts for the first piece, which may be all; room for it is waited for.
    async fn hold(&mut self, bytes: usize) -> Result<(), CallError> {
        if self.share.grow(bytes).is_ok() {
            return Ok(());
        }
        let room = Box::pin(self.share.grow_within(bytes, PATIENCE)).await;
        room.map_err(|full| CallError::Overloaded(full.0))
    }

    async fn together(
        self,
        started: Instant,
        first: Bytes,
        second: Bytes,
    ) -> Result<Body, CallError> {
        let (session, limit) = (self.session, self.limit);
        let began = (&*first, announced(session));
        let mut arrival = Arrival::new((self.shared, self.share), started, began);
        arrival.add(&second).await?;
        drop((first, second));
        let mut pace = Pace::new(limit);
        loop {
            let since = Instant::now();
            let Some(chunk) = arrival.beside(chunk(session, limit)).await?? else {
                return arrival.end(limit).await;
            };
            if !pace.keeps_up(since.elapsed(), chunk.len()) {
                return Err(CallError::SlowBody);
            }
            arrival.add(&chunk).await?;
        }
    }

    fn body(self, bytes: Bytes) -> Body {
        Body {
            bytes,
            share: self.share,
        }
    }
}

/// The next piece. Silence longer than the limit is an error; pingora sees to that for HTTP/1 alone.
async fn chunk(session: &mut ServerSession, limit: Duration) -> Result<Option<Bytes>, CallError> {
    let read = match session.as_http2().is_none() {
        true => session.read_request_body().await,
        false => {
            let late = |_| Error::e_explain(ErrorType::ReadTimedout, "reading an HTTP/2 body");
            let read = timeout(limit, session.read_request_body());
            read.await.unwrap_or_else(late)
        }
    };
    read.map_err(of_the_client)
}

fn of_the_client(mut error: Box<Error>) -> CallError {
    error.as_down();
    classify(&error)
}

fn announced(session: &ServerSession) -> usize {
    let length = session.get_header(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    length.unwrap_or(0)
}
