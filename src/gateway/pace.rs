//! How fast request bodies have to come: one that comes slower holds a connection, and what is kept of
//! it, for nothing (`limits.header_timeout`). Reads nothing and knows no clock.

use std::time::Duration;

/// A body that comes slower than this, beyond `limits.header_timeout`, is not waited for.
const SLOWEST_BODY_PER_SECOND: u32 = 500;

/// Whether a body that is passed on as it comes is one that nobody has to wait for, although no silence
/// in it was too long. `received` bytes of it came in that time, at the speed of whoever takes it.
pub(super) fn is_too_slow(elapsed: Duration, limit: Duration, received: usize) -> bool {
    elapsed.saturating_sub(limit).as_secs_f64() > earned(received)
}

/// The same for a body that is kept until it is whole. What came fast at first buys no time for what
/// drips in later: nobody gets more than the limit on credit.
pub(super) struct Pace {
    limit: f64,
    /// Seconds that may still be waited.
    credit: f64,
}

impl Pace {
    pub(super) fn new(limit: Duration) -> Self {
        let limit = limit.as_secs_f64();
        Self {
            limit,
            credit: limit,
        }
    }

    /// False where these bytes came too late.
    pub(super) fn keeps_up(&mut self, waited: Duration, bytes: usize) -> bool {
        let credit = self.credit - waited.as_secs_f64() + earned(bytes);
        self.credit = credit.min(self.limit);
        self.credit >= 0.0
    }
}

/// The seconds that so many bytes may take.
fn earned(bytes: usize) -> f64 {
    bytes as f64 / f64::from(SLOWEST_BODY_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);
    const SECOND: Duration = Duration::from_secs(1);

    /// How many pieces come before it is too slow; 1,000 where it never is.
    fn pieces(pace: &mut Pace, bytes: usize) -> usize {
        let kept = (0..1_000).take_while(|_| pace.keeps_up(SECOND, bytes));
        kept.count()
    }

    #[test]
    fn what_came_fast_buys_no_time_for_what_drips() {
        let mut pace = Pace::new(LIMIT);
        assert!(pace.keeps_up(SECOND, 8 << 20));
        assert_eq!(pieces(&mut pace, 1), 10);
    }

    #[test]
    fn who_keeps_the_pace_may_take_as_long_as_it_takes() {
        assert_eq!(pieces(&mut Pace::new(LIMIT), 500), 1_000);
        let mut pauses = Pace::new(LIMIT);
        assert!((0..100).all(|_| pauses.keeps_up(LIMIT, 64 << 10)));
    }

    #[test]
    fn what_is_passed_on_is_judged_as_a_whole() {
        assert!(!is_too_slow(LIMIT * 3, LIMIT, 10_000));
        assert!(is_too_slow(LIMIT * 3, LIMIT, 9_999));
    }
}
