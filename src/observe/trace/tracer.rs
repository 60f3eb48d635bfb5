//! Which calls are traced, and the bounded queue that their spans wait in.

use super::{Span, SpanId, TraceContext, TraceId};
use crate::config::TraceSettings;
use crate::observe::events::{SpansDropped, SpansLost};
use crate::observe::metrics::Metrics;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};

/// The decisions and the queue of one process.
pub struct Tracer {
    settings: TraceSettings,
    /// Traces whose random part lies below it are sampled.
    threshold: u64,
    spans: Sender<Span>,
    metrics: Arc<Metrics>,
}

impl Tracer {
    /// With the other end of its queue.
    pub fn new(settings: TraceSettings, metrics: Arc<Metrics>) -> (Self, Receiver<Span>) {
        let (spans, queued) = channel(settings.queue);
        // At 1.0 it lies above every random part.
        let threshold = (settings.ratio * (1_u64 << 56) as f64) as u64;
        let tracer = Self {
            settings,
            threshold,
            spans,
            metrics,
        };
        (tracer, queued)
    }

    /// What the configuration says.
    pub fn settings(&self) -> &TraceSettings {
        &self.settings
    }

    /// A span for a call in its caller's trace, or in one of its own. The caller decides whether spans
    /// are kept, where there is one.
    pub fn begin(&self, parent: Option<TraceContext>) -> TraceContext {
        let span = SpanId::random();
        match parent {
            Some(parent) => TraceContext { span, ..parent },
            None => {
                let trace = TraceId::random();
                let sampled = trace.random_part() < self.threshold;
                TraceContext {
                    trace,
                    span,
                    sampled,
                }
            }
        }
    }

    /// Hands a span over without waiting; one that finds no room is dropped, counted.
    pub fn end(&self, span: Span) {
        if let Err(TrySendError::Full(_)) = self.spans.try_send(span) {
            let reason = SpansLost::Queue;
            SpansDropped { reason, count: 1 }.emit(&self.metrics);
        }
    }
}
