//! `/ui/sign-in/code`: the second step of a sign-in by password, for an account with a second factor. Wrong codes count
//! as wrong passwords do (`people::sign_in_limits`).

use super::browser_session::enter_as;
use crate::analysis::people::Account;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout;
use crate::analysis::ui::layout::components::{Tone, notice, token_field};
use crate::analysis::ui::paths::{self, own_page};
use crate::analysis::ui::request::{PublicForm, View};
use crate::analysis::ui::state::Ui;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::html;
use monitor_model::Secret;
use std::time::Duration;

/// The form that asks for a code.
struct CodeForm<'a> {
    /// The value under which the code is awaited.
    value: &'a Secret,
    next: &'a str,
    problem: Option<&'a str>,
}

/// Signs in a person whose password was right, or asks for a code first.
pub(super) async fn enter_or_ask(
    ui: &Ui,
    view: &View,
    account: &Account,
    next: &str,
) -> Result<Response, Failure> {
    let people = &ui.services.people;
    // It may have been turned on since the account was read: checking a password takes its time.
    let now = people.account(account.id).await?;
    if now.second_factor.is_none() {
        return enter_as(ui, view, account, next).await;
    }
    let value = people.await_code(account).await?;
    let form = CodeForm {
        value: &value,
        next,
        problem: None,
    };
    Ok(form.page(view).into_response())
}

pub(super) async fn enter(
    State(ui): State<Ui>,
    view: View,
    PublicForm(form): PublicForm,
) -> Result<Response, Failure> {
    let (people, address) = (&ui.services.people, view.peer.address);
    let (value, next) = (form.secret("begun"), own_page(form.text("next")));
    let Some(account) = people.awaited(&value).await? else {
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, over(&view, next)).into_response());
    };
    let shown = CodeForm {
        value: &value,
        next,
        problem: None,
    };
    let (name, code) = (&account.name, form.secret("code"));
    if let Some(wait) = people.limits.count(name, address).await? {
        return Ok(shown.too_many_attempts(&view, wait));
    }
    if !people.use_code(&value, &account, &code, address).await? {
        if let Some(wait) = people.limits.wait(name, address).await? {
            return Ok(shown.too_many_attempts(&view, wait));
        }
        let problem = Some(view.s().wrong_code);
        let page = CodeForm { problem, ..shown }.page(&view);
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
    }
    // The address counted the password and the code.
    people.limits.succeeded(name, address).await?;
    people.limits.succeeded(name, address).await?;
    enter_as(&ui, &view, &account, next).await
}

/// The page of a code that came too late.
fn over(view: &View, next: &str) -> Html<String> {
    let (t, s) = (view.t, view.s());
    let again = paths::address("/ui/sign-in", &[("next", next)]);
    layout::signed_out_page(
        view,
        s.second_factor,
        html! {
            (notice(Tone::Bad, s.code_over))
            p { a.button href=(again) { (t.sign_in_again) } }
        },
    )
}

impl CodeForm<'_> {
    fn too_many_attempts(self, view: &View, wait: Duration) -> Response {
        let seconds = wait.as_secs().max(1);
        let text = view.t.too_many_attempts.replace("{}", &seconds.to_string());
        let form = CodeForm {
            problem: Some(&text),
            ..self
        };
        let retry_after = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
        let page = form.page(view);
        (StatusCode::TOO_MANY_REQUESTS, retry_after, page).into_response()
    }

    fn page(&self, view: &View) -> Html<String> {
        let (t, s) = (view.t, view.s());
        layout::signed_out_page(
            view,
            s.second_factor,
            html! {
                @if let Some(problem) = self.problem { (notice(Tone::Bad, problem)) }
                form.stack method="post" action="/ui/sign-in/code" {
                    (token_field(view))
                    input type="hidden" name="begun" value=(self.value.expose());
                    input type="hidden" name="next" value=(self.next);
                    label { (s.code)
                        input name="code" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" autofocus aria-describedby="code-hint";
                    }
                    p.hint #code-hint { (s.code_hint) }
                    button.primary type="submit" { (t.sign_in) }
                }
            },
        )
    }
}
