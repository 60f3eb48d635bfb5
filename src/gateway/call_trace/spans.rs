//! The spans of one call: the call itself, each awaited verdict, and the upstream call with the attributes
//! of OpenTelemetry's conventions for generative AI. No span holds a prompt, an answer, a key or a user: what the
//! conventions list as opt-in, the contents of messages, is left out. `gen_ai.request.stop_sequences`, which they
//! recommend, holds the client's own texts, at most 16 of 128 bytes.

use super::clock::CallClock;
use super::metadata::{AnswerMetadata, RequestMetadata};
use super::trace::{CallTrace, CheckSpan, SpanData};
use crate::config::BaseUrl;
use crate::gateway::state::Snapshot;
use crate::observe::events::CallEnded;
use crate::observe::trace::{Attribute, Event, Span, SpanId, SpanKind, TraceContext};
use crate::observe::{ModelApi, Outcome, RouteLabel};
use monitor_model::Stage;
use std::ops::Range;
use std::time::{Instant, SystemTime};

/// `error.type` of an error that has a name of the provider's only, of which there may be any number.
const OTHER_ERROR: &str = "_OTHER";

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
        spans.tracer.end(builder.check(check, &spans));
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
            let provider =
                provider.unwrap_or_else(|| ModelApi::of(self.call.route).as_str().to_owned());
            span.tell("gen_ai.operation.name", operation);
            span.tell("gen_ai.provider.name", Some(provider));
            span.tell("gen_ai.request.model", trace.model.clone());
            span.tell("gen_ai.request.stream", trace.streams.then_some(true));
            add_request(&mut span, &spans.request);
        }
        let answer = spans.answer.as_deref();
        if let Some(answer) = answer {
            add_answer(&mut span, answer);
        }
        let first = clock.first_byte_after(begun).filter(|_| trace.streams);
        span.tell("gen_ai.response.time_to_first_chunk", first);
        if let Some(server) = &spans.server {
            add_address(&mut span, server.resolver.base());
        }
        self.add_upstream_error(&mut span, answer.is_some_and(|answer| answer.is_failed));
        Some(span)
    }

    /// Adds how the upstream call failed, where the upstream or its connection caused it. `says_so` is that an event
    /// of the stream names an error, in the provider's words.
    fn add_upstream_error(&self, span: &mut Span, says_so: bool) {
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
            _ => {
                span.tell("error.type", says_so.then_some(OTHER_ERROR));
                says_so
            }
        };
    }

    /// A verdict of the backend, or of the analysis in this process.
    fn check(&self, check: &CheckSpan, spans: &SpanData) -> Span {
        let outcome = check.result.outcome;
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
        span.tell("monitor.verdict", Some(outcome));
        if let Some(backend) = backend {
            add_address(&mut span, backend);
        }
        span.failed = !matches!(outcome, "passed" | "flagged");
        span.tell("error.type", span.failed.then_some(outcome));
        let answer = spans.answer.as_deref();
        let answer = answer.filter(|_| check.stage == Stage::PostCall);
        let id = answer.and_then(|answer| answer.id.as_ref());
        span.events = evaluations(check)
            .map(|(name, label)| evaluation(span.to, name, label, id))
            .collect();
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
            attributes: Vec::with_capacity(32),
            events: Vec::new(),
            failed: false,
        }
    }
}

/// What a verdict found: each kind, or the whole of it where nothing was found.
fn evaluations(check: &CheckSpan) -> impl Iterator<Item = (&'static str, &'static str)> {
    let findings = check.result.findings;
    let kinds = findings.map(|findings| findings.kinds).unwrap_or_default();
    let found = kinds.into_iter().flatten();
    let nothing = kinds.iter().all(Option::is_none);
    let is_clean = nothing && findings.is_some_and(|findings| findings.is_whole);
    let clean = is_clean.then_some(("policy", "passed"));
    found.map(|kind| (kind.as_str(), "flagged")).chain(clean)
}

/// The event of one finding, without a word of the message.
fn evaluation(
    at: SystemTime,
    name: &'static str,
    label: &'static str,
    id: Option<&String>,
) -> Event {
    let attribute = |name, value| Attribute { name, value };
    let mut attributes = vec![
        attribute("gen_ai.evaluation.name", name.into()),
        attribute("gen_ai.evaluation.score.label", label.into()),
    ];
    attributes.extend(id.map(|id| attribute("gen_ai.response.id", id.clone().into())));
    Event {
        name: "gen_ai.evaluation.result",
        at,
        attributes,
    }
}

fn add_request(span: &mut Span, request: &RequestMetadata) {
    span.tell("gen_ai.conversation.id", request.conversation.clone());
    span.tell("gen_ai.request.max_tokens", request.max_tokens);
    span.tell("gen_ai.request.temperature", request.temperature);
    span.tell("gen_ai.request.top_p", request.top_p);
    let stops = &request.stop_sequences;
    let stops = (!stops.is_empty()).then(|| stops.clone());
    span.tell("gen_ai.request.stop_sequences", stops);
    span.tell("gen_ai.request.choice.count", request.choices);
    span.tell("gen_ai.output.type", request.output_type);
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
    let (input, output) = (usage.prompt_tokens_details, usage.completion_tokens_details);
    for (name, tokens) in [
        ("gen_ai.usage.cache_read.input_tokens", input.cached_tokens),
        (
            "gen_ai.usage.cache_creation.input_tokens",
            input.cache_creation_tokens,
        ),
        (
            "gen_ai.usage.reasoning.output_tokens",
            output.reasoning_tokens,
        ),
    ] {
        span.tell(name, tokens);
    }
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
        RouteLabel::Responses => Some("/v1/responses"),
        RouteLabel::Messages => Some("/v1/messages"),
        RouteLabel::Completions => Some("/v1/completions"),
        RouteLabel::Models => Some("/v1/models"),
        RouteLabel::ResponsesBelow
        | RouteLabel::MessagesBelow
        | RouteLabel::Docs
        | RouteLabel::Other => None,
    }
}

/// The attribute `gen_ai.operation.name`; None for routes that call no model.
fn operation(route: RouteLabel) -> Option<&'static str> {
    match route {
        RouteLabel::Chat | RouteLabel::Responses | RouteLabel::Messages => Some("chat"),
        RouteLabel::Completions => Some("text_completion"),
        RouteLabel::Embeddings => Some("embeddings"),
        RouteLabel::Models
        | RouteLabel::ResponsesBelow
        | RouteLabel::MessagesBelow
        | RouteLabel::Docs
        | RouteLabel::Other => None,
    }
}
