//! `/ui/tokens`: access tokens of machines (CONTRACT 30): the list, making one, revoking one. For those
//! who administer; a value is on the page that made it and on no other.

mod form;
mod list;

use super::Ui;
use super::components::{Tone, notice, refusal};
use super::failure::Failure;
use super::form::Form;
use super::visit::Visit;
use crate::analysis::admin::tokens::{TokenPlace, read_place, show_place};
use crate::analysis::{ApiError, MadeToken, Services};
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use monitor_model::ApplicationId;
use monitor_store::{Scope, TokenId};
use serde::Deserialize;
use std::sync::Arc;

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/tokens", get(page).post(create))
        .route("/tokens/{id}/revoke", post(revoke))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    application_id: String,
    before: String,
}

/// Which part of the list is shown.
#[derive(Default)]
struct Part {
    application: Option<ApplicationId>,
    before: Option<TokenPlace>,
}

async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Query(asked): Query<Asked>,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let part = Part::read(&asked)?;
    let filled = form::blank(part.application);
    let page = list::shown(&services, &visit, (&part, &filled), html! {}).await?;
    Ok(page.into_response())
}

async fn create(
    State(services): State<Arc<Services>>,
    visit: Visit,
    given: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let made = match form::read(&services, &visit, &given).await {
        Ok(new) => services.admin.make_token(&visit.caller, new).await,
        Err(problem) => Err(problem),
    };
    let (status, message, filled) = match made {
        Ok(made) => (StatusCode::OK, told(&visit, &made), form::blank(None)),
        Err(error @ ApiError::Fields(_)) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            refusal(visit.view.t, visit.view.t.not_saved, &error),
            given,
        ),
        Err(other) => return Err(other.into()),
    };
    let all = Part::default();
    let page = list::shown(&services, &visit, (&all, &filled), message).await?;
    Ok((status, page).into_response())
}

async fn revoke(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    given: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let part = Part::of_form(&given)?;
    let id = id.parse().map(TokenId).map_err(|_| Failure::NotFound)?;
    let token = services.admin.revoke_token(&visit.caller, id).await?;
    let message = format!("{} {}", visit.view.k().is_revoked, token.name);
    let filled = form::blank(part.application);
    let message = notice(Tone::Good, &message);
    let page = list::shown(&services, &visit, (&part, &filled), message).await?;
    Ok(page.into_response())
}

impl Part {
    /// The part that the form of a row stood in.
    fn of_form(given: &Form) -> Result<Self, Failure> {
        Self::read(&Asked {
            application_id: given.text("application_id").to_owned(),
            before: given.text("before").to_owned(),
        })
    }

    /// The same part as names and values.
    fn pairs(&self) -> impl Iterator<Item = (&'static str, String)> {
        let application = self
            .application
            .map(|id| ("application_id", id.to_string()));
        let before = self.before.map(|place| ("before", show_place(place)));
        application.into_iter().chain(before)
    }

    fn read(asked: &Asked) -> Result<Self, Failure> {
        let application = match asked.application_id.trim() {
            "" => None,
            id => Some(id.parse().map_err(|_| Failure::NotFound)?),
        };
        let before = match asked.before.as_str() {
            "" => None,
            place => Some(read_place(place).ok_or(Failure::NotFound)?),
        };
        Ok(Self {
            application,
            before,
        })
    }
}

/// A token's value, seen this once.
fn told(visit: &Visit, made: &MadeToken) -> Markup {
    let (t, k) = (visit.view.t, visit.view.k());
    html! {
        div.notice.good role="status" {
            strong { (k.made) " " (made.token.name) }
            p { (k.made_hint) }
            div.copy { code #made-token { (made.value.expose()) } button type="button" data-copy="#made-token" { (t.copy) } }
        }
    }
}
