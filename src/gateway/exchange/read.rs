//! Reads the whole request body (CONTRACT 1). A body of one chunk is used as it is; several are copied into
//! one buffer, so that a body costs its own size and one chunk. [`BodyBuffer`] decides where it waits.

use super::body_buffer::{Body, BodyBuffer, MEMORY_WAIT, check_size};
use crate::fair_queue::is_stranger;
use crate::gateway::context::CallContext;
use crate::gateway::error::{CallError, classify};
use crate::gateway::guard::BodyPace;
use crate::gateway::headers::expects_continue;
use crate::gateway::limits::MemoryReservation;
use crate::gateway::state::Snapshot;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorType};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Bytes of pingora's buffer that the body of a connection over HTTP/1 arrives in.
const ARRIVES_IN: usize = 64 << 10;

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
        reserve(&mut self.reservation, first.len()).await?;
        let connection = self.connection_buffer(first.len()).await?;
        let started = started + since.elapsed();
        let Some(second) = chunk(self.session, self.limit).await? else {
            return Ok(self.body(first));
        };
        Box::pin(self.collect(started, [first, second], connection)).await
    }

    /// Reserves what the connection holds while the rest of the body arrives. It counts for clients without an accepted
    /// access key, who may have many connections for little.
    async fn connection_buffer(&self, arrived: usize) -> Result<MemoryReservation, CallError> {
        let holder = self.reservation.holder();
        let mut buffer = MemoryReservation::of_connection(&self.snapshot.memory, holder);
        let rest = match self.session.get_header(TRANSFER_ENCODING) {
            Some(_) => ARRIVES_IN,
            None => announced(self.session).saturating_sub(arrived),
        };
        if rest > 0 && is_stranger(holder) && !self.session.is_http2() {
            reserve(&mut buffer, rest.min(ARRIVES_IN)).await?;
        }
        Ok(buffer)
    }

    async fn collect(
        self,
        started: Instant,
        [first, second]: [Bytes; 2],
        _connection: MemoryReservation,
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

/// Reserves memory, waiting if necessary.
async fn reserve(reservation: &mut MemoryReservation, bytes: usize) -> Result<(), CallError> {
    if reservation.grow(bytes).is_ok() {
        return Ok(());
    }
    let grown = Box::pin(reservation.grow_within(bytes, MEMORY_WAIT)).await;
    grown.map_err(|full| CallError::Overloaded(full.0))
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
