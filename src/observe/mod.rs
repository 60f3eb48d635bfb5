//! What an operator sees: metrics, events (a log line and a counter born together), logging.

pub mod access;
pub mod events;
mod labels;
mod log_budget;
pub mod logging;
mod loss_lines;
mod metrics;
mod stderr;
mod throttle;
pub mod trace;

pub use labels::{
    AcceptFault, AttachmentOutcome, DropReason, EndReason, Exhausted, FailoverReason, LogSource,
    Outcome, QuotaLimit, RemoteLabel, RemoteOutcome, RouteLabel, TelemetryOutcome, TurnRefusal,
    UncheckedReason, UnknownCaller, UnrestoredReason, UpgradeResult, VerdictType,
};
pub use metrics::{
    CallTimes, LimitMetrics, Metrics, OutputMetrics, RemoteMetrics, SpoolMetrics, TurnMetrics,
    UpstreamMetrics,
};
pub use throttle::Throttle;
