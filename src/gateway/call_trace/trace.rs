//! What the access log and traces report about one call. It is collected only where one of them is on; any
//! other call carries a null pointer.

use super::clock::CallClock;
use super::metadata::{AnswerMetadata, RequestMetadata, truncated};
use crate::gateway::headers::{self, Extensions, UpstreamHead};
use crate::gateway::state::Snapshot;
use crate::gateway::upstream::ModelServer;
use crate::observe::VerdictType;
use crate::observe::access::AccessLine;
use crate::observe::events::CallEnded;
use crate::observe::trace::{SpanId, TraceContext, Tracer};
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue, Method};
use monitor_model::{AppMode, Stage};
use monitor_wire::json::Request;
use monitor_wire::protocol::Protocol;
use pingora_core::Result;
use pingora_core::protocols::http::ServerSession;
use pingora_error::{ErrorType, OrErr};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use uuid::Uuid;

/// W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// The report of one call.
pub(crate) struct CallTrace {
    pub(super) started_at: SystemTime,
    client: Option<IpAddr>,
    pub(super) method: &'static str,
    pub(super) application: Option<Uuid>,
    pub(super) mode: Option<AppMode>,
    pub(super) model: Option<String>,
    /// The entry of `upstreams` whose server was called.
    upstream: Option<String>,
    pub(super) streams: bool,
    /// The trace that the request says it belongs to.
    pub(super) caller: Option<TraceContext>,
    pub(super) spans: Option<SpanData>,
}

/// What the call's spans are made of.
pub(super) struct SpanData {
    pub(super) tracer: Arc<Tracer>,
    /// The span of the call itself.
    pub(super) own: TraceContext,
    /// The span of the upstream call.
    pub(super) upstream: SpanId,
    pub(super) checks: Vec<CheckSpan>,
    pub(super) request: RequestMetadata,
    pub(super) answer: Option<Box<AnswerMetadata>>,
    /// The model server that was called last.
    pub(super) server: Option<Arc<ModelServer>>,
    pub(super) snapshot: Arc<Snapshot>,
}

/// One awaited verdict.
pub(super) struct CheckSpan {
    pub(super) stage: Stage,
    pub(super) begun: Instant,
    pub(super) ended: Instant,
    pub(super) result: CheckResult,
}

/// The result of an awaited check.
#[derive(Clone, Copy)]
pub(crate) struct CheckResult {
    /// The value of `monitor.verdict`.
    pub(crate) outcome: &'static str,
    /// None where there is no verdict.
    pub(crate) findings: Option<Findings>,
}

/// The kinds of findings that a verdict names.
#[derive(Clone, Copy)]
pub(crate) struct Findings {
    pub(crate) kinds: [Option<VerdictType>; 3],
    /// Every stage of the check ran.
    pub(crate) is_whole: bool,
}

impl CallTrace {
    /// None when neither the access log nor traces are on.
    pub(crate) fn start(
        snapshot: &Arc<Snapshot>,
        session: &ServerSession,
        client: Option<IpAddr>,
        clock: &CallClock,
    ) -> Option<Box<Self>> {
        if snapshot.tracer.is_none() && !snapshot.access.is_on() {
            return None;
        }
        let head = session.req_header();
        let caller = caller(&head.headers);
        let application = match headers::application_id(&head.headers) {
            Some(id) => id.parse().ok(),
            None => snapshot.settings.monitor.application_id.map(|id| id.0),
        };
        Some(Box::new(Self {
            started_at: SystemTime::now() - clock.started().elapsed(),
            client,
            method: known_method(&head.method),
            application,
            mode: None,
            model: None,
            upstream: None,
            streams: false,
            caller,
            spans: snapshot.tracer.as_ref().map(|tracer| SpanData {
                own: tracer.begin(caller),
                tracer: tracer.clone(),
                upstream: SpanId::random(),
                checks: Vec::new(),
                request: RequestMetadata::of_connection(session),
                answer: None,
                server: None,
                snapshot: snapshot.clone(),
            }),
        }))
    }

    /// The application that the call counts for instead of the one it names (CONTRACT 44).
    pub(crate) fn set_application(&mut self, id: Option<&str>) {
        self.application = id.and_then(|id| id.parse().ok());
    }

    /// Sets what the request asks for. A monitored call is async until [`Self::set_mode`] says otherwise.
    pub(crate) fn set_request(
        &mut self,
        protocol: &dyn Protocol,
        request: Request<'_>,
        headers: &HeaderMap,
    ) {
        self.model = request.model().map(truncated);
        self.streams = request.wants_stream();
        self.mode = Some(AppMode::Async);
        if let Some(spans) = self.sampled() {
            let own = Extensions::of(headers).session_id;
            let session = own.or_else(|| headers::id(headers, protocol.session_header()?));
            spans.request.read(request, headers, session);
        }
    }

    pub(crate) fn set_mode(&mut self, mode: AppMode) {
        self.mode = Some(mode);
    }

    /// Sets the model server that is being called.
    pub(crate) fn set_server(&mut self, server: &Arc<ModelServer>) {
        let group = &server.name().group;
        self.upstream = (!group.is_empty()).then(|| group.clone());
        if let Some(spans) = self.sampled() {
            spans.server = Some(server.clone());
        }
    }

    /// Adds a check that ends now.
    pub(crate) fn add_check(&mut self, stage: Stage, begun: Instant, result: CheckResult) {
        if let Some(spans) = self.sampled() {
            spans.checks.push(CheckSpan {
                stage,
                begun,
                ended: Instant::now(),
                result,
            });
        }
    }

    /// Sets what the answer says about itself.
    pub(crate) fn set_answer(&mut self, answer: Box<AnswerMetadata>) {
        if let Some(spans) = &mut self.spans {
            spans.answer = Some(answer);
        }
    }

    /// Whether spans of this call are exported.
    pub(crate) fn is_sampled(&self) -> bool {
        self.spans.as_ref().is_some_and(|spans| spans.own.sampled)
    }

    /// The call's span, for records and the backend; None without traces.
    pub(crate) fn context(&self) -> Option<TraceContext> {
        self.spans.as_ref().map(|spans| spans.own)
    }

    fn sampled(&mut self) -> Option<&mut SpanData> {
        self.spans.as_mut().filter(|spans| spans.own.sampled)
    }

    /// Sets the trace headers of the upstream call. Where calls are traced, the client's trace ends at the
    /// gateway unless `trace.propagate_upstream` continues it. Without traces the client's headers pass
    /// unchanged (CONTRACT 8).
    pub(crate) fn set_upstream_headers(&self, head: &mut UpstreamHead<'_>) -> Result<()> {
        let Some(spans) = &self.spans else {
            return Ok(());
        };
        let propagates = spans.tracer.settings().propagate_upstream;
        if !propagates || self.caller.is_none() {
            head.remove(TRACESTATE);
        }
        if !propagates {
            head.remove(TRACEPARENT);
            return Ok(());
        }
        let span = spans.upstream;
        let next = TraceContext { span, ..spans.own };
        let value = HeaderValue::try_from(next.header());
        let value = value.or_err(ErrorType::InvalidHTTPHeader, "the trace context")?;
        head.set("traceparent", value);
        Ok(())
    }

    /// The call's line in the access log.
    pub(crate) fn access_line(&self, call: &CallEnded<'_>, bytes_in: usize) -> AccessLine {
        let trace = self.context().or(self.caller);
        AccessLine {
            at: self.started_at,
            request_id: call.request_id.to_owned(),
            trace_id: trace.map(|context| context.trace),
            client: self.client,
            method: self.method,
            route: call.route,
            application: self.application,
            mode: self.mode,
            model: self.model.clone(),
            upstream: self.upstream.clone(),
            status: call.status,
            outcome: call.outcome,
            detail: call.detail,
            is_limited: !call.is_key_accepted,
            bytes_in,
            bytes_out: call.bytes_sent,
            times: call.times,
        }
    }
}

/// The trace that a request says it belongs to; None where several headers name one,
/// of which none can be trusted.
fn caller(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers
        .get_all(TRACEPARENT)
        .iter()
        .map(HeaderValue::as_bytes);
    match (values.next(), values.next()) {
        (Some(one), None) => TraceContext::parse(one),
        _ => None,
    }
}

/// The name of a standard method; an unknown one could hold any text.
fn known_method(method: &Method) -> &'static str {
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
