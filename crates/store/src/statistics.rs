//! Counts that are kept up to date as records come in: per day without end, and per hour for a month.
//! Reading them costs the same however many records there are. No SQL here.

use crate::costs::{CostFilter, CostSum, SpendingFilter};
use crate::error::StoreError;
use crate::records::NewRecord;
use crate::user_days::{UserDay, UserDayFilter, UserFilter, UserTotal};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Stage, TypeCount, is_pattern_name, pattern_names};
use uuid::Uuid;

/// Hours for which traffic is kept, the current one included: 32 days.
pub const KEPT_HOURS: i64 = 32 * 24;
/// Milliseconds of an hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;
/// The application identifier under which the traffic of all applications together is counted.
pub(crate) const ALL: Uuid = Uuid::nil();

/// Names of an application's own patterns that are counted as they are for each day and stage, and for each hour.
pub(crate) const MOST_OWN_KINDS: i64 = 100;

/// The entity type that counts finds of patterns without their names: in the traffic of all applications together, beyond
/// a hundred names of one application, and of patterns that came with a request.
pub const OTHER_FINDS: &str = "custom";

/// Which days of statistics a page shows.
#[derive(Clone, Debug)]
pub struct StatisticsFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// The first and the last day, days since 1970.
    pub days: (i64, i64),
    /// The last entry of the previous page: its day, application and stage.
    pub after: Option<(i64, ApplicationId, Stage)>,
    /// Entries per page, from 1.
    pub limit: u32,
}

impl StatisticsFilter {
    /// Everything of these days, on one page.
    pub fn whole(days: (i64, i64)) -> Self {
        Self {
            application_id: None,
            days,
            after: None,
            limit: u32::MAX,
        }
    }
}

/// The records of one application, one day (UTC) and one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayStatistics {
    /// Days since 1970-01-01.
    pub day: i64,
    /// The application that the records belong to.
    pub application_id: ApplicationId,
    /// Prompts or answers.
    pub stage: Stage,
    /// Number of records.
    pub messages: u64,
    /// Records that guardrails flagged.
    pub flagged_guardrails: u64,
    /// Records that a custom policy flagged.
    pub flagged_custom_policy: u64,
    /// Records with sensitive data.
    pub flagged_dataclean: u64,
    /// Records that the application's policy blocks.
    pub blocked: u64,
    /// Records of failed exchanges.
    pub failed: u64,
    /// Tokens of all records together.
    pub tokens: u64,
    /// Analysis time of all records together, microseconds.
    pub total_us: u64,
    /// The longest analysis, microseconds.
    pub max_us: u64,
    /// Finds by entity type, ordered by name; of an application's own patterns the hundred most frequent ones.
    pub types: Vec<TypeCount>,
}

/// The records of one hour (UTC), prompts and answers.
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
    /// Records that the application's policy blocks.
    pub blocked: u64,
    /// Records of failed exchanges.
    pub failed: u64,
    /// Records that sync mode let pass without a verdict.
    pub unchecked: u64,
    /// Tokens of all records together.
    pub tokens: u64,
    /// Analysis time of all records together, microseconds.
    pub total_us: u64,
    /// The longest analysis, microseconds.
    pub max_us: u64,
}

/// Users whom the sums of costs name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserNames {
    /// Those of the application, in an order of the store.
    pub names: Vec<String>,
    /// Where the next page begins; None when this is the last one.
    pub next_after: Option<String>,
}

/// Statistics per day and traffic per hour.
#[async_trait]
pub trait StatisticsStore: Send + Sync {
    /// One page of days, ordered by day, application and stage. Retention does not lower them.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read; the same holds for every method here.
    async fn statistics(&self, filter: &StatisticsFilter)
    -> Result<Vec<DayStatistics>, StoreError>;

    /// Traffic from the first to the last hour (hours since 1970), in order, without hours in which
    /// nothing came in. Of one application, or of all together, including those removed since. The last
    /// [`KEPT_HOURS`] are kept.
    async fn traffic(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError>;

    /// What calls cost, by day and group, the newest days first, then the highest sums. Retention of records does not
    /// lower them; those of single users are kept for [`crate::KEPT_COST_DAYS`] at most.
    async fn costs(&self, filter: &CostFilter) -> Result<Vec<CostSum>, StoreError>;

    /// The users behind this one whom the sums of costs name, of one application or of all: so many are looked at.
    async fn user_names(
        &self,
        application: Option<ApplicationId>,
        after: &str,
        limit: u32,
    ) -> Result<UserNames, StoreError>;

    /// What the calls of an application cost that its budgets count.
    async fn spending(&self, filter: &SpendingFilter) -> Result<Vec<CostSum>, StoreError>;

    /// One page of end users who sent messages in some days, with the sums of as many days before. Kept as long as the
    /// costs of single users.
    async fn users(&self, filter: &UserFilter) -> Result<Vec<UserTotal>, StoreError>;

    /// What these users do by the day, the newest days first, at most [`crate::MOST_USER_DAYS`] sums.
    async fn user_days(&self, filter: &UserDayFilter) -> Result<Vec<UserDay>, StoreError>;

    /// Finds by entity type in the same hours, the most frequent first. For all applications together,
    /// types that are not names of §2.8 count as [`OTHER_FINDS`].
    async fn traffic_types(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
        limit: u32,
    ) -> Result<Vec<TypeCount>, StoreError>;
}

/// The names that are counted as they are, of whichever application.
pub(crate) fn shared_kinds() -> Vec<&'static str> {
    pattern_names().chain([OTHER_FINDS]).collect()
}

/// The name under which a find of this type is counted for all applications together.
pub(crate) fn shared_kind(kind: &str) -> &str {
    match is_pattern_name(kind) {
        true => kind,
        false => OTHER_FINDS,
    }
}

/// The name under which a find of a record is counted for its application. Names of patterns that came with a request
/// are not counted by themselves.
pub(crate) fn counted_kind<'k>(record: &NewRecord, kind: &'k str) -> &'k str {
    match record.rules_version {
        Some(_) => kind,
        None => shared_kind(kind),
    }
}

/// The first hour that is kept at this time, milliseconds since 1970.
pub(crate) fn first_kept_hour(now_ms: i64) -> i64 {
    now_ms.div_euclid(HOUR_MS) - KEPT_HOURS + 1
}

/// The identifier under which the traffic of an application, or of all of them, is counted.
pub(crate) fn counted_as(application: Option<ApplicationId>) -> Uuid {
    application.map_or(ALL, |id| id.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_patterns_are_one_kind() {
        for name in pattern_names() {
            assert_eq!(shared_kind(name), name);
        }
        assert_eq!(shared_kind("ORDER"), OTHER_FINDS);
        let sql = include_str!("sqlite/records/insert_derived.sql");
        assert!(sql.contains(&format!("'{OTHER_FINDS}'")));
    }
}
