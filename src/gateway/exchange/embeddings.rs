//! A call of embeddings whose application has its texts recorded or checked (`embeddings`, CONTRACT 46): what is found is
//! never masked. An embedding has no phrase, so a blocked call is refused. Its record has an empty answer.

use super::answer_handling::AnswerHandling;
use super::capture::Captured;
use super::decide::{Decision, Forward, ParsedBody};
use super::record::Registration;
use super::upstream_request::UpstreamRequest;
use super::verdict::{Check, CheckOutcome, report_unchecked};
use crate::fair_queue::heavy;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::headers;
use crate::gateway::state::Snapshot;
use crate::observe::events::Blocked;
use crate::observe::{UncheckedReason, VerdictType};
use crate::policy::Found;
use monitor_model::{AppMode, Embeddings, OnBackendFailure, Policy, Stage};
use monitor_wire::json::{Prompt, ScanRole};
use pingora_core::protocols::http::ServerSession;
use std::sync::Arc;

/// The policy of a call of embeddings, where its texts are read.
pub(crate) fn reading_policy(session: &ServerSession, ctx: &CallContext) -> Option<Arc<Policy>> {
    let named = headers::application_id(&session.req_header().headers);
    let application = ctx.application_id(named);
    match ctx.policies.as_ref()?.lookup(application.as_deref()) {
        Found::Policy(policy) if policy.embeddings != Embeddings::Off => Some(policy),
        _ => None,
    }
}

/// A call whose body is complete.
pub(super) struct EmbeddingsCall {
    pub(super) parsed: ParsedBody,
    pub(super) policy: Arc<Policy>,
    pub(super) registration: Registration,
}

impl EmbeddingsCall {
    /// Registers texts that are not checked; the others are registered during their check.
    pub(super) fn register(&mut self, snapshot: &Snapshot) {
        if self.is_checked() {
            return;
        }
        // The application has its calls checked, and this one goes on without a verdict.
        if self.policy.app_mode == AppMode::Sync {
            self.registration.set_unchecked();
        }
        let limit = snapshot.settings.limits.recorded_bytes;
        self.registration.pre_call(limit, || self.prompt());
    }

    fn is_checked(&self) -> bool {
        self.policy.embeddings == Embeddings::Check
    }

    /// Awaits the verdict, where the policy says so. No upstream connection is opened before it.
    pub(super) async fn decide(
        mut self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Decision {
        if !self.is_checked() {
            return self.forward();
        }
        let cost = self.parsed.request().reading_cost();
        ctx.set_mode(AppMode::Sync);
        let prompt = heavy(cost, || Captured::of_prompt(self.prompt(), u64::MAX));
        let body = &mut self.parsed.body;
        let copies = match body.reserve_copies(snapshot, prompt.text.len()).await {
            Ok(copies) => copies,
            Err(error) => return Decision::Refuse(error),
        };
        let is_readable = !prompt.incomplete;
        let outcome = self.check(snapshot, session, ctx, prompt).await;
        self.parsed.body.reservation.shrink(copies);
        match outcome {
            CheckOutcome::Passed if is_readable => self.forward(),
            CheckOutcome::Passed => {
                let detail = "the input is not readable as a whole";
                let reason = UncheckedReason::Unreadable;
                report_unchecked(&snapshot.metrics, &self.policy, reason, detail);
                self.unchecked(ctx)
            }
            CheckOutcome::Flagged(finding) => refuse_flagged(snapshot, ctx, finding.kind),
            CheckOutcome::Unknown | CheckOutcome::Late => self.unchecked(ctx),
            CheckOutcome::KeyRefused => Decision::Refuse(CallError::KeyRefused),
            CheckOutcome::ClientGone => self.refuse(CallError::ClientGone),
        }
    }

    /// All texts are the user's, whatever the roles of the policy.
    fn prompt(&self) -> Prompt {
        self.parsed.request().prompt(&[ScanRole::AllUser])
    }

    async fn check(
        &self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        prompt: Captured,
    ) -> CheckOutcome {
        let is_readable = !prompt.incomplete;
        let mut record = self.registration.record(Stage::PreCall, prompt);
        if let Some(record) = &mut record {
            // A verdict on a part is none on the whole. Set here, because the check registers the record.
            let is_open = self.policy.on_backend_failure == OnBackendFailure::Open;
            record.unchecked |= !is_readable && is_open;
        }
        let check = Check {
            policy: &self.policy,
            registration: &self.registration,
            record,
        };
        check.run(snapshot, session, ctx).await
    }

    /// Goes on without a verdict, or refuses the call, as the policy says (CONTRACT 13).
    fn unchecked(mut self, ctx: &mut CallContext) -> Decision {
        match self.policy.on_backend_failure {
            OnBackendFailure::Closed => self.refuse(CallError::Unchecked),
            OnBackendFailure::Open => {
                ctx.detail = Some("unchecked");
                self.registration.set_unchecked();
                self.forward()
            }
        }
    }

    fn refuse(self, error: CallError) -> Decision {
        self.registration.post_call_failed(&error);
        Decision::Refuse(error)
    }

    fn forward(self) -> Decision {
        Decision::Forward(Forward {
            request: UpstreamRequest::unchanged(self.parsed.body),
            registration: self.registration,
            handling: AnswerHandling::Relay(None),
        })
    }
}

fn refuse_flagged(snapshot: &Snapshot, ctx: &CallContext, kind: VerdictType) -> Decision {
    Blocked {
        stage: Stage::PreCall,
        kind,
        request_id: &ctx.request_id,
    }
    .emit(&snapshot.metrics);
    Decision::Refuse(CallError::Flagged(kind))
}
