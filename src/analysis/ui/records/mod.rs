//! `/ui/records` and `/ui/sessions`: what was analysed, for those who may read it. The list with its
//! live tail, one record, sessions as conversations, exports and files.

pub(super) mod asked;
mod conversation;
mod details;
mod download;
mod filters;
mod given;
mod list;
mod live;
mod one;
pub(super) mod row;
mod saved;
mod sessions;
mod tails;
mod verdicts;

pub(super) use tails::Tails;
pub(super) use verdicts::rulings;

use super::Ui;
use super::failure::Failure;
use axum::Router;
use axum::routing::{get, post};
use monitor_model::RecordId;

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/records", get(list::page))
        .route("/records/live", get(live::stream))
        .route("/records/filters", post(saved::keep))
        .route("/records/filters/{id}/remove", post(saved::remove))
        .route("/records/export", get(download::export))
        .route("/records/{id}", get(one::page))
        .route("/records/{id}/json", get(download::json))
        .route("/records/{id}/attachments/{sha256}", get(download::file))
        .route("/sessions", get(sessions::page))
        .route("/sessions/one", get(conversation::page))
}

/// What is no UUID is no record's.
fn record_id(text: &str) -> Result<RecordId, Failure> {
    text.parse().map_err(|_| Failure::NotFound)
}
