//! An event, whatever it is written as: what became of a message, or an entry of the audit log. It has no text of a
//! message and no value that was found: identifiers, names of types and categories with counts and scores.

use monitor_model::{ApplicationId, TypeCount};
use monitor_store::{AuditEntry, StoredRecord};

/// What a destination gets of one verdict or one entry of the audit log, before it is written in its format.
pub(super) struct Event {
    /// The same whenever the event is sent again.
    pub(super) uid: String,
    /// When it happened, milliseconds since 1970.
    pub(super) at_ms: i64,
    pub(super) application: Option<EventApplication>,
    /// What it is about.
    pub(super) subject: Subject,
}

/// The application that an event concerns.
pub(super) struct EventApplication {
    pub(super) id: ApplicationId,
    /// None of one that was removed.
    pub(super) name: Option<String>,
}

/// What an event is about.
pub(super) enum Subject {
    Verdict(Box<Verdict>),
    Audit(Box<AuditEntry>),
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerdictAction {
    Passed,
    Blocked,
    /// It passed without a verdict.
    Unchecked,
}

/// The verdict on a message.
pub(super) struct Verdict {
    pub(super) action: VerdictAction,
    /// `user_prompt`, `llm_answer`, `tool_arguments` or `tool_result`.
    pub(super) record_type: &'static str,
    pub(super) exchange_id: Option<String>,
    pub(super) session_id: Option<String>,
    /// None without `siem.include_user`.
    pub(super) user_id: Option<String>,
    /// The page of the record.
    pub(super) link: String,
    pub(super) has_guardrails: bool,
    /// Highest score of the guardrails, 0 to 1.
    pub(super) score: Option<f64>,
    pub(super) categories: Vec<FlaggedCategory>,
    pub(super) has_custom_policy: bool,
    /// The violated custom policies.
    pub(super) policies: Vec<String>,
    pub(super) has_sensitive_data: bool,
    pub(super) types: Vec<TypeCount>,
}

/// A category of the guardrails that reached its threshold.
pub(super) struct FlaggedCategory {
    pub(super) name: String,
    pub(super) score: f64,
}

/// What events of records say beside the record.
#[derive(Clone, Debug)]
pub(super) struct EventWording {
    /// What links to records begin with; empty without `ui.public_url`.
    pub(super) link_base: String,
    pub(super) has_user: bool,
}

impl VerdictAction {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Blocked => "blocked",
            Self::Unchecked => "unchecked",
        }
    }
}

impl Verdict {
    pub(super) fn of(record: StoredRecord, wording: &EventWording) -> Self {
        let StoredRecord {
            summary, answer, ..
        } = record;
        let categories = answer.guardrails.categories.into_iter();
        let policies = answer.custom_policy.policies.into_iter();
        let record_type = summary.name();
        Self {
            action: match (summary.blocked, summary.unchecked) {
                (true, _) => VerdictAction::Blocked,
                (false, true) => VerdictAction::Unchecked,
                (false, false) => VerdictAction::Passed,
            },
            record_type,
            link: format!("{}/ui/records/{}", wording.link_base, summary.id),
            exchange_id: summary.exchange_id,
            session_id: summary.session_id,
            user_id: summary.user_id.filter(|_| wording.has_user),
            has_guardrails: summary.flagged_guardrails,
            score: answer.guardrails.score,
            categories: categories
                .filter(|category| category.flagged)
                .map(|category| FlaggedCategory {
                    name: category.name,
                    score: category.score,
                })
                .collect(),
            has_custom_policy: summary.flagged_custom_policy,
            policies: policies
                .filter(|policy| policy.flagged)
                .map(|policy| policy.name)
                .collect(),
            has_sensitive_data: summary.flagged_dataclean,
            types: summary.types,
        }
    }

    /// What was found, in fixed words.
    pub(super) fn title(&self) -> String {
        let found = [
            (self.has_guardrails, "guardrails"),
            (self.has_custom_policy, "custom policy"),
            (self.has_sensitive_data, "sensitive data"),
        ];
        let found = found.iter().filter(|(is_found, _)| *is_found);
        let found: Vec<&str> = found.map(|(_, name)| *name).collect();
        match found.is_empty() {
            true => format!("Message {}", self.action.as_str()),
            false => format!("Message {}: {}", self.action.as_str(), found.join(", ")),
        }
    }
}
