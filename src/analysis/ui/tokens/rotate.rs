//! Replacing a token by a new one of the same kind: a page that asks how long the old value stays valid, and the new
//! value, shown once above the list.

use super::{ListPart, list, made_notice, new_form};
use crate::analysis::access::Scope;
use crate::analysis::admin::{Token, TokenId};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{choice, head, refusal, token_field};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Rotation, Services};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use std::sync::Arc;
use std::time::Duration;

/// Seconds for which the old value may stay valid; the first one is chosen.
const GRACES: [u64; 4] = [0, 3_600, 86_400, 604_800];

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Admin)?;
    let token = services.admin.find_token(&visit.caller, read(&id)?).await?;
    Ok(form_page(&visit, &token, html! {}))
}

pub(super) async fn rotate(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let id = read(&id)?;
    let grace = form.text("grace").parse().ok();
    let grace = grace.filter(|seconds| GRACES.contains(seconds));
    let rotation = Rotation {
        grace: Duration::from_secs(grace.ok_or(Failure::NotFound)?),
        expiry: None,
    };
    match services
        .admin
        .rotate_token(&visit.caller, id, rotation)
        .await
    {
        Ok(made) => {
            let (filled, message) = (new_form::blank(None), made_notice(&visit, &made));
            let all = ListPart::default();
            let page = list::page(&services, &visit, &all, &filled, message).await?;
            Ok(page.into_response())
        }
        Err(error @ ApiError::Conflict(_)) => {
            let token = services.admin.find_token(&visit.caller, id).await?;
            let message = refusal(visit.view.t, visit.view.a().not_rotated, &error);
            Ok((StatusCode::CONFLICT, form_page(&visit, &token, message)).into_response())
        }
        Err(other) => Err(other.into()),
    }
}

fn read(id: &str) -> Result<TokenId, Failure> {
    id.parse().map(TokenId).map_err(|_| Failure::NotFound)
}

fn form_page(visit: &Visit, token: &Token, message: Markup) -> Html<String> {
    let (view, a) = (&visit.view, visit.view.a());
    let names = [a.grace_none, a.grace_hour, a.grace_day, a.grace_week];
    let content = html! {
        (head(a.rotate_token, html! { p.dim { (token.name) } }, html! {}))
        (message)
        form.card.narrow method="post" action={ "/ui/tokens/" (token.id.0) "/rotate" } {
            (token_field(view))
            p.hint { (a.rotate_hint) }
            label { (a.old_valid_for) select name="grace" {
                @for (seconds, name) in GRACES.into_iter().zip(names) { (choice(&seconds.to_string(), name, "0")) }
            } }
            div.row {
                button.primary type="submit" { (a.rotate) }
                a.button.quiet href="/ui/tokens" { (view.t.back) }
            }
        }
    };
    layout::page(visit, Section::Tokens, a.rotate_token, content)
}
