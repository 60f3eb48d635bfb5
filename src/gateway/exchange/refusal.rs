//! An upstream answer of 400 or above on the monitored route (§7.3.1, CONTRACT 40): the envelope
//! passes as it is, anything else is put into one.

use super::call::Answering;
use super::capture::{Captured, encoding};
use super::client_gone;
use super::decode;
use super::record::Registration;
use crate::backend::{CallFailure, ClosedBy};
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers;
use crate::gateway::respond;
use crate::observe::Outcome;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use monitor_model::{ErrorEnvelope, ErrorType};
use monitor_wire::json;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_error::Error;
use pingora_http::ResponseHeader;
use serde::Deserialize;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// An error body is read up to this; none that is larger is an envelope.
const LARGEST_ERROR: usize = 1 << 20;
/// Of a body that is no envelope, this much is quoted.
const QUOTED: usize = 2 << 10;

/// An error body that drips is taken as far as it came within this.
const LONGEST_ERROR: Duration = Duration::from_secs(10);

/// Relays the upstream's refusal and registers it.
pub(super) async fn relay(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    (mut upstream, mut head): (Answering, ResponseHeader),
    registration: Registration,
) -> Result<()> {
    let started = Instant::now();
    let collected = collect(&mut upstream, session).await;
    ctx.clock.waited_for_upstream(started);
    let Some((body, whole)) = collected else {
        upstream.abandon();
        registration.post_call_failed(&CallError::ClientGone);
        return respond::error(session, ctx, &CallError::ClientGone).await;
    };
    let status = head.status.as_u16();
    let text = match encoding(&head) {
        None => body.clone(),
        Some(encoding) => decode::decode(&encoding, &body, LARGEST_ERROR).0.into(),
    };
    let (kind, body) = if whole && json::is_envelope(&text) {
        (their_type(&text), body)
    } else {
        let envelope = ErrorEnvelope::new(ErrorType::UpstreamError, status, quote(status, &text));
        for name in [CONTENT_ENCODING, CONTENT_LENGTH, ETAG] {
            head.remove_header(&name);
        }
        head.insert_header(CONTENT_TYPE, "application/json")?;
        (None, envelope.to_json().into())
    };
    registration.post_call(Captured::default(), Some(failure(status, kind)));
    if whole {
        upstream.release().await;
    } else {
        upstream.abandon();
    }
    ctx.outcome = Outcome::UpstreamStatus;
    headers::for_client(&mut head, http::Version::HTTP_10, &ctx.request_id)?;
    respond::whole(session, ctx, head, body).await
}

/// The body, None when the client left, and whether it is all there.
async fn collect(upstream: &mut Answering, session: &mut ServerSession) -> Option<(Bytes, bool)> {
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
    let whole = tokio::select! {
        biased;
        read = timeout(LONGEST_ERROR, reading) => matches!(read, Ok(Ok(true))),
        () = client_gone(session) => return None,
    };
    Some((body.into(), whole))
}

fn quote(status: u16, text: &[u8]) -> String {
    let quoted = String::from_utf8_lossy(&text[..text.len().min(QUOTED)]);
    let quoted = quoted.trim();
    if quoted.is_empty() {
        return format!("the upstream answered with status {status} and no text");
    }
    quoted.to_owned()
}

/// `error.type` of the upstream's envelope where it is a plain word.
fn their_type(envelope: &[u8]) -> Option<String> {
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

/// The upstream's own words may quote the prompt or a key, so the record has ours.
fn failure(code: u16, kind: Option<String>) -> CallFailure {
    CallFailure {
        kind: kind.unwrap_or_else(|| ErrorType::UpstreamError.as_str().into()),
        code,
        message: format!("the upstream answered with status {code}"),
        closed_by: ClosedBy::Upstream,
    }
}
