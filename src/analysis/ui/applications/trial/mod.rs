//! Trying rules out: a text, custom policies and regexes in the form, what an engine saw, and a replay of stored records.

mod effects;
mod explain;
mod form;
mod replay;

pub(super) use form::panel;

use crate::analysis::ui::state::Ui;
use axum::Router;
use axum::routing::post;

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/applications/try", post(form::text))
        .route("/applications/explain", post(explain::page))
        .route("/applications/policies", post(form::policies))
        .route("/applications/regex", post(form::regex))
        .route("/applications/{id}/replay", post(replay::page))
}
