//! The request body, whole (CONTRACT 1). One chunk is taken as it is; more are put together in one
//! buffer, so a body costs its own size and one chunk.

use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers::expects_continue;
use crate::gateway::proxy::classify;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use pingora_core::protocols::http::ServerSession;
use pingora_error::Error;
use std::time::Instant;

/// Reserved at most on the word of a Content-Length; beyond it the buffer grows with what arrives.
const TRUSTED_LENGTH: usize = 16 << 20;

pub(super) async fn request_body(
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<Bytes, CallError> {
    let started = Instant::now();
    let body = read(session).await.map_err(|mut error| {
        error.as_down();
        classify(&error)
    });
    ctx.clock.waited_for_client(started);
    body
}

async fn read(session: &mut ServerSession) -> Result<Bytes, Box<Error>> {
    if expects_continue(session.req_header()) {
        session.write_continue_response().await?;
    }
    let Some(first) = session.read_request_body().await? else {
        return Ok(Bytes::new());
    };
    let Some(second) = session.read_request_body().await? else {
        return Ok(first);
    };
    let mut whole = Vec::with_capacity(announced(session).max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    drop((first, second));
    while let Some(chunk) = session.read_request_body().await? {
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.into())
}

fn announced(session: &ServerSession) -> usize {
    let length = session.get_header(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    length.unwrap_or(0).min(TRUSTED_LENGTH)
}
