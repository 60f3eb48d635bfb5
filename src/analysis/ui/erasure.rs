//! `/ui/erasure`: erasing an end user, as `DELETE /records` does, for people with the `admin` scope. The user is typed
//! twice; a user in the address only fills in the first field.

use crate::analysis::access::Scope;
use crate::analysis::records::erasure::Receipt;
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{head, refusal, token_field};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::phrases::counted;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, FieldProblem, Services};
use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

pub(super) fn routes() -> Router<Ui> {
    Router::new().route("/erasure", get(page).post(erase))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErasureQuery {
    user_id: String,
    application_id: String,
}

async fn page(visit: Visit, Query(query): Query<ErasureQuery>) -> Result<Html<String>, Failure> {
    visit.must(Scope::Admin)?;
    let filled = Form::from_pairs(vec![
        ("user_id".to_owned(), query.user_id),
        ("application_id".to_owned(), query.application_id),
    ]);
    Ok(form_page(&visit, &filled, html! {}))
}

async fn erase(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    match erased(services, &visit, &form).await {
        Ok(receipt) => {
            let (blank, message) = (Form::from_pairs(Vec::new()), told(&visit, &receipt));
            Ok(form_page(&visit, &blank, message).into_response())
        }
        Err(error @ ApiError::Fields(_)) => {
            let message = refusal(visit.view.t, visit.view.a().not_erased, &error);
            let page = form_page(&visit, &form, message);
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
        Err(other) => Err(other.into()),
    }
}

async fn erased(services: Arc<Services>, visit: &Visit, form: &Form) -> Result<Receipt, ApiError> {
    let user_id = form.text("user_id").trim().to_owned();
    if form.text("confirmation").trim() != user_id {
        let problem = visit.view.a().erase_wrong;
        return Err(FieldProblem::new("confirmation", problem).into());
    }
    let application = application_names::of_form(&services, visit, form).await?;
    let caller = visit.caller.clone();
    // Runs to its end and its audit entry even if the browser goes away.
    let erased =
        tokio::spawn(async move { services.records.erase(&caller, user_id, application).await });
    erased.await.map_err(|_| ApiError::Internal)?
}

/// What was erased.
fn told(visit: &Visit, receipt: &Receipt) -> Markup {
    let a = visit.view.a();
    html! {
        div.notice.good role="status" {
            strong { (counted(a.erased, receipt.records)) ", " (counted(a.erased_files, receipt.attachments)) }
            p { (a.tombstone) ": " code { (receipt.tombstone_id) } }
        }
    }
}

fn form_page(visit: &Visit, filled: &Form, message: Markup) -> Html<String> {
    let (view, a, r) = (&visit.view, visit.view.a(), visit.view.r());
    let content = html! {
        (head(a.erase, html! { p.dim { (a.erase_hint) } }, html! {}))
        (message)
        form.card.narrow method="post" action="/ui/erasure" {
            (token_field(view))
            label { (a.erase_user) input name="user_id" value=(filled.text("user_id")) required autocomplete="off" spellcheck="false"; }
            @if visit.account.application_id.is_none() {
                div.row { (application_field::field(Label::Shown(view.k().only_application), filled.text("application_id"), r.name_or_id)) }
            }
            div.row { label { (a.erase_confirm) input name="confirmation" required autocomplete="off" spellcheck="false"; } }
            div.row { button.danger type="submit" { (a.erase_now) } }
        }
    };
    layout::page(visit, Section::Applications, a.erase, content)
}
