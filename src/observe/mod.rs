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
    AcceptFault, AlertChannelLabel, AlertResult, AnalysisResult, AnalysisStep, AttachmentOutcome,
    BudgetLabel, DropReason, EndReason, Exhausted, FailoverReason, IncompleteReason, LogSource,
    ModelApi, Outcome, PoolState, QuotaLimit, RecordExportResult, RecordSender, RemoteLabel,
    RemoteOutcome, RemovalCause, ReusedId, RouteLabel, SiemResult, StoreFault, StreamHandling,
    SumName, TelemetryOutcome, TokenKind, TokenType, TurnRefusal, UncheckedReason, UnknownCaller,
    UnreplayedReason, UnrestoredReason, UpgradeResult, VerdictType,
};
pub use metrics::{
    AlertMetrics, AnalysisMetrics, CallLabels, CallTimes, CostMetrics, LimitMetrics, Metrics,
    OutputMetrics, PoolUse, RemoteMetrics, SiemMetrics, SpoolMetrics, StoreMetrics, StreamMetrics,
    TokenMetrics, TurnMetrics, UpstreamMetrics, UpstreamName,
};
pub use throttle::Throttle;
