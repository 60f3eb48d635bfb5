//! What the delivery workers know together of the backend's health: while it does not answer, one of
//! them probes it after a growing wait and the others stand still; when it answers, all go on.

use crate::http_client::{
    Admission, Attempt, BreakerSettings, CircuitBreaker, LateFailure, Transition,
};
use crate::spool::system;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

const SETTINGS: BreakerSettings = BreakerSettings {
    failures_to_open: 1,
    first_wait: Duration::from_millis(100),
    longest_wait: Duration::from_secs(10),
    probe_timeout: Duration::from_secs(20),
    late_failure: LateFailure::Ignored,
};

pub(crate) struct DeliveryBreaker {
    breaker: CircuitBreaker,
    /// Wakes the workers that wait for their turn.
    changed: Notify,
}

impl DeliveryBreaker {
    pub(crate) fn new() -> Self {
        Self {
            breaker: CircuitBreaker::new(SETTINGS),
            changed: Notify::new(),
        }
    }

    /// Returns at once while the backend answers; otherwise when this worker may probe it.
    pub(super) async fn wait_for_turn(&self) -> Attempt {
        loop {
            let changed = self.changed.notified();
            let wait = match self.breaker.admit(Instant::now().into_std()) {
                Admission::Closed(attempt) | Admission::Probe(attempt) => return attempt,
                Admission::Open { retry_in } => retry_in,
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// The backend answered, whatever it said.
    pub(super) fn answered(&self) {
        if self.breaker.answered() == Transition::Closed {
            self.changed.notify_waiters();
        }
    }

    /// The backend did not answer this attempt. The wait is shortened at random by up to a half.
    pub(super) fn failed(&self, attempt: Attempt) {
        let jitter = 0.5 + (system::random() % 500) as f64 / 1_000.0;
        let now = Instant::now().into_std();
        self.breaker.failed(attempt, now, jitter);
        // Workers that waited for the earlier time have to wait for the new one.
        self.changed.notify_waiters();
    }

    /// The backend answered, and its store failed afterwards.
    pub(super) async fn failed_later(&self) {
        if self.is_closed() {
            self.failed(self.wait_for_turn().await);
        }
    }

    /// Answers so far, for a worker to tell whether others got one meanwhile.
    pub(super) fn answers(&self) -> u64 {
        self.breaker.answers()
    }

    /// Whether the backend answered when it was last asked.
    pub(crate) fn is_closed(&self) -> bool {
        !self.breaker.is_open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn while_it_is_open_one_worker_probes_and_an_answer_lets_all_through() {
        let breaker = Arc::new(DeliveryBreaker::new());
        let attempt = breaker.wait_for_turn().await;
        breaker.failed(attempt);
        let probes = Arc::new(AtomicU32::new(0));
        let workers: Vec<_> = (0..8)
            .map(|_| {
                let (breaker, probes) = (breaker.clone(), probes.clone());
                tokio::spawn(async move {
                    breaker.wait_for_turn().await;
                    probes.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        while probes.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(probes.load(Ordering::Relaxed), 1);
        breaker.answered();
        for worker in workers {
            worker.await.unwrap_or_default();
        }
        assert_eq!(probes.load(Ordering::Relaxed), 8);
        assert!(breaker.is_closed());
    }
}
