//! Traces (W3C Trace Context, OpenTelemetry): which calls have one, what a span says, and how spans
//! look to a collector (OTLP as JSON). Sending them is `telemetry`'s; which spans a call has is
//! `gateway`'s.

mod context;
mod otlp;
mod span;
mod tracer;

pub use context::{SpanId, TraceContext, TraceId};
pub use otlp::{Resource, encode};
pub use span::{Attribute, Span, SpanKind, Value};
pub use tracer::Tracer;
