//! Traffic by the hour, for charts: counted as records come in, for each application and for all of
//! them together, and kept for a month. Days without an end are [`super::DayStatistics`]. No SQL here.

use monitor_model::{ApplicationId, PATTERN_NAMES};
use uuid::Uuid;

/// Hours that are kept, the one that runs included: a month and a day.
pub const KEPT_HOURS: i64 = 32 * 24;
/// Milliseconds of an hour.
pub(super) const HOUR_MS: i64 = 3_600_000;
/// Under this name all applications are counted together.
pub(super) const ALL: Uuid = Uuid::nil();

/// As what finds of applications' own patterns are counted where all applications are counted together:
/// their names have no end.
pub const OTHER_FINDS: &str = "custom";

/// What came in during one hour (UTC), prompts and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HourTraffic {
    /// Hours since 1970-01-01 00:00.
    pub hour: i64,
    /// Records of prompts.
    pub prompts: u64,
    /// Records of answers.
    pub answers: u64,
    /// Records that guardrails flagged.
    pub flagged_guardrails: u64,
    /// Records that a custom policy flagged.
    pub flagged_custom_policy: u64,
    /// Records with sensitive data.
    pub flagged_dataclean: u64,
    /// Records that the application's policy blocks on.
    pub blocked: u64,
    /// Records of failed exchanges.
    pub failed: u64,
    /// Tokens.
    pub tokens: u64,
    /// Analysis time of all records together, microseconds.
    pub total_us: u64,
    /// The longest analysis, microseconds.
    pub max_us: u64,
}

/// As what a find of this name is counted where all applications are counted together.
pub(super) fn shared_kind(kind: &str) -> &str {
    match PATTERN_NAMES.contains(&kind) {
        true => kind,
        false => OTHER_FINDS,
    }
}

/// The first hour that is kept at a time, milliseconds since 1970.
pub(super) fn first_kept(now_ms: i64) -> i64 {
    now_ms.div_euclid(HOUR_MS) - KEPT_HOURS + 1
}

/// The name under which an application's traffic is counted, or that of all.
pub(super) fn counted_as(application: Option<ApplicationId>) -> Uuid {
    application.map_or(ALL, |id| id.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sql_of_the_embedded_store_knows_every_shared_name() {
        let sql = include_str!("sqlite/besides.sql");
        for name in PATTERN_NAMES {
            assert_eq!(sql.matches(&format!("'{name}'")).count(), 1, "{name}");
            assert_eq!(shared_kind(name), name);
        }
        assert!(sql.contains(&format!("'{OTHER_FINDS}'")));
        assert_eq!(shared_kind("ORDER"), OTHER_FINDS);
    }
}
