//! The analysis server: [`Services`] is its core, called over HTTP through [`router`] and in process by the
//! gateway of `monitor all`. No detection here (that is `monitor_detect`) and no SQL (that is `monitor_store`).
//!
//! - `access`: tokens, scopes, rate limits. `ingest`: messages in, verdicts out. `records`: what is stored.
//!   `found_values`: what was found in them, as hashes. `budgets`: what is spent of them. `siem`: events for other
//!   systems. `admin`: applications, tokens, trials, replays. `people`: accounts and sign-ins of the web UI. `alerts`:
//!   rules, and who is told.
//! - `api` and `ui` are the two front ends; they call the services and never the store.

mod access;
mod admin;
mod alerts;
mod api;
mod audit;
mod budgets;
mod cache;
mod clock;
mod error;
mod found_values;
mod ingest;
mod people;
mod records;
mod request_body;
mod rules;
mod services;
mod siem;
mod start_error;
mod startup;
mod store_health;
mod text_checks;
mod ui;

pub use access::Access;
pub use access::caller::Caller;
pub use admin::Admin;
pub use admin::differences::{Basis, Difference};
pub(crate) use admin::draft::{Edit as ApplicationEdit, Part as EditPart};
pub use admin::policies::SetPolicyError;
pub use admin::replay::{
    ChangedVerdict, Explanation, MOST_REPLAYED, Replay, ReplayPage, RulesUsed,
};
pub use admin::tokens::{CreatedToken, Expiry, NewToken, Rotation, TokenPosition};
pub use api::openapi::openapi_json;
pub use api::records::scheduled::ScheduledExports;
pub use api::route_names::RouteNames;
pub use api::router::router;
pub use api::token_json;
pub use error::{ApiError, FieldProblem};
pub use ingest::Ingest;
pub use ingest::gateways::registry::{GatewayRegistry, LocalGateway};
pub use ingest::models::Models;
pub(crate) use ingest::process::{EarlierMessage, EarlierRecord};
pub use ingest::request::ProcessInput;
pub use people::People;
pub use records::Records;
pub use records::attachments::{AttachTo, NewFile};
pub use records::documents;
pub use records::retention::RetentionTask;
pub use records::user_sums::{MOST_SUMMED, Severities, UserSum, UserSums};
pub use request_body::{BodyMemory, HeldMemory, RefusedBody};
pub use rules::application_rules::{ApplicationRules, Retention};
pub use services::Services;
pub use start_error::StartError;
pub(crate) use startup::restoring_file;
pub use startup::{FirstRun, blobs_folder, database_file, migrate, open_blobs};
pub(crate) use store_health::StoreHealth;
pub use ui::{LINK_PATH, Peer, Stopping};
