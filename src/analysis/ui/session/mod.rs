//! Signing in and out: by password, by an identity provider, by a one-time link; one's own password.

mod browser_session;
mod link;
mod oidc;
mod password;
mod sign_in;

use super::state::Ui;
use axum::Router;
use axum::routing::{get, post};
use serde::Deserialize;

/// The page to return to once somebody is signed in, and what led away from it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ReturnQuery {
    next: String,
    /// Not empty where a form was sent that is not kept.
    unsent: String,
}

pub(crate) fn routes() -> Router<Ui> {
    Router::new()
        .route("/sign-in", get(sign_in::page).post(sign_in::enter))
        .route("/sign-out", post(sign_in::leave))
        .route("/oidc", get(oidc::begin))
        .route("/oidc/callback", get(oidc::finish))
        .route("/link/{value}", get(link::page).post(link::accept))
        .route("/password", get(password::page).post(password::change))
}
