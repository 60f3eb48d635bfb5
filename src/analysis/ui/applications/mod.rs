//! `/ui/applications`: the list, making and editing one, trying rules out, versions.

mod budgets;
mod categories;
mod controls;
mod current;
mod differences;
mod document;
mod edit;
mod exception;
mod field_names;
mod fields;
mod list;
mod presets;
mod problems;
mod sections;
mod summary;
mod trial;
mod versions;

pub(super) use differences::switched;
pub(super) use field_names::name as field_name;

use crate::analysis::ui::state::Ui;
use axum::Router;
use axum::routing::{get, post};

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/applications", get(list::page).post(edit::create))
        .route("/applications/new", get(edit::blank))
        .route("/applications/{id}", get(edit::page).post(edit::save))
        .route("/kept/{id}", get(edit::kept))
        .route("/applications/preset", post(presets::page::of_new))
        .route("/applications/{id}/preset", post(presets::page::of_stored))
        .route("/applications/{id}/exception", post(exception::page))
        .route("/applications/{id}/remove", post(edit::remove))
        .route("/applications/{id}/versions", get(versions::page))
        .route("/applications/{id}/restore", post(versions::restore))
        .merge(trial::routes())
}
