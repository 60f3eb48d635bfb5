//! Which refused sign-ins get an audit entry of their own: a limited number per minute, shared fairly. The
//! others are counted. Kept in memory; nothing is written here.

use super::reason::Reason;
use monitor_store::AccountId;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// The period of the limit.
pub(super) const MINUTE: Duration = Duration::from_secs(60);
/// Entries per minute in total.
pub(super) const MOST_ENTRIES: usize = 20;
/// The share of refusals that concern no known account, so that noise cannot hide an account's entries,
/// and the share of one account or person.
const SHARE_OF_NOBODY: usize = 10;
const SHARE_OF_ONE: usize = 5;

/// Whom a refusal concerns, for sharing the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Nobody,
    Account(AccountId),
    /// A person by the subject of the provider's token.
    Person(String),
}

/// Refusals without an entry of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Suppressed {
    pub(super) first_ms: i64,
    pub(super) last_ms: i64,
    pub(super) reasons: BTreeMap<&'static str, u64>,
}

impl Suppressed {
    pub(super) fn one(reason: Reason, at_ms: i64) -> Self {
        Self {
            first_ms: at_ms,
            last_ms: at_ms,
            reasons: BTreeMap::from([(reason.as_str(), 1)]),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.reasons.values().sum()
    }

    fn add(&mut self, other: Self) {
        self.first_ms = self.first_ms.min(other.first_ms);
        self.last_ms = self.last_ms.max(other.last_ms);
        for (reason, count) in other.reasons {
            let sum = self.reasons.entry(reason).or_default();
            *sum = sum.saturating_add(count);
        }
    }
}

/// The entries of the last minute, and the refusals without one since the last summary.
#[derive(Default)]
pub(super) struct EntryLimit {
    latest: VecDeque<(Instant, Subject)>,
    pub(super) suppressed: Option<Suppressed>,
}

/// What happens to a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It gets an entry of its own.
    Entry,
    /// It counts for the next summary.
    Count,
}

impl EntryLimit {
    pub(super) fn admit(&mut self, subject: Subject, now: Instant) -> Outcome {
        self.latest
            .retain(|(at, _)| now.saturating_duration_since(*at) < MINUTE);
        let share = match subject {
            Subject::Nobody => SHARE_OF_NOBODY,
            Subject::Account(_) | Subject::Person(_) => SHARE_OF_ONE,
        };
        let own = self.latest.iter().filter(|(_, other)| *other == subject);
        if self.latest.len() >= MOST_ENTRIES || own.count() >= share {
            return Outcome::Count;
        }
        self.latest.push_back((now, subject));
        Outcome::Entry
    }

    pub(super) fn suppress(&mut self, more: Suppressed) {
        match &mut self.suppressed {
            Some(suppressed) => suppressed.add(more),
            None => self.suppressed = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn account(number: u128) -> Subject {
        Subject::Account(AccountId(Uuid::from_u128(number)))
    }

    #[test]
    fn noise_takes_its_share_and_leaves_room_for_accounts() {
        let (mut limit, now) = (EntryLimit::default(), Instant::now());
        let mut admitted = |subject: fn(u128) -> Subject, tries: u128| {
            let outcomes = (0..tries).map(|number| limit.admit(subject(number), now));
            outcomes
                .filter(|outcome| *outcome == Outcome::Entry)
                .count()
        };
        assert_eq!(admitted(|_| Subject::Nobody, 1_000), SHARE_OF_NOBODY);
        assert_eq!(admitted(|_| account(1), 1_000), SHARE_OF_ONE);
        let person = |_| Subject::Person("subject".to_owned());
        assert_eq!(admitted(person, 4), 4);
        assert_eq!(
            admitted(account, 1_000),
            MOST_ENTRIES - SHARE_OF_NOBODY - SHARE_OF_ONE - 4
        );
        assert_eq!(limit.latest.len(), MOST_ENTRIES);
    }

    #[test]
    fn no_minute_has_more_lines_wherever_it_begins() {
        let (mut limit, start) = (EntryLimit::default(), Instant::now());
        let second = Duration::from_secs(1);
        let written: Vec<u32> = (0..600)
            .filter(|at| {
                limit.admit(account(u128::from(*at)), start + second * *at) == Outcome::Entry
            })
            .collect();
        for from in 0..540 {
            let within = written.iter().filter(|at| (from..from + 60).contains(*at));
            assert!(within.count() <= MOST_ENTRIES, "from second {from}");
        }
        assert!(written.len() >= 9 * MOST_ENTRIES);
    }

    #[test]
    fn what_is_left_out_is_counted_by_reason() {
        let mut limit = EntryLimit::default();
        for (reason, at_ms) in [
            (Reason::NotBegunHere, 7),
            (Reason::WrongPassword, 5),
            (Reason::NotBegunHere, 9),
        ] {
            limit.suppress(Suppressed::one(reason, at_ms));
        }
        let expected = Suppressed {
            first_ms: 5,
            last_ms: 9,
            reasons: BTreeMap::from([("not_begun_here", 2), ("wrong_password", 1)]),
        };
        assert_eq!(expected.count(), 3);
        assert_eq!(limit.suppressed, Some(expected));
    }
}
