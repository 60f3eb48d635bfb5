//! Where a call's time goes: waits for the client, the upstream and the backend. The rest is the gateway's
//! own overhead.

use crate::observe::CallTimes;
use std::time::{Duration, Instant};

/// The times of one call.
#[derive(Debug)]
pub(crate) struct CallClock {
    started: Instant,
    upstream: Duration,
    client: Duration,
    backend: Duration,
    /// From the start to the first byte of the answer's body.
    first_byte: Option<Duration>,
    /// The same to the first part of an answer that is held, at the gateway.
    first_held: Option<Duration>,
    measures_overhead: bool,
    upstream_wait: UpstreamWait,
}

/// The time from the call of the upstream to the end of its answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UpstreamWait {
    pub(crate) begun: Option<Instant>,
    /// None on routes where the wait is not measured.
    pub(crate) ended: Option<Instant>,
}

impl CallClock {
    /// Starts with the request head.
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
            upstream: Duration::ZERO,
            client: Duration::ZERO,
            backend: Duration::ZERO,
            first_byte: None,
            first_held: None,
            measures_overhead: false,
            upstream_wait: UpstreamWait::default(),
        }
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Marks all waits as measured, so that the rest of the time is overhead.
    pub(crate) fn measure_overhead(&mut self) {
        self.measures_overhead = true;
    }

    /// Marks the call of the upstream on a route that does not measure its wait.
    pub(crate) fn start_upstream(&mut self) {
        self.upstream_wait.begun.get_or_insert_with(Instant::now);
    }

    /// Adds a wait for the upstream that ends now.
    pub(crate) fn add_upstream_wait(&mut self, begun: Instant) {
        self.add_upstream(begun, Instant::now());
    }

    /// Adds a measured wait for the upstream.
    pub(crate) fn add_upstream(&mut self, begun: Instant, ended: Instant) {
        self.upstream += ended - begun;
        self.upstream_wait.begun.get_or_insert(begun);
        self.upstream_wait.ended = Some(ended);
    }

    /// Adds a wait for a verdict that ends now.
    pub(crate) fn add_backend_wait(&mut self, begun: Instant) {
        self.backend += begun.elapsed();
    }

    /// Adds a wait for the client that ends now.
    pub(crate) fn add_client_wait(&mut self, begun: Instant) {
        self.client += begun.elapsed();
    }

    /// Adds a measured wait for the client.
    pub(crate) fn add_client(&mut self, waited: Duration) {
        self.client += waited;
    }

    /// Marks the first byte of the answer's body; later calls change nothing.
    pub(crate) fn mark_first_byte(&mut self, now: Instant) {
        self.first_byte.get_or_insert_with(|| now - self.started);
    }

    /// Marks the first part of an answer that is held; later calls change nothing.
    pub(crate) fn mark_first_held(&mut self) {
        self.first_held
            .get_or_insert_with(|| self.started.elapsed());
    }

    /// From the start to the first byte of the answer's body; of an answer that is held, to its arrival.
    pub(crate) fn first_byte(&self) -> Option<Duration> {
        self.first_byte.or(self.first_held)
    }

    pub(crate) fn upstream_wait(&self) -> UpstreamWait {
        self.upstream_wait
    }

    /// Seconds from a moment of the call to the first byte of the answer's body.
    pub(crate) fn first_byte_after(&self, moment: Instant) -> Option<f64> {
        let at = self.started + self.first_byte?;
        Some(at.saturating_duration_since(moment).as_secs_f64())
    }

    /// The times so far, in seconds.
    pub(crate) fn times(&self) -> CallTimes {
        let now = Instant::now();
        let total = now.saturating_duration_since(self.started);
        let own = total
            .saturating_sub(self.upstream)
            .saturating_sub(self.client)
            .saturating_sub(self.backend);
        let model = self.upstream_wait.begun.map(|begun| {
            let ended = self.upstream_wait.ended.unwrap_or(now);
            ended.saturating_duration_since(begun).as_secs_f64()
        });
        let measured = |seconds: Duration| self.measures_overhead.then_some(seconds.as_secs_f64());
        CallTimes {
            total: total.as_secs_f64(),
            overhead: measured(own),
            first_byte: self.first_byte.map(|at| at.as_secs_f64()),
            upstream: measured(self.upstream),
            model,
            backend: measured(self.backend),
        }
    }
}
