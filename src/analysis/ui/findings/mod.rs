//! `/ui/findings`: what was flagged and waits for a decision, for those who read records. Deciding takes the scope
//! triage. The panel of a record's page is here too.

mod decide;
mod list;
pub(super) mod panel;
mod precision;
mod query;

use super::state::Ui;
use axum::Router;
use axum::routing::{get, post};

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/findings", get(list::page))
        .route("/findings/bulk", post(list::decide))
        .route("/findings/precision", get(precision::page))
        .route("/findings/evaluation", get(precision::evaluation))
        .route("/records/{id}/triage", post(panel::decide))
}
