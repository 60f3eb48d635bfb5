//! What the access log and traces report about one call: its times, its line and its spans.

mod clock;
mod metadata;
mod spans;
mod trace;

pub(super) use clock::CallClock;
pub(super) use metadata::AnswerMetadata;
pub(super) use spans::export;
pub(super) use trace::{CallTrace, CheckResult, Findings};
