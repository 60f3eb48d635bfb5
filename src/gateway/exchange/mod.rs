//! One monitored chat completion (§1.2), from its body to its record. It runs inside `request_filter` because
//! pingora opens the upstream connection before it reads the body, replays no body over 64 KiB, and cannot
//! write while the upstream is silent. The stages are named after pingora's phases.

mod answer;
mod async_call;
mod block;
mod body_buffer;
mod call;
mod capture;
mod decide;
mod decode;
mod held;
mod hold_back;
mod read;
mod record;
mod redaction;
mod relay;
mod scan_roles;
mod streaming;
mod upstream_error;
mod upstream_request;
mod verdict;

use super::context::CallContext;
use super::error::CallError;
use super::respond;
use super::state::Snapshot;
use crate::config::Durability;
use crate::edge::Coding;
use crate::fair_queue::{Claim, QUANTUM, Urgency, heavy};
use answer::Answer;
use body_buffer::Body;
use decide::{Admission, AnswerHandling, Decision, Forward, ParsedBody};
use monitor_wire::json;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use std::pin::pin;

/// How far bodies expand as a rule, for the cost of decoding one.
const USUAL_RATIO: usize = 8;

/// Answers one POST /v1/chat/completions. Rare cases are boxed, so that the future of a common call stays
/// small. An answer that was cut off is marked in `ctx.cut`.
pub(super) async fn run(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<()> {
    ctx.clock.measure_overhead();
    let body = match read::request_body(snapshot, session, ctx).await {
        Ok(body) => body,
        Err(error) => return Box::pin(respond::error(session, ctx, &error)).await,
    };
    let claim = Claim {
        tenant: ctx.tenant,
        urgency: Urgency::Awaited,
    };
    let coding = Coding::of(&session.req_header().headers);
    let body = match coding.map_err(|unknown| CallError::Unsupported(unknown.into())) {
        Ok(None) => body,
        Ok(Some(coding)) => match Box::pin(decode(snapshot, claim, body, coding)).await {
            Ok(body) => body,
            Err(error) => return Box::pin(respond::error(session, ctx, &error)).await,
        },
        Err(error) => return Box::pin(respond::error(session, ctx, &error)).await,
    };
    let cost = QUANTUM + body.bytes.len() as u64;
    let handled = pin!(handle(snapshot, session, ctx, body));
    let turns = &snapshot.turns;
    turns.until_first_wait(claim, cost, handled).await
}

/// Decodes a compressed body once it is its turn.
async fn decode(
    snapshot: &Snapshot,
    claim: Claim,
    body: Body,
    coding: Coding,
) -> Result<Body, CallError> {
    let cost = QUANTUM + (body.bytes.len() * USUAL_RATIO) as u64;
    let decoding = pin!(decode::decoded(snapshot, body, coding));
    snapshot.turns.until_first_wait(claim, cost, decoding).await
}

/// Answers a call whose body is complete.
async fn handle(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    body: Body,
) -> Result<()> {
    let length = body.bytes.len();
    let scan = match heavy(length, || json::scan(&body.bytes)) {
        Ok(scan) => scan,
        Err(error) => {
            return Box::pin(respond::error(session, ctx, &CallError::NotJson(error))).await;
        }
    };
    if let Some(trace) = &mut ctx.trace {
        let chat = json::Chat::read(&body.bytes, &scan);
        trace.set_request(chat, &session.req_header().headers);
    }
    let parsed = ParsedBody { body, scan };
    let room = match &snapshot.spool {
        // The record of a call that waits for its verdict is delivered by its check, whatever the disk does.
        Some(spool)
            if !spool.has_room(ctx.tenant, length as u64)
                && !decide::awaits_verdict(snapshot, session, ctx) =>
        {
            Some(Box::pin(spool.wait_for_room(ctx.tenant, length as u64)).await)
        }
        _ => None,
    };
    let admission = heavy(length, || decide::admit(snapshot, session, ctx, parsed));
    drop(room);
    let decision = match admission {
        Admission::Forward(call) => Decision::Forward(call),
        Admission::AwaitVerdict(call) => {
            Box::pin(decide::pre_call(snapshot, session, ctx, *call)).await
        }
    };
    match decision {
        Decision::Forward(call) => forward(snapshot, session, ctx, call).await,
        Decision::Block(block) => Box::pin(block.answer(snapshot, session, ctx)).await,
        Decision::Refuse(error) => Box::pin(respond::error(session, ctx, &error)).await,
    }
}

async fn forward(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    call: Forward,
) -> Result<()> {
    let registration = call.registration;
    let spool = &snapshot.settings.spool;
    if spool.durability == Durability::BeforeUpstream
        && let Err(error) = Box::pin(registration.wait_until_on_disk(spool)).await
    {
        registration.post_call_failed(&error);
        return Box::pin(respond::error(session, ctx, &error)).await;
    }
    // Boxed only until the response head: the future is larger than what a stream needs from there on.
    let calling = Box::pin(call::upstream_peer(snapshot, session, ctx, call.request));
    let upstream = match calling.await {
        Ok(upstream) => upstream,
        Err(error) => {
            registration.post_call_failed(&error);
            return Box::pin(respond::error(session, ctx, &error)).await;
        }
    };
    let answer = Answer::new(upstream, registration);
    match call.handling.of(answer.upstream.head()) {
        AnswerHandling::Relay(filter) => {
            relay::response_body(snapshot, session, ctx, answer.filtered(filter)).await
        }
        AnswerHandling::Hold(hold) | AnswerHandling::HoldBack { hold, .. } => {
            Box::pin(hold.response_body(snapshot, session, ctx, answer)).await
        }
    }
}

/// Resolves when the client has left. Early bytes of its next request are kept and do not count.
async fn client_gone(session: &mut ServerSession) {
    let _ = session.read_body_or_idle(true).await;
}
