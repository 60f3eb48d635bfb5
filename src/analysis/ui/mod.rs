//! The web UI (§1.7) on the analysis server's port: pages rendered here, for people who sign in.
//! What a page shows or changes goes through [`Services`] with the rights of whoever looks; no SQL
//! and no detection here. Every page works without scripts; the two small ones only add comfort.
//!
//! - No form is taken without the token of the browser it was made for (`form`).
//! - Every text that comes from outside is escaped by the templates; none is marked as safe.
//! - An address below `/ui` is a page; the API's paths stand beside, untouched.

mod accounts;
mod applications;
mod assets;
mod audit;
mod components;
mod cookie;
mod failure;
mod first_steps;
mod form;
mod layout;
mod link;
mod marks;
mod names;
mod oidc;
mod overview;
mod password;
mod phrases;
mod preferences;
mod records;
mod sign_in;
mod status;
mod suggestions;
mod table;
mod tokens;
mod view;
mod visit;

use crate::analysis::Services;
use axum::extract::{FromRef, State};
use axum::middleware::from_fn;
use axum::response::Redirect;
use axum::routing::{get, post};
use axum::{Extension, Router};
use failure::Failure;
use monitor_store::Scope;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;
use view::PublicUrl;

/// The path of one-time links, which the value of one follows.
pub const LINK_PATH: &str = "/ui/link/";

/// The other end of a connection; the listener puts it into each request's extensions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Its address; None on a socket that has none.
    pub address: Option<IpAddr>,
    /// Whether the connection is encrypted.
    pub is_tls: bool,
}

/// Turns true when the server stops; the listener puts it into each request's extensions, for answers
/// that would otherwise not end.
#[derive(Clone, Debug)]
pub struct Stopping(pub watch::Receiver<bool>);

/// What the pages share.
#[derive(Clone)]
struct Ui {
    services: Arc<Services>,
    /// Room for live tails of lists.
    tails: records::Tails,
}

impl FromRef<Ui> for Arc<Services> {
    fn from_ref(ui: &Ui) -> Self {
        ui.services.clone()
    }
}

/// Everything below `/ui`, and `/`, which leads there.
pub(super) fn router(services: Arc<Services>) -> Router {
    let public = services.settings.public_url.as_deref();
    let public = PublicUrl(public.map(Arc::from));
    let ui = Ui {
        services,
        tails: records::Tails::default(),
    };
    let pages = Router::new()
        .route("/", get(home))
        .route("/sign-in", get(sign_in::page).post(sign_in::enter))
        .route("/sign-out", post(sign_in::leave))
        .route("/oidc", get(oidc::begin))
        .route("/oidc/callback", get(oidc::finish))
        .route("/link/{value}", get(link::page).post(link::accept))
        .route("/preferences", post(preferences::keep))
        .route("/password", get(password::page).post(password::change))
        .route("/users", get(accounts::list).post(accounts::create))
        .route("/users/{id}/link", post(accounts::new_link))
        .route("/users/{id}/edit", post(accounts::edit))
        .route(suggestions::PATH, get(suggestions::list))
        .merge(applications::routes())
        .merge(records::routes())
        .merge(overview::routes())
        .merge(first_steps::routes())
        .route("/status", get(status::page))
        .route("/audit", get(audit::page))
        .merge(tokens::routes())
        .fallback(async || Failure::NotFound)
        .method_not_allowed_fallback(async || Failure::NotFound)
        .layer(from_fn(failure::frame))
        .layer(Extension(public))
        .with_state(ui);
    Router::new()
        .route("/", get(async || Redirect::to("/ui")))
        .route("/ui/", get(async || Redirect::to("/ui")))
        .route("/ui/assets/{version}/{file}", get(assets::file))
        .nest("/ui", pages)
}

/// The first page of whoever signed in.
async fn home(State(ui): State<Ui>, visit: visit::Visit) -> Result<Redirect, Failure> {
    Ok(Redirect::to(match visit.may(Scope::Read) {
        false => "/ui/applications",
        true if ui.services.records.has_records(&visit.caller).await? => "/ui/overview",
        true => "/ui/first-steps",
    }))
}
