//! What an alert rule says, and what is allowed in it.

use crate::analysis::error::FieldProblem;
use crate::analysis::text_checks::check_name;
use monitor_model::ApplicationId;
use monitor_store::VerdictFilter;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use uuid::Uuid;

/// The highest count of a rule, and the most records that a look at it reads.
pub(crate) const HIGHEST_COUNT: u64 = 10_000;
/// The longest name of a user or of a type, in bytes.
const LONGEST_VALUE: usize = 512;
/// The most channels of a rule.
const MOST_CHANNELS: usize = 20;

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

/// What a rule looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleKind {
    /// So many messages with a verdict within a window.
    Count,
    /// A share of all messages within a window of whole hours.
    Share,
    /// A type of finding, or a user, that an application had not seen for 30 days.
    FirstTime,
    /// A gateway that reports nothing.
    GatewaySilent,
}

impl RuleKind {
    pub(crate) const ALL: [Self; 4] = [
        Self::Count,
        Self::Share,
        Self::FirstTime,
        Self::GatewaySilent,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Share => "share",
            Self::FirstTime => "first_time",
            Self::GatewaySilent => "gateway_silent",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The verdicts that it can look for.
    pub(crate) fn verdicts(self) -> &'static [VerdictFilter] {
        const SUMMED: [VerdictFilter; 6] = [
            VerdictFilter::Blocked,
            VerdictFilter::Unchecked,
            VerdictFilter::Guardrails,
            VerdictFilter::CustomPolicy,
            VerdictFilter::Dataclean,
            VerdictFilter::Failed,
        ];
        const COUNTED: [VerdictFilter; 7] = [
            VerdictFilter::Flagged,
            VerdictFilter::Blocked,
            VerdictFilter::Unchecked,
            VerdictFilter::Guardrails,
            VerdictFilter::CustomPolicy,
            VerdictFilter::Dataclean,
            VerdictFilter::Failed,
        ];
        match self {
            Self::Count => &COUNTED,
            Self::Share => &SUMMED,
            Self::FirstTime | Self::GatewaySilent => &[],
        }
    }

    /// Seconds that its window may have.
    pub(crate) fn windows(self) -> RangeInclusive<u64> {
        match self {
            Self::Count => MINUTE..=DAY,
            Self::Share => HOUR..=7 * DAY,
            Self::FirstTime => HOUR..=HOUR,
            Self::GatewaySilent => 5 * MINUTE..=DAY,
        }
    }
}

/// A rule. What its kind does not use keeps its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) kind: RuleKind,
    /// The word of a verdict.
    pub(crate) verdict: String,
    pub(crate) application_id: Option<ApplicationId>,
    pub(crate) user_id: Option<String>,
    pub(crate) r#type: Option<String>,
    pub(crate) window_s: u64,
    /// Messages, or percent of them.
    pub(crate) threshold: u64,
    /// Messages below which a share says nothing.
    pub(crate) minimum: u64,
    pub(crate) per_user: bool,
    pub(crate) include_user: bool,
    pub(crate) channels: Vec<Uuid>,
    pub(crate) repeat_after_s: u64,
    pub(crate) send_resolved: bool,
    pub(crate) is_enabled: bool,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            name: String::new(),
            kind: RuleKind::Count,
            verdict: String::new(),
            application_id: None,
            user_id: None,
            r#type: None,
            window_s: 10 * MINUTE,
            threshold: 1,
            minimum: 100,
            per_user: false,
            include_user: false,
            channels: Vec::new(),
            repeat_after_s: 4 * HOUR,
            send_resolved: true,
            is_enabled: true,
        }
    }
}

impl Rule {
    /// The verdict that it looks for.
    pub(crate) fn verdict(&self) -> Option<VerdictFilter> {
        let mut verdicts = self.kind.verdicts().iter();
        verdicts.find(|one| one.as_str() == self.verdict).copied()
    }

    /// Everything that is wrong with it.
    pub(crate) fn problems(&self) -> Vec<FieldProblem> {
        let mut problems: Vec<_> = check_name(&self.name).err().into_iter().collect();
        let mut wrong = |field: &str, problem: &str| {
            problems.push(FieldProblem::new(field, problem));
        };
        if !self.kind.verdicts().is_empty() && self.verdict().is_none() {
            wrong("verdict", "is not one of the list");
        }
        if !self.kind.windows().contains(&self.window_s) {
            wrong("window", "is out of range for this kind of rule");
        } else if self.kind == RuleKind::Share && !self.window_s.is_multiple_of(HOUR) {
            wrong("window", "must be whole hours for this kind of rule");
        }
        let thresholds = match self.kind {
            RuleKind::Share => 1..=100,
            _ => 1..=HIGHEST_COUNT,
        };
        if !thresholds.contains(&self.threshold) {
            wrong("threshold", "is out of range for this kind of rule");
        }
        if !(1..=1_000_000_000).contains(&self.minimum) {
            wrong("minimum", "must be 1 to 1000000000");
        }
        if !(5 * MINUTE..=7 * DAY).contains(&self.repeat_after_s) {
            wrong("repeat_after", "must be 5m to 7d");
        }
        if self.channels.len() > MOST_CHANNELS {
            wrong("channels", "has more than 20 entries");
        }
        problems.extend(self.filter_problems());
        problems
    }

    fn filter_problems(&self) -> Vec<FieldProblem> {
        let filters = [("user_id", &self.user_id), ("type", &self.r#type)];
        let problems = filters.into_iter().filter_map(|(field, value)| {
            let is_used = match self.kind {
                RuleKind::Count => true,
                RuleKind::FirstTime => field == "user_id" && self.per_user,
                RuleKind::Share | RuleKind::GatewaySilent => false,
            };
            let problem = match value.as_deref()? {
                _ if !is_used => "does not apply to this kind of rule",
                text if text.is_empty() || text.len() > LONGEST_VALUE => "must have 1 to 512 bytes",
                _ => return None,
            };
            Some(FieldProblem::new(field, problem))
        });
        problems.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(rule: &Rule) -> Vec<String> {
        rule.problems().into_iter().map(|one| one.field).collect()
    }

    #[test]
    fn b10_a_rule_names_everything_that_is_wrong_with_it() {
        let good = Rule {
            name: "blocked".to_owned(),
            verdict: "blocked".to_owned(),
            ..Rule::default()
        };
        assert_eq!(fields(&good), Vec::<String>::new());
        let bad = Rule {
            verdict: "clean".to_owned(),
            window_s: 59,
            threshold: 0,
            minimum: 0,
            repeat_after_s: 1,
            user_id: Some(String::new()),
            ..Rule::default()
        };
        let expected = [
            "name",
            "verdict",
            "window",
            "threshold",
            "minimum",
            "repeat_after",
            "user_id",
        ];
        assert_eq!(fields(&bad), expected);
    }

    #[test]
    fn b10_a_share_is_of_whole_hours_and_of_what_is_summed_up() {
        let share = Rule {
            name: "share".to_owned(),
            kind: RuleKind::Share,
            verdict: "dataclean".to_owned(),
            window_s: HOUR,
            threshold: 100,
            ..Rule::default()
        };
        assert_eq!(fields(&share), Vec::<String>::new());
        let cut = Rule {
            window_s: HOUR + 1,
            threshold: 101,
            verdict: "flagged".to_owned(),
            ..share
        };
        assert_eq!(fields(&cut), ["verdict", "window", "threshold"]);
    }
}
