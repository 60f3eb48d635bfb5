//! Holds an answer until it is complete, for calls whose answer is checked, unredacted or replayed as a whole
//! (CONTRACT 15, 41, 43). The memory is bounded by `limits.recorded_bytes`; the client and the clocks are watched
//! meanwhile. An answer that need not be held, or is too large, is relayed instead.

mod answer_check;
mod delivery;
mod local_check;
mod replay;

pub(super) use answer_check::AnswerCheck;
pub(super) use local_check::LocalCheck;
pub(super) use replay::Replay;

use super::answer::{Answer, StreamFilter};
use super::call::UpstreamResponse;
use super::capture::{self, Layout, Wanted, has_text};
use super::client_gone;
use super::record::failure_of;
use super::redaction::Unredact;
use super::relay;
use super::verdict::report_unchecked;
use crate::fair_queue::heavy;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::limits::MemoryReservation;
use crate::gateway::respond;
use crate::gateway::state::Snapshot;
use crate::observe::{UncheckedReason, UnreplayedReason};
use delivery::{Delivery, HeldAnswer};
use monitor_model::{OnBackendFailure, Policy};
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use std::time::Instant;
use tokio::time::timeout;

/// What happens to an answer before the client gets it, in this order.
pub(super) struct Hold {
    /// Present where the prompt was redacted (CONTRACT 41).
    pub(super) unredact: Option<Unredact>,
    /// Present where the policy has the answer checked.
    pub(super) check: Option<HeldCheck>,
    /// Present where the client gets the answer as a stream (CONTRACT 43).
    pub(super) replay: Option<Replay>,
}

/// Who checks a held answer.
pub(super) enum HeldCheck {
    /// The backend (`replace_response`, CONTRACT 15).
    Backend(AnswerCheck),
    /// The gateway's own detectors, where the answer should have been a stream (CONTRACT 41).
    Local(LocalCheck),
}

impl HeldCheck {
    fn policy(&self) -> &Policy {
        match self {
            Self::Backend(check) => &check.policy,
            Self::Local(check) => check.policy(),
        }
    }

    /// Checks the answer and answers the client.
    async fn run(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        held: HeldAnswer,
    ) -> Result<()> {
        match self {
            Self::Backend(check) => check.run(snapshot, session, ctx, held).await,
            Self::Local(check) => check.run(snapshot, session, ctx, held).await,
        }
    }
}

impl Hold {
    /// Holds an answer for the gateway's own check.
    pub(super) fn checking(check: LocalCheck) -> Self {
        Self {
            unredact: None,
            check: Some(HeldCheck::Local(check)),
            replay: None,
        }
    }

    /// Collects the answer and sends it to the client, or relays one that is not held.
    pub(super) async fn response_body(
        self: Box<Self>,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        mut answer: Answer,
    ) -> Result<()> {
        let Some(head) = self.head_to_hold(&answer.upstream) else {
            return self.relay(snapshot, session, ctx, answer).await;
        };
        let collected = collect(snapshot, session, ctx, &mut answer.upstream).await;
        answer.registration.set_first_byte(ctx.clock.first_byte());
        match collected {
            Collected::Complete(body) => {
                answer.upstream.release().await;
                let held = HeldAnswer {
                    delivery: Delivery {
                        head,
                        body: body.into(),
                        replay: self.replay,
                    },
                    registration: answer.registration,
                };
                self.send(snapshot, session, ctx, held).await
            }
            Collected::TooLarge(body) => {
                answer.upstream.put_back(body.into());
                self.relay_large(snapshot, session, ctx, answer).await
            }
            Collected::Failed(failed) => {
                answer.upstream.abandon();
                let calls = answer.registration.calls();
                let limit = snapshot.settings.limits.recorded_bytes;
                let wanted = Wanted::record(ctx.protocol, calls, limit);
                let bytes = capture::plain_bytes(&head, &failed.body, wanted.limit);
                let whole = heavy(bytes, || capture::whole(&head, &failed.body, wanted));
                let mut captured = whole.captured;
                captured.incomplete = true;
                let failure = Some(failure_of(&failed.error));
                answer.registration.post_call(captured, failure);
                respond::error(session, ctx, &failed.error).await
            }
        }
    }

    /// The head of an answer that has to be held. A stream can be unredacted on its way, and what is
    /// compressed cannot be unredacted at all.
    fn head_to_hold(&self, upstream: &UpstreamResponse) -> Option<ResponseHeader> {
        let head = upstream.head().filter(|head| has_text(head))?;
        let layout = Layout::of(head);
        let is_changed = self.replay.is_some() || !layout.encoded;
        let is_held = self.check.is_some() || (!layout.event_stream && is_changed);
        is_held.then(|| head.clone())
    }

    /// Handles a complete answer.
    async fn send(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        mut held: HeldAnswer,
    ) -> Result<()> {
        let delivery = &mut held.delivery;
        if let Some(unredact) = &self.unredact {
            let body = std::mem::take(&mut delivery.body);
            delivery.body = heavy(body.len(), || {
                unredact.whole(&snapshot.metrics, &mut delivery.head, body)
            });
        }
        if let Some(check) = self.check {
            return check.run(snapshot, session, ctx, held).await;
        }
        if held.registration.wants_answer() || ctx.wants_metadata() {
            let captured = held.read(snapshot, ctx).captured;
            held.registration.post_call(captured, None);
        }
        held.delivery.send(snapshot, session, ctx).await
    }

    /// Handles an answer that is too large to hold: it passes unchecked, or not at all.
    async fn relay_large(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        mut answer: Answer,
    ) -> Result<()> {
        if let Some(check) = &self.check {
            let detail = "the answer is larger than limits.recorded_bytes";
            let reason = UncheckedReason::Unreadable;
            report_unchecked(&snapshot.metrics, check.policy(), reason, detail);
            if check.policy().on_backend_failure == OnBackendFailure::Closed {
                return answer.refuse(session, ctx, CallError::Unchecked).await;
            }
            ctx.detail = Some("unchecked");
            answer.registration.set_unchecked();
        }
        if let Some(replay) = self.replay {
            replay.report(snapshot, UnreplayedReason::TooLarge);
        }
        self.relay(snapshot, session, ctx, answer).await
    }

    /// Relays the answer, unredacted on its way where that is possible.
    async fn relay(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        answer: Answer,
    ) -> Result<()> {
        let filter = self.filter(snapshot, &answer.upstream);
        relay::response_body(snapshot, session, ctx, answer.filtered(filter)).await
    }

    fn filter(
        self,
        snapshot: &Snapshot,
        upstream: &UpstreamResponse,
    ) -> Option<Box<dyn StreamFilter>> {
        let head = upstream.head().filter(|head| has_text(head))?;
        let limit = snapshot.settings.limits.recorded_bytes;
        let filter = self
            .unredact?
            .filter(&snapshot.metrics, Layout::of(head), limit)?;
        Some(Box::new(filter))
    }
}

/// The outcome of collecting an answer.
enum Collected {
    Complete(Vec<u8>),
    /// The answer exceeds `limits.recorded_bytes`; this is its beginning.
    TooLarge(Vec<u8>),
    Failed(FailedAnswer),
}

/// An answer that failed before the client got any of it.
struct FailedAnswer {
    body: Vec<u8>,
    error: CallError,
}

/// Reads an answer to its end.
async fn collect(
    snapshot: &Snapshot,
    session: &mut ServerSession,
    ctx: &mut CallContext,
    upstream: &mut UpstreamResponse,
) -> Collected {
    let limit = usize::try_from(snapshot.settings.limits.recorded_bytes).unwrap_or(usize::MAX);
    let started = Instant::now();
    let mut body = Vec::new();
    let holder = ctx.tenant.holder;
    let reservation = ctx
        .held_answer
        .insert(MemoryReservation::new(&snapshot.memory, holder));
    let silence = upstream.timeout();
    let end = loop {
        let read = tokio::select! {
            biased;
            read = timeout(silence, upstream.read()) => read,
            () = client_gone(session) => break Some(CallError::ClientGone),
        };
        match read {
            Ok(Ok(Some(chunk))) => {
                ctx.clock.mark_first_held();
                body.extend_from_slice(&chunk);
            }
            Ok(Ok(None)) => break None,
            Ok(Err(_)) => break Some(CallError::Broken("the answer is incomplete")),
            Err(_) => break Some(CallError::Late),
        }
        if let Err(full) = reservation.cover(body.len()) {
            break Some(CallError::Overloaded(full.0));
        }
        if body.len() > limit {
            ctx.clock.add_upstream_wait(started);
            return Collected::TooLarge(body);
        }
    };
    ctx.clock.add_upstream_wait(started);
    match end {
        None => Collected::Complete(body),
        Some(error) => Collected::Failed(FailedAnswer { body, error }),
    }
}
