//! The check of a complete answer (`replace_response`, CONTRACT 15): the answer passes byte for byte, or the
//! policy's phrase replaces it (§2.4). Only sync mode holds an answer for it.

use super::delivery::HeldAnswer;
use crate::backend::Record;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::exchange::block::{Block, RequestSummary};
use crate::gateway::exchange::verdict::{Check, CheckOutcome, Finding, report_unchecked};
use crate::gateway::respond;
use crate::gateway::state::Snapshot;
use crate::observe::UncheckedReason;
use monitor_model::{OnBackendFailure, Policy, Stage};
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What the check of an answer needs.
pub(crate) struct AnswerCheck {
    pub(crate) request: RequestSummary,
    pub(crate) policy: Arc<Policy>,
}

/// A held answer, read for its check.
struct Read {
    record: Option<Record>,
    /// Whether all of its text is known.
    is_readable: bool,
    usage: Option<Box<RawValue>>,
}

impl AnswerCheck {
    /// Checks the answer and answers the client.
    pub(crate) async fn run(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        held: HeldAnswer,
    ) -> Result<()> {
        let Read {
            record,
            is_readable,
            usage,
        } = self.read(snapshot, ctx, &held);
        let policy = &self.policy;
        let check = Check {
            policy,
            registration: &held.registration,
            record,
        };
        match check.run(snapshot, session, ctx).await {
            CheckOutcome::Passed if is_readable => held.delivery.send(snapshot, session, ctx).await,
            CheckOutcome::Passed => {
                let detail = "the answer is not readable as a whole";
                let reason = UncheckedReason::Unreadable;
                report_unchecked(&snapshot.metrics, policy, reason, detail);
                self.unchecked(snapshot, session, ctx, held).await
            }
            CheckOutcome::Flagged(finding) => {
                let block = self.block(&finding, usage);
                block.answer(snapshot, session, ctx).await
            }
            CheckOutcome::Unknown | CheckOutcome::Late => {
                self.unchecked(snapshot, session, ctx, held).await
            }
            CheckOutcome::KeyRefused => respond::error(session, ctx, &CallError::KeyRefused).await,
            CheckOutcome::ClientGone => respond::error(session, ctx, &CallError::ClientGone).await,
        }
    }

    fn read(&self, snapshot: &Snapshot, ctx: &mut CallContext, held: &HeldAnswer) -> Read {
        let whole = held.read_for_check(snapshot, ctx);
        let is_readable = !whole.captured.incomplete;
        let is_open = self.policy.on_backend_failure == OnBackendFailure::Open;
        let mut record = held.registration.record(Stage::PostCall, whole.captured);
        if let Some(record) = &mut record {
            // A verdict on a part of the answer is none on the whole. Set here, because the check registers
            // the record.
            record.unchecked |= !is_readable && is_open;
        }
        Read {
            record,
            is_readable,
            usage: whole.usage,
        }
    }

    /// The phrase in place of the answer.
    fn block(self, finding: &Finding, usage: Option<Box<RawValue>>) -> Box<Block> {
        let block = Block::by_verdict(Stage::PostCall, self.request, self.policy, finding);
        Box::new(Block { usage, ..block })
    }

    /// Sends the answer without a verdict, or refuses it, as the policy says (CONTRACT 13).
    async fn unchecked(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
        held: HeldAnswer,
    ) -> Result<()> {
        if self.policy.on_backend_failure == OnBackendFailure::Closed {
            return respond::error(session, ctx, &CallError::Unchecked).await;
        }
        ctx.detail = Some("unchecked");
        held.delivery.send(snapshot, session, ctx).await
    }
}
