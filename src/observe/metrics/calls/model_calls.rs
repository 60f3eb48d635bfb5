//! How long calls of models take, under the names and with the labels of OpenTelemetry's conventions for generative
//! AI. Models, users and applications are no labels: `model` is any text that a client writes.

use crate::observe::labels::{ModelApi, Outcome, RouteLabel};
use crate::observe::metrics::register::About;
use prometheus::{Histogram, HistogramOpts, HistogramVec, Registry};

const CLIENT: About = (
    "gen_ai_client_operation_duration_seconds",
    "From the call of the model server to the end of its answer, by API; error_type is empty, or how the call failed.",
);
const SERVER: About = (
    "gen_ai_server_request_duration_seconds",
    "From the request head to the last byte of the answer, by API; error_type is empty, or how the call failed.",
);
const LABELS: [&str; 3] = [
    "error_type",
    "gen_ai_operation_name",
    "gen_ai_provider_name",
];
/// Each `gen_ai.operation.name` with the APIs that have it.
const OPERATIONS: [(&str, ModelApi); 4] = [
    ("chat", ModelApi::OpenAi),
    ("chat", ModelApi::Anthropic),
    ("text_completion", ModelApi::OpenAi),
    ("embeddings", ModelApi::OpenAi),
];
/// Those of the conventions, in seconds.
const BUCKETS: &[f64] = &[
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/// Durations of calls of models.
pub(super) struct ModelCallMetrics {
    client: Durations,
    server: Durations,
}

impl ModelCallMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            client: Durations::new(registry, CLIENT)?,
            server: Durations::new(registry, SERVER)?,
        })
    }

    /// A call ended so many seconds after its request head, `model` of which its model server took.
    pub(super) fn ended(
        &self,
        route: RouteLabel,
        outcome: Outcome,
        total: f64,
        model: Option<f64>,
    ) {
        let Some(operation) = operation(route) else {
            return;
        };
        let error = error_type(outcome);
        self.server.observe(operation, error, total);
        if let Some(model) = model {
            self.client.observe(operation, error, model);
        }
    }
}

/// One of the two histograms.
struct Durations {
    all: HistogramVec,
    /// Of calls that went well, by operation: they are there from the start.
    good: Vec<Histogram>,
}

impl Durations {
    fn new(registry: &Registry, (name, help): About) -> prometheus::Result<Self> {
        let opts = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
        let all = HistogramVec::new(opts, &LABELS)?;
        registry.register(Box::new(all.clone()))?;
        let one = |&(name, api): &(&'static str, ModelApi)| {
            let labels: [&str; 3] = ["", name, api.as_str()];
            all.with_label_values(&labels)
        };
        let good = OPERATIONS.iter().map(one).collect();
        Ok(Self { all, good })
    }

    fn observe(&self, operation: usize, error: Option<&str>, seconds: f64) {
        match (error, OPERATIONS.get(operation)) {
            (Some(error), Some(&(name, api))) => {
                let labels: [&str; 3] = [error, name, api.as_str()];
                self.all.with_label_values(&labels).observe(seconds);
            }
            _ => {
                if let Some(histogram) = self.good.get(operation) {
                    histogram.observe(seconds);
                }
            }
        }
    }
}

/// The place in [`OPERATIONS`]; None for routes that call no model.
fn operation(route: RouteLabel) -> Option<usize> {
    match route {
        RouteLabel::Chat | RouteLabel::Responses => Some(0),
        RouteLabel::Messages => Some(1),
        RouteLabel::Completions => Some(2),
        RouteLabel::Embeddings => Some(3),
        RouteLabel::Models
        | RouteLabel::ResponsesBelow
        | RouteLabel::MessagesBelow
        | RouteLabel::Docs
        | RouteLabel::Other => None,
    }
}

/// The attribute `error.type`. What a policy answers is an answer.
fn error_type(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Ok | Outcome::Blocked => None,
        _ => Some(outcome.as_str()),
    }
}
