//! What an operator sees: metrics, events (a log line and a counter born together), logging.

pub mod access;
pub mod events;
mod labels;
pub mod logging;
mod metrics;
mod registered;
mod stderr;
mod throttle;
pub mod trace;
pub mod upgraded;

pub use labels::{
    AcceptFault, AttachmentOutcome, EndReason, FailoverReason, Outcome, QuotaLimit, RemoteLabel,
    RemoteOutcome, Room, RouteLabel, TelemetryOutcome, UncheckedReason, UnrestoredReason,
    VerdictType,
};
pub use metrics::{
    CallTimes, LimitMetrics, Metrics, OutputMetrics, RemoteMetrics, SpoolMetrics, UpstreamMetrics,
};
pub use throttle::Throttle;
