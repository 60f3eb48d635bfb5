//! `/ui/tokens`: access tokens of programs (CONTRACT 30): list, create, rotate, revoke. For people with the
//! `admin` scope. A token's value is shown once, on the page that created or rotated it.

mod list;
mod new_form;
mod rotate;

use crate::analysis::access::Scope;
use crate::analysis::admin::TokenId;
use crate::analysis::admin::tokens::{TokenPosition, read_position, show_position};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{Tone, copy_box, notice, refusal};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, CreatedToken, Services};
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use monitor_model::ApplicationId;
use serde::Deserialize;
use std::sync::Arc;

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/tokens", get(page).post(create))
        .route("/tokens/{id}/revoke", post(revoke))
        .route(
            "/tokens/{id}/rotate",
            get(rotate::page).post(rotate::rotate),
        )
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokensQuery {
    application_id: String,
    before: String,
}

/// Which part of the list is shown.
#[derive(Default)]
struct ListPart {
    application: Option<ApplicationId>,
    before: Option<TokenPosition>,
}

async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Query(query): Query<TokensQuery>,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let part = ListPart::read(&query)?;
    let filled = new_form::blank(part.application);
    let page = list::page(&services, &visit, &part, &filled, html! {}).await?;
    Ok(page.into_response())
}

async fn create(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let made = match new_form::read(&services, &visit, &form).await {
        Ok(new) => services.admin.create_token(&visit.caller, new).await,
        Err(problem) => Err(problem),
    };
    let (status, message, filled) = match made {
        Ok(made) => (
            StatusCode::OK,
            made_notice(&visit, &made),
            new_form::blank(None),
        ),
        Err(error @ ApiError::Fields(_)) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            refusal(visit.view.t, visit.view.t.not_saved, &error),
            form,
        ),
        Err(other) => return Err(other.into()),
    };
    let all = ListPart::default();
    let page = list::page(&services, &visit, &all, &filled, message).await?;
    Ok((status, page).into_response())
}

async fn revoke(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let part = ListPart::of_form(&form)?;
    let id = id.parse().map(TokenId).map_err(|_| Failure::NotFound)?;
    let token = services.admin.revoke_token(&visit.caller, id).await?;
    let message = format!("{} {}", visit.view.k().is_revoked, token.name);
    let filled = new_form::blank(part.application);
    let message = notice(Tone::Good, &message);
    let page = list::page(&services, &visit, &part, &filled, message).await?;
    Ok(page.into_response())
}

impl ListPart {
    /// The part that the form of a row stood in.
    fn of_form(form: &Form) -> Result<Self, Failure> {
        Self::read(&TokensQuery {
            application_id: form.text("application_id").to_owned(),
            before: form.text("before").to_owned(),
        })
    }

    /// The same part as names and values.
    fn pairs(&self) -> impl Iterator<Item = (&'static str, String)> {
        let application = self
            .application
            .map(|id| ("application_id", id.to_string()));
        let before = self.before.map(|place| ("before", show_position(place)));
        application.into_iter().chain(before)
    }

    fn read(query: &TokensQuery) -> Result<Self, Failure> {
        let application = match query.application_id.trim() {
            "" => None,
            id => Some(id.parse().map_err(|_| Failure::NotFound)?),
        };
        let before = match query.before.as_str() {
            "" => None,
            place => Some(read_position(place).ok_or(Failure::NotFound)?),
        };
        Ok(Self {
            application,
            before,
        })
    }
}

/// A new token's value, shown this once.
fn made_notice(visit: &Visit, made: &CreatedToken) -> Markup {
    let (t, k) = (visit.view.t, visit.view.k());
    html! {
        div.notice.good role="status" {
            strong { (k.made) " " (made.token.name) }
            p { (k.made_hint) }
            (copy_box(t, "made-token", made.value.expose()))
        }
    }
}
