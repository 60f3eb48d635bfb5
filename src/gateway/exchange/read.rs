//! Reads the whole request body (CONTRACT 1). A body of one chunk is used as it is; several are copied into
//! one buffer, so that a body costs its own size and one chunk. [`BodyBuffer`] decides where it waits.

use super::body_buffer::{Body, BodyBuffer, MEMORY_WAIT, check_size};
use crate::gateway::context::CallContext;
use crate::gateway::error::{CallError, classify};
use crate::gateway::guard::BodyPace;
use crate::gateway::headers::expects_continue;
use crate::gateway::limits::MemoryReservation;
use crate::gateway::state::Snapshot;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorType};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Reads the body of the request; the wait is the client's time.
pub(super) async fn request_body(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<Body, CallError> {
    let started = Instant::now();
    let reader = BodyReader {
        snapshot,
        session,
        limit: snapshot.settings.limits.header_timeout,
        reservation: MemoryReservation::of_body(&snapshot.memory, ctx.tenant.holder),
    };
    let body = reader.read(started).await;
    ctx.clock.add_client_wait(started);
    body
}

struct BodyReader<'a> {
    snapshot: &'a Snapshot,
    session: &'a mut ServerSession,
    /// The longest silence of the client.
    limit: Duration,
    reservation: MemoryReservation,
}

impl BodyReader<'_> {
    async fn read(mut self, started: Instant) -> Result<Body, CallError> {
        check_size(self.snapshot, announced(self.session))?;
        if expects_continue(self.session.req_header()) {
            let written = self.session.write_continue_response().await;
            written.map_err(client_error)?;
        }
        let Some(first) = chunk(self.session, self.limit).await? else {
            return Ok(self.body(Bytes::new()));
        };
        let since = Instant::now();
        self.reserve(first.len()).await?;
        let started = started + since.elapsed();
        let Some(second) = chunk(self.session, self.limit).await? else {
            return Ok(self.body(first));
        };
        Box::pin(self.collect(started, first, second)).await
    }

    /// Reserves memory for the first chunk, which may be the whole body, waiting if necessary.
    async fn reserve(&mut self, bytes: usize) -> Result<(), CallError> {
        if self.reservation.grow(bytes).is_ok() {
            return Ok(());
        }
        let grown = Box::pin(self.reservation.grow_within(bytes, MEMORY_WAIT)).await;
        grown.map_err(|full| CallError::Overloaded(full.0))
    }

    async fn collect(
        self,
        started: Instant,
        first: Bytes,
        second: Bytes,
    ) -> Result<Body, CallError> {
        let (session, limit) = (self.session, self.limit);
        let announced = announced(session);
        let mut buffer = BodyBuffer::new(self.snapshot, self.reservation, started);
        buffer.start(&first, announced);
        buffer.push(&second).await?;
        drop((first, second));
        let mut pace = BodyPace::new(limit);
        loop {
            let since = Instant::now();
            let Some(chunk) = buffer.yielding(chunk(session, limit)).await?? else {
                return buffer.finish(limit).await;
            };
            if !pace.keeps_up(since.elapsed(), chunk.len()) {
                return Err(CallError::SlowBody);
            }
            buffer.push(&chunk).await?;
        }
    }

    fn body(self, bytes: Bytes) -> Body {
        Body::new(bytes, self.reservation)
    }
}

/// The next chunk. Longer silence than the limit is an error; pingora enforces that for HTTP/1 alone.
async fn chunk(session: &mut ServerSession, limit: Duration) -> Result<Option<Bytes>, CallError> {
    let read = match session.as_http2().is_none() {
        true => session.read_request_body().await,
        false => {
            let late = |_| Error::e_explain(ErrorType::ReadTimedout, "reading an HTTP/2 body");
            let read = timeout(limit, session.read_request_body());
            read.await.unwrap_or_else(late)
        }
    };
    read.map_err(client_error)
}

fn client_error(mut error: Box<Error>) -> CallError {
    error.as_down();
    classify(&error)
}

/// The announced length of the body, 0 without one.
fn announced(session: &ServerSession) -> usize {
    let length = session.get_header(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    length.unwrap_or(0)
}
