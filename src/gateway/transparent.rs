//! The way of a call on a transparent route among the model servers and their addresses, as pingora asks for
//! it (CONTRACT 22). That of a monitored call is `exchange/way`'s.

use super::context::CallContext;
use crate::observe::events::UpstreamRetried;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_proxy::Session;
use std::sync::Arc;

/// Where the call goes; a name that does not resolve is a model server that cannot be called.
pub(super) async fn peer(ctx: &mut CallContext) -> Option<Arc<HttpPeer>> {
    if ctx.target.is_none() {
        ctx.target = ctx.shared.upstream.first(&mut ctx.tried).cloned();
    }
    loop {
        let target = ctx.target.clone()?;
        if let Some(told) = &mut ctx.told {
            told.calls(&target);
        }
        if let Ok(peer) = target.upstream.peer(ctx.attempts).await {
            return Some(peer);
        }
        if !fails_over(ctx) {
            return None;
        }
    }
}

/// True when the name has an address that was not tried.
pub(super) fn tries_another_address(ctx: &mut CallContext) -> bool {
    ctx.attempts += 1;
    let target = ctx.target.as_ref();
    let again = target.is_some_and(|target| ctx.attempts < target.upstream.addresses());
    if again {
        UpstreamRetried.emit(&ctx.shared.metrics);
    }
    again
}

/// True when there is another model server to try.
pub(super) fn fails_over(ctx: &mut CallContext) -> bool {
    let failed = ctx.target.take();
    let upstream = &ctx.shared.upstream;
    let next = failed.and_then(|failed| upstream.after(&failed, &mut ctx.tried));
    ctx.target = next.cloned();
    ctx.attempts = 0;
    ctx.target.is_some()
}

/// Whether an answer like 503 sends the call to the next model server, as the settings may allow: only
/// while pingora still has all of its body that was read.
pub(super) fn goes_elsewhere(session: &Session, status: u16, ctx: &mut CallContext) -> bool {
    let is_whole = !session.as_ref().retry_buffer_truncated();
    let Some(target) = ctx.target.clone().filter(|_| is_whole) else {
        return false;
    };
    let upstream = &ctx.shared.upstream;
    let next = upstream.instead_of(&target, status, &mut ctx.tried);
    let Some(next) = next.cloned() else {
        return false;
    };
    ctx.target = Some(next);
    (ctx.attempts, ctx.received, ctx.repeats) = (0, 0, true);
    true
}
