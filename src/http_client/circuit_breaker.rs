//! A circuit breaker: it keeps calls from a server that does not answer. After some failures in a row it
//! opens; then one call at a time may probe the server, after a wait that may grow with each failed
//! probe, until an answer closes the breaker again. It reads no clock and waits for nothing: the caller
//! passes the time in and decides what a rejected call does.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a breaker opens, and how it probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Failures in a row that open it.
    pub failures_to_open: u32,
    /// The wait before the first probe; it doubles with each failed probe.
    pub first_wait: Duration,
    /// The longest wait between two probes.
    pub longest_wait: Duration,
    /// How long a probe may take before the next one is admitted.
    pub probe_timeout: Duration,
    /// What a call means that was admitted before the breaker opened and fails afterwards.
    pub late_failure: LateFailure,
}

/// The meaning of a failure of a call that was admitted before the breaker opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateFailure {
    /// It says nothing new: calls that fail side by side extend the wait once.
    Ignored,
    /// The server is still down: the wait for the next probe begins again.
    RestartsWait,
}

impl BreakerSettings {
    /// Opens after three failures, then admits one probe per interval, counted from the last failure.
    pub fn probe_every(interval: Duration) -> Self {
        Self {
            failures_to_open: 3,
            first_wait: interval,
            longest_wait: interval,
            probe_timeout: interval,
            late_failure: LateFailure::RestartsWait,
        }
    }
}

/// The breaker of one server.
pub struct CircuitBreaker {
    settings: BreakerSettings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Failures in a row while closed.
    failures: u32,
    /// Times it has opened since the last answer; 0 while it is closed.
    openings: u32,
    /// While it is open: when the next probe is admitted.
    next_probe: Option<Instant>,
    /// Counts the openings: tells which calls were admitted before the last one.
    round: u64,
    answers: u64,
}

/// A call that was admitted; [`CircuitBreaker::failed`] takes it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    round: u64,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The breaker is closed: the server answers, as far as is known.
    Closed(Attempt),
    /// The breaker is open, and this call probes the server.
    Probe(Attempt),
    /// The breaker is open; the next probe is due after this time.
    Open {
        /// Time until the next probe.
        retry_in: Duration,
    },
}

/// Whether an answer, or a missing one, opened or closed the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The breaker is as open or closed as before.
    None,
    /// The server counts as down from here on.
    Opened,
    /// The server answers again.
    Closed,
}

impl CircuitBreaker {
    /// A closed breaker.
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            state: Mutex::default(),
        }
    }

    /// Asks whether a call may be made now. A probe that never ends is followed by another one.
    pub fn admit(&self, now: Instant) -> Admission {
        let mut state = self.lock();
        let attempt = Attempt { round: state.round };
        match state.next_probe {
            None => Admission::Closed(attempt),
            Some(next) if now < next => Admission::Open {
                retry_in: next - now,
            },
            Some(_) => {
                state.next_probe = Some(now + self.settings.probe_timeout);
                Admission::Probe(attempt)
            }
        }
    }

    /// The server answered, whatever it said.
    pub fn answered(&self) -> Transition {
        let mut state = self.lock();
        state.answers += 1;
        state.failures = 0;
        state.openings = 0;
        match state.next_probe.take() {
            Some(_) => Transition::Closed,
            None => Transition::None,
        }
    }

    /// The server did not answer an admitted call. `jitter` scales the wait before the next probe, so
    /// that many clients do not probe at once; 1 leaves it as it is.
    pub fn failed(&self, attempt: Attempt, now: Instant, jitter: f64) -> Transition {
        let mut state = self.lock();
        let is_late = state.round != attempt.round;
        if is_late && self.settings.late_failure == LateFailure::Ignored {
            return Transition::None;
        }
        state.failures = state.failures.saturating_add(1);
        let was_open = state.next_probe.is_some();
        if !was_open && state.failures < self.settings.failures_to_open {
            return Transition::None;
        }
        state.round += 1;
        state.openings = state.openings.saturating_add(1);
        let doublings = state.openings.min(32) - 1;
        let wait = self.settings.first_wait.saturating_mul(1 << doublings);
        let wait = wait.min(self.settings.longest_wait);
        state.next_probe = Some(now + wait.mul_f64(jitter));
        match was_open {
            true => Transition::None,
            false => Transition::Opened,
        }
    }

    /// Answers so far.
    pub fn answers(&self) -> u64 {
        self.lock().answers
    }

    /// Whether the server counts as down.
    pub fn is_open(&self) -> bool {
        self.lock().next_probe.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    fn fail(breaker: &CircuitBreaker, now: Instant) -> Transition {
        match breaker.admit(now) {
            Admission::Closed(attempt) | Admission::Probe(attempt) => {
                breaker.failed(attempt, now, 1.0)
            }
            Admission::Open { .. } => Transition::None,
        }
    }

    fn opened(now: Instant) -> CircuitBreaker {
        let breaker = CircuitBreaker::new(BreakerSettings::probe_every(INTERVAL));
        assert_eq!(fail(&breaker, now), Transition::None);
        assert_eq!(fail(&breaker, now), Transition::None);
        assert!(!breaker.is_open());
        assert_eq!(fail(&breaker, now), Transition::Opened);
        breaker
    }

    fn is_probe(admission: Admission) -> bool {
        matches!(admission, Admission::Probe(_))
    }

    #[test]
    fn an_open_breaker_admits_one_probe_per_interval() {
        let start = Instant::now();
        let breaker = opened(start);
        let closed_for = |now, retry_in| {
            assert_eq!(breaker.admit(now), Admission::Open { retry_in });
        };
        closed_for(start, INTERVAL);
        let later = start + INTERVAL;
        assert_eq!(fail(&breaker, later), Transition::None);
        closed_for(later, INTERVAL);
        // A probe that never came back is followed by the next one.
        assert!(is_probe(breaker.admit(later + INTERVAL)));
        closed_for(later + INTERVAL, INTERVAL);
        assert!(is_probe(breaker.admit(later + INTERVAL * 2)));
    }

    #[test]
    fn a_late_failure_restarts_the_wait_for_the_next_probe() {
        let start = Instant::now();
        let breaker = CircuitBreaker::new(BreakerSettings::probe_every(INTERVAL));
        let Admission::Closed(late) = breaker.admit(start) else {
            panic!("it is closed");
        };
        for _ in 0..3 {
            fail(&breaker, start);
        }
        let later = start + INTERVAL / 2;
        assert_eq!(breaker.failed(late, later, 1.0), Transition::None);
        let retry_in = INTERVAL / 2;
        assert_eq!(
            breaker.admit(start + INTERVAL),
            Admission::Open { retry_in }
        );
        assert!(is_probe(breaker.admit(later + INTERVAL)));
    }

    #[test]
    fn an_answer_closes_it_and_only_failures_in_a_row_count() {
        let now = Instant::now();
        let breaker = opened(now);
        assert_eq!(breaker.answered(), Transition::Closed);
        for _ in 0..10 {
            assert_eq!(fail(&breaker, now), Transition::None);
            assert_eq!(fail(&breaker, now), Transition::None);
            assert_eq!(breaker.answered(), Transition::None);
        }
        assert!(!breaker.is_open());
        assert_eq!(breaker.answers(), 11);
    }

    #[test]
    fn the_wait_doubles_with_each_failed_probe_and_calls_that_fail_side_by_side_count_once() {
        let settings = BreakerSettings {
            failures_to_open: 1,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(5),
            probe_timeout: INTERVAL,
            late_failure: LateFailure::Ignored,
        };
        let breaker = CircuitBreaker::new(settings);
        let mut now = Instant::now();
        for wait in [1, 2, 4, 5, 5] {
            let (Admission::Closed(attempt) | Admission::Probe(attempt)) = breaker.admit(now)
            else {
                panic!("it is time for a probe");
            };
            for _ in 0..16 {
                breaker.failed(attempt, now, 1.0);
            }
            let retry_in = Duration::from_secs(wait);
            assert_eq!(breaker.admit(now), Admission::Open { retry_in });
            now += retry_in;
        }
        let Admission::Probe(attempt) = breaker.admit(now) else {
            panic!("it is time for a probe");
        };
        breaker.failed(attempt, now, 0.5);
        let retry_in = Duration::from_millis(2_500);
        assert_eq!(breaker.admit(now), Admission::Open { retry_in });
    }
}
