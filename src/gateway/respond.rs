//! Responses that the gateway writes itself: documents and errors (§2.6). Also reads or discards a request
//! body that nobody has read.

use super::context::CallContext;
use super::docs::Asset;
use super::error::CallError;
use super::guard::{LINGER_BYTES, LINGER_SILENCE, LINGER_TIME, STREAM_LINGER};
use super::headers::{REQUEST_ID, X_ACCEL_BUFFERING, expects_continue, for_budget, for_website};
use crate::edge::cors;
use crate::observe::events::{ConnectionEnded, Overloaded};
use crate::observe::{EndReason, Metrics, Outcome};
use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderName, HeaderValue, Version, header};
use monitor_wire::protocol::OwnError;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_error::{Error, ErrorSource};
use pingora_http::{RequestHeader, ResponseHeader};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Tells a program whether to try again, which would repeat an answer of the gateway's.
pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An unread body up to this size is read, so that the connection can be kept.
const SMALL_BODY: usize = 64 << 10;

/// Answers a failed call. Writes nothing when the client has left.
pub(crate) async fn error(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    error: &CallError,
) -> Result<()> {
    ctx.outcome = error.outcome();
    ctx.detail = Some(error.detail());
    emit(&ctx.snapshot.metrics, error);
    let Some(mut answer) = error.answer() else {
        ctx.cut = true;
        session.shutdown().await;
        return Ok(());
    };
    if is_refused_by_policy(error) {
        answer.status = ctx.protocol.refusal_status();
    }
    if error.closes() {
        session.set_keepalive(None);
    }
    let mut head = ResponseHeader::build(answer.status, Some(8))?;
    head.insert_header(CONTENT_TYPE, "application/json")?;
    if let Some(allow) = answer.allow {
        head.insert_header(ALLOW, allow)?;
    }
    if let Some(seconds) = answer.retry_after {
        head.insert_header(RETRY_AFTER, HeaderValue::from(seconds))?;
    }
    // Clients of any API try again after a wait that they are told; the window of a budget may last for weeks.
    let takes_advice = ctx.protocol.takes_advice() || answer.retry_after.is_some();
    if takes_advice && !answer.may_retry {
        head.insert_header(SHOULD_RETRY, "false")?;
    }
    if answer.status == 426 {
        head.insert_header(UPGRADE, "HTTP/1.1")?;
    }
    let body = ctx.protocol.error(&OwnError {
        kind: answer.kind,
        status: answer.status,
        message: &answer.message,
        request_id: &ctx.request_id,
        reason: answer.reason,
    });
    whole(session, ctx, head, body.into()).await?;
    if matches!(error, CallError::Overloaded(_)) {
        discard(session, LINGER_BYTES).await;
    }
    Ok(())
}

/// Whether the policy of the application refuses what the call asks for.
fn is_refused_by_policy(error: &CallError) -> bool {
    use CallError::{Flagged, StoredAnswer, Unread};
    matches!(error, Unread | Flagged(_) | StoredAnswer)
}

/// Frees the client's headers, which nobody reads once the head of an answer is written. A stream may take minutes.
pub(super) fn free_request_head(session: &mut ServerSession) -> Result<()> {
    let head = session.req_header();
    let (method, version) = (head.method.clone(), head.version);
    let mut empty = RequestHeader::build(method, b"/", Some(0))?;
    empty.set_version(version);
    *session.req_header_mut() = empty;
    Ok(())
}

/// Whether the client has part of a final answer.
pub(super) fn has_begun(session: &ServerSession) -> bool {
    session
        .response_written()
        .is_some_and(|head| !head.status.is_informational())
}

/// Closes the connection, so that the client cannot take the incomplete answer for a complete one.
pub(super) async fn cut(session: &mut ServerSession, ctx: &mut CallContext, error: &Error) {
    ctx.outcome = match error.esource {
        _ if ctx.cut => ctx.outcome,
        ErrorSource::Downstream => Outcome::ClientGone,
        _ => Outcome::UpstreamBroken,
    };
    session.shutdown().await;
}

/// Counts and logs the failures that operators act on.
fn emit(metrics: &Metrics, error: &CallError) {
    match error {
        CallError::Overloaded(room) => Overloaded { room: *room }.emit(metrics),
        CallError::SlowBody => {
            let reason = EndReason::SlowBody;
            ConnectionEnded { reason }.emit(metrics);
        }
        _ => {}
    }
}

/// Answers with a built-in document.
pub(crate) async fn asset(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    asset: &Asset,
) -> Result<()> {
    let mut head = ResponseHeader::build(200, Some(10))?;
    head.insert_header(CONTENT_TYPE, asset.content_type)?;
    head.insert_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")?;
    if !asset.csp.is_empty() {
        head.insert_header(header::CONTENT_SECURITY_POLICY, asset.csp)?;
    }
    head.insert_header(
        CACHE_CONTROL,
        if asset.cache {
            "public, max-age=86400"
        } else {
            "no-cache"
        },
    )?;
    if asset.encoding.is_some() {
        head.insert_header(header::VARY, "accept-encoding")?;
    }
    let (body, encoding) = asset.body_for(session.get_header(header::ACCEPT_ENCODING));
    if let Some(encoding) = encoding {
        head.insert_header(CONTENT_ENCODING, encoding)?;
    }
    whole(session, ctx, head, body).await
}

/// Answers a browser that asks whether a page of a listed website may call, with these methods.
pub(crate) async fn preflight(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    methods: &'static str,
) -> Result<()> {
    let mut head = ResponseHeader::build(204, Some(8))?;
    for (name, value) in cors::allowed(methods, &session.req_header().headers) {
        head.insert_header(name, value)?;
    }
    send(session, ctx, head, Bytes::new()).await
}

/// Writes head and body, reads or discards an unread request body, and finishes the session.
pub(crate) async fn whole(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut head: ResponseHeader,
    body: Bytes,
) -> Result<()> {
    head.insert_header(CONTENT_LENGTH, HeaderValue::from(body.len()))?;
    send(session, ctx, head, body).await
}

/// Like [`whole`], with the events of a stream as the body. They have no length: with one, a client might
/// wait for all of them.
pub(crate) async fn stream(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut head: ResponseHeader,
    events: Bytes,
) -> Result<()> {
    head.insert_header(CONTENT_TYPE, "text/event-stream")?;
    head.insert_header(CACHE_CONTROL, "no-cache")?;
    head.insert_header(X_ACCEL_BUFFERING, "no")?;
    head.remove_header(&CONTENT_LENGTH);
    if session.req_header().version == Version::HTTP_11 {
        head.insert_header(TRANSFER_ENCODING, "chunked")?;
    }
    send(session, ctx, head, events).await
}

async fn send(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    mut head: ResponseHeader,
    body: Bytes,
) -> Result<()> {
    let unread = !read_small_body(session).await;
    if unread {
        session.set_keepalive(None);
    }
    ctx.status = head.status.as_u16();
    head.insert_header(REQUEST_ID, ctx.request_id.as_str())?;
    for_website(&mut head, &ctx.website)?;
    for_budget(&mut head, ctx.budget)?;
    session.write_response_header(Box::new(head)).await?;
    session.write_response_body(body, true).await?;
    ctx.clock.mark_first_byte(Instant::now());
    if unread {
        linger(session).await;
    }
    Ok(())
}

/// Whether the request body has been read to its end; a small one is read here.
async fn read_small_body(session: &mut ServerSession) -> bool {
    if session.is_body_done() || session.is_body_empty() {
        return true;
    }
    let head = session.req_header();
    let length = head
        .headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let small = length.is_some_and(|length: usize| length <= SMALL_BODY);
    if !small || expects_continue(head) {
        return false;
    }
    discard(session, SMALL_BODY).await;
    session.is_body_done()
}

/// Closing with unread bytes would reset the connection, and the client could lose the answer.
async fn linger(session: &mut ServerSession) {
    if !expects_continue(session.req_header()) {
        discard(session, LINGER_BYTES).await;
    }
}

/// Over HTTP/2 a stream is closed by itself behind its answer (RFC 9113 8.1), and little more is read of it.
fn linger_time(session: &ServerSession) -> Duration {
    match session.is_http2() {
        true => STREAM_LINGER,
        false => LINGER_TIME,
    }
}

async fn discard(session: &mut ServerSession, at_most: usize) {
    let longest = linger_time(session);
    let mut left = at_most;
    let reading = async {
        while let Ok(Ok(Some(bytes))) = timeout(LINGER_SILENCE, session.read_request_body()).await {
            left = left.saturating_sub(bytes.len());
            if left == 0 {
                break;
            }
        }
    };
    let _ = timeout(longest, reading).await;
}
