//! The attempts of a call on a transparent route, as pingora asks for them (CONTRACT 22). Monitored calls
//! have [`super::attempts`].

use crate::gateway::context::CallContext;
use crate::observe::events::UpstreamRetried;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_proxy::Session;
use std::sync::Arc;

/// The peer of the next attempt. A server whose name does not resolve counts as unreachable.
pub(crate) async fn peer(ctx: &mut CallContext) -> Option<Arc<HttpPeer>> {
    if ctx.server.is_none() {
        ctx.server = ctx.snapshot.upstream.first(&mut ctx.tried).cloned();
    }
    loop {
        let server = ctx.server.clone()?;
        if let Some(trace) = &mut ctx.trace {
            trace.set_server(&server);
        }
        if let Ok(peer) = server.resolver.peer(ctx.attempts).await {
            return Some(peer);
        }
        if !switch_server(ctx) {
            return None;
        }
    }
}

/// Moves on to the next address of the server; false when all were tried.
pub(crate) fn switch_address(ctx: &mut CallContext) -> bool {
    ctx.attempts += 1;
    let server = ctx.server.as_ref();
    let again = server.is_some_and(|server| ctx.attempts < server.resolver.address_count());
    if again {
        UpstreamRetried.emit(&ctx.snapshot.metrics);
    }
    again
}

/// Fails over to the next server; false when all were tried.
pub(crate) fn switch_server(ctx: &mut CallContext) -> bool {
    let failed = ctx.server.take();
    let upstream = &ctx.snapshot.upstream;
    let next = failed.and_then(|failed| upstream.after_connect_failure(&failed, &mut ctx.tried));
    ctx.server = next.cloned();
    ctx.attempts = 0;
    ctx.server.is_some()
}

/// Fails over because of an answer like 503, where the settings allow it. Possible only while pingora still
/// has all of the request body that it read.
pub(crate) fn repeat_elsewhere(session: &Session, status: u16, ctx: &mut CallContext) -> bool {
    let has_body = !session.as_ref().retry_buffer_truncated();
    let Some(server) = ctx.server.clone().filter(|_| has_body) else {
        return false;
    };
    let upstream = &ctx.snapshot.upstream;
    let next = upstream.after_status(&server, status, &mut ctx.tried);
    let Some(next) = next.cloned() else {
        return false;
    };
    ctx.server = Some(next);
    (ctx.attempts, ctx.received, ctx.repeats) = (0, 0, true);
    true
}
