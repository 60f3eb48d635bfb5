//! The spans of one call: the call itself, each awaited verdict, and the upstream call with the attributes
//! of OpenTelemetry's conventions for generative AI. No span holds a prompt, an answer, a key or a user.

use super::clock::CallClock;
use super::trace::{AnswerMetadata, CallTrace, CheckSpan, RequestMetadata, SpanData};
use crate::config::BaseUrl;
use crate::gateway::state::Snapshot;
use crate::observe::events::CallEnded;
use crate::observe::trace::{Span, SpanId, SpanKind, TraceContext};
use crate::observe::{Outcome, RouteLabel};
use monitor_model::Stage;
use std::ops::Range;
use std::time::{Instant, SystemTime};

/// What all spans of one call have in common.
struct SpanBuilder<'a> {
    own: TraceContext,
    /// The start of the call on both clocks.
    started_at: SystemTime,
    started: Instant,
    call: &'a CallEnded<'a>,
    snapshot: &'a Snapshot,
}

/// Exports the spans of a sampled call.
pub(crate) fn export(mut trace: CallTrace, call: &CallEnded<'_>, clock: &CallClock) {
    let Some(spans) = trace.spans.take().filter(|spans| spans.own.sampled) else {
        return;
    };
    let builder = SpanBuilder {
        own: spans.own,
        started_at: trace.started_at,
        started: clock.started(),
        call,
        snapshot: &spans.snapshot,
    };
    for check in &spans.checks {
        spans.tracer.end(builder.check(check));
    }
    if let Some(span) = builder.upstream(&trace, &spans, clock) {
        spans.tracer.end(span);
    }
    spans.tracer.end(builder.server(&trace, &spans));
}

impl SpanBuilder<'_> {
    /// The call as the client sees it.
    fn server(&self, trace: &CallTrace, spans: &SpanData) -> Span {
        let call = self.call;
        let route = path(call.route);
        let name = match route {
            Some(route) => format!("{} {route}", trace.method),
            None => trace.method.to_owned(),
        };
        let mut span = self.span(name, SpanKind::Server, self.started..Instant::now());
        span.id = self.own.span;
        span.parent = trace.caller.map(|caller| caller.span);
        span.tell("http.request.method", Some(trace.method));
        span.tell("http.route", route);
        // Of a path outside the route table nothing is told: it may hold any text.
        span.tell("url.path", route);
        span.tell("url.scheme", Some(spans.request.scheme()));
        span.tell("http.response.status_code", status(call.status));
        span.tell("monitor.request_id", Some(call.request_id.to_owned()));
        span.tell("monitor.outcome", Some(call.outcome.as_str()));
        span.tell("monitor.detail", call.detail);
        span.tell("monitor.mode", trace.mode.map(|mode| mode.as_str()));
        let application = trace.application.map(|id| id.to_string());
        span.tell("monitor.application_id", application);
        span.tell("monitor.overhead", call.times.overhead);
        span.failed = call.status >= 500 || call.outcome == Outcome::UpstreamBroken;
        let kind = call.detail.unwrap_or(call.outcome.as_str());
        span.tell("error.type", span.failed.then_some(kind));
        span
    }

    /// The call of the model server; None when it was not called.
    fn upstream(&self, trace: &CallTrace, spans: &SpanData, clock: &CallClock) -> Option<Span> {
        let wait = clock.upstream_wait();
        let begun = wait.begun?;
        let operation = operation(self.call.route);
        let name = match (operation, &trace.model) {
            (Some(operation), Some(model)) => format!("{operation} {model}"),
            (Some(operation), None) => operation.to_owned(),
            (None, _) => trace.method.to_owned(),
        };
        let ended = wait.ended.unwrap_or_else(Instant::now);
        let mut span = self.span(name, SpanKind::Client, begun..ended);
        span.id = spans.upstream;
        if operation.is_some() {
            let provider = spans.tracer.settings().provider.clone();
            span.tell("gen_ai.operation.name", operation);
            span.tell("gen_ai.provider.name", Some(provider));
            span.tell("gen_ai.request.model", trace.model.clone());
            span.tell("gen_ai.request.stream", trace.streams.then_some(true));
            add_request(&mut span, &spans.request);
        }
        if let Some(answer) = &spans.answer {
            add_answer(&mut span, answer);
        }
        let first = clock.first_byte_after(begun).filter(|_| trace.streams);
        span.tell("gen_ai.response.time_to_first_chunk", first);
        if let Some(server) = &spans.server {
            add_address(&mut span, server.resolver.base());
        }
        self.add_upstream_error(&mut span);
        Some(span)
    }

    /// Adds how the upstream call failed, where the upstream or its connection caused it.
    fn add_upstream_error(&self, span: &mut Span) {
        let call = self.call;
        span.failed = match call.outcome {
            Outcome::UpstreamStatus => {
                span.tell("http.response.status_code", status(call.status));
                span.tell("error.type", Some(call.status.to_string()));
                true
            }
            Outcome::UpstreamBroken | Outcome::GatewayError => {
                let kind = call.detail.unwrap_or(call.outcome.as_str());
                span.tell("error.type", Some(kind));
                true
            }
            _ => false,
        };
    }

    /// A verdict of the backend, or of the analysis in this process.
    fn check(&self, check: &CheckSpan) -> Span {
        let backend = self.snapshot.settings.monitor.url.as_ref();
        let kind = match backend {
            Some(_) => SpanKind::Client,
            None => SpanKind::Internal,
        };
        let name = match check.stage {
            Stage::PreCall => "verdict pre_call",
            Stage::PostCall => "verdict post_call",
        };
        let mut span = self.span(name.to_owned(), kind, check.begun..check.ended);
        span.tell("monitor.stage", Some(check.stage.as_str()));
        span.tell("monitor.verdict", Some(check.outcome));
        if let Some(backend) = backend {
            add_address(&mut span, backend);
        }
        span.failed = !matches!(check.outcome, "passed" | "flagged");
        span.tell("error.type", span.failed.then_some(check.outcome));
        span
    }

    /// A child of the call's span.
    fn span(&self, name: String, kind: SpanKind, time: Range<Instant>) -> Span {
        let wall_time =
            |moment: Instant| self.started_at + moment.saturating_duration_since(self.started);
        Span {
            trace: self.own.trace,
            id: SpanId::random(),
            parent: Some(self.own.span),
            name,
            kind,
            from: wall_time(time.start),
            to: wall_time(time.end),
            attributes: Vec::with_capacity(24),
            failed: false,
        }
    }
}

fn add_request(span: &mut Span, request: &RequestMetadata) {
    span.tell("gen_ai.conversation.id", request.conversation.clone());
    span.tell("gen_ai.request.max_tokens", request.max_tokens);
    span.tell("gen_ai.request.temperature", request.temperature);
    span.tell("gen_ai.request.top_p", request.top_p);
}

fn add_answer(span: &mut Span, answer: &AnswerMetadata) {
    let usage = answer.usage.unwrap_or_default();
    let reasons = &answer.finish_reasons;
    let reasons = (!reasons.is_empty()).then(|| reasons.clone());
    span.tell("gen_ai.response.id", answer.id.clone());
    span.tell("gen_ai.response.finish_reasons", reasons);
    span.tell("gen_ai.response.model", answer.model.clone());
    span.tell("gen_ai.usage.input_tokens", usage.prompt_tokens);
    span.tell("gen_ai.usage.output_tokens", usage.completion_tokens);
    let cached = usage.prompt_tokens_details.cached_tokens;
    span.tell("gen_ai.usage.cache_read.input_tokens", cached);
}

fn add_address(span: &mut Span, url: &BaseUrl) {
    span.tell("server.address", Some(url.host.clone()));
    span.tell("server.port", Some(url.port));
}

fn status(status: u16) -> Option<u16> {
    (status > 0).then_some(status)
}

/// The attribute `http.route`; a path outside the route table could hold any text.
fn path(route: RouteLabel) -> Option<&'static str> {
    match route {
        RouteLabel::Chat => Some("/v1/chat/completions"),
        RouteLabel::Embeddings => Some("/v1/embeddings"),
        RouteLabel::Models => Some("/v1/models"),
        RouteLabel::Docs | RouteLabel::Other => None,
    }
}

/// The attribute `gen_ai.operation.name`; None for routes that call no model.
fn operation(route: RouteLabel) -> Option<&'static str> {
    match route {
        RouteLabel::Chat => Some("chat"),
        RouteLabel::Embeddings => Some("embeddings"),
        RouteLabel::Models | RouteLabel::Docs | RouteLabel::Other => None,
    }
}
