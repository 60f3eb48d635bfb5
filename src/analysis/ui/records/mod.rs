//! `/ui/records` and `/ui/sessions`: the analyzed messages, for those who may read them. The list with
//! its live updates, one record, sessions as conversations, exports and files.

pub(crate) mod bounded_text;
mod by_value;
mod conversation;
mod details;
mod download;
mod exchange;
mod filters;
mod list;
mod live;
mod record;
pub(crate) mod rows;
mod sessions;
mod tool_calls;
mod tool_parts;
mod verdicts;

pub(crate) use live::{LiveLimit, SIGNED_OUT_EVENT};
pub(crate) use verdicts::{rulings, scores};

use super::failure::Failure;
use super::state::Ui;
use axum::Router;
use axum::routing::{get, post};
use monitor_model::RecordId;

pub(crate) fn routes() -> Router<Ui> {
    Router::new()
        .route("/records", get(list::page))
        .route("/records/live", get(live::stream))
        .route("/records/filters", post(filters::saved_filters::save))
        .route(
            "/records/filters/{id}/remove",
            post(filters::saved_filters::remove),
        )
        .route("/records/export", get(download::export))
        .route(
            "/records/by-value",
            get(by_value::page).post(by_value::find),
        )
        .route("/records/{id}", get(record::page))
        .route("/records/{id}/same", get(by_value::same))
        .route("/records/{id}/original", post(record::reveal))
        .route("/records/{id}/json", get(download::json))
        .route("/records/{id}/attachments/{sha256}", get(download::file))
        .route("/sessions", get(sessions::page))
        .route("/sessions/one", get(conversation::page))
        .route("/sessions/one/original", post(conversation::reveal))
}

/// The identifier in an address; a text that is no UUID names no record.
fn record_id(text: &str) -> Result<RecordId, Failure> {
    text.parse().map_err(|_| Failure::NotFound)
}
