//! The composition root: picks implementations, starts services, ends them. The only place that
//! knows both the gateway and the analysis backend.

mod analysis;
mod docs;
mod gateway;
mod http;
mod inspect;
mod lifecycle;
mod listeners;
mod local;
mod migrate;
mod operations;
mod policies;
mod remote;
mod scan;
mod spool;
mod status;
mod tokens;
mod welcome;

pub use analysis::run_analysis;
pub use gateway::{run_all, run_demo_upstream, run_gateway};
pub use migrate::migrate;
pub use scan::{ScanRequest, Summary, scan};
pub use tokens::{create_token, list_tokens, revoke_token, rotate_token};
