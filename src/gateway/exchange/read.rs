//! The request body, whole (CONTRACT 1). One chunk is taken as it is; more are put together in one
//! buffer, so a body costs its own size and one chunk.

use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::expects_continue;
use crate::gateway::proxy::classify;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorType};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Reserved at most on the word of a Content-Length; beyond it the buffer grows with what arrives.
const TRUSTED_LENGTH: usize = 16 << 20;

pub(super) async fn request_body(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<Bytes, CallError> {
    let started = Instant::now();
    let limit = shared.settings.limits.header_timeout;
    let body = read(session, limit).await.map_err(|mut error| {
        error.as_down();
        classify(&error)
    });
    ctx.clock.waited_for_client(started);
    body
}

async fn read(session: &mut ServerSession, limit: Duration) -> Result<Bytes, Box<Error>> {
    if expects_continue(session.req_header()) {
        session.write_continue_response().await?;
    }
    let Some(first) = chunk(session, limit).await? else {
        return Ok(Bytes::new());
    };
    let Some(second) = chunk(session, limit).await? else {
        return Ok(first);
    };
    let mut whole = Vec::with_capacity(announced(session).max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    drop((first, second));
    while let Some(chunk) = chunk(session, limit).await? {
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.into())
}

/// Silence longer than `limit` is an error; pingora sees to that for HTTP/1 alone.
async fn chunk(session: &mut ServerSession, limit: Duration) -> Result<Option<Bytes>, Box<Error>> {
    if session.as_http2().is_none() {
        return session.read_request_body().await;
    }
    let late = |_| Error::e_explain(ErrorType::ReadTimedout, "reading an HTTP/2 body");
    let read = timeout(limit, session.read_request_body());
    read.await.unwrap_or_else(late)
}

fn announced(session: &ServerSession) -> usize {
    let length = session.get_header(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    length.unwrap_or(0).min(TRUSTED_LENGTH)
}
