//! The check of an answer that is no stream although one was asked for (CONTRACT 41): the detectors of the stream
//! look at every text of it once it is complete, whatever its shape.

use super::delivery::{Delivery, HeldAnswer};
use crate::fair_queue::heavy;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::exchange::block::{Block, RequestSummary};
use crate::gateway::exchange::capture::{self, Captured, Whole};
use crate::gateway::exchange::hold_back::{Detectors, HoldBack};
use crate::gateway::exchange::record::failure_of;
use crate::gateway::exchange::scan_roles::call_texts;
use crate::gateway::exchange::verdict::report_unchecked;
use crate::gateway::respond;
use crate::gateway::state::Snapshot;
use crate::observe::{UncheckedReason, VerdictType};
use monitor_model::{OnBackendFailure, Policy, Stage};
use monitor_wire::json::Answer;
use monitor_wire::protocol::Protocol;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the check of a complete answer needs.
pub(crate) struct LocalCheck {
    request: RequestSummary,
    policy: Arc<Policy>,
    detectors: Detectors,
}

/// The result of the check.
enum LocalVerdict {
    Passed,
    /// How often each pattern was found.
    Flagged(BTreeMap<&'static str, u64>),
    /// Some of the answer cannot be read, or nothing in it is recognized.
    Unreadable,
}

impl LocalCheck {
    /// The check that takes the place of this filter.
    pub(crate) fn new(filter: &HoldBack, request: RequestSummary) -> Self {
        Self {
            request,
            policy: filter.policy().clone(),
            detectors: filter.detectors().clone(),
        }
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Checks the answer, registers it, and answers the client.
    pub(crate) async fn run(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        mut held: HeldAnswer,
    ) -> Result<()> {
        let Whole {
            mut captured,
            usage,
        } = held.read(snapshot, ctx);
        match self.verdict(snapshot, ctx.protocol, &held.delivery) {
            LocalVerdict::Passed => {}
            LocalVerdict::Flagged(types) => {
                // The record has what the client gets.
                captured = Captured {
                    text: self.policy.phrase.clone(),
                    model: captured.model,
                    usage: captured.usage,
                    ..Captured::default()
                };
                held.registration.set_replaced(VerdictType::Dataclean);
                held.registration.post_call(captured, None);
                let block = self.block(&types, usage);
                return Box::new(block).answer(snapshot, session, ctx).await;
            }
            LocalVerdict::Unreadable => {
                if !self.may_pass(snapshot) {
                    let failure = failure_of(&CallError::Unchecked);
                    held.registration.post_call(captured, Some(failure));
                    return respond::error(session, ctx, &CallError::Unchecked).await;
                }
                ctx.detail = Some("unchecked");
                held.registration.set_unchecked();
            }
        }
        held.registration.post_call(captured, None);
        held.delivery.send(snapshot, session, ctx).await
    }

    /// Counts and logs an answer that cannot be read; the policy decides whether it passes.
    fn may_pass(&self, snapshot: &Snapshot) -> bool {
        let detail = "the answer is no event stream and not readable as a whole";
        let reason = UncheckedReason::Unreadable;
        report_unchecked(&snapshot.metrics, &self.policy, reason, detail);
        self.policy.on_backend_failure == OnBackendFailure::Open
    }

    fn verdict(
        &self,
        snapshot: &Snapshot,
        protocol: &dyn Protocol,
        answer: &Delivery,
    ) -> LocalVerdict {
        let limit = snapshot.settings.limits.recorded_bytes;
        let (head, body) = (&answer.head, &answer.body);
        heavy(capture::plain_bytes(head, body, limit), || {
            let body = capture::decoded(head, body, limit);
            body.map_or(LocalVerdict::Unreadable, |body| {
                self.of_body(protocol, &body)
            })
        })
    }

    fn of_body(&self, protocol: &dyn Protocol, body: &[u8]) -> LocalVerdict {
        if body.trim_ascii().is_empty() {
            return LocalVerdict::Passed;
        }
        let Some(answer) = protocol.checked_answer(body, call_texts(&self.policy)) else {
            return LocalVerdict::Unreadable;
        };
        let Answer {
            text, part_breaks, ..
        } = &answer;
        let (inspector, patterns) = (&self.detectors.inspector, self.detectors.patterns);
        let mut types = BTreeMap::new();
        for find in inspector.find(text, part_breaks, patterns) {
            *types.entry(find.kind).or_insert(0) += 1;
        }
        let is_whole = !answer.has_unreadable && inspector.finds_across(text, part_breaks);
        match types.is_empty() {
            false => LocalVerdict::Flagged(types),
            true if is_whole => LocalVerdict::Passed,
            true => LocalVerdict::Unreadable,
        }
    }

    fn block(self, types: &BTreeMap<&'static str, u64>, usage: Option<Box<RawValue>>) -> Block {
        let types: Vec<Value> = types
            .iter()
            .map(|(kind, count)| json!({"type": kind, "count": count}))
            .collect();
        Block {
            stage: Stage::PostCall,
            request: self.request,
            policy: self.policy,
            kind: VerdictType::Dataclean,
            verdict: json!({"dataclean": {"flagged": true, "types": types}}),
            usage,
        }
    }
}
