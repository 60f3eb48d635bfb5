//! What an operator sees: metrics, events (a log line and a counter born together), logging.

pub mod events;
pub mod logging;
mod metrics;
mod throttle;

pub use metrics::{CallTimes, Metrics, Outcome, RouteLabel, TelemetryOutcome};
pub use throttle::Throttle;
