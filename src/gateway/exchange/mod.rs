//! One monitored chat completion (§1.2), whole. It stands in `request_filter` because pingora opens
//! the upstream connection before it reads the body, replays no body over 64 KiB, and cannot write
//! while the upstream is silent; the stages keep the names of pingora's phases.

mod arrival;
mod block;
mod call;
mod capture;
mod check;
mod collect;
mod decide;
mod decode;
mod hold_back;
mod placeholders;
mod read;
mod record;
mod redact;
mod refusal;
mod relay;
mod replace;
mod restore;
mod restored;
mod transform;
mod way;

use super::context::CallContext;
use super::error::CallError;
use super::{Shared, respond};
use crate::config::Durability;
use decide::{Admission, After, Decision, Forward, Incoming};
use monitor_wire::json;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;

/// Answers one POST /v1/chat/completions. What is rare is boxed, so that the future of a common call
/// stays small. An answer that had to be cut is marked in `ctx.cut`.
pub(super) async fn run(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<()> {
    ctx.clock.measures_overhead();
    let body = match read::request_body(shared, session, ctx).await {
        Ok(body) => body,
        Err(error) => return Box::pin(respond::error(session, ctx, &error)).await,
    };
    let scan = match json::scan(&body.bytes) {
        Ok(scan) => scan,
        Err(error) => {
            return Box::pin(respond::error(session, ctx, &CallError::NotJson(error))).await;
        }
    };
    if let Some(told) = &mut ctx.told {
        let chat = json::Chat::read(&body.bytes, &scan);
        told.asks(chat.model(), chat.wants_stream());
    }
    let decision = match decide::admit(shared, session, ctx, Incoming { body, scan }) {
        Admission::Forward(call) => Decision::Forward(call),
        Admission::AwaitVerdict(call) => {
            Box::pin(decide::pre_call(shared, session, ctx, *call)).await
        }
    };
    match decision {
        Decision::Forward(call) => forward(shared, session, ctx, call).await,
        Decision::Block(block) => Box::pin(block.answer(shared, session, ctx)).await,
        Decision::Refuse(error) => Box::pin(respond::error(session, ctx, &error)).await,
    }
}

async fn forward(
    shared: &Shared,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    call: Forward,
) -> Result<()> {
    let registration = call.registration;
    if shared.settings.spool.durability == Durability::BeforeUpstream
        && let Err(error) = Box::pin(registration.wait_until_on_disk(&shared.settings.spool)).await
    {
        registration.post_call_failed(&error);
        return Box::pin(respond::error(session, ctx, &error)).await;
    }
    // On the heap for as long as it takes: it is larger than what a stream needs from here on.
    let calling = Box::pin(call::upstream_peer(shared, session, ctx, call.outgoing));
    let upstream = match calling.await {
        Ok(upstream) => upstream,
        Err(error) => {
            registration.post_call_failed(&error);
            return Box::pin(respond::error(session, ctx, &error)).await;
        }
    };
    match call.after {
        After::Relay(transform) => {
            let answer = relay::Answer {
                upstream,
                registration,
                transform,
            };
            relay::response_body(shared, session, ctx, answer).await
        }
        After::Restore(restore) => {
            Box::pin(restore.response_body(shared, session, ctx, (upstream, registration))).await
        }
        After::Replace(replace) => {
            Box::pin(replace.response_body(shared, session, ctx, (upstream, registration))).await
        }
    }
}

/// Resolves when the client has left. Bytes of a next request are kept for it and no departure.
async fn client_gone(session: &mut ServerSession) {
    let _ = session.read_body_or_idle(true).await;
}
