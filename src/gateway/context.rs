//! What one call carries from its first phase to its access line.

use super::Shared;
use super::memory::Share;
use super::quota::Turn;
use super::room::Guest;
use super::told::{Heard, Told};
use super::upstreams::{Target, Tried};
use crate::observe::events::CallEnded;
use crate::observe::{CallTimes, Metrics, Outcome, RouteLabel};
use monitor_model::{AppMode, Secret, Stage};
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
    /// The attempt on a transparent route that ends now is followed by one elsewhere.
    pub(crate) repeats: bool,
    /// The answer stands incomplete on the wire: the connection is dropped, nothing more is written.
    pub(crate) cut: bool,
    /// The call's place among those of its application, where these are limited.
    pub(crate) turn: Option<Turn>,
    /// Its place among all calls.
    pub(crate) place: Option<Guest>,
    /// Bytes of the request body on a transparent route.
    pub(crate) received: usize,
    /// The room of an answer that is held.
    pub(crate) answer: Option<Share>,
    pub(crate) clock: Clock,
    /// None where neither the access log nor traces are on.
    pub(crate) told: Option<Box<Told>>,
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
    /// When the upstream was first waited for, and last.
    upstream_from: Option<Instant>,
    upstream_to: Option<Instant>,
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
            repeats: false,
            cut: false,
            turn: None,
            place: None,
            received: 0,
            answer: None,
            clock: Clock {
                started: Instant::now(),
                upstream: Duration::ZERO,
                client: Duration::ZERO,
                backend: Duration::ZERO,
                first_byte: None,
                measured: false,
                upstream_from: None,
                upstream_to: None,
            },
            told: None,
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

    /// Counts the call and tells of it.
    pub(crate) fn ended(&mut self, bytes_in: usize, bytes_sent: usize) {
        let told = self.told.take();
        let call = CallEnded {
            route: self.route,
            outcome: self.outcome,
            status: self.status,
            request_id: &self.request_id,
            bytes_sent,
            times: self.clock.times(),
            detail: self.detail,
        };
        call.count(&self.metrics);
        let access = &self.shared.access;
        let Some(mut told) = told else {
            return access.say(|| call.line());
        };
        if !access.write(|| told.line(&call, bytes_in)) {
            access.say(|| call.line());
        }
        told.end(&call, &self.clock);
    }

    /// The call is in sync mode.
    pub(crate) fn waits_for_verdicts(&mut self) {
        if let Some(told) = &mut self.told {
            told.mode = Some(AppMode::Sync);
        }
    }

    /// A verdict was waited for until now.
    pub(crate) fn checked(&mut self, stage: Stage, from: Instant, came_to: &'static str) {
        if let Some(told) = &mut self.told {
            told.checked(stage, from, came_to);
        }
    }

    /// Whether anybody wants to hear what an answer says about itself.
    pub(crate) fn listens(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.is_sampled())
    }

    /// What an answer says about itself.
    pub(crate) fn heard(&mut self, heard: Option<Box<Heard>>) {
        if let (Some(told), Some(heard)) = (&mut self.told, heard) {
            told.heard(heard);
        }
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
        self.upstream(since, Instant::now());
    }

    /// The upstream is called from now on, and nobody measures how long it takes.
    pub(crate) fn calls_upstream(&mut self) {
        self.upstream_from.get_or_insert_with(Instant::now);
    }

    /// Time spent waiting for a verdict.
    pub(crate) fn waited_for_backend(&mut self, since: Instant) {
        self.backend += since.elapsed();
    }

    /// Time spent waiting for the client.
    pub(crate) fn waited_for_client(&mut self, since: Instant) {
        self.client += since.elapsed();
    }

    /// Time spent waiting for the upstream, already measured.
    pub(crate) fn upstream(&mut self, from: Instant, to: Instant) {
        self.upstream += to - from;
        self.upstream_from.get_or_insert(from);
        self.upstream_to = Some(to);
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
            upstream: self.measured.then_some(self.upstream.as_secs_f64()),
            backend: self.measured.then_some(self.backend.as_secs_f64()),
        }
    }

    /// When the call began.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// When the upstream was called, and how long its answer was waited for where that was measured.
    pub(crate) fn upstream_span(&self) -> Option<(Instant, Option<Instant>)> {
        Some((self.upstream_from?, self.upstream_to))
    }

    /// Seconds from a moment of the call to the first byte of the answer's body.
    pub(crate) fn first_byte_after(&self, moment: Instant) -> Option<f64> {
        let at = self.started + self.first_byte?;
        Some(at.saturating_duration_since(moment).as_secs_f64())
    }
}
