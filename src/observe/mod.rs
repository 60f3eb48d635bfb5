//! What an operator sees: metrics, events (a log line and a counter born together), logging.

pub mod access;
pub mod clock;
pub mod events;
mod failures;
mod journal;
mod labels;
mod log_budget;
pub mod logging;
mod loss_lines;
mod metrics;
mod stderr;
mod throttle;
pub mod trace;

#[cfg(test)]
pub(crate) use labels::Label;
pub use labels::{
    AcceptFault, AnalysisResult, AnalysisStep, AttachmentOutcome, DropReason, EndReason, Exhausted,
    FailoverReason, IncompleteReason, LogSource, Outcome, PoolState, QuotaLimit, RemoteLabel,
    RemoteOutcome, RemovalCause, ReusedId, RouteLabel, StoreFault, StreamHandling,
    TelemetryOutcome, TurnRefusal, UncheckedReason, UnknownCaller, UnreplayedReason,
    UnrestoredReason, UpgradeResult, VerdictType,
};
pub use metrics::{
    AnalysisMetrics, CallTimes, LimitMetrics, Metrics, OutputMetrics, PoolUse, RemoteMetrics,
    SpoolMetrics, StoreMetrics, StreamMetrics, TurnMetrics, UpstreamMetrics,
};
pub use throttle::Throttle;
