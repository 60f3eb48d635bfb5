//! What one call carries from its first phase to its access line.

use super::call_trace::{self, AnswerMetadata, CallClock, CallTrace, CheckResult};
use super::callers::CountsFor;
use super::error::CallError;
use super::limits::{CallPermit, ClientCount, HeadShare, MemoryReservation};
use super::listen::connection_limit::Permit;
use super::state::Snapshot;
use super::upstream::{ChosenUpstream, ModelServer, TriedServers};
use crate::edge::cors;
use crate::fair_queue::Tenant;
use crate::observe::events::{CallEnded, TokensUsed};
use crate::observe::{BudgetLabel, Exhausted, Metrics, Outcome, RouteLabel};
use crate::policy::PolicySnapshot;
use monitor_model::{AppMode, Policy, Secret, Stage};
use monitor_wire::protocol::{Chat, Protocol};
use monitor_wire::sse::Usage;
use pingora_http::ResponseHeader;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// The answer of a transparent call that is recorded behind its last byte.
pub(crate) trait RecordedAnswer: Send + Sync {
    /// Learns how the answer is laid out.
    fn begin(&mut self, head: &ResponseHeader);
    /// Takes bytes that the client gets.
    fn push(&mut self, bytes: &[u8]);
    /// Registers it, and gives what it says of itself; nothing where it has no text.
    fn finish(self: Box<Self>, failure: Option<&CallError>) -> Option<Box<AnswerMetadata>>;
}

/// The context of one call, counted as in flight until it is dropped after the last byte.
pub struct CallContext {
    /// The gateway as it was when the call began; a reload does not change it.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) request_id: String,
    /// The API that the client speaks.
    pub(crate) protocol: &'static dyn Protocol,
    /// The address of the client, which a trusted proxy may name.
    pub(crate) client: Option<IpAddr>,
    /// The website whose page made the call.
    pub(crate) website: cors::Origin,
    pub(crate) outcome: Outcome,
    pub(crate) status: u16,
    /// The access line's `detail`.
    pub(crate) detail: Option<&'static str>,
    pub(crate) access_key: Option<Secret>,
    /// Whose share of the gateway's memory and turns the call takes.
    pub(crate) tenant: Tenant,
    /// Whether a backend has accepted the access key.
    pub(crate) is_key_accepted: bool,
    /// The application that the call counts for.
    pub(crate) counts_for: CountsFor,
    /// The policies that the call was admitted under; they hold to its end.
    pub(crate) policies: Option<Arc<PolicySnapshot>>,
    /// The group of model servers that the call goes to.
    pub(crate) upstream: ChosenUpstream,
    /// Transparent routes: addresses of the current server that were tried.
    pub(crate) attempts: usize,
    /// Transparent routes: the current server.
    pub(crate) server: Option<Arc<ModelServer>>,
    /// Transparent routes: all servers that were tried.
    pub(crate) tried: TriedServers,
    /// Transparent routes: the attempt that ends now is repeated at another server.
    pub(crate) repeats: bool,
    /// Transparent routes: bytes of the request body so far.
    pub(crate) received: usize,
    /// Transparent routes: bytes of the answer so far.
    pub(crate) answered: usize,
    /// Of a call of embeddings whose texts are read: the policy that says so.
    pub(crate) embeddings: Option<Arc<Policy>>,
    /// Of a call that has tokens counted: the policy that has its prompt redacted.
    pub(crate) counting: Option<Arc<Policy>>,
    /// Transparent routes: the answer, where it is recorded.
    pub(crate) stored: Option<Box<dyn RecordedAnswer>>,
    /// Transparent routes: what there was none left of for the answer.
    pub(crate) exhausted: Option<Exhausted>,
    /// The answer on the wire is incomplete: nothing more is written and the connection is closed.
    pub(crate) cut: bool,
    /// The budget that the answer warns about.
    pub(crate) budget: Option<BudgetLabel>,
    /// The call's share of its application's limits, where it has any.
    pub(crate) quota: Option<CallPermit>,
    /// The call's share of the gateway's limit.
    pub(crate) permit: Option<Permit>,
    /// The call's share of those over HTTP/2 that its client may have.
    pub(crate) share: Option<ClientCount>,
    /// The same before it is admitted, and if it never is.
    pub(crate) begun: Option<ClientCount>,
    /// The memory of a long head of HTTP/2.
    pub(crate) head: Option<HeadShare>,
    /// The memory of an answer that is held, or that the client has not read yet.
    pub(crate) held_answer: Option<MemoryReservation>,
    pub(crate) clock: CallClock,
    /// None where neither the access log nor traces are on.
    pub(crate) trace: Option<Box<CallTrace>>,
    route: RouteLabel,
    metrics: Arc<Metrics>,
}

impl CallContext {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        let metrics = snapshot.metrics.clone();
        metrics.call_started(RouteLabel::Other);
        Self {
            snapshot,
            request_id: String::new(),
            protocol: &Chat,
            client: None,
            website: cors::Origin::default(),
            outcome: Outcome::Ok,
            status: 0,
            detail: None,
            access_key: None,
            tenant: Tenant::default(),
            is_key_accepted: false,
            counts_for: CountsFor::Named,
            policies: None,
            upstream: ChosenUpstream::default(),
            attempts: 0,
            server: None,
            tried: TriedServers::default(),
            repeats: false,
            received: 0,
            answered: 0,
            embeddings: None,
            counting: None,
            stored: None,
            exhausted: None,
            cut: false,
            budget: None,
            quota: None,
            permit: None,
            share: None,
            begun: None,
            head: None,
            held_answer: None,
            clock: CallClock::start(),
            trace: None,
            route: RouteLabel::Other,
            metrics,
        }
    }

    /// Whether the client may be another than the peer of the connection.
    pub(crate) fn has_trusted_proxies(&self) -> bool {
        !self.snapshot.settings.trusted_proxies.networks.is_empty()
    }

    /// The application of the call, unparsed: X-Application-Id, or MONITOR_APPLICATION_ID (CONTRACT 7), unless
    /// it counts for another one (CONTRACT 44).
    pub(crate) fn application_id(&self, named: Option<String>) -> Option<String> {
        let default = || Some(self.snapshot.settings.monitor.application_id?.to_string());
        match self.counts_for {
            CountsFor::Named => named.or_else(default),
            CountsFor::Default => default(),
            CountsFor::BoundToKey(own) => Some(own.to_string()),
        }
    }

    /// Counts the call on its route.
    pub(crate) fn set_route(&mut self, route: RouteLabel) {
        self.metrics.call_left(self.route);
        self.metrics.call_started(route);
        self.route = route;
    }

    /// Chooses the model servers by the route, and by the model that the body names where the gateway reads it.
    pub(crate) fn choose_upstream(&mut self, model: impl FnOnce() -> Option<String>) {
        self.upstream = self.snapshot.upstreams.choose(self.route, model);
    }

    /// Counts the finished call and writes its access line and spans.
    pub(crate) fn finish(&mut self, bytes_in: usize, bytes_sent: usize) {
        let trace = self.trace.take();
        let mut call = CallEnded {
            route: self.route,
            outcome: self.outcome,
            status: self.status,
            request_id: &self.request_id,
            bytes_sent,
            times: self.clock.times(),
            detail: self.detail,
            is_key_accepted: self.is_key_accepted,
        };
        // Where nobody else looks at keys, a model server accepts the caller by its answer.
        call.is_key_accepted |= self.snapshot.analyzer.is_none() && call.is_answered();
        call.count(&self.metrics);
        let access = &self.snapshot.access;
        let Some(trace) = trace else {
            return access.say(&call);
        };
        if !access.write(|| trace.access_line(&call, bytes_in)) {
            access.say(&call);
        }
        call_trace::export(*trace, &call, &self.clock);
    }

    /// Reports the mode of the call's policy.
    pub(crate) fn set_mode(&mut self, mode: AppMode) {
        if let Some(trace) = &mut self.trace {
            trace.set_mode(mode);
        }
    }

    /// Reports a check that ends now.
    pub(crate) fn add_check(&mut self, stage: Stage, begun: Instant, result: CheckResult) {
        if let Some(trace) = &mut self.trace {
            trace.add_check(stage, begun, result);
        }
    }

    /// Counts the tokens of the call, once its answer is read.
    pub(crate) fn count_tokens(&self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            let used = TokensUsed {
                route: self.route,
                input: usage.prompt_tokens,
                output: usage.completion_tokens,
            };
            used.emit(&self.metrics);
        }
    }

    /// Whether a trace reports what the answer says about itself.
    pub(crate) fn wants_metadata(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.is_sampled())
    }

    /// Reports what the answer says about itself.
    pub(crate) fn set_metadata(&mut self, metadata: Option<Box<AnswerMetadata>>) {
        if let (Some(trace), Some(metadata)) = (&mut self.trace, metadata) {
            trace.set_answer(metadata);
        }
    }
}

impl Drop for CallContext {
    fn drop(&mut self) {
        self.metrics.call_left(self.route);
    }
}
