//! Messages and tokens per end user, summed over the records of a filter (CONTRACT 38). Computed on
//! request, page by page and for a limited number of records; erased and removed records are not included.

use super::Records;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::{ApplicationId, Severity};
use monitor_store::{RecordFilter, RecordSummary};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Records that one call sums; the next call continues after them.
pub const MOST_SUMMED: u64 = 100_000;
/// Records read at once.
const PAGE: u32 = 1_000;

/// The sums of some records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UserStatistics)]
pub struct UserSums {
    /// The number of summed records.
    pub records: u64,
    /// The tokens of all users.
    pub tokens: u64,
    /// The number of users, listed or not.
    pub user_count: usize,
    /// Most tokens first.
    pub users: Vec<UserSum>,
    /// `before` of the records that were not summed; null if all were.
    pub next_before: Option<i64>,
}

/// One user of one application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UserSum)]
pub struct UserSum {
    /// The application: the same name in two applications counts as two users.
    pub application_id: ApplicationId,
    /// The client's name for the user. Null: records without a user.
    pub user_id: Option<String>,
    /// Records, prompts and answers together.
    pub messages: u64,
    /// Records that any check flagged.
    pub flagged: u64,
    /// The tokens of these records.
    pub tokens: u64,
    /// Records whose token count reached a threshold, counted at the highest one.
    pub severities: Severities,
}

/// How many records reached which threshold (CONTRACT 24).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Severities {
    /// From low to below high.
    pub low: u64,
    /// From high to below critical.
    pub high: u64,
    /// Critical and above.
    pub critical: u64,
}

type Key = (ApplicationId, Option<String>);

impl Records {
    /// Sums the records of a filter, newest first; the limit of the filter applies to the users listed.
    pub(crate) async fn user_sums(
        &self,
        caller: &Caller,
        filter: RecordFilter,
    ) -> Result<UserSums, ApiError> {
        let listed = filter.limit as usize;
        let mut filter = RecordFilter {
            application_id: caller.narrow(filter.application_id)?,
            limit: PAGE,
            ..filter
        };
        let mut users: BTreeMap<Key, UserSum> = BTreeMap::new();
        let mut sums = UserSums::default();
        loop {
            let page = self.records.page(&filter).await?;
            sums.records += page.records.len() as u64;
            for record in &page.records {
                sums.tokens = sums.tokens.saturating_add(record.token_count);
                add(&mut users, record);
            }
            filter.before = page.next_before;
            if filter.before.is_none() || sums.records >= MOST_SUMMED {
                break;
            }
        }
        sums.next_before = filter.before;
        sums.user_count = users.len();
        sums.users = users.into_values().collect();
        sums.users.sort_by_key(|one| Reverse(one.tokens));
        sums.users.truncate(listed);
        Ok(sums)
    }
}

fn add(users: &mut BTreeMap<Key, UserSum>, record: &RecordSummary) {
    let key = (record.application_id, record.user_id.clone());
    let sum = users.entry(key).or_insert_with(|| UserSum {
        application_id: record.application_id,
        user_id: record.user_id.clone(),
        messages: 0,
        flagged: 0,
        tokens: 0,
        severities: Severities::default(),
    });
    let flagged =
        record.flagged_guardrails || record.flagged_custom_policy || record.flagged_dataclean;
    sum.messages += 1;
    sum.flagged += u64::from(flagged);
    sum.tokens = sum.tokens.saturating_add(record.token_count);
    match record.severity {
        None => {}
        Some(Severity::Low) => sum.severities.low += 1,
        Some(Severity::High) => sum.severities.high += 1,
        Some(Severity::Critical) => sum.severities.critical += 1,
    }
}
