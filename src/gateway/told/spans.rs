//! The spans of one call: the call itself, each verdict it waited for, and its upstream call with the
//! attributes of OpenTelemetry's conventions for generative AI. No text of a prompt or an answer, no
//! key and no user is in any of them.

use super::{CallTrace, Check, Heard, Told};
use crate::config::BaseUrl;
use crate::gateway::Shared;
use crate::gateway::context::Clock;
use crate::observe::events::CallEnded;
use crate::observe::trace::{Span, SpanId, SpanKind, TraceContext};
use crate::observe::{Outcome, RouteLabel};
use monitor_model::Stage;
use std::time::{Instant, SystemTime};

/// What all spans of one call are made with.
struct Scene<'a> {
    own: TraceContext,
    /// When the call began, in both clocks.
    began: (SystemTime, Instant),
    call: &'a CallEnded<'a>,
    shared: &'a Shared,
}

/// Hands the spans of a sampled call over.
pub(super) fn end(mut told: Told, call: &CallEnded<'_>, clock: &Clock) {
    let Some(trace) = told.trace.take().filter(|trace| trace.own.sampled) else {
        return;
    };
    let scene = Scene {
        own: trace.own,
        began: (told.at, clock.started()),
        call,
        shared: &trace.peers,
    };
    for check in &trace.checks {
        trace.tracer.end(scene.check(check));
    }
    if let Some((from, to)) = clock.upstream_span() {
        trace
            .tracer
            .end(scene.upstream(&told, &trace, (from, to), clock));
    }
    trace.tracer.end(scene.server(&told));
}

impl Scene<'_> {
    /// The call as the client sees it.
    fn server(&self, told: &Told) -> Span {
        let call = self.call;
        let route = path(call.route);
        let name = match route {
            Some(route) => format!("{} {route}", told.method),
            None => told.method.to_owned(),
        };
        let mut span = self.span(name, SpanKind::Server, (self.began.1, Instant::now()));
        span.id = self.own.span;
        span.parent = told.caller.map(|caller| caller.span);
        span.tell("http.request.method", Some(told.method));
        span.tell("http.route", route);
        span.tell("http.response.status_code", status(call.status));
        span.tell("monitor.request_id", Some(call.request_id.to_owned()));
        span.tell("monitor.outcome", Some(call.outcome.as_str()));
        span.tell("monitor.detail", call.detail);
        span.tell("monitor.mode", told.mode.map(|mode| mode.as_str()));
        let application = told.application.map(|id| id.to_string());
        span.tell("monitor.application_id", application);
        span.tell("monitor.overhead", call.times.overhead);
        span.failed = call.status >= 500 || call.outcome == Outcome::UpstreamBroken;
        let kind = call.detail.unwrap_or(call.outcome.as_str());
        span.tell("error.type", span.failed.then_some(kind));
        span
    }

    /// The call of the model server.
    fn upstream(
        &self,
        told: &Told,
        trace: &CallTrace,
        (from, to): (Instant, Option<Instant>),
        clock: &Clock,
    ) -> Span {
        let operation = operation(self.call.route);
        let name = match (operation, &told.model) {
            (Some(operation), Some(model)) => format!("{operation} {model}"),
            (Some(operation), None) => operation.to_owned(),
            (None, _) => told.method.to_owned(),
        };
        let to = to.unwrap_or_else(Instant::now);
        let mut span = self.span(name, SpanKind::Client, (from, to));
        span.id = trace.upstream;
        if operation.is_some() {
            let provider = trace.tracer.settings().provider.clone();
            span.tell("gen_ai.operation.name", operation);
            span.tell("gen_ai.provider.name", Some(provider));
            span.tell("gen_ai.request.model", told.model.clone());
            span.tell("gen_ai.request.stream", told.streams.then_some(true));
        }
        if let Some(said) = &trace.heard {
            heard(&mut span, said);
        }
        let first = clock.first_byte_after(from).filter(|_| told.streams);
        span.tell("gen_ai.response.time_to_first_chunk", first);
        if let Some(called) = &trace.called {
            address(&mut span, called.upstream.base());
        }
        self.fault(&mut span);
        span
    }

    /// How the upstream call ended, where that was its own doing.
    fn fault(&self, span: &mut Span) {
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
    fn check(&self, check: &Check) -> Span {
        let backend = self.shared.settings.monitor.url.as_ref();
        let kind = match backend {
            Some(_) => SpanKind::Client,
            None => SpanKind::Internal,
        };
        let name = match check.stage {
            Stage::PreCall => "verdict pre_call",
            Stage::PostCall => "verdict post_call",
        };
        let mut span = self.span(name.to_owned(), kind, (check.from, check.to));
        span.tell("monitor.stage", Some(check.stage.as_str()));
        span.tell("monitor.verdict", Some(check.came_to));
        if let Some(backend) = backend {
            address(&mut span, backend);
        }
        span.failed = !matches!(check.came_to, "passed" | "flagged");
        span.tell("error.type", span.failed.then_some(check.came_to));
        span
    }

    /// A child of the call's span.
    fn span(&self, name: String, kind: SpanKind, (from, to): (Instant, Instant)) -> Span {
        let (at, began) = self.began;
        let place = |moment: Instant| at + moment.saturating_duration_since(began);
        Span {
            trace: self.own.trace,
            id: SpanId::random(),
            parent: Some(self.own.span),
            name,
            kind,
            from: place(from),
            to: place(to),
            attributes: Vec::with_capacity(16),
            failed: false,
        }
    }
}

/// What the answer says about itself.
fn heard(span: &mut Span, heard: &Heard) {
    let usage = heard.usage.unwrap_or_default();
    span.tell("gen_ai.response.model", heard.model.clone());
    span.tell("gen_ai.usage.input_tokens", usage.prompt_tokens);
    span.tell("gen_ai.usage.output_tokens", usage.completion_tokens);
}

fn address(span: &mut Span, url: &BaseUrl) {
    span.tell("server.address", Some(url.host.clone()));
    span.tell("server.port", Some(url.port));
}

fn status(status: u16) -> Option<u16> {
    (status > 0).then_some(status)
}

/// `http.route`; what is not in the table of routes could hold anything.
fn path(route: RouteLabel) -> Option<&'static str> {
    match route {
        RouteLabel::Chat => Some("/v1/chat/completions"),
        RouteLabel::Embeddings => Some("/v1/embeddings"),
        RouteLabel::Models => Some("/v1/models"),
        RouteLabel::Docs | RouteLabel::Other => None,
    }
}

/// `gen_ai.operation.name`.
fn operation(route: RouteLabel) -> Option<&'static str> {
    match route {
        RouteLabel::Chat => Some("chat"),
        RouteLabel::Embeddings => Some("embeddings"),
        RouteLabel::Models | RouteLabel::Docs | RouteLabel::Other => None,
    }
}
