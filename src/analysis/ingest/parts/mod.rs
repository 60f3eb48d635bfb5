//! Calls of tools and their results that a gateway sends beside a message. Each is checked by itself, by the rules of
//! the message, and stored with it. The verdict is that of the message: `scan_roles` and the text of an answer decide
//! what of them it covers. It waits for no part, or for a moment only, and no failure of a part reaches it.

mod call_id;
pub(crate) mod text;

use super::analyzer::MessageAnalyzer;
use super::owned_message::OwnedMessage;
use super::verdict::RulesInForce;
use crate::analysis::clock::steady_us;
use crate::analysis::error::ApiError;
use crate::fair_queue::{Claim, Urgency, on_account};
use crate::observe::IncompleteReason;
use monitor_detect::Report;
use monitor_model::{CheckedPart, CheckedParts, ToolPart, ToolParts};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long all parts of a message delay an answer that somebody awaits, because it says that the record is stored.
const LONGEST_DELAY: Duration = Duration::from_millis(250);

/// What the checks say of a part.
#[derive(Default)]
struct Findings {
    types: BTreeSet<String>,
    guardrails: BTreeSet<String>,
}

impl Findings {
    fn add(&mut self, report: &Report) {
        let types = report.dataclean.types.iter();
        self.types.extend(types.map(|found| found.kind.clone()));
        let categories = report.guardrails.categories.iter();
        let flagged = categories.filter(|category| category.flagged);
        self.guardrails
            .extend(flagged.map(|category| category.name.clone()));
    }
}

/// What the engine says of a part.
struct Reports {
    own: Report,
    /// On the text with its escapes written out, where it has some.
    decoded: Option<Report>,
}

impl Reports {
    /// Whether something was not looked at.
    fn are_in_part(&self) -> bool {
        let has_failed = |report: &Report| {
            let mut errors = report.errors.iter();
            report.cleaned_in_part || errors.any(|error| error.starts_with("dataclean"))
        };
        has_failed(&self.own) || self.decoded.as_ref().is_some_and(has_failed)
    }
}

/// The parts of a message whose verdict is known.
pub(super) struct PendingParts {
    pub(super) analyzer: Arc<MessageAnalyzer>,
    pub(super) rules: RulesInForce,
    pub(super) tools: ToolParts,
    pub(super) claim: Claim,
}

impl PendingParts {
    /// The same where nobody waits for them.
    pub(super) fn unawaited(mut self) -> Self {
        self.claim.urgency = Urgency::Deferred;
        self
    }

    /// Checks the parts; of an application that keeps no originals their texts are cleaned. Once there is no turn or no
    /// time for a part, the rest is marked as not checked, without its text where no originals are kept, and so are calls
    /// that the gateway's policy exempts.
    pub(super) async fn check(mut self) -> CheckedParts {
        let deadline = match self.claim.urgency {
            Urgency::Awaited => Some(Instant::now() + LONGEST_DELAY),
            Urgency::Deferred => None,
        };
        let ToolParts {
            parts,
            omitted,
            are_unchecked: are_exempt,
        } = std::mem::take(&mut self.tools);
        let mut checked = CheckedParts {
            parts: Vec::with_capacity(parts.len()),
            omitted,
        };
        let mut goes_on = true;
        for part in parts {
            let reports = match goes_on && !are_exempt {
                true => self.reports_on(&part.text, deadline).await,
                false => None,
            };
            goes_on = reports.is_some() || are_exempt;
            checked.parts.push(CheckedPart {
                is_exempt: are_exempt,
                ..self.checked(part, reports)
            });
        }
        if let (false, Some(metrics)) = (goes_on, self.analyzer.remote.metrics()) {
            let reason = IncompleteReason::ToolParts;
            metrics.analysis.incomplete(self.rules.stage, reason);
        }
        checked
    }

    /// None where there is no turn or no time for it.
    async fn reports_on(&self, text: &str, deadline: Option<Instant>) -> Option<Reports> {
        let reports = async {
            let own = self.report_on(text.into()).await?;
            // A value behind escapes is found where they are written out; it stands nowhere in the text as it is.
            let decoded = text::of_result(text);
            let decoded = match decoded == text {
                true => None,
                false => Some(self.report_on(decoded.into()).await?),
            };
            Ok::<_, ApiError>(Reports { own, decoded })
        };
        let reports = match deadline {
            // A part that is checked on this thread would be checked whatever the time.
            Some(at) if at <= Instant::now() => return None,
            Some(at) => timeout_at(at, reports).await.ok()?,
            None => reports.await,
        };
        reports.ok()
    }

    async fn report_on(&self, text: Arc<str>) -> Result<Report, ApiError> {
        let message = OwnedMessage {
            text,
            part_breaks: Vec::new(),
        };
        let rules = self.rules.compiled();
        let report = self.analyzer.analyze_locally(message, rules, self.claim);
        on_account(self.claim, report).await
    }

    fn checked(&self, part: ToolPart, reports: Option<Reports>) -> CheckedPart {
        let mut findings = Findings::default();
        let is_unchecked = reports.is_none();
        if let Some(reports) = &reports {
            findings.add(&reports.own);
            reports
                .decoded
                .iter()
                .for_each(|report| findings.add(report));
        }
        let mut checked = CheckedPart {
            is_cut: part.is_cut,
            is_unchecked,
            types: findings.types.into_iter().collect(),
            guardrails: findings.guardrails.into_iter().collect(),
            ..CheckedPart::default()
        };
        let application = &self.rules.application;
        if application.rules.keep_original {
            checked.call_id = part.call_id;
            checked.name = part.name;
            // Whoever does not read originals sees nothing of a text whose finds are not all known.
            checked.is_unchecked |= reports.as_ref().is_some_and(Reports::are_in_part);
            checked.entities =
                reports.map_or_else(Vec::new, |reports| reports.own.dataclean.entities);
            checked.text = Some(part.text);
        } else {
            checked.call_id = call_id::cleaned(application.id, &part.call_id);
            checked.name = self.cleaned_name(part.name);
            checked.text = reports.and_then(|reports| cleaned(&part.text, reports));
            checked.is_cleaned = true;
        }
        checked
    }

    /// A model chose the name of a tool.
    fn cleaned_name(&self, name: String) -> String {
        let compiled = self.rules.compiled();
        match compiled.rules().dataclean {
            None => name,
            Some(_) => {
                let masked = self.analyzer.engine.mask(&name, compiled, &steady_us);
                masked.unwrap_or_default()
            }
        }
    }
}

/// Whether a text looks like arguments, an object or a list, of which perhaps only the beginning is there.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// What may be stored of a text: nothing of one that was cleaned only in part.
fn cleaned(text: &str, reports: Reports) -> Option<String> {
    // Of JSON with its escapes written out; other texts mean them as they stand.
    let report = match reports.decoded.filter(|_| is_json(text)) {
        Some(decoded) => decoded,
        None => reports.own,
    };
    let text = report.masked_text.or(report.dataclean.cleaned_text);
    let text = text.filter(|_| !report.cleaned_in_part)?;
    Some(text.to_string())
}
