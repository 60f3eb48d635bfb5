//! Tokens of model calls, under the name and with the labels of OpenTelemetry's conventions for generative AI.

use crate::observe::labels::{Label, ModelApi, RouteLabel, TokenType};
use crate::observe::metrics::register::About;
use prometheus::{Histogram, HistogramOpts, HistogramVec, Registry};

const USAGE: About = (
    "gen_ai_client_token_usage",
    "Tokens of one call by API and by input or output, of calls whose answers are recorded or traced.",
);
const LABELS: [&str; 3] = [
    "gen_ai_operation_name",
    "gen_ai_provider_name",
    "gen_ai_token_type",
];
/// Each `gen_ai.operation.name` with the APIs that have it.
const OPERATIONS: [(&str, ModelApi); 3] = [
    ("chat", ModelApi::OpenAi),
    ("chat", ModelApi::Anthropic),
    ("text_completion", ModelApi::OpenAi),
];
/// Those of the conventions, up to the context of today's models.
const BUCKETS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
];

/// Tokens that model servers counted.
pub struct TokenMetrics {
    /// By operation and API, by type.
    usage: Vec<Vec<Histogram>>,
}

impl TokenMetrics {
    pub(in crate::observe::metrics) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let (name, help) = USAGE;
        let opts = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
        let metric = HistogramVec::new(opts, &LABELS)?;
        registry.register(Box::new(metric.clone()))?;
        let of_operation = |(operation, api): &(&str, ModelApi)| {
            let kinds = TokenType::ALL.iter();
            let one = |kind: &TokenType| {
                metric.with_label_values(&[operation, api.as_str(), kind.as_str()])
            };
            kinds.map(one).collect()
        };
        Ok(Self {
            usage: OPERATIONS.iter().map(of_operation).collect(),
        })
    }

    /// One call took so many tokens.
    pub fn used(&self, route: RouteLabel, kind: TokenType, tokens: u64) {
        let operation = match route {
            RouteLabel::Messages => 1,
            RouteLabel::Completions => 2,
            _ => 0,
        };
        let histograms = self.usage.get(operation);
        if let Some(histogram) = histograms.and_then(|types| types.get(kind as usize)) {
            histogram.observe(tokens as f64);
        }
    }
}
