//! One awaited check of sync mode (CONTRACT 12, 13). The backend registers the record and returns its
//! verdict in the same call, while the client is watched. The caller acts on the outcome.

use super::client_gone;
use super::record::{Registration, failure_of};
use crate::backend::{Analyzer, AnalyzerError, Record, Verdict};
use crate::config::Durability;
use crate::fair_queue::heavy;
use crate::gateway::call_trace::{CheckResult, Findings};
use crate::gateway::context::CallContext;
use crate::gateway::error::CallError;
use crate::gateway::state::Snapshot;
use crate::observe::events::{AttachmentsAbandoned, RecordFinished, Unchecked};
use crate::observe::{AttachmentOutcome, Metrics, TelemetryOutcome, UncheckedReason, VerdictType};
use crate::spool::Lease;
use monitor_model::{AnalysisResponse, BlockOn, OnBackendFailure, Policy, Stage, Status};
use pingora_core::protocols::http::ServerSession;
use std::time::Instant;
use tokio::time::timeout;

/// The outcome of a check.
pub(super) enum CheckOutcome {
    /// No finding blocks the message.
    Passed,
    /// A finding blocks the message.
    Flagged(Box<Finding>),
    /// There is no verdict, which is counted and logged; the policy decides what follows.
    Unknown,
    /// Like `Unknown`, because MONITOR_TIMEOUT passed: another check would take the client's time again.
    Late,
    /// The backend refuses the access key.
    KeyRefused,
    /// The client has left; the record is registered.
    ClientGone,
}

impl CheckOutcome {
    /// The value of `monitor.verdict` in traces.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Flagged(_) => "flagged",
            Self::Unknown => "unknown",
            Self::Late => "late",
            Self::KeyRefused => "key_refused",
            Self::ClientGone => "client_gone",
        }
    }

    /// What traces report of it.
    fn result(&self, findings: Option<Findings>) -> CheckResult {
        CheckResult {
            outcome: self.as_str(),
            findings,
        }
    }
}

/// A verdict that blocks the message, and the stage that found it.
pub(super) struct Finding {
    pub(super) kind: VerdictType,
    pub(super) analysis: AnalysisResponse,
}

/// A message to check, with the policy of its application.
pub(super) struct Check<'a> {
    pub(super) policy: &'a Policy,
    pub(super) registration: &'a Registration,
    /// None where the exchange is not registered.
    pub(super) record: Option<Record>,
}

/// A record that the backend is checking, leased from the spool until the outcome is known.
struct PendingCheck<'a> {
    policy: &'a Policy,
    registration: &'a Registration,
    stage: Stage,
    lease: Lease,
}

impl<'a> Check<'a> {
    /// Awaits the verdict for at most MONITOR_TIMEOUT.
    pub(super) async fn run(
        self,
        snapshot: &Snapshot,
        session: &mut ServerSession,
        ctx: &mut CallContext,
    ) -> CheckOutcome {
        let (policy, analyzer) = (self.policy, snapshot.analyzer.as_ref());
        let (Some(analyzer), Some(pending)) = (analyzer, self.pending()) else {
            let detail = "no backend is configured (MONITOR_URL)";
            let reason = UncheckedReason::NoBackend;
            report_unchecked(&snapshot.metrics, policy, reason, detail);
            return CheckOutcome::Unknown;
        };
        let (started, stage) = (Instant::now(), pending.stage);
        let limit = snapshot.settings.monitor.timeout;
        let answer = tokio::select! {
            biased;
            answer = timeout(limit, verdict(snapshot, &**analyzer, &pending.lease)) => answer,
            () = client_gone(session) => {
                ctx.clock.add_backend_wait(started);
                let outcome = pending.abandon();
                ctx.add_check(stage, started, outcome.result(None));
                return outcome;
            }
        };
        ctx.clock.add_backend_wait(started);
        let late = || AnalyzerError::Unavailable("no answer within MONITOR_TIMEOUT".into());
        let answer = answer.unwrap_or_else(|_| Err(late()));
        let findings = answer
            .as_ref()
            .ok()
            .map(|verdict| findings(&verdict.analysis));
        let outcome = match answer {
            Ok(verdict) => pending.finish(&snapshot.metrics, verdict),
            Err(error) => pending.fail(&snapshot.metrics, &error),
        };
        let outcome = match outcome {
            CheckOutcome::Unknown if started.elapsed() >= limit => CheckOutcome::Late,
            outcome => outcome,
        };
        ctx.add_check(stage, started, outcome.result(findings));
        outcome
    }

    /// Hands the record to the spool, which numbers it before it is sent (CONTRACT 5).
    fn pending(self) -> Option<PendingCheck<'a>> {
        let record = self.record?;
        Some(PendingCheck {
            policy: self.policy,
            registration: self.registration,
            stage: record.stage,
            // The digest of the message, and its copy for the disk.
            lease: heavy(record.message.len(), || self.registration.lease(record))?,
        })
    }
}

impl PendingCheck<'_> {
    fn finish(self, metrics: &Metrics, verdict: Verdict) -> CheckOutcome {
        let Verdict { analysis, durable } = verdict;
        let (policy, id) = (self.policy, analysis.request_id);
        match durable {
            Some(durable) => self.lease.deliver_when_durable(id, durable),
            None => {
                self.emit_left(metrics, TelemetryOutcome::Delivered, "");
                self.lease.delivered(Some(id));
            }
        }
        match blocking_finding(policy.block_on, &analysis) {
            Some(kind) => CheckOutcome::Flagged(Box::new(Finding { kind, analysis })),
            None if analysis.status == Status::Success => CheckOutcome::Passed,
            // A failed stage is never a silent pass (CONTRACT 26).
            None => {
                let detail = "a stage of the check failed";
                report_unchecked(metrics, policy, UncheckedReason::Incomplete, detail);
                CheckOutcome::Unknown
            }
        }
    }

    fn fail(mut self, metrics: &Metrics, error: &AnalyzerError) -> CheckOutcome {
        let text = error.to_string();
        let reason = match error {
            AnalyzerError::KeyRefused(status) => {
                self.emit_left(metrics, TelemetryOutcome::Refused, &text);
                self.emit_files_left(metrics, "the backend refused the access key");
                self.lease.refused(*status);
                return CheckOutcome::KeyRefused;
            }
            // It is stored: another attempt would get the same answer.
            AnalyzerError::TooLong => {
                self.emit_left(metrics, TelemetryOutcome::Delivered, "");
                self.emit_files_left(metrics, "the backend's verdict is too long to be read");
                self.lease.delivered(None);
                report_unchecked(metrics, self.policy, UncheckedReason::Unavailable, &text);
                return CheckOutcome::Unknown;
            }
            AnalyzerError::Refused(_) => UncheckedReason::Refused,
            AnalyzerError::Unavailable(_) | AnalyzerError::Busy(_) => UncheckedReason::Unavailable,
        };
        // The spool keeps a record that was refused for good as a dead letter (CONTRACT 23).
        let is_open = self.policy.on_backend_failure == OnBackendFailure::Open;
        if let Some(record) = self.lease.record_mut() {
            record.unchecked = is_open;
            if !is_open && record.stage == Stage::PostCall {
                record.failure = Some(failure_of(&CallError::Unchecked));
            }
        }
        self.registration.release(self.lease);
        report_unchecked(metrics, self.policy, reason, &text);
        CheckOutcome::Unknown
    }

    /// Registers the record again. The backend may have it already, and stores a repeated record once.
    fn abandon(mut self) -> CheckOutcome {
        if let Some(record) = self.lease.record_mut()
            && record.stage == Stage::PostCall
        {
            record.failure = Some(failure_of(&CallError::ClientGone));
        }
        self.registration.release(self.lease);
        CheckOutcome::ClientGone
    }

    /// Counts a record that has reached its final state.
    fn emit_left(&self, metrics: &Metrics, outcome: TelemetryOutcome, reason: &str) {
        RecordFinished {
            stage: self.stage,
            outcome,
            reason,
        }
        .emit(metrics);
    }

    /// Counts the files of a record whose id is not known.
    fn emit_files_left(&self, metrics: &Metrics, reason: &'static str) {
        let record = self.lease.record();
        if let Some(list) = record.and_then(|record| record.files.as_ref()) {
            AttachmentsAbandoned {
                request_id: &list.request_id,
                outcome: AttachmentOutcome::NoRecord,
                reason,
            }
            .emit(metrics);
        }
    }
}

/// Counts and logs that a message of sync mode has no verdict.
pub(super) fn report_unchecked(
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

/// Awaits the verdict. Where a prompt has to be on disk before the upstream call, the backend's storage of it
/// is awaited too; otherwise that happens off the request path.
async fn verdict(
    snapshot: &Snapshot,
    analyzer: &dyn Analyzer,
    lease: &Lease,
) -> Result<Verdict, AnalyzerError> {
    let gone = || AnalyzerError::Unavailable("the record is no longer in the spool".into());
    let record = lease.record().ok_or_else(gone)?;
    let before = snapshot.settings.spool.durability == Durability::BeforeUpstream;
    if record.stage == Stage::PreCall && before {
        return Ok(Verdict {
            analysis: analyzer.analyze(record).await?,
            durable: None,
        });
    }
    analyzer.check(record).await
}

/// The first finding that blocks, in the order of CONTRACT 12.
fn blocking_finding(block_on: BlockOn, analysis: &AnalysisResponse) -> Option<VerdictType> {
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

/// The kinds of what was found, whether it blocks or not.
fn findings(analysis: &AnalysisResponse) -> Findings {
    let found = [
        (analysis.guardrails.flagged, VerdictType::Guardrails),
        (analysis.custom_policy.flagged, VerdictType::CustomPolicy),
        (analysis.dataclean.flagged, VerdictType::Dataclean),
    ];
    Findings {
        kinds: found.map(|(is_flagged, kind)| is_flagged.then_some(kind)),
        is_whole: analysis.status == Status::Success,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use VerdictType::{CustomPolicy, Dataclean, Guardrails};
    use monitor_model::AppMode;
    use serde_json::json;

    fn analysis(flagged: [bool; 3]) -> AnalysisResponse {
        let [guardrails, custom_policy, dataclean] = flagged;
        serde_json::from_value(json!({
            "request_id": "00000000-0000-0000-0000-000000000000", "schema_version": "2.0.0",
            "status": "success", "errors": [], "tokens": {"count": 0, "usage_severity": null},
            "guardrails": {"flagged": guardrails}, "custom_policy": {"flagged": custom_policy},
            "dataclean": {"flagged": dataclean, "cleaned_text": null, "types": []},
        }))
        .unwrap()
    }

    #[test]
    fn contract_12_the_first_finding_that_the_policy_names_blocks() {
        const ALL: [bool; 3] = [true; 3];
        for (block_on, flagged, expected) in [
            (ALL, [false, false, false], None),
            (ALL, [true, true, true], Some(Guardrails)),
            (ALL, [false, true, true], Some(CustomPolicy)),
            (ALL, [false, false, true], Some(Dataclean)),
            ([false, true, true], [true, false, false], None),
            ([true, false, true], [false, true, false], None),
            ([true, true, false], [false, false, true], None),
            ([false, false, true], [true, true, true], Some(Dataclean)),
        ] {
            let [guardrails, custom_policy, dataclean] = block_on;
            let block_on = BlockOn {
                guardrails,
                custom_policy,
                dataclean,
            };
            let found = blocking_finding(block_on, &analysis(flagged));
            assert!(found == expected, "{block_on:?} {flagged:?}");
        }
    }

    #[test]
    fn every_outcome_of_a_check_has_a_name_of_its_own_in_traces() {
        let finding = Finding {
            kind: Guardrails,
            analysis: analysis([true, false, false]),
        };
        for (outcome, name) in [
            (CheckOutcome::Passed, "passed"),
            (CheckOutcome::Flagged(Box::new(finding)), "flagged"),
            (CheckOutcome::Unknown, "unknown"),
            (CheckOutcome::Late, "late"),
            (CheckOutcome::KeyRefused, "key_refused"),
            (CheckOutcome::ClientGone, "client_gone"),
        ] {
            assert_eq!(outcome.as_str(), name);
        }
    }

    #[test]
    fn contract_13_a_message_without_a_verdict_is_counted() {
        let metrics = Metrics::new().unwrap();
        let policy = Policy::new(AppMode::Sync, "no");
        report_unchecked(&metrics, &policy, UncheckedReason::Refused, "test");
        let shown = String::from_utf8(metrics.render()).unwrap();
        let counted = "monitor_unchecked_total{reason=\"refused\"} 1";
        assert!(shown.lines().any(|line| line == counted), "{shown}");
    }
}
