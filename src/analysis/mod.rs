//! The analysis API: [`Service`] is its core, used over HTTP through [`router`] and in process by
//! the gateway of `monitor all`. No detection here (that is `detect`) and no SQL (that is `store`).

mod applications;
mod cache;
mod clock;
mod error;
mod http;
mod openapi;
mod policies;
mod process;
mod reading;
mod rules;
mod service;
mod start;
mod tokens;

pub use error::{ApiError, Resource};
pub use http::router;
pub use openapi::openapi_json;
pub use policies::SetPolicyError;
pub use process::ProcessInput;
pub use rules::ApplicationRules;
pub use service::Service;
pub use start::{FirstRun, StartError};
