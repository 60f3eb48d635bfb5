//! `/ui/records` and `/ui/sessions`: the analyzed messages, for those who may read them. The list with
//! its live updates, one record, sessions as conversations, exports and files.

mod bounded_text;
mod conversation;
mod details;
mod download;
mod filter_bar;
mod filters;
mod list;
mod live_limit;
mod live_stream;
mod record;
pub(crate) mod rows;
mod saved_filters;
mod sessions;
mod tool_calls;
mod verdicts;

pub(crate) use live_limit::LiveLimit;
pub(crate) use verdicts::rulings;

use super::failure::Failure;
use super::state::Ui;
use axum::Router;
use axum::routing::{get, post};
use monitor_model::RecordId;

pub(crate) fn routes() -> Router<Ui> {
    Router::new()
        .route("/records", get(list::page))
        .route("/records/live", get(live_stream::stream))
        .route("/records/filters", post(saved_filters::save))
        .route("/records/filters/{id}/remove", post(saved_filters::remove))
        .route("/records/export", get(download::export))
        .route("/records/{id}", get(record::page))
        .route("/records/{id}/json", get(download::json))
        .route("/records/{id}/attachments/{sha256}", get(download::file))
        .route("/sessions", get(sessions::page))
        .route("/sessions/one", get(conversation::page))
}

/// The identifier in an address; a text that is no UUID names no record.
fn record_id(text: &str) -> Result<RecordId, Failure> {
    text.parse().map_err(|_| Failure::NotFound)
}
