//! Keeps a repeated warning from flooding the log: one line per period, with the count it stands for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lets one event through per period and counts the others.
#[derive(Debug)]
pub struct Throttle {
    origin: Instant,
    period: Duration,
    next_ms: AtomicU64,
    held_back: AtomicU64,
}

impl Throttle {
    /// One event per `period`.
    pub fn every(period: Duration) -> Self {
        Self {
            origin: Instant::now(),
            period,
            next_ms: AtomicU64::new(0),
            held_back: AtomicU64::new(0),
        }
    }

    /// `Some(n)` when a line is due, `n` being how many events it stands for, this one included.
    pub fn pass(&self) -> Option<u64> {
        let now = self.origin.elapsed().as_millis() as u64;
        let due = self.next_ms.load(Ordering::Relaxed);
        let next = now + self.period.as_millis() as u64;
        let mine = now >= due
            && self
                .next_ms
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if mine {
            return Some(self.held_back.swap(0, Ordering::Relaxed) + 1);
        }
        self.held_back.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Throttle;
    use std::time::Duration;

    #[test]
    fn only_the_first_event_of_a_period_passes() {
        let throttle = Throttle::every(Duration::from_secs(3600));
        assert_eq!(throttle.pass(), Some(1));
        assert_eq!(throttle.pass(), None);
    }

    #[test]
    fn events_held_back_are_counted_on_the_next_line() {
        let throttle = Throttle::every(Duration::ZERO);
        assert_eq!(throttle.pass(), Some(1));
        throttle
            .held_back
            .store(4, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(throttle.pass(), Some(5));
    }
}
