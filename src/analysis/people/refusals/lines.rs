//! Which refusals have a line of their own: a bounded number a minute, shared out, in memory alone. The
//! others are counted. Nothing is written here.

use super::reason::Reason;
use monitor_store::AccountId;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// What lines are counted over.
pub(super) const MINUTE: Duration = Duration::from_secs(60);
/// Lines of a minute, of everybody together.
pub(super) const LINES: usize = 20;
/// Of these, what nobody in particular may take, so that noise hides no account's line, and one account
/// or person.
const OF_NOBODY: usize = 10;
const OF_ONE: usize = 5;

/// Whom a line is about, as far as lines are shared out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum About {
    Nobody,
    Account(AccountId),
    /// By the provider's name for them.
    Person(String),
}

/// Refusals without a line of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) first_ms: i64,
    pub(super) last_ms: i64,
    pub(super) reasons: BTreeMap<&'static str, u64>,
}

impl LeftOut {
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

/// The lines of the last minute, and what was left out since that was told.
#[derive(Default)]
pub(super) struct Lines {
    latest: VecDeque<(Instant, About)>,
    pub(super) left_out: Option<LeftOut>,
}

/// Whether a refusal has a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Line,
    Count,
}

impl Lines {
    pub(super) fn place(&mut self, about: About, now: Instant) -> Place {
        self.latest
            .retain(|(at, _)| now.saturating_duration_since(*at) < MINUTE);
        let share = match about {
            About::Nobody => OF_NOBODY,
            About::Account(_) | About::Person(_) => OF_ONE,
        };
        let own = self.latest.iter().filter(|(_, other)| *other == about);
        if self.latest.len() >= LINES || own.count() >= share {
            return Place::Count;
        }
        self.latest.push_back((now, about));
        Place::Line
    }

    pub(super) fn leave_out(&mut self, more: LeftOut) {
        match &mut self.left_out {
            Some(left_out) => left_out.add(more),
            None => self.left_out = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn account(number: u128) -> About {
        About::Account(AccountId(Uuid::from_u128(number)))
    }

    #[test]
    fn noise_takes_its_share_and_leaves_room_for_accounts() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        let mut placed = |about: fn(u128) -> About, tries: u128| {
            let places = (0..tries).map(|number| lines.place(about(number), now));
            places.filter(|place| *place == Place::Line).count()
        };
        assert_eq!(placed(|_| About::Nobody, 1_000), OF_NOBODY);
        assert_eq!(placed(|_| account(1), 1_000), OF_ONE);
        let person = |_| About::Person("subject".to_owned());
        assert_eq!(placed(person, 4), 4);
        assert_eq!(placed(account, 1_000), LINES - OF_NOBODY - OF_ONE - 4);
        assert_eq!(lines.latest.len(), LINES);
    }

    #[test]
    fn no_minute_has_more_lines_wherever_it_begins() {
        let (mut lines, start) = (Lines::default(), Instant::now());
        let second = Duration::from_secs(1);
        let written: Vec<u32> = (0..600)
            .filter(|at| lines.place(account(u128::from(*at)), start + second * *at) == Place::Line)
            .collect();
        for from in 0..540 {
            let within = written.iter().filter(|at| (from..from + 60).contains(*at));
            assert!(within.count() <= LINES, "from second {from}");
        }
        assert!(written.len() >= 9 * LINES);
    }

    #[test]
    fn what_is_left_out_is_counted_by_reason() {
        let mut lines = Lines::default();
        for (reason, at_ms) in [
            (Reason::NotBegunHere, 7),
            (Reason::WrongPassword, 5),
            (Reason::NotBegunHere, 9),
        ] {
            lines.leave_out(LeftOut::one(reason, at_ms));
        }
        let expected = LeftOut {
            first_ms: 5,
            last_ms: 9,
            reasons: BTreeMap::from([("not_begun_here", 2), ("wrong_password", 1)]),
        };
        assert_eq!(expected.count(), 3);
        assert_eq!(lines.left_out, Some(expected));
    }
}
