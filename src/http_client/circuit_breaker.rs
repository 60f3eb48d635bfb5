//! A circuit breaker: after some failures in a row a server gets one probe per interval, and every other
//! call fails at once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row after which a server counts as down.
const MOST_FAILURES: u32 = 3;

/// The health of one server.
pub struct CircuitBreaker {
    probe_interval: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failures: u32,
    /// While the server is down: when the next call may try it.
    next_try: Option<Instant>,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The server is well, as far as known.
    Open,
    /// It is down, and this call tries whether it still is.
    Probe,
    /// It is down.
    Shut,
}

/// Whether an answer, or its lack, changed what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The health of the server is what it was.
    None,
    /// The server counts as down from here on.
    Down,
    /// It answers again.
    Up,
}

impl CircuitBreaker {
    /// A closed breaker; `probe_interval` is the time from one probe to the next.
    pub fn new(probe_interval: Duration) -> Self {
        Self {
            probe_interval,
            state: Mutex::default(),
        }
    }

    /// A probe is one per interval, also where it never comes to an end.
    pub fn admit(&self, now: Instant) -> Admission {
        let mut state = self.lock();
        match state.next_try {
            None => Admission::Open,
            Some(next) if now < next => Admission::Shut,
            Some(_) => {
                state.next_try = Some(now + self.probe_interval);
                Admission::Probe
            }
        }
    }

    /// An answer came, whatever it said.
    pub fn answered(&self) -> Transition {
        let before = std::mem::take(&mut *self.lock());
        match before.next_try {
            Some(_) => Transition::Up,
            None => Transition::None,
        }
    }

    /// No answer came.
    pub fn failed(&self, now: Instant) -> Transition {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        let was_down = state.next_try.is_some();
        if state.failures < MOST_FAILURES {
            return Transition::None;
        }
        state.next_try = Some(now + self.probe_interval);
        match was_down {
            true => Transition::None,
            false => Transition::Down,
        }
    }

    /// Whether the server counts as down.
    pub fn is_down(&self) -> bool {
        self.lock().next_try.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    fn shut(now: Instant) -> CircuitBreaker {
        let breaker = CircuitBreaker::new(INTERVAL);
        assert_eq!(breaker.failed(now), Transition::None);
        assert_eq!(breaker.failed(now), Transition::None);
        assert_eq!(breaker.admit(now), Admission::Open);
        assert_eq!(breaker.failed(now), Transition::Down);
        breaker
    }

    #[test]
    fn a_server_that_is_down_is_asked_once_per_interval() {
        let start = Instant::now();
        let breaker = shut(start);
        assert_eq!(breaker.admit(start), Admission::Shut);
        let later = start + INTERVAL;
        assert_eq!(breaker.admit(later), Admission::Probe);
        assert_eq!(breaker.admit(later), Admission::Shut);
        assert_eq!(breaker.failed(later), Transition::None);
        assert_eq!(breaker.admit(later), Admission::Shut);
        // A probe that never came back is followed by the next one.
        assert_eq!(breaker.admit(later + INTERVAL), Admission::Probe);
        assert_eq!(breaker.admit(later + INTERVAL * 2), Admission::Probe);
    }

    #[test]
    fn an_answer_opens_it_and_failures_count_in_a_row_only() {
        let now = Instant::now();
        let breaker = shut(now);
        assert_eq!(breaker.answered(), Transition::Up);
        assert_eq!(breaker.admit(now), Admission::Open);
        for _ in 0..10 {
            breaker.failed(now);
            breaker.failed(now);
            assert_eq!(breaker.answered(), Transition::None);
        }
        assert!(!breaker.is_down());
    }
}
