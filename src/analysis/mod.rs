//! The analysis API: [`Service`] is its core, used over HTTP through [`router`] and in process by
//! the gateway of `monitor all`. No detection here (that is `detect`) and no SQL (that is `store`).

mod application_admin;
mod applications;
mod audit;
mod authority;
mod cache;
mod clock;
mod differences;
mod direction;
mod draft;
mod error;
mod fields;
mod freshness;
mod http;
mod inline;
mod keep;
mod openapi;
mod policies;
mod process;
mod rate;
mod reading;
mod replay;
mod retention;
mod rules;
mod service;
mod start;
mod texts;
mod token_admin;
mod tokens;

pub use authority::Caller;
pub use differences::{Basis, Difference};
pub use error::{ApiError, FieldProblem};
pub use http::{router, token_json};
pub use openapi::openapi_json;
pub use policies::SetPolicyError;
pub use process::ProcessInput;
pub use replay::{ChangedVerdict, Explanation, MOST_REPLAYED, Replay, ReplayPage, RulesUsed};
pub use retention::RetentionTask;
pub use rules::{ApplicationRules, Retention};
pub use service::Service;
pub use start::{FirstRun, StartError, migrate};
pub use token_admin::{Expiry, MadeToken, NewToken, Rotation, TokenPlace};
