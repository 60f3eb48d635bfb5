//! One awaited check of sync mode (CONTRACT 12, 13): the record is registered by the same call that
//! gives its verdict, the client is watched meanwhile. What a verdict leads to is the caller's.

use super::client_gone;
use super::record::{Registration, failure_of};
use crate::backend::{Analyzer, AnalyzerError, Record, Verdict};
use crate::config::Durability;
use crate::gateway::Shared;
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::observe::events::{AttachmentsAbandoned, RecordFinished, Unchecked};
use crate::observe::{AttachmentOutcome, Metrics, TelemetryOutcome, UncheckedReason, VerdictType};
use crate::spool::Lease;
use monitor_model::{AnalysisResponse, BlockOn, OnBackendFailure, Policy, Stage, Status};
use pingora_core::protocols::http::ServerSession;
use std::time::Instant;
use tokio::time::timeout;

/// What a check came to.
pub(super) enum Checked {
    /// Nothing that blocks was found.
    Passed,
    /// Something was found that blocks.
    Flagged(Box<Finding>),
    /// No verdict, counted and said; the policy tells what follows.
    Unknown,
    /// The same, because MONITOR_TIMEOUT passed: asking again would cost the client as much again.
    Late,
    /// The backend refuses the access key.
    KeyRefused,
    /// The client left; what there was is registered.
    ClientGone,
}

impl Checked {
    /// What a trace says of it.
    fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Flagged(_) => "flagged",
            Self::Unknown => "unknown",
            Self::Late => "late",
            Self::KeyRefused => "key_refused",
            Self::ClientGone => "client_gone",
        }
    }
}

/// A verdict that blocks.
pub(super) struct Finding {
    pub(super) kind: VerdictType,
    pub(super) analysis: AnalysisResponse,
}

/// A record and the policy it is checked under.
pub(super) struct Check<'a> {
    pub(super) policy: &'a Policy,
    pub(super) registration: &'a Registration,
    pub(super) record: Option<Record>,
}

/// A record on its way to its verdict.
struct Asked<'a> {
    policy: &'a Policy,
    registration: &'a Registration,
    stage: Stage,
    held: Lease,
}

impl<'a> Check<'a> {
    /// Waits for the verdict, at most MONITOR_TIMEOUT long.
    pub(super) async fn run(
        self,
        shared: &Shared,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> Checked {
        let (policy, analyzer) = (self.policy, shared.analyzer.as_ref());
        let (Some(analyzer), Some(asked)) = (analyzer, self.asked()) else {
            let detail = "there is no backend (MONITOR_URL)";
            no_verdict(&shared.metrics, policy, UncheckedReason::NoBackend, detail);
            return Checked::Unknown;
        };
        let started = Instant::now();
        let limit = shared.settings.monitor.timeout;
        let answer = tokio::select! {
            biased;
            answer = timeout(limit, judge(shared, &**analyzer, &asked.held)) => answer,
            () = client_gone(session) => {
                ctx.clock.waited_for_backend(started);
                ctx.checked(asked.stage, started, "client_gone");
                return asked.abandoned();
            }
        };
        ctx.clock.waited_for_backend(started);
        let late = || AnalyzerError::Unavailable("no answer within MONITOR_TIMEOUT".into());
        let stage = asked.stage;
        let checked = match answer.unwrap_or_else(|_| Err(late())) {
            Ok(verdict) => asked.judged(&shared.metrics, verdict),
            Err(error) => asked.failed(&shared.metrics, &error),
        };
        let checked = match checked {
            Checked::Unknown if started.elapsed() >= limit => Checked::Late,
            checked => checked,
        };
        ctx.checked(stage, started, checked.word());
        checked
    }

    /// The record has its number before it is sent (CONTRACT 5).
    fn asked(self) -> Option<Asked<'a>> {
        let record = self.record?;
        Some(Asked {
            policy: self.policy,
            registration: self.registration,
            stage: record.stage,
            held: self.registration.hold(record)?,
        })
    }
}

impl Asked<'_> {
    fn judged(self, metrics: &Metrics, verdict: Verdict) -> Checked {
        let Verdict { analysis, durable } = verdict;
        let (policy, id) = (self.policy, analysis.request_id);
        match durable {
            Some(durable) => self.held.deliver_when_durable(id, durable),
            None => {
                self.left(metrics, TelemetryOutcome::Delivered, "");
                self.held.delivered(id);
            }
        }
        match found(policy.block_on, &analysis) {
            Some(kind) => Checked::Flagged(Box::new(Finding { kind, analysis })),
            None if analysis.status == Status::Success => Checked::Passed,
            // CONTRACT 26: never a silent pass.
            None => {
                let detail = "a stage of the check failed";
                no_verdict(metrics, policy, UncheckedReason::Incomplete, detail);
                Checked::Unknown
            }
        }
    }

    fn failed(mut self, metrics: &Metrics, error: &AnalyzerError) -> Checked {
        let said = error.to_string();
        let reason = match error {
            AnalyzerError::KeyRefused(status) => {
                self.left(metrics, TelemetryOutcome::Refused, &said);
                self.files_refused(metrics);
                self.held.refused(*status);
                return Checked::KeyRefused;
            }
            AnalyzerError::Refused(_) => UncheckedReason::Refused,
            AnalyzerError::Unavailable(_) | AnalyzerError::Busy(_) => UncheckedReason::Unavailable,
        };
        // What is refused for good the spool keeps as a dead letter (CONTRACT 23).
        let is_open = self.policy.on_backend_failure == OnBackendFailure::Open;
        if let Some(record) = self.held.record_mut() {
            record.unchecked = is_open;
            if !is_open && record.stage == Stage::PostCall {
                record.failure = Some(failure_of(&CallError::Unchecked));
            }
        }
        self.registration.give_back(self.held);
        no_verdict(metrics, self.policy, reason, &said);
        Checked::Unknown
    }

    /// The backend may have the record or not: it takes the same one twice as one.
    fn abandoned(mut self) -> Checked {
        if let Some(record) = self.held.record_mut()
            && record.stage == Stage::PostCall
        {
            record.failure = Some(failure_of(&CallError::ClientGone));
        }
        self.registration.give_back(self.held);
        Checked::ClientGone
    }

    /// The backend's answer will not change.
    fn left(&self, metrics: &Metrics, outcome: TelemetryOutcome, reason: &str) {
        RecordFinished {
            stage: self.stage,
            outcome,
            reason,
        }
        .emit(metrics);
    }

    fn files_refused(&self, metrics: &Metrics) {
        let record = self.held.record();
        if let Some(list) = record.and_then(|record| record.files.as_ref()) {
            AttachmentsAbandoned {
                request_id: &list.request_id,
                outcome: AttachmentOutcome::NoRecord,
                reason: "the backend refused the access key",
            }
            .emit(metrics);
        }
    }
}

/// Counts and says that a message of sync mode got no verdict.
pub(super) fn no_verdict(
    metrics: &Metrics,
    policy: &Policy,
    reason: UncheckedReason,
    detail: &str,
) {
    let consequence = match policy.on_backend_failure {
        OnBackendFailure::Open => "the call goes on unchecked",
        OnBackendFailure::Closed => "the call is answered with 502",
    };
    Unchecked {
        reason,
        detail,
        consequence,
    }
    .emit(metrics);
}

/// A prompt that has to be on disk before the upstream call is kept together with its verdict.
async fn judge(
    shared: &Shared,
    analyzer: &dyn Analyzer,
    held: &Lease,
) -> Result<Verdict, AnalyzerError> {
    let gone = || AnalyzerError::Unavailable("the record is gone".into());
    let record = held.record().ok_or_else(gone)?;
    let before = shared.settings.spool.durability == Durability::BeforeUpstream;
    if record.stage == Stage::PreCall && before {
        return Ok(Verdict {
            analysis: analyzer.analyze(record).await?,
            durable: None,
        });
    }
    analyzer.check(record).await
}

/// The first finding that blocks, in the order of CONTRACT 12.
fn found(block_on: BlockOn, analysis: &AnalysisResponse) -> Option<VerdictType> {
    let findings = [
        (
            block_on.guardrails && analysis.guardrails.flagged,
            VerdictType::Guardrails,
        ),
        (
            block_on.custom_policy && analysis.custom_policy.flagged,
            VerdictType::CustomPolicy,
        ),
        (
            block_on.dataclean && analysis.dataclean.flagged,
            VerdictType::Dataclean,
        ),
    ];
    let mut findings = findings.into_iter();
    findings.find(|(blocks, _)| *blocks).map(|(_, kind)| kind)
}
