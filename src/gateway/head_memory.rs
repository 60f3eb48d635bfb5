//! The memory of a call's head (`limits.client_bytes`) once it is complete. The guard of the connection counts the
//! heads of HTTP/1 from their first byte on, those of HTTP/2 are counted here; either until the call has ended.

use super::context::CallContext;
use super::guard::GuardedStream;
use super::limits::{Full, SHORT_HEAD};
use crate::edge;
use crate::observe::Outcome;
use crate::observe::events::Overloaded;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::RequestHeader;
use std::net::IpAddr;

/// What HTTP/2 adds to the length of each header (RFC 9113 10.5.1).
const OF_A_HEADER: usize = 32;

/// The address of the client, which a trusted proxy may name.
pub(super) fn client(session: &ServerSession, ctx: &CallContext) -> Option<IpAddr> {
    let peer = session.client_addr().and_then(|peer| peer.as_inet());
    let proxies = &ctx.snapshot.settings.trusted_proxies;
    edge::client(
        proxies,
        peer.map(|peer| peer.ip()),
        &session.req_header().headers,
    )
}

/// Counts the head of HTTP/1 for the client that a trusted proxy names: while it arrived, it counted for the proxy.
pub(super) fn count_for_client(session: &ServerSession, ctx: &CallContext) -> Result<(), Full> {
    let Some(client) = ctx.client.filter(|_| ctx.has_trusted_proxies()) else {
        return Ok(());
    };
    let stream = session.as_http1().map(|h1| h1.stream());
    match stream.and_then(GuardedStream::guard_of) {
        Some(guard) => guard.count_for_client(client),
        None => Ok(()),
    }
}

/// Reserves the memory of a long head of HTTP/2.
pub(super) fn cover(session: &ServerSession, ctx: &mut CallContext) -> Result<(), Full> {
    let length = match session.is_http2() {
        true => length(session.req_header()),
        false => 0,
    };
    if length > SHORT_HEAD {
        let head = ctx.head.insert(ctx.snapshot.heads.share(ctx.client));
        head.cover(length)?;
    }
    Ok(())
}

/// Resets the stream: a client that opens no window would keep an answer, and the head with it.
pub(super) async fn refuse(
    session: &mut ServerSession,
    ctx: &mut CallContext,
    full: Full,
) -> Result<bool> {
    Overloaded { room: full.0 }.emit(&ctx.snapshot.metrics);
    ctx.outcome = Outcome::GatewayError;
    ctx.detail = Some("overloaded");
    ctx.cut = true;
    session.shutdown().await;
    Ok(true)
}

/// Counts the head for the access key of the call, which is known.
pub(super) fn count_for_key(session: &ServerSession, ctx: &mut CallContext) {
    let holder = ctx.tenant.holder;
    let stream = session.as_http1().map(|h1| h1.stream());
    if let Some(guard) = stream.and_then(GuardedStream::guard_of) {
        guard.count_for(holder);
    }
    if let Some(head) = &mut ctx.head {
        head.count_for(holder);
    }
}

fn length(head: &RequestHeader) -> usize {
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + OF_A_HEADER);
    head.raw_path().len() + headers.sum::<usize>()
}
