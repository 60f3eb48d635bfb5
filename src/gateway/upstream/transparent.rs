//! The attempts of a call on a transparent route, as pingora asks for them (CONTRACT 22). Monitored calls
//! have [`super::attempts`].

use crate::gateway::context::CallContext;
use crate::gateway::limits::MemoryReservation;
use crate::observe::events::UpstreamRetried;
use pingora_core::Result;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::{Error, ErrorType};
use pingora_proxy::Session;
use std::sync::Arc;

/// What pingora reads of an answer beyond what it is writing: four pieces of 64 KiB.
const READ_AHEAD: usize = 256 << 10;
/// An answer counts for at most one of so many parts of the memory, however little there is.
const PARTS: usize = 8;

/// The peer of the next attempt. A server whose name does not resolve counts as unreachable.
pub(crate) async fn peer(ctx: &mut CallContext) -> Option<Arc<HttpPeer>> {
    if ctx.server.is_none() {
        let group = ctx.snapshot.upstreams.get(ctx.upstream);
        ctx.server = group.first(&mut ctx.tried).cloned();
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
    let group = ctx.snapshot.upstreams.get(ctx.upstream);
    let next = failed.and_then(|failed| group.after_connect_failure(&failed, &mut ctx.tried));
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
    let group = ctx.snapshot.upstreams.get(ctx.upstream);
    let next = group.after_status(&server, status, &mut ctx.tried);
    let Some(next) = next.cloned() else {
        return false;
    };
    ctx.server = Some(next);
    (ctx.attempts, ctx.received, ctx.repeats) = (0, 0, true);
    true
}

/// Counts what has come of the answer and was not sent yet, with what pingora reads ahead of it: so much of each
/// answer is in memory where the client reads none. `bytes` have come now.
///
/// # Errors
/// When there is no memory for an answer of which nothing has been sent yet: it becomes a 503. One that has begun
/// goes on, since the pieces ahead are few.
pub(crate) fn count_unread(
    session: &Session,
    bytes: usize,
    has_ended: bool,
    ctx: &mut CallContext,
) -> Result<()> {
    ctx.answered = ctx.answered.saturating_add(bytes);
    let unread = ctx.answered.saturating_sub(session.body_bytes_sent());
    let ahead = if has_ended { 0 } else { READ_AHEAD };
    let (memory, holder) = (&ctx.snapshot.memory, ctx.tenant.holder);
    let held = ctx.held_answer.take();
    let mut held = held.unwrap_or_else(|| MemoryReservation::new(memory, holder));
    let covered = held.cover((unread + ahead).min(memory.limit_bytes() / PARTS));
    ctx.held_answer = Some(held);
    match covered {
        Err(full) if session.response_written().is_none() => {
            ctx.exhausted = Some(full.0);
            Error::e_explain(ErrorType::InternalError, "no memory for the answer")
        }
        _ => Ok(()),
    }
}
