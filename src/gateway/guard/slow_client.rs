//! Time limits for what a client sends (`limits.header_timeout`): how long a head may stay incomplete,
//! and how slowly a body may arrive.
//!
//! Pingora bounds only the silence between two reads (cloudflare/pingora#447), so a client that sends a byte
//! now and then could hold a connection, and the memory of its request, for ever. HTTP/2 heads have no limit
//! at all.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep_until};

/// The slowest rate of a body, in bytes per second, once `limits.header_timeout` has passed.
const SLOWEST_BODY_PER_SECOND: u32 = 500;

/// Whether a body that is forwarded as it arrives is too slow, judged over its whole length: `received`
/// bytes in `elapsed`, at the pace of the slower of client and upstream.
pub(crate) fn is_too_slow(elapsed: Duration, limit: Duration, received: usize) -> bool {
    elapsed.saturating_sub(limit).as_secs_f64() > time_for(received)
}

/// The pace of a body that is collected whole. Unlike [`is_too_slow`], bytes that arrived fast at first
/// buy no time for those that drip in later: the credit never exceeds the limit.
pub(crate) struct BodyPace {
    limit: f64,
    /// Seconds that the client may still take.
    credit: f64,
}

impl BodyPace {
    pub(crate) fn new(limit: Duration) -> Self {
        let limit = limit.as_secs_f64();
        Self {
            limit,
            credit: limit,
        }
    }

    /// Accounts for `bytes` that arrived after waiting `waited`; false when they came too late.
    pub(crate) fn keeps_up(&mut self, waited: Duration, bytes: usize) -> bool {
        let credit = self.credit - waited.as_secs_f64() + time_for(bytes);
        self.credit = credit.min(self.limit);
        self.credit >= 0.0
    }
}

/// The seconds that `bytes` may take at the slowest rate.
fn time_for(bytes: usize) -> f64 {
    bytes as f64 / f64::from(SLOWEST_BODY_PER_SECOND)
}

/// The time by which a head that has begun must be complete.
pub(super) struct HeadDeadline {
    limit: Duration,
    begun: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl HeadDeadline {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            begun: None,
            timer: None,
        }
    }

    /// Starts the clock with the first byte of a head; true when it was not running yet.
    pub(super) fn start(&mut self) -> bool {
        let is_first = self.begun.is_none();
        self.begun.get_or_insert_with(Instant::now);
        is_first
    }

    /// Stops the clock: no head is incomplete.
    pub(super) fn clear(&mut self) {
        self.begun = None;
        self.timer = None;
    }

    pub(super) fn is_over(&self) -> bool {
        self.begun
            .is_some_and(|begun| begun.elapsed() >= self.limit)
    }

    /// True once the deadline has passed; before that, has the task woken at the deadline.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(begun) = self.begun else {
            return false;
        };
        let end = tokio::time::Instant::from_std(begun + self.limit);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        matches!(timer.as_mut().poll(cx), Poll::Ready(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);
    const SECOND: Duration = Duration::from_secs(1);

    /// How many pieces arrive before the body is too slow, at most 1,000.
    fn pieces(pace: &mut BodyPace, bytes: usize) -> usize {
        let kept = (0..1_000).take_while(|_| pace.keeps_up(SECOND, bytes));
        kept.count()
    }

    #[test]
    fn bytes_that_came_fast_buy_no_time_for_those_that_drip() {
        let mut pace = BodyPace::new(LIMIT);
        assert!(pace.keeps_up(SECOND, 8 << 20));
        assert_eq!(pieces(&mut pace, 1), 10);
    }

    #[test]
    fn a_body_that_keeps_the_pace_may_take_as_long_as_it_needs() {
        assert_eq!(pieces(&mut BodyPace::new(LIMIT), 500), 1_000);
        let mut pauses = BodyPace::new(LIMIT);
        assert!((0..100).all(|_| pauses.keeps_up(LIMIT, 64 << 10)));
    }

    #[test]
    fn a_forwarded_body_is_judged_over_its_whole_length() {
        assert!(!is_too_slow(LIMIT * 3, LIMIT, 10_000));
        assert!(is_too_slow(LIMIT * 3, LIMIT, 9_999));
    }
}
