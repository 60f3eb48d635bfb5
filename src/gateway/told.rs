//! What the access log and traces tell of one call. It is kept only where one of them is on; a call
//! that nobody is told of carries a null pointer.

mod spans;

use super::Shared;
use super::context::Clock;
use super::headers::Extensions;
use super::upstreams::Target;
use crate::observe::access::AccessLine;
use crate::observe::events::CallEnded;
use crate::observe::trace::{SpanId, TraceContext, Tracer};
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue, Method};
use monitor_model::{AppMode, Stage};
use monitor_wire::sse;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_http::RequestHeader;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use uuid::Uuid;

/// W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// Of a model's name, which the client or the upstream chose, this much is told.
const LONGEST_MODEL: usize = 128;

/// One call as it is told of.
pub(crate) struct Told {
    at: SystemTime,
    client: Option<IpAddr>,
    method: &'static str,
    application: Option<Uuid>,
    pub(super) mode: Option<AppMode>,
    model: Option<String>,
    streams: bool,
    /// What the caller said of its trace.
    caller: Option<TraceContext>,
    trace: Option<CallTrace>,
}

/// The call's own trace.
struct CallTrace {
    tracer: Arc<Tracer>,
    own: TraceContext,
    upstream: SpanId,
    checks: Vec<Check>,
    heard: Option<Box<Heard>>,
    /// The model server that was called last.
    called: Option<Arc<Target>>,
    /// The backend.
    peers: Arc<Shared>,
}

/// One awaited verdict.
struct Check {
    stage: Stage,
    from: Instant,
    to: Instant,
    came_to: &'static str,
}

/// What an answer says about itself.
pub(crate) struct Heard {
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<sse::Usage>,
}

impl Told {
    /// None where nobody is told.
    pub(super) fn begin(
        shared: &Arc<Shared>,
        session: &ServerSession,
        clock: &Clock,
    ) -> Option<Box<Self>> {
        if shared.tracer.is_none() && !shared.access.is_on() {
            return None;
        }
        let head = session.req_header();
        let caller = caller(&head.headers);
        let said = Extensions::of(&head.headers).application_id;
        let application = match said {
            Some(said) => said.parse().ok(),
            None => shared.settings.monitor.application_id.map(|id| id.0),
        };
        let address = session.client_addr().and_then(|it| it.as_inet());
        Some(Box::new(Self {
            at: SystemTime::now() - clock.started().elapsed(),
            client: address.map(|address| address.ip()),
            method: known(&head.method),
            application,
            mode: None,
            model: None,
            streams: false,
            caller,
            trace: shared.tracer.as_ref().map(|tracer| CallTrace {
                own: tracer.begin(caller),
                tracer: tracer.clone(),
                upstream: SpanId::random(),
                checks: Vec::new(),
                heard: None,
                called: None,
                peers: shared.clone(),
            }),
        }))
    }

    /// What the request asks for.
    pub(super) fn asks(&mut self, model: Option<String>, streams: bool) {
        self.model = model.map(bounded);
        self.streams = streams;
        self.mode = Some(AppMode::Async);
    }

    /// Whether spans of this call are kept.
    pub(super) fn is_sampled(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.own.sampled)
    }

    /// This call's span, for those who go on with it; None without traces.
    pub(super) fn trace(&self) -> Option<TraceContext> {
        self.trace.as_ref().map(|trace| trace.own)
    }

    /// This model server is called.
    pub(super) fn calls(&mut self, target: &Arc<Target>) {
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.own.sampled) {
            trace.called = Some(target.clone());
        }
    }

    /// A verdict was waited for until now.
    pub(super) fn checked(&mut self, stage: Stage, from: Instant, came_to: &'static str) {
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.own.sampled) {
            let to = Instant::now();
            trace.checks.push(Check {
                stage,
                from,
                to,
                came_to,
            });
        }
    }

    /// The answer was read.
    pub(super) fn heard(&mut self, heard: Box<Heard>) {
        if let Some(trace) = &mut self.trace {
            trace.heard = Some(heard);
        }
    }

    /// Where calls are traced, their trace ends here for the upstream, unless `trace.propagate_upstream`
    /// lets it go on. Without traces the client's headers pass like any other (CONTRACT 8).
    pub(super) fn for_upstream(&self, head: &mut RequestHeader) -> Result<()> {
        let Some(trace) = &self.trace else {
            return Ok(());
        };
        head.remove_header(&TRACEPARENT);
        if !trace.tracer.settings().propagate_upstream {
            head.remove_header(&TRACESTATE);
            return Ok(());
        }
        if self.caller.is_none() {
            head.remove_header(&TRACESTATE);
        }
        let span = trace.upstream;
        let next = TraceContext { span, ..trace.own };
        head.insert_header(TRACEPARENT, next.header())
    }

    /// The line of the access log.
    pub(super) fn line(&mut self, call: &CallEnded<'_>, bytes_in: usize) -> AccessLine {
        let trace = self.trace().or(self.caller);
        AccessLine {
            at: self.at,
            request_id: call.request_id.to_owned(),
            trace_id: trace.map(|context| context.trace),
            client: self.client,
            method: self.method,
            route: call.route,
            application: self.application,
            mode: self.mode,
            model: self.model.clone(),
            status: call.status,
            outcome: call.outcome,
            detail: call.detail,
            bytes_in,
            bytes_out: call.bytes_sent,
            times: call.times,
        }
    }

    /// The spans, where there are any.
    pub(super) fn end(self, call: &CallEnded<'_>, clock: &Clock) {
        spans::end(self, call, clock);
    }
}

impl Heard {
    /// As an answer names itself; its texts are cut.
    pub(crate) fn new(model: Option<String>, usage: Option<sse::Usage>) -> Self {
        Self {
            model: model.map(bounded),
            usage,
        }
    }
}

/// Which trace a request says that it belongs to.
fn caller(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers
        .get_all(TRACEPARENT)
        .iter()
        .map(HeaderValue::as_bytes);
    // Two of them say nothing.
    match (values.next(), values.next()) {
        (Some(one), None) => TraceContext::parse(one),
        _ => None,
    }
}

fn bounded(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_MODEL));
    text
}

/// A method's name; one that nobody knows could hold anything.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        Method::TRACE => "TRACE",
        Method::CONNECT => "CONNECT",
        _ => "_OTHER",
    }
}
