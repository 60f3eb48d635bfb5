//! Readings of the time: the calendar, one that no jump of it moves, and two that believe a calendar which is suddenly
//! ahead only after a day, be it that it jumped or that the process started with it. A calendar that is set wrong for
//! an hour must cost no record that waits or is stored.

use super::events::{ClockDoubted, ClockJumped};
use super::metrics::Metrics;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A change of the calendar against the time that passed is a jump from here on.
const JUMP_MS: i64 = 60_000;
/// A jump ahead is believed once the calendar has stayed there for so long, and a start is doubted if the calendar is
/// further ahead of what an earlier process left.
const BELIEVED_AFTER_MS: i64 = 24 * 3_600_000;

static START: LazyLock<Start> = LazyLock::new(|| Start {
    calendar_ms: calendar_ms(),
    at: Instant::now(),
});

static OFFSET: Mutex<Offset> = Mutex::new(Offset {
    seen_ms: 0,
    since_ms: i64::MIN,
    settled_ms: 0,
    earlier_ms: i64::MIN,
    is_doubted: false,
});

struct Start {
    calendar_ms: i64,
    at: Instant,
}

/// Milliseconds since 1970 (UTC); 0 if the clock of the machine is before that.
pub fn calendar_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970 as the calendar was when this was first asked, plus the time that has passed: ages within
/// a process are differences of it.
pub fn steady_ms() -> i64 {
    let passed = START.at.elapsed().as_millis();
    START
        .calendar_ms
        .saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
}

/// Milliseconds since 1970 for what deletes by age: the calendar, but a jump ahead counts only once the calendar has
/// stayed there for a day. A jump back counts at once.
pub fn settled_ms() -> i64 {
    let (calendar, steady) = (calendar_ms(), steady_ms());
    let mut offset = offset();
    offset.settle(calendar - steady, steady);
    steady.saturating_add(offset.settled_ms)
}

/// Milliseconds since 1970 for the age of what an earlier process left: the steady time, but a calendar that is
/// doubted since the start counts once it is believed. What comes within the process ages by the steady time.
pub fn aging_ms() -> i64 {
    let (settled, steady) = (settled_ms(), steady_ms());
    match offset().is_doubted {
        true => settled.min(steady),
        false => steady,
    }
}

/// An earlier process wrote something at this time, milliseconds since 1970. To be called before anything is deleted
/// by its age: a calendar that was more than a day ahead of the latest such time at the start is doubted.
pub fn note_earlier(at_ms: i64) {
    let noted = offset().note_earlier(at_ms, START.calendar_ms);
    if let Some(ahead_ms) = noted {
        ClockDoubted { ahead_ms }.emit();
    }
}

/// Counts and logs a jump of the calendar since the last look. To be called now and then.
pub fn watch_clock(metrics: &Metrics) {
    let (calendar, steady) = (calendar_ms(), steady_ms());
    let mut offset = offset();
    let jump = offset.jump(calendar - steady, steady);
    drop(offset);
    if let Some(by_ms) = jump {
        ClockJumped { by_ms }.emit(metrics);
    }
}

fn offset() -> MutexGuard<'static, Offset> {
    OFFSET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How far the calendar is ahead of the steady time.
struct Offset {
    /// When it was last looked at.
    seen_ms: i64,
    /// Since when it has been so, on the steady time.
    since_ms: i64,
    /// As far as it is believed.
    settled_ms: i64,
    /// The latest time at which an earlier process wrote something.
    earlier_ms: i64,
    /// Whether the calendar was too far ahead of that at the start.
    is_doubted: bool,
}

impl Offset {
    /// Gives how far the calendar was ahead at the start, if that is doubted from now on.
    fn note_earlier(&mut self, at_ms: i64, start_ms: i64) -> Option<i64> {
        self.earlier_ms = self.earlier_ms.max(at_ms);
        let ahead_ms = start_ms.saturating_sub(self.earlier_ms);
        let was_doubted = std::mem::replace(&mut self.is_doubted, ahead_ms > BELIEVED_AFTER_MS);
        // Two notes in short order; what was believed meanwhile stays so.
        match (was_doubted, self.is_doubted) {
            (false, false) => {}
            (true, _) if self.since_ms != start_ms => {}
            (true, false) => (self.settled_ms, self.since_ms) = (0, i64::MIN),
            (_, true) => (self.settled_ms, self.since_ms) = (-ahead_ms, start_ms),
        }
        (self.is_doubted && !was_doubted).then_some(ahead_ms)
    }

    fn jump(&mut self, now_ms: i64, steady_ms: i64) -> Option<i64> {
        let by_ms = now_ms.saturating_sub(self.seen_ms);
        if by_ms.saturating_abs() < JUMP_MS {
            return None;
        }
        self.seen_ms = now_ms;
        self.since_ms = steady_ms;
        Some(by_ms)
    }

    fn settle(&mut self, now_ms: i64, steady_ms: i64) {
        let has_jumped = now_ms.saturating_sub(self.seen_ms).saturating_abs() >= JUMP_MS;
        let is_believed =
            !has_jumped && steady_ms.saturating_sub(self.since_ms) >= BELIEVED_AFTER_MS;
        if is_believed || now_ms < self.settled_ms {
            self.settled_ms = now_ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 24 * 3_600_000;

    fn offset() -> Offset {
        Offset {
            seen_ms: 0,
            since_ms: i64::MIN,
            settled_ms: 0,
            earlier_ms: i64::MIN,
            is_doubted: false,
        }
    }

    impl Offset {
        /// What is believed once the calendar has been looked at.
        fn believed(&mut self, now_ms: i64, steady_ms: i64) -> i64 {
            // A deletion may come before the look that notices the jump.
            self.settle(now_ms, steady_ms);
            self.jump(now_ms, steady_ms);
            self.settle(now_ms, steady_ms);
            self.settled_ms
        }
    }

    #[test]
    fn a_jump_ahead_is_believed_after_a_day_and_one_back_at_once() {
        let mut offset = offset();
        assert_eq!(offset.believed(8 * DAY_MS, 1_000), 0);
        assert_eq!(offset.believed(8 * DAY_MS, DAY_MS), 0);
        assert_eq!(offset.believed(8 * DAY_MS, DAY_MS + 1_000), 8 * DAY_MS);
        assert_eq!(offset.believed(-2 * DAY_MS, DAY_MS + 2_000), -2 * DAY_MS);
        assert_eq!(offset.believed(0, DAY_MS + 3_000), -2 * DAY_MS);
        assert_eq!(offset.believed(0, 2 * DAY_MS + 3_000), 0);
    }

    #[test]
    fn a_calendar_that_is_ahead_at_the_start_is_believed_after_a_day() {
        let start = 100 * DAY_MS;
        // An hour, a day, and never: nothing is doubted.
        for earlier in [start - 3_600_000, start - DAY_MS, start + DAY_MS] {
            let mut offset = offset();
            assert_eq!(offset.note_earlier(earlier, start), None);
            assert_eq!(offset.believed(0, start), 0);
            assert!(!offset.is_doubted);
        }
        let mut offset = offset();
        assert_eq!(
            offset.note_earlier(start - 8 * DAY_MS, start),
            Some(8 * DAY_MS)
        );
        assert_eq!(offset.believed(0, start + 1_000), -8 * DAY_MS);
        // A later time is found: it counts.
        assert_eq!(offset.note_earlier(start - 2 * DAY_MS, start), None);
        assert_eq!(offset.believed(0, start + 2_000), -2 * DAY_MS);
        assert_eq!(offset.note_earlier(start - 9 * DAY_MS, start), None);
        assert_eq!(offset.believed(0, start + DAY_MS - 1), -2 * DAY_MS);
        assert_eq!(offset.believed(0, start + DAY_MS), 0);
        assert!(offset.is_doubted, "what aged by it goes on to");
    }

    #[test]
    fn a_calendar_that_was_doubted_rightly_and_is_set_back_is_followed_after_a_day() {
        let start = 100 * DAY_MS;
        let mut offset = offset();
        let ahead = 8 * DAY_MS + 3_600_000;
        assert_eq!(offset.note_earlier(start - ahead, start), Some(ahead));
        assert_eq!(offset.believed(-8 * DAY_MS, start + 60_000), -ahead);
        assert_eq!(offset.believed(-8 * DAY_MS, start + DAY_MS), -ahead);
        let then = start + DAY_MS + 60_000;
        assert_eq!(offset.believed(-8 * DAY_MS, then), -8 * DAY_MS);
    }

    #[test]
    fn a_start_is_no_longer_doubted_once_something_later_is_found() {
        let start = 100 * DAY_MS;
        let mut offset = offset();
        assert_eq!(
            offset.note_earlier(start - 8 * DAY_MS, start),
            Some(8 * DAY_MS)
        );
        assert_eq!(offset.note_earlier(start - 1_000, start), None);
        assert!(!offset.is_doubted);
        assert_eq!(offset.believed(0, start + 1_000), 0);
    }

    #[test]
    fn a_jump_is_noticed_once_and_small_steps_are_none_until_they_add_up() {
        let mut offset = offset();
        assert_eq!(offset.jump(59_999, 0), None);
        assert_eq!(offset.jump(-59_999, 0), None);
        assert_eq!(offset.jump(60_000, 0), Some(60_000));
        assert_eq!(offset.jump(60_000, 0), None);
        assert_eq!(offset.jump(-DAY_MS, 0), Some(-DAY_MS - 60_000));
        assert_eq!(offset.jump(i64::MAX, 0), Some(i64::MAX));
    }

    #[test]
    fn the_steady_time_begins_at_the_calendar_and_passes() {
        let first = steady_ms();
        let next = steady_ms();
        assert!(next >= first && calendar_ms().abs_diff(next) < JUMP_MS.unsigned_abs());
    }
}
