//! The composition root: picks implementations, starts services, ends them. The only place that
//! knows both the gateway and the analysis backend.

mod analysis;
mod certificates;
mod clear_text;
mod descriptors;
mod docs;
mod gateway;
mod http;
mod inspect;
mod launch;
mod lifecycle;
mod listeners;
mod local;
mod migrate;
mod notify;
mod operations;
mod outputs;
mod policies;
mod reload;
mod remote;
mod run;
mod scan;
mod serve;
mod sockets;
mod spool;
mod status;
mod tokens;
mod tracing;
mod upgrade;
mod users;
mod watchdog;
mod welcome;

pub use analysis::run_analysis;
pub use gateway::{run_all, run_demo_upstream, run_gateway};
pub use launch::{Launch, Load};
pub use migrate::migrate;
pub use scan::{ScanRequest, Summary, scan};
pub use tokens::{create_token, list_tokens, revoke_token, rotate_token};
pub(crate) use upgrade::START_ORPHAN;
pub use upgrade::{order_reload, order_upgrade, start_orphan};
pub use users::link_user;
