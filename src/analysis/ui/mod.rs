//! The web UI (§1.7) on the analysis server's port: pages rendered here, for people who sign in.
//! Every page reads and changes data through [`Services`] with the rights of the person signed in; no
//! SQL and no detection here. Every page works without scripts; the two small ones only add comfort.
//!
//! - A form is accepted only with the token of the browser it was made for (`request::form`).
//! - The templates escape every text that comes from outside; none is marked as safe.
//! - An address below `/ui` is a page; the API's paths stand beside, untouched.

mod accounts;
mod alerts;
mod application_field;
mod application_names;
mod applications;
mod assets;
mod audit;
mod costs;
mod erasure;
mod failure;
mod findings;
mod first_steps;
mod layout;
mod middleware;
mod overview;
mod paths;
mod people;
mod phrases;
mod preferences;
mod records;
mod request;
mod session;
mod state;
mod status;
mod tokens;

pub use paths::LINK_PATH;
pub use request::{Peer, Stopping};

use super::Services;
use axum::extract::State;
use axum::middleware::from_fn;
use axum::response::Redirect;
use axum::routing::{get, post};
use axum::{Extension, Router};
use failure::Failure;
use request::Visit;
use request::connection::{PublicUrl, StrictTransport};
use state::Ui;
use std::sync::Arc;

/// Everything below `/ui`, and `/`, which redirects there.
pub(super) fn router(services: Arc<Services>) -> Router {
    let public = services.settings.public_url.as_deref();
    let public = PublicUrl(public.map(Arc::from));
    let strict = StrictTransport(services.settings.hsts);
    let pages = Router::new()
        .route("/", get(home))
        .route("/preferences", post(preferences::keep))
        .route("/status", get(status::page))
        .route("/audit", get(audit::page))
        .route("/audit/export", get(audit::export))
        .route(application_field::PATH, get(application_field::suggestions))
        .merge(session::routes())
        .merge(accounts::routes())
        .merge(alerts::routes())
        .merge(applications::routes())
        .merge(records::routes())
        .merge(findings::routes())
        .merge(overview::routes())
        .merge(costs::routes())
        .merge(people::routes())
        .merge(erasure::routes())
        .merge(first_steps::routes())
        .merge(tokens::routes())
        .fallback(async || Failure::NotFound)
        .method_not_allowed_fallback(async || Failure::NotFound)
        .layer(from_fn(middleware::frame))
        .layer(Extension(public))
        .layer(Extension(strict))
        .with_state(Ui::new(services));
    Router::new()
        .route("/", get(async || Redirect::to("/ui")))
        .route("/ui/", get(async || Redirect::to("/ui")))
        .route("/ui/assets/{version}/{file}", get(assets::file))
        .nest("/ui", pages)
}

/// The start page, which depends on the person's rights.
async fn home(State(ui): State<Ui>, visit: Visit) -> Result<Redirect, Failure> {
    Ok(Redirect::to(match visit.may_read() {
        false => "/ui/applications",
        true if ui.services.records.has_records(&visit.caller).await? => "/ui/overview",
        true => "/ui/first-steps",
    }))
}
