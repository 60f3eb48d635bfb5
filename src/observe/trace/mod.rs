//! Traces (W3C Trace Context, OpenTelemetry): which calls have one, what a span says, and how spans are
//! encoded for a collector (OTLP as JSON) and exported. The gateway decides which spans a call has.

mod context;
mod export;
mod otlp;
mod span;
mod tracer;

pub use context::{SpanId, TraceContext, TraceId};
pub use export::SpanExporter;
pub use otlp::{Resource, encode};
pub use span::{Attribute, Event, Span, SpanKind, Value};
pub use tracer::Tracer;
