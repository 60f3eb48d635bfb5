//! What the lanes know together of the backend's health: while it does not answer, one of them tries
//! again after a growing wait and the others stand still; when it answers, all go on.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The wait after a first failure; it doubles up to the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The health of one backend.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    opened: Notify,
}

#[derive(Default)]
struct State {
    /// Failures one after another; 0 is healthy.
    failures: u32,
    next_try: Option<Instant>,
    /// Counts the failures that shut the gate further: what several lanes saw at once is one.
    round: u64,
    /// Counts the successes, so that a lane can tell whether others had one meanwhile.
    successes: u64,
}

impl Gate {
    /// An answer came, whatever it said.
    pub(super) fn answered(&self) {
        let mut state = self.lock();
        state.successes += 1;
        if state.failures > 0 {
            state.failures = 0;
            state.next_try = None;
            drop(state);
            self.opened.notify_waiters();
        }
    }

    /// No answer came to a try that began in this round.
    pub(super) fn failed(&self, round: u64) {
        let mut state = self.lock();
        if state.round != round {
            return;
        }
        state.round += 1;
        state.failures = state.failures.saturating_add(1);
        let doubled = FIRST_WAIT * 2_u32.pow(state.failures.clamp(1, 8) - 1);
        let part = RandomState::new().build_hasher().finish() % 500;
        let wait = doubled
            .min(LONGEST_WAIT)
            .mul_f64(0.5 + part as f64 / 1_000.0);
        state.next_try = Some(Instant::now() + wait);
        drop(state);
        // Whoever waited for the old time has to wait for the new one.
        self.opened.notify_waiters();
    }

    /// Answers so far.
    pub(super) fn successes(&self) -> u64 {
        self.lock().successes
    }

    /// Whether the backend answered last time.
    pub(super) fn is_open(&self) -> bool {
        self.lock().failures == 0
    }

    /// Returns at once while all is well; else when it is this lane's turn to try. Gives the round.
    pub(super) async fn pass(&self) -> u64 {
        loop {
            let opened = self.opened.notified();
            let wait = {
                let mut state = self.lock();
                match (state.failures, state.next_try) {
                    (0, _) => return state.round,
                    (_, Some(at)) if at <= Instant::now() => {
                        // This lane tries; the others wait for what comes of it, or for a while.
                        state.next_try = Some(Instant::now() + LONGEST_WAIT * 2);
                        return state.round;
                    }
                    (_, at) => at.map_or(FIRST_WAIT, |at| {
                        at.saturating_duration_since(Instant::now())
                    }),
                }
            };
            tokio::select! {
                () = opened => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn while_it_is_shut_one_tries_and_an_answer_lets_all_through() {
        let gate = Arc::new(Gate::default());
        let round = gate.pass().await;
        gate.failed(round);
        let tries = Arc::new(AtomicU32::new(0));
        let lanes: Vec<_> = (0..8)
            .map(|_| {
                let (gate, tries) = (gate.clone(), tries.clone());
                tokio::spawn(async move {
                    gate.pass().await;
                    tries.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        while tries.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(tries.load(Ordering::Relaxed), 1);
        gate.answered();
        for lane in lanes {
            lane.await.unwrap_or_default();
        }
        assert_eq!(tries.load(Ordering::Relaxed), 8);
        assert!(gate.is_open());
    }

    #[tokio::test]
    async fn what_many_lanes_saw_at_once_is_one_failure() {
        let gate = Gate::default();
        let round = gate.pass().await;
        for _ in 0..16 {
            gate.failed(round);
        }
        assert_eq!(gate.lock().failures, 1);
        let next = gate.pass().await;
        gate.failed(next);
        assert_eq!(gate.lock().failures, 2);
    }
}
