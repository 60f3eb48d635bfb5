//! One monitored call (§1.2), from its body to its record. It runs inside `request_filter` because
//! pingora opens the upstream connection before it reads the body, replays no body over 64 KiB, and cannot
//! write while the upstream is silent. The stages are named after pingora's phases.

mod answer;
mod answer_handling;
mod async_call;
mod block;
mod body;
mod call;
mod capture;
mod decide;
mod decode;
mod embeddings;
mod held;
mod hold_back;
mod named_user;
mod record;
mod redaction;
mod relay;
mod scan_roles;
mod stored;
mod streaming;
mod token_count;
mod upstream_request;
mod verdict;

use super::context::CallContext;
use super::error::CallError;
use super::limits::MemoryReservation;
use super::respond;
use super::state::Snapshot;
use crate::config::Durability;
use crate::edge::Coding;
use crate::fair_queue::{Claim, QUANTUM, Urgency, heavy};
use answer::Answer;
use answer_handling::AnswerHandling;
use body::Body;
use decide::{Admission, Decision, Forward, ParsedBody};
pub(super) use decide::{has_checked_answers, is_checked};
use embeddings::EmbeddingsCall;
pub(super) use embeddings::reading_policy;
use monitor_model::Embeddings;
use monitor_wire::json;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use record::Registration;
use std::pin::pin;
pub(super) use stored::StoredAnswer;
pub(super) use token_count::redacting_policy;

/// How far bodies expand as a rule, for the cost of decoding one.
const USUAL_RATIO: usize = 8;

/// Answers one POST of a monitored path. Rare cases are boxed, so that the future of a common call stays
/// small. An answer that was cut off is marked in `ctx.cut`.
pub(super) async fn run(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
) -> Result<()> {
    ctx.clock.measure_overhead();
    let body = match body::request_body(snapshot, session, ctx).await {
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
    let parsed = ParsedBody {
        body,
        scan,
        protocol: ctx.protocol,
        calls: json::CallTexts::Whole,
    };
    let cost = parsed.request().reading_cost();
    if let Some(policy) = ctx.counting.take() {
        // Where the body is not read, it does not choose the model server either.
        ctx.choose_upstream(|| None);
        let call = heavy(cost, || {
            token_count::forward(snapshot, ctx, parsed, &policy)
        });
        return Box::pin(forward(snapshot, session, ctx, call)).await;
    }
    let read = parsed.request();
    if let Some(trace) = &mut ctx.trace {
        trace.set_request(ctx.protocol, read, &session.req_header().headers);
    }
    ctx.choose_upstream(move || read.model());
    if let Err(error) = named_user::check_budgets(session, ctx, read) {
        return Box::pin(respond::error(session, ctx, &error)).await;
    }
    let is_awaited = match &ctx.embeddings {
        Some(policy) => policy.embeddings == Embeddings::Check,
        None => is_checked(session, ctx),
    };
    let room = match &snapshot.spool {
        // The record of a call that waits for its verdict is delivered by its check, whatever the disk does.
        Some(spool) if !spool.has_room(ctx.tenant, length as u64) && !is_awaited => {
            Some(Box::pin(spool.wait_for_room(ctx.tenant, length as u64)).await)
        }
        _ => None,
    };
    let decision = match ctx.embeddings.take() {
        Some(policy) => {
            let registration = Registration::open(snapshot, session, ctx, Some(parsed.request()));
            let mut call = EmbeddingsCall {
                parsed,
                policy,
                registration,
            };
            heavy(cost, || call.register(snapshot));
            drop(room);
            Box::pin(call.decide(snapshot, session, ctx)).await
        }
        None => {
            let admission = heavy(cost, || decide::admit(snapshot, session, ctx, parsed));
            drop(room);
            match admission {
                Admission::Forward(call) => Decision::Forward(call),
                Admission::AwaitVerdict(call) => {
                    Box::pin(decide::pre_call(snapshot, session, ctx, *call)).await
                }
            }
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
    let memory = || MemoryReservation::new(&snapshot.memory, ctx.tenant.holder);
    match call.handling.of(answer.upstream.head(), memory) {
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
