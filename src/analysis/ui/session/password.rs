//! `/ui/password`: one's own password. Changing it ends one's other sign-ins.

use super::own_pages;
use crate::analysis::people::passwords;
use crate::analysis::people::sign_ins::PasswordChange;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{Tone, head, notice, refusal, token_field};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::request::{Form, Visit};
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, FieldProblem};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use std::time::Duration;

pub(super) async fn page(visit: Visit) -> Html<String> {
    page_with(&visit, html! {})
}

pub(super) async fn change(
    State(ui): State<Ui>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    let (t, account) = (visit.view.t, &visit.account);
    if account.password.is_none() {
        return Ok((StatusCode::CONFLICT, page_with(&visit, html! {})).into_response());
    }
    if form.text("password") != form.text("again") {
        let problem = FieldProblem::new("again", t.passwords_differ);
        return Ok(refused(&visit, &problem.into()));
    }
    // Nothing is hashed for a password that is refused, and no attempt at the old one is counted.
    let new = form.secret("password");
    if let Err(problem) = passwords::check(&new, &account.name) {
        return Ok(refused(&visit, &problem.into()));
    }
    let (people, name) = (&ui.services.people, &account.name);
    let address = visit.view.peer.address;
    if let Some(wait) = people.limits.count(name, address).await? {
        return Ok(too_many(&visit, wait));
    }
    let browser = visit.view.browser.clone().ok_or(Failure::SignedOut)?;
    let change = PasswordChange {
        old: form.secret("old"),
        new,
    };
    match people.change_password(account, change, &browser).await {
        Ok(true) => {
            people.limits.succeeded(name, address).await?;
            Ok(page_with(&visit, notice(Tone::Good, t.password_changed)).into_response())
        }
        Ok(false) => {
            let problem = FieldProblem::new("old", t.wrong_old_password);
            Ok(refused(&visit, &problem.into()))
        }
        Err(error) => Err(error.into()),
    }
}

fn refused(visit: &Visit, error: &ApiError) -> Response {
    let page = page_with(visit, refusal(visit.view.t, visit.view.t.not_saved, error));
    (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
}

fn too_many(visit: &Visit, wait: Duration) -> Response {
    let seconds = wait.as_secs().max(1);
    let text = visit.view.t.too_many_attempts;
    let text = text.replace("{}", &seconds.to_string());
    let wait = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
    let page = page_with(visit, notice(Tone::Bad, &text));
    (StatusCode::TOO_MANY_REQUESTS, wait, page).into_response()
}

/// The two fields of a new password.
pub(super) fn fields(t: &Phrases) -> Markup {
    html! {
        label { (t.new_password)
            input name="password" type="password" required minlength="12" maxlength="200" autocomplete="new-password" aria-describedby="password-hint";
        }
        p.hint #password-hint { (t.password_hint) }
        label { (t.password_again)
            input name="again" type="password" required minlength="12" maxlength="200" autocomplete="new-password";
        }
    }
}

fn page_with(visit: &Visit, message: Markup) -> Html<String> {
    let t = visit.view.t;
    layout::page(
        visit,
        Section::Account,
        t.password,
        html! {
            (head(t.own_password, html! {}, own_pages::links(visit)))
            (message)
            @if visit.account.password.is_some() { (change_form(visit)) } @else { p { (t.no_password) } }
        },
    )
}

fn change_form(visit: &Visit) -> Markup {
    let t = visit.view.t;
    html! {
        section.card.narrow {
            form.stack method="post" action="/ui/password" {
                (token_field(&visit.view))
                input type="hidden" name="name" value=(visit.account.name) autocomplete="username";
                label { (t.old_password)
                    input name="old" type="password" required autocomplete="current-password";
                }
                (fields(t))
                button.primary type="submit" { (t.save) }
            }
        }
    }
}
