//! What a rule of alerts says, and what is allowed in it: of the file, of the API and of the web UI.

use monitor_model::ApplicationId;
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
pub enum AlertRuleKind {
    /// So many messages with a verdict within a window.
    Count,
    /// A share of all messages within a window of whole hours.
    Share,
    /// A type of finding, or a user, that an application had not seen for 30 days.
    FirstTime,
    /// A gateway that reports nothing.
    GatewaySilent,
    /// A share of a budget that is spent.
    Budget,
}

impl AlertRuleKind {
    /// Every kind, in the order of the forms.
    pub const ALL: [Self; 5] = [
        Self::Count,
        Self::Share,
        Self::FirstTime,
        Self::GatewaySilent,
        Self::Budget,
    ];

    /// The word in the API, the configuration and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Share => "share",
            Self::FirstTime => "first_time",
            Self::GatewaySilent => "gateway_silent",
            Self::Budget => "budget",
        }
    }

    /// The kind of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The words of the verdicts that it can look for.
    pub fn verdicts(self) -> &'static [&'static str] {
        const SUMMED: [&str; 6] = [
            "blocked",
            "unchecked",
            "guardrails",
            "custom_policy",
            "dataclean",
            "failed",
        ];
        const COUNTED: [&str; 7] = [
            "flagged",
            "blocked",
            "unchecked",
            "guardrails",
            "custom_policy",
            "dataclean",
            "failed",
        ];
        match self {
            Self::Count => &COUNTED,
            Self::Share => &SUMMED,
            Self::FirstTime | Self::GatewaySilent | Self::Budget => &[],
        }
    }

    /// Seconds that its window may have.
    pub fn windows(self) -> RangeInclusive<u64> {
        match self {
            Self::Count => MINUTE..=DAY,
            Self::Share => HOUR..=7 * DAY,
            Self::FirstTime => HOUR..=HOUR,
            Self::GatewaySilent => 5 * MINUTE..=DAY,
            // It looks at the budget's own window.
            Self::Budget => MINUTE..=7 * DAY,
        }
    }

    /// The window of a rule that says none, in seconds.
    pub fn usual_window(self) -> u64 {
        match self {
            Self::Share | Self::FirstTime => HOUR,
            Self::Count | Self::GatewaySilent | Self::Budget => 10 * MINUTE,
        }
    }

    fn thresholds(self) -> RangeInclusive<u64> {
        match self {
            Self::Share => 1..=100,
            // A budget that only warns can be overspent.
            Self::Budget => 1..=1_000,
            Self::Count | Self::FirstTime | Self::GatewaySilent => 1..=HIGHEST_COUNT,
        }
    }
}

/// A rule. What its kind does not use keeps its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlertRuleSettings {
    /// What people call it.
    pub name: String,
    /// What it looks for.
    pub kind: AlertRuleKind,
    /// The word of a verdict.
    pub verdict: String,
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only this user.
    pub user_id: Option<String>,
    /// Only this type of finding.
    pub r#type: Option<String>,
    /// Its window, in seconds.
    pub window_s: u64,
    /// Messages, or percent of them or of a budget.
    pub threshold: u64,
    /// Messages below which a share says nothing.
    pub minimum: u64,
    /// An alert for each user.
    pub per_user: bool,
    /// Whether messages name the user.
    pub include_user: bool,
    /// The channels that are told.
    pub channels: Vec<Uuid>,
    /// After which they are told again, in seconds.
    pub repeat_after_s: u64,
    /// Whether they are told that it is over.
    pub send_resolved: bool,
    /// Whether it is in force.
    pub is_enabled: bool,
}

impl Default for AlertRuleSettings {
    fn default() -> Self {
        Self {
            name: String::new(),
            kind: AlertRuleKind::Count,
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

impl AlertRuleSettings {
    /// Everything that is wrong with it but its name: the field, and the problem.
    pub(crate) fn wrong(&self) -> Vec<(&'static str, &'static str)> {
        let mut wrong = Vec::new();
        let verdicts = self.kind.verdicts();
        if !verdicts.is_empty() && !verdicts.contains(&self.verdict.as_str()) {
            wrong.push(("verdict", "is not one of the list"));
        }
        if !self.kind.windows().contains(&self.window_s) {
            wrong.push(("window", "is out of range for this kind of rule"));
        } else if self.kind == AlertRuleKind::Share && !self.window_s.is_multiple_of(HOUR) {
            wrong.push(("window", "must be whole hours for this kind of rule"));
        }
        if !self.kind.thresholds().contains(&self.threshold) {
            wrong.push(("threshold", "is out of range for this kind of rule"));
        }
        if !(1..=1_000_000_000).contains(&self.minimum) {
            wrong.push(("minimum", "must be 1 to 1000000000"));
        }
        if !(5 * MINUTE..=7 * DAY).contains(&self.repeat_after_s) {
            wrong.push(("repeat_after", "must be 5m to 7d"));
        }
        if self.channels.len() > MOST_CHANNELS {
            wrong.push(("channels", "has more than 20 entries"));
        }
        wrong.extend(self.wrong_filters());
        wrong
    }

    fn wrong_filters(&self) -> Vec<(&'static str, &'static str)> {
        let filters = [("user_id", &self.user_id), ("type", &self.r#type)];
        let wrong = filters.into_iter().filter_map(|(field, value)| {
            let is_used = match self.kind {
                AlertRuleKind::Count => true,
                AlertRuleKind::FirstTime => field == "user_id" && self.per_user,
                AlertRuleKind::Share | AlertRuleKind::GatewaySilent | AlertRuleKind::Budget => {
                    false
                }
            };
            let problem = match value.as_deref()? {
                _ if !is_used => "does not apply to this kind of rule",
                text if text.is_empty() || text.len() > LONGEST_VALUE => "must have 1 to 512 bytes",
                _ => return None,
            };
            Some((field, problem))
        });
        wrong.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(rule: &AlertRuleSettings) -> Vec<&'static str> {
        rule.wrong().into_iter().map(|(field, _)| field).collect()
    }

    #[test]
    fn b10_a_rule_names_everything_that_is_wrong_with_it() {
        let good = AlertRuleSettings {
            verdict: "blocked".to_owned(),
            ..AlertRuleSettings::default()
        };
        assert_eq!(fields(&good), Vec::<&str>::new());
        let bad = AlertRuleSettings {
            verdict: "clean".to_owned(),
            window_s: 59,
            threshold: 0,
            minimum: 0,
            repeat_after_s: 1,
            user_id: Some(String::new()),
            ..AlertRuleSettings::default()
        };
        let expected = [
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
        let share = AlertRuleSettings {
            kind: AlertRuleKind::Share,
            verdict: "dataclean".to_owned(),
            window_s: HOUR,
            threshold: 100,
            ..AlertRuleSettings::default()
        };
        assert_eq!(fields(&share), Vec::<&str>::new());
        let cut = AlertRuleSettings {
            window_s: HOUR + 1,
            threshold: 101,
            verdict: "flagged".to_owned(),
            ..share
        };
        assert_eq!(fields(&cut), ["verdict", "window", "threshold"]);
    }

    #[test]
    fn b10_a_rule_of_budgets_takes_more_than_the_whole_and_no_user() {
        let budget = AlertRuleSettings {
            kind: AlertRuleKind::Budget,
            threshold: 150,
            ..AlertRuleSettings::default()
        };
        assert_eq!(fields(&budget), Vec::<&str>::new());
        let bad = AlertRuleSettings {
            threshold: 1_001,
            user_id: Some("anna".to_owned()),
            ..budget
        };
        assert_eq!(fields(&bad), ["threshold", "user_id"]);
    }
}
