//! The analysis API: [`Service`] is its core, used over HTTP through [`router`] and in process by
//! the gateway of `monitor all`. No detection here (that is `detect`) and no SQL (that is `store`).

mod applications;
mod cache;
mod clock;
mod differences;
mod direction;
mod error;
mod fields;
mod http;
mod inline;
mod keep;
mod policies;
mod process;
mod rate;
mod replay;
mod retention;
mod rules;
mod service;
mod start;
mod tokens;

pub use differences::{Basis, Difference};
pub use error::{ApiError, Resource};
pub use fields::RulesProblem;
pub use http::router;
pub use policies::SetPolicyError;
pub use process::ProcessInput;
pub use replay::{ChangedVerdict, Explanation, MOST_REPLAYED, Replay, ReplayPage, RulesUsed};
pub use retention::RetentionTask;
pub use rules::{ApplicationRules, Retention};
pub use service::Service;
pub use start::{FirstRun, StartError, migrate};
