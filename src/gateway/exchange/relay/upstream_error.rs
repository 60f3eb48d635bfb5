//! Relays an upstream answer of 400 or above on the monitored route (§7.3.1, CONTRACT 40): an error envelope
//! passes unchanged, any other body is wrapped in one.

use crate::backend::{CallFailure, ClosedBy};
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::exchange::answer::Answer;
use crate::gateway::exchange::call::UpstreamResponse;
use crate::gateway::exchange::capture::{Captured, encoding};
use crate::gateway::exchange::{client_gone, decode};
use crate::gateway::headers;
use crate::gateway::respond;
use crate::observe::Outcome;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use monitor_model::ErrorType;
use monitor_wire::protocol::OwnError;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_error::Error;
use pingora_http::ResponseHeader;
use serde::Deserialize;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The longest error body that is read; a longer one is no envelope.
const LARGEST_ERROR: usize = 1 << 20;
/// Bytes of a body without an envelope that the error message quotes.
const QUOTED: usize = 2 << 10;
/// The longest time for reading an error body.
const LONGEST_ERROR: Duration = Duration::from_secs(10);

/// Relays the upstream's error and registers it.
pub(super) async fn relay(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    answer: Answer,
    mut head: ResponseHeader,
) -> Result<()> {
    let Answer {
        mut upstream,
        registration,
        ..
    } = answer;
    let started = Instant::now();
    let collected = collect(&mut upstream, session).await;
    ctx.clock.add_upstream_wait(started);
    let Some(ErrorBody { bytes, is_whole }) = collected else {
        upstream.abandon();
        registration.post_call_failed(&CallError::ClientGone);
        return respond::error(session, ctx, &CallError::ClientGone).await;
    };
    let status = head.status.as_u16();
    let text = plain_text(&head, &bytes);
    let (kind, body) = match is_whole && ctx.protocol.is_error(&text) {
        true => (upstream_type(&text), bytes),
        false => (None, wrap(ctx, &mut head, &text)?),
    };
    registration.post_call(Captured::default(), Some(failure(status, kind)));
    if is_whole {
        upstream.release().await;
    } else {
        upstream.abandon();
    }
    ctx.outcome = Outcome::UpstreamStatus;
    headers::for_client(&mut head, http::Version::HTTP_10, &ctx.request_id)?;
    respond::whole(session, ctx, head, body).await
}

fn plain_text(head: &ResponseHeader, bytes: &Bytes) -> Bytes {
    match encoding(head) {
        None => bytes.clone(),
        Some(encoding) => {
            let decoded = decode::decode(&encoding, bytes, LARGEST_ERROR);
            decoded.bytes.into()
        }
    }
}

/// An envelope that quotes the text, with a head to match.
fn wrap(ctx: &CallContext, head: &mut ResponseHeader, text: &[u8]) -> Result<Bytes> {
    let status = head.status.as_u16();
    for name in [CONTENT_ENCODING, CONTENT_LENGTH, ETAG] {
        head.remove_header(&name);
    }
    head.insert_header(CONTENT_TYPE, "application/json")?;
    let error = OwnError {
        kind: ErrorType::UpstreamError,
        status,
        message: &quote(status, text),
        request_id: &ctx.request_id,
        reason: None,
    };
    Ok(ctx.protocol.error(&error).into())
}

/// The body of an error, as far as it was read.
struct ErrorBody {
    bytes: Bytes,
    is_whole: bool,
}

/// Reads the body; None when the client has left.
async fn collect(
    upstream: &mut UpstreamResponse,
    session: &mut ServerSession,
) -> Option<ErrorBody> {
    let mut body = Vec::new();
    let reading = async {
        while let Some(chunk) = upstream.read().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_ERROR {
                return Ok(false);
            }
        }
        Ok::<_, Box<Error>>(true)
    };
    let is_whole = tokio::select! {
        biased;
        read = timeout(LONGEST_ERROR, reading) => matches!(read, Ok(Ok(true))),
        () = client_gone(session) => return None,
    };
    Some(ErrorBody {
        bytes: body.into(),
        is_whole,
    })
}

fn quote(status: u16, text: &[u8]) -> String {
    let quoted = String::from_utf8_lossy(&text[..text.len().min(QUOTED)]);
    let quoted = quoted.trim();
    if quoted.is_empty() {
        return format!("the upstream answered with status {status} and an empty body");
    }
    quoted.to_owned()
}

/// The `error.type` of the upstream's envelope, if it is a plain word.
fn upstream_type(envelope: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Envelope {
        error: Inside,
    }
    #[derive(Deserialize)]
    struct Inside {
        r#type: String,
    }
    let kind = serde_json::from_slice::<Envelope>(envelope)
        .ok()?
        .error
        .r#type;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    ((1..=64).contains(&kind.len()) && kind.bytes().all(plain)).then_some(kind)
}

/// The record's failure. Its message is the gateway's: the upstream's may quote the prompt or a key.
fn failure(code: u16, kind: Option<String>) -> CallFailure {
    CallFailure {
        kind: kind.unwrap_or_else(|| ErrorType::UpstreamError.as_str().into()),
        code,
        message: format!("the upstream answered with status {code}"),
        closed_by: ClosedBy::Upstream,
    }
}
