//! Three readings of the time: the calendar, one that no jump of it moves, and one that believes a jump ahead only
//! after a day. A calendar that is set wrong for an hour must cost no record that waits or is stored.

use super::events::ClockJumped;
use super::metrics::Metrics;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A change of the calendar against the time that passed is a jump from here on.
const JUMP_MS: i64 = 60_000;
/// A jump ahead is believed once the calendar has stayed there for so long.
const BELIEVED_AFTER_MS: i64 = 24 * 3_600_000;

static START: LazyLock<Start> = LazyLock::new(|| Start {
    calendar_ms: calendar_ms(),
    at: Instant::now(),
});

static OFFSET: Mutex<Offset> = Mutex::new(Offset {
    seen_ms: 0,
    since_ms: i64::MIN,
    settled_ms: 0,
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
    let mut offset = OFFSET.lock().unwrap_or_else(PoisonError::into_inner);
    offset.settle(calendar - steady, steady);
    steady.saturating_add(offset.settled_ms)
}

/// Counts and logs a jump of the calendar since the last look. To be called now and then.
pub fn watch_clock(metrics: &Metrics) {
    let (calendar, steady) = (calendar_ms(), steady_ms());
    let mut offset = OFFSET.lock().unwrap_or_else(PoisonError::into_inner);
    let jump = offset.jump(calendar - steady, steady);
    drop(offset);
    if let Some(by_ms) = jump {
        ClockJumped { by_ms }.emit(metrics);
    }
}

/// How far the calendar is ahead of the steady time.
struct Offset {
    /// When it was last looked at.
    seen_ms: i64,
    /// Since when it has been so, on the steady time.
    since_ms: i64,
    /// As far as it is believed.
    settled_ms: i64,
}

impl Offset {
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
