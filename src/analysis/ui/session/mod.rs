//! Signing in and out: by password and code, by an identity provider, by a one-time link; one's own password, second
//! factor and sign-ins.

mod browser_name;
mod browser_session;
mod code;
mod link;
mod oidc;
mod own_pages;
mod password;
mod second_factor;
mod sign_in;
mod sign_ins;

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
        .route("/sign-in/code", post(code::enter))
        .route("/sign-out", post(sign_in::leave))
        .route("/oidc", get(oidc::begin))
        .route("/oidc/callback", get(oidc::finish))
        .route("/link/{value}", get(link::page).post(link::accept))
        .route("/password", get(password::page).post(password::change))
        .route("/second-factor", get(second_factor::page))
        .route("/second-factor/on", post(second_factor::turn_on))
        .route("/second-factor/off", post(second_factor::turn_off))
        .route("/sign-ins", get(sign_ins::own))
        .route("/sign-ins/end", post(sign_ins::end_own))
        .route("/users/{id}/sign-ins", get(sign_ins::of_account))
        .route("/users/{id}/sign-ins/end", post(sign_ins::end_of_account))
        .route(
            "/users/{id}/second-factor/remove",
            post(sign_ins::remove_factor),
        )
}
