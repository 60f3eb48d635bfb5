//! What one call carries from its first phase to its access line.

use super::Shared;
use super::memory::Share;
use super::quota::Turn;
use super::upstreams::{Target, Tried};
use crate::model::Secret;
use crate::observe::events::CallEnded;
use crate::observe::{CallTimes, Metrics, Outcome, RouteLabel};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The context of one call; counted as in flight until it is dropped, after the last byte.
pub struct CallContext {
    /// What the call began with; a reload does not reach it.
    pub(crate) shared: Arc<Shared>,
    pub(crate) request_id: String,
    pub(crate) outcome: Outcome,
    pub(crate) status: u16,
    pub(crate) detail: Option<&'static str>,
    pub(crate) key: Option<Secret>,
    /// Addresses of the target tried on a transparent route.
    pub(crate) attempts: usize,
    /// Where a call on a transparent route goes, and went before.
    pub(crate) target: Option<Arc<Target>>,
    pub(crate) tried: Tried,
    /// The answer stands incomplete on the wire: the connection is dropped, nothing more is written.
    pub(crate) cut: bool,
    /// The call's place among those of its application, where these are limited.
    pub(crate) turn: Option<Turn>,
    /// Bytes of the request body on a transparent route.
    pub(crate) received: usize,
    /// The room of an answer that is held.
    pub(crate) answer: Option<Share>,
    pub(crate) clock: Clock,
    route: RouteLabel,
    metrics: Arc<Metrics>,
}

/// Where a call's time goes.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    upstream: Duration,
    client: Duration,
    backend: Duration,
    first_byte: Option<Duration>,
    measured: bool,
}

impl CallContext {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let metrics = shared.metrics.clone();
        metrics.call_started(RouteLabel::Other);
        Self {
            shared,
            request_id: String::new(),
            outcome: Outcome::Ok,
            status: 0,
            detail: None,
            key: None,
            attempts: 0,
            target: None,
            tried: Tried::default(),
            cut: false,
            turn: None,
            received: 0,
            answer: None,
            clock: Clock {
                started: Instant::now(),
                upstream: Duration::ZERO,
                client: Duration::ZERO,
                backend: Duration::ZERO,
                first_byte: None,
                measured: false,
            },
            route: RouteLabel::Other,
            metrics,
        }
    }

    /// Moves the call to the route it asks for.
    pub(crate) fn enter(&mut self, route: RouteLabel) {
        self.metrics.call_left(self.route);
        self.metrics.call_started(route);
        self.route = route;
    }

    pub(crate) fn ended(&self, bytes_sent: usize) {
        CallEnded {
            route: self.route,
            outcome: self.outcome,
            status: self.status,
            request_id: &self.request_id,
            bytes_sent,
            times: self.clock.times(),
            detail: self.detail,
        }
        .emit(&self.metrics);
    }
}

impl Drop for CallContext {
    fn drop(&mut self) {
        self.metrics.call_left(self.route);
    }
}

impl Clock {
    /// Since the request head.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time spent waiting for the upstream.
    pub(crate) fn waited_for_upstream(&mut self, since: Instant) {
        self.upstream += since.elapsed();
    }

    /// Time spent waiting for a verdict.
    pub(crate) fn waited_for_backend(&mut self, since: Instant) {
        self.backend += since.elapsed();
    }

    /// Time spent waiting for the client.
    pub(crate) fn waited_for_client(&mut self, since: Instant) {
        self.client += since.elapsed();
    }

    /// The same, already measured.
    pub(crate) fn upstream(&mut self, waited: Duration) {
        self.upstream += waited;
    }

    /// The same, already measured.
    pub(crate) fn client(&mut self, waited: Duration) {
        self.client += waited;
    }

    /// The first byte of the answer's body went out; later calls change nothing.
    pub(crate) fn first_byte(&mut self, now: Instant) {
        self.first_byte.get_or_insert_with(|| now - self.started);
    }

    /// From now on the waits above are complete, so the rest is the gateway's own.
    pub(crate) fn measures_overhead(&mut self) {
        self.measured = true;
    }

    fn times(&self) -> CallTimes {
        let total = self.started.elapsed();
        let own = total
            .saturating_sub(self.upstream)
            .saturating_sub(self.client)
            .saturating_sub(self.backend);
        CallTimes {
            total: total.as_secs_f64(),
            overhead: self.measured.then_some(own.as_secs_f64()),
            first_byte: self.first_byte.map(|at| at.as_secs_f64()),
        }
    }
}
