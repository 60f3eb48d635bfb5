//! Messages and tokens per end user, summed over the records of a filter (CONTRACT 38). Computed on
//! request, page by page and for a limited number of records; erased and removed records are not included. What the
//! sums take counts in `limits.buffered_bytes`, and one tenant has one such request at a time.

use super::Records;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use crate::analysis::request_body::BodyMemory;
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
/// Memory of one user beside the name: its entry, with the room of a node, and its place while the users are sorted.
const ENTRY: usize = 192;

/// The sums of some records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UserStatistics)]
pub struct UserSums {
    /// The number of summed records.
    pub records: u64,
    /// The tokens of all users.
    pub tokens: u64,
    /// The number of users, listed or not, without those whom `user_part` leaves out.
    pub user_count: usize,
    /// Most tokens first, or in the order of `sort`.
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

/// Which users are listed, and who comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserList {
    /// Only those whose name contains this, in any case of the letters A to Z.
    pub(crate) name_part: Option<String>,
    /// Who comes first.
    pub(crate) order: SumOrder,
}

/// Which sums come first; those that are alike follow by application and name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SumOrder {
    #[default]
    Tokens,
    Messages,
    Flagged,
    /// The highest share of flagged messages.
    Share,
}

impl SumOrder {
    /// The order of this word in a query.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            "tokens" => Some(Self::Tokens),
            "messages" => Some(Self::Messages),
            "flagged" => Some(Self::Flagged),
            "share" => Some(Self::Share),
            _ => None,
        }
    }

    /// What is sorted by, the highest first.
    fn weight(self, counts: &Counts) -> (u64, u64) {
        let (messages, flagged) = (u64::from(counts.messages), u64::from(counts.flagged));
        match self {
            Self::Tokens => (counts.tokens, 0),
            Self::Messages => (messages, flagged),
            Self::Flagged => (flagged, messages),
            // Counts are of at most 101,000 records: equal shares have equal weights, and others differ.
            Self::Share => (flagged * (1 << 40) / messages.max(1), flagged),
        }
    }
}

/// The users of a sum. Counts are of at most [`MOST_SUMMED`] records and a page.
#[derive(Default)]
struct Users {
    entries: BTreeMap<(ApplicationId, Option<Box<str>>), Counts>,
    /// Bytes of the entries.
    bytes: usize,
}

#[derive(Default)]
struct Counts {
    messages: u32,
    flagged: u32,
    low: u32,
    high: u32,
    critical: u32,
    tokens: u64,
}

impl Records {
    /// Sums the records of a filter, newest first; the limit of the filter applies to the users listed. Users whose
    /// names the list leaves out have no sums. What the sums take is counted as memory of the request.
    pub(crate) async fn user_sums(
        &self,
        caller: &Caller,
        filter: RecordFilter,
        list: UserList,
        memory: Option<BodyMemory>,
    ) -> Result<UserSums, ApiError> {
        let listed = filter.limit as usize;
        let mut filter = RecordFilter {
            application_id: caller.narrow(filter.application_id)?,
            limit: PAGE,
            ..filter
        };
        let _only_one = self.reads.take_sum(caller).await?;
        let mut users = Users::default();
        let mut sums = UserSums::default();
        loop {
            let page = self.page(caller, filter.clone()).await?;
            let held = users.bytes;
            sums.records += page.records.len() as u64;
            for record in &page.records {
                sums.tokens = sums.tokens.saturating_add(record.token_count);
                if list.takes(record.user_id.as_deref()) {
                    users.add(record);
                }
            }
            if let Some(memory) = &memory {
                memory.grow(users.bytes - held).await?;
            }
            filter.before = page.next_before;
            if filter.before.is_none() || sums.records >= MOST_SUMMED {
                break;
            }
        }
        sums.next_before = filter.before;
        sums.user_count = users.entries.len();
        sums.users = users.first(listed, list.order);
        Ok(sums)
    }
}

impl UserList {
    /// Whether a user of this name is listed.
    fn takes(&self, user: Option<&str>) -> bool {
        let Some(part) = &self.name_part else {
            return true;
        };
        let user = user.unwrap_or_default().to_ascii_lowercase();
        user.contains(&part.to_ascii_lowercase())
    }
}

impl Users {
    fn add(&mut self, record: &RecordSummary) {
        let user = record.user_id.as_deref();
        let key = (record.application_id, user.map(Box::from));
        let bytes = &mut self.bytes;
        let sum = self.entries.entry(key).or_insert_with(|| {
            *bytes += ENTRY + user.map_or(0, str::len);
            Counts::default()
        });
        let flagged =
            record.flagged_guardrails || record.flagged_custom_policy || record.flagged_dataclean;
        sum.messages += 1;
        sum.flagged += u32::from(flagged);
        sum.tokens = sum.tokens.saturating_add(record.token_count);
        match record.severity {
            None => {}
            Some(Severity::Low) => sum.low += 1,
            Some(Severity::High) => sum.high += 1,
            Some(Severity::Critical) => sum.critical += 1,
        }
    }

    /// The first of them in this order.
    fn first(self, listed: usize, order: SumOrder) -> Vec<UserSum> {
        let mut users: Vec<_> = self.entries.into_iter().collect();
        users.sort_by_key(|(_, counts)| Reverse(order.weight(counts)));
        users.truncate(listed);
        let sum = |((application_id, user), counts): ((_, Option<Box<str>>), Counts)| UserSum {
            application_id,
            user_id: user.map(String::from),
            messages: counts.messages.into(),
            flagged: counts.flagged.into(),
            tokens: counts.tokens,
            severities: Severities {
                low: counts.low.into(),
                high: counts.high.into(),
                critical: counts.critical.into(),
            },
        };
        users.into_iter().map(sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_come_in_the_order_of_what_is_sorted_by() {
        let counts = |messages, flagged, tokens| Counts {
            messages,
            flagged,
            tokens,
            ..Counts::default()
        };
        let all = [
            counts(9, 3, 1),
            counts(2, 2, 5),
            counts(3, 1, 9),
            counts(4, 0, 0),
        ];
        for (word, expected) in [
            ("tokens", [2, 1, 0, 3]),
            ("messages", [0, 3, 2, 1]),
            ("flagged", [0, 1, 2, 3]),
            ("share", [1, 0, 2, 3]),
        ] {
            let order = SumOrder::named(word).unwrap_or_default();
            let mut places = [0, 1, 2, 3];
            places.sort_by_key(|place: &usize| Reverse(order.weight(&all[*place])));
            assert_eq!(places, expected, "{word}");
        }
        assert_eq!(SumOrder::named("name"), None);
    }

    #[test]
    fn a_part_of_a_name_is_found_in_any_case_of_its_letters() {
        let list = |part: &str| UserList {
            name_part: Some(part.to_owned()),
            ..UserList::default()
        };
        assert!(list("VOLK").takes(Some("d.volkov")) && list("%").takes(Some("a%")));
        assert!(!list("volk").takes(None) && !list("_").takes(Some("a")));
        assert!(UserList::default().takes(None));
    }
}
