//! What an operator sees: metrics, events (a log line and a counter born together), logging.

pub mod access;
pub mod events;
mod labels;
pub mod logging;
mod metrics;
mod registered;
mod throttle;
pub mod trace;
pub mod upgraded;

pub use labels::{
    AttachmentOutcome, EndReason, Outcome, RemoteLabel, RemoteOutcome, RouteLabel,
    TelemetryOutcome, UncheckedReason, UnrestoredReason, VerdictType,
};
pub use metrics::{CallTimes, Metrics, OutputMetrics, RemoteMetrics};
pub use throttle::Throttle;
