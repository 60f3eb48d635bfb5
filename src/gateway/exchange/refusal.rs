//! An upstream answer of 400 or above on the monitored route (§7.3.1, CONTRACT 40): the envelope
//! passes as it is, anything else is put into one.

use super::call::Answering;
use super::capture::{Captured, encoding};
use super::decode;
use super::record::Registration;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::headers;
use crate::gateway::respond;
use crate::json;
use crate::model::{ErrorEnvelope, ErrorType};
use crate::observe::Outcome;
use crate::telemetry::{CallFailure, ClosedBy};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use serde::Deserialize;
use std::time::Instant;
use tokio::time::timeout;

/// An error body is read up to this; none that is larger is an envelope.
const LARGEST_ERROR: usize = 1 << 20;
/// Of a body that is no envelope, this much is quoted.
const QUOTED: usize = 2 << 10;

/// The parts of an upstream's envelope that go into the record.
#[derive(Default, Deserialize)]
struct Theirs {
    #[serde(default)]
    error: TheirError,
}

#[derive(Default, Deserialize)]
struct TheirError {
    #[serde(default)]
    message: String,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// Relays the upstream's refusal and registers it.
pub(super) async fn relay(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    (mut upstream, mut head): (Answering, ResponseHeader),
    registration: Registration,
) -> Result<()> {
    let started = Instant::now();
    let (body, whole) = collect(&mut upstream, shared).await;
    ctx.clock.waited_for_upstream(started);
    let status = head.status.as_u16();
    let text = match encoding(&head) {
        None => body.clone(),
        Some(encoding) => decode::decode(&encoding, &body, LARGEST_ERROR).0.into(),
    };
    let (failure, body) = if whole && json::is_envelope(&text) {
        (of_envelope(status, &text), body)
    } else {
        let message = quote(status, &text);
        let envelope =
            ErrorEnvelope::new(ErrorType::UpstreamError, status, message.clone()).to_json();
        for name in [CONTENT_ENCODING, CONTENT_LENGTH, ETAG] {
            head.remove_header(&name);
        }
        head.insert_header(CONTENT_TYPE, "application/json")?;
        (
            failure(status, ErrorType::UpstreamError.as_str(), message),
            envelope.into(),
        )
    };
    registration.post_call(Captured::default(), Some(failure));
    if whole {
        upstream.release(shared).await;
    } else {
        upstream.abandon().await;
    }
    ctx.outcome = Outcome::UpstreamStatus;
    headers::for_client(&mut head, http::Version::HTTP_10, &ctx.request_id)?;
    respond::whole(session, ctx, head, body).await
}

async fn collect(upstream: &mut Answering, shared: &Shared) -> (Bytes, bool) {
    let mut body = Vec::new();
    loop {
        match timeout(shared.upstream.timeout(), upstream.read()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None)) => return (body.into(), true),
            Ok(Err(_)) | Err(_) => return (body.into(), false),
        }
        if body.len() > LARGEST_ERROR {
            return (body.into(), false);
        }
    }
}

fn quote(status: u16, text: &[u8]) -> String {
    let quoted = String::from_utf8_lossy(&text[..text.len().min(QUOTED)]);
    let quoted = quoted.trim();
    if quoted.is_empty() {
        return format!("the upstream answered with status {status} and no text");
    }
    quoted.to_owned()
}

fn of_envelope(status: u16, text: &[u8]) -> CallFailure {
    let theirs: Theirs = serde_json::from_slice(text).unwrap_or_default();
    let mut message = theirs.error.message;
    let cut = (0..=QUOTED.min(message.len()))
        .rev()
        .find(|at| message.is_char_boundary(*at));
    message.truncate(cut.unwrap_or(0));
    failure(
        status,
        theirs
            .error
            .kind
            .as_deref()
            .unwrap_or(ErrorType::UpstreamError.as_str()),
        message,
    )
}

fn failure(code: u16, kind: &str, message: String) -> CallFailure {
    CallFailure {
        kind: kind.into(),
        code,
        message,
        closed_by: ClosedBy::Upstream,
    }
}
