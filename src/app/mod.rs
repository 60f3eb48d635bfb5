//! The composition root: picks implementations, starts services, ends them. The only place that
//! knows both the gateway and the analysis backend.

mod analysis;
mod deadline;
mod demo_data;
mod gateway;
mod health;
mod observability;
mod process;
mod reload;
mod scan;
mod store;
mod transfer;
mod upgrade;

pub use analysis::run_analysis;
pub use deadline::Deadline;
pub use demo_data::{DemoDataRequest, fill_demo_data};
pub use gateway::demo::run_demo_upstream;
pub use gateway::{run_all, run_gateway};
pub use health::{check_health, health_url};
pub use process::context::Launch;
pub(crate) use process::core_files::forbid as forbid_core_files;
pub use reload::LoadSettings;
pub use scan::{Counts, Evaluation, ScanRequest, Summary, evaluate, scan};
pub use store::migrate::migrate;
pub use store::tokens::{create_token, list_tokens, revoke_token, rotate_token};
pub use store::users::{UserLink, link_user, readmit_user};
pub use transfer::{BackupRequest, CopyRequest, RestoreRequest};
pub use transfer::{backup, check_archive, copy, restore};
pub(crate) use upgrade::START_DETACHED;
pub use upgrade::{order_reload, order_upgrade, running_role, start_detached};
