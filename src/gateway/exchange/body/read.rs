//! Reads the whole request body (CONTRACT 1). A body of one chunk is used as it is; several are copied into
//! one buffer, so that a body costs its own size and one chunk. [`BodyBuffer`] decides where it waits.

use super::{Body, BodyBuffer, MEMORY_WAIT, check_size};
use crate::fair_queue::is_stranger;
use crate::gateway::context::CallContext;
use crate::gateway::error::{CallError, classify};
use crate::gateway::guard::{BodyPace, GuardedStream, SMALL_READ};
use crate::gateway::headers::expects_continue;
use crate::gateway::limits::MemoryReservation;
use crate::gateway::state::Snapshot;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorType};
use std::time::{Duration, Instant};
use tokio::task::coop::consume_budget;
use tokio::time::timeout;

/// Reads the body of the request; the wait is the client's time.
pub(crate) async fn request_body(
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
        began: started,
    };
    let body = reader.read().await;
    ctx.clock.add_client_wait(started);
    body
}

struct BodyReader<'a> {
    snapshot: &'a Snapshot,
    session: &'a mut ServerSession,
    /// The longest silence of the client.
    limit: Duration,
    reservation: MemoryReservation,
    /// When the body began to arrive, without the time it waited for memory, which is not the client's.
    began: Instant,
}

impl BodyReader<'_> {
    async fn read(mut self) -> Result<Body, CallError> {
        let announced = announced(self.session);
        check_size(self.snapshot, announced)?;
        let is_bounded = self.snapshot.memory.has_client_limit();
        let portion = match is_bounded && is_stranger(self.reservation.holder()) {
            true => self.portion(announced),
            false => 0,
        };
        // The buffer that pingora keeps until the call ends, and as much again on its way to a file.
        let mut connection = self.connection_buffer(2 * portion).await?;
        if expects_continue(self.session.req_header()) {
            let written = self.session.write_continue_response().await;
            written.map_err(client_error)?;
        }
        let Some(first) = chunk(self.session, self.limit).await? else {
            return Ok(self.body(Bytes::new()));
        };
        let waited = reserve(&mut self.reservation, first.len()).await?;
        self.began += waited;
        let body = match chunk(self.session, self.limit).await? {
            None => self.body(first),
            Some(second) => Box::pin(self.collect(announced, [first, second])).await?,
        };
        if let Some(connection) = &mut connection {
            connection.shrink(portion);
        }
        Ok(Body {
            _connection: connection,
            ..body
        })
    }

    /// The bytes of a body that arrive at once from a client without an accepted access key.
    fn portion(&self, announced: usize) -> usize {
        match self.session.get_header(TRANSFER_ENCODING) {
            Some(_) => SMALL_READ,
            None => announced.min(SMALL_READ),
        }
    }

    /// Reserves what the connection of a client without an accepted access key holds while the body arrives, and before
    /// anything of it is read: until then the kernel keeps it. Such clients may have many connections for little.
    async fn connection_buffer(
        &mut self,
        bytes: usize,
    ) -> Result<Option<Box<MemoryReservation>>, CallError> {
        if bytes == 0 {
            return Ok(None);
        }
        let stream = self.session.as_http1().map(|h1| h1.stream());
        let Some(guard) = stream.and_then(GuardedStream::guard_of) else {
            return Ok(None);
        };
        guard.read_little();
        let holder = self.reservation.holder();
        let mut buffer = MemoryReservation::of_connection(&self.snapshot.memory, holder);
        let waited = reserve(&mut buffer, bytes).await?;
        self.began += waited;
        Ok(Some(Box::new(buffer)))
    }

    async fn collect(
        self,
        announced: usize,
        [first, second]: [Bytes; 2],
    ) -> Result<Body, CallError> {
        let (session, limit) = (self.session, self.limit);
        let mut buffer = BodyBuffer::new(self.snapshot, self.reservation, self.began);
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
            // Chunks that are in pingora's buffer come without a wait, at which others would get the thread.
            consume_budget().await;
        }
    }

    fn body(self, bytes: Bytes) -> Body {
        Body::new(bytes, self.reservation)
    }
}

/// Reserves memory, waiting if necessary; gives how long it waited.
async fn reserve(reservation: &mut MemoryReservation, bytes: usize) -> Result<Duration, CallError> {
    if reservation.grow(bytes).is_ok() {
        return Ok(Duration::ZERO);
    }
    let since = Instant::now();
    let grown = Box::pin(reservation.grow_within(bytes, MEMORY_WAIT)).await;
    grown.map_err(|full| CallError::Overloaded(full.0))?;
    Ok(since.elapsed())
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
