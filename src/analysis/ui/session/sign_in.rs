//! `/ui/sign-in` and `/ui/sign-out`. Each sign-in gives the browser a new cookie value;
//! `people::sign_in_limits` slows down guessing.

use super::browser_session::{fresh_browser, with_cookie};
use super::code::enter_or_ask;
use super::{ReturnQuery, oidc};
use crate::analysis::ApiError;
use crate::analysis::access::token_cache::random_value;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout;
use crate::analysis::ui::layout::components::{Tone, notice, token_field};
use crate::analysis::ui::paths::{KEPT_FORM, own_page};
use crate::analysis::ui::request::cookie;
use crate::analysis::ui::request::{Form, PublicForm, View, Visit};
use crate::analysis::ui::state::Ui;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use std::time::Duration;

/// The sign-in form as it is shown: what was typed so far, and what was wrong with it.
struct SignInForm<'a> {
    name: &'a str,
    next: &'a str,
    problem: Option<&'a str>,
}

pub(super) async fn page(
    State(ui): State<Ui>,
    mut view: View,
    Query(query): Query<ReturnQuery>,
) -> Result<Response, Failure> {
    if let Some(browser) = &view.browser
        && ui.services.people.signed_in(browser).await?.is_some()
    {
        return Ok(Redirect::to(own_page(&query.next)).into_response());
    }
    let cookie = fresh_browser(&mut view)?;
    let form = SignInForm {
        name: "",
        next: &query.next,
        problem: what_was_sent(&view, &query),
    };
    let page = form.page(&ui, &view);
    Ok(with_cookie(page.into_response(), cookie))
}

/// What became of a form that led here.
fn what_was_sent(view: &View, query: &ReturnQuery) -> Option<&'static str> {
    match (query.next.starts_with(KEPT_FORM), query.unsent.is_empty()) {
        (true, _) => Some(view.t.form_is_kept),
        (false, false) => Some(view.t.form_was_not_sent),
        (false, true) => None,
    }
}

pub(super) async fn enter(
    State(ui): State<Ui>,
    view: View,
    PublicForm(form): PublicForm,
) -> Result<Response, Failure> {
    let (name, address) = (form.text("name"), view.peer.address);
    let shown = SignInForm {
        name,
        next: form.text("next"),
        problem: None,
    };
    let people = &ui.services.people;
    if let Some(wait) = people.limits.count(name, address).await? {
        return Ok(shown.too_many_attempts(&ui, &view, wait));
    }
    let account = people
        .verify_password(name, form.secret("password"), address)
        .await?;
    let Some(account) = account else {
        if let Some(wait) = people.limits.wait(name, address).await? {
            return Ok(shown.too_many_attempts(&ui, &view, wait));
        }
        let page = shown.with_problem(view.t.wrong_password).page(&ui, &view);
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
    };
    // A password alone lets nobody try codes without an end.
    if account.second_factor.is_none() {
        people.limits.succeeded(name, address).await?;
    }
    enter_or_ask(&ui, &view, &account, own_page(form.text("next"))).await
}

pub(super) async fn leave(
    State(ui): State<Ui>,
    visit: Visit,
    _: Form,
) -> Result<Response, Failure> {
    if let Some(browser) = &visit.view.browser {
        ui.services.people.sign_out(browser).await?;
    }
    let value = random_value().map_err(|_| ApiError::Internal)?;
    let cookie = visit.view.set_browser(cookie::BROWSER, &value);
    Ok(with_cookie(
        Redirect::to("/ui/sign-in").into_response(),
        cookie,
    ))
}

impl<'a> SignInForm<'a> {
    fn with_problem(self, problem: &'a str) -> Self {
        Self {
            problem: Some(problem),
            ..self
        }
    }

    fn too_many_attempts(self, ui: &Ui, view: &View, wait: Duration) -> Response {
        let seconds = wait.as_secs().max(1);
        let text = view.t.too_many_attempts.replace("{}", &seconds.to_string());
        let form = SignInForm {
            problem: Some(&text),
            ..self
        };
        let retry_after = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
        let page = form.page(ui, view);
        (StatusCode::TOO_MANY_REQUESTS, retry_after, page).into_response()
    }

    fn page(&self, ui: &Ui, view: &View) -> Html<String> {
        let t = view.t;
        layout::signed_out_page(
            view,
            t.sign_in,
            maud::html! {
                @if let Some(problem) = self.problem { (notice(Tone::Bad, problem)) }
                (oidc::button(ui, view, self.next))
                form.stack method="post" action="/ui/sign-in" {
                    (token_field(view))
                    input type="hidden" name="next" value=(self.next);
                    label { (t.name)
                        input name="name" value=(self.name) required autocomplete="username" autocapitalize="none" spellcheck="false" autofocus[self.name.is_empty()];
                    }
                    label { (t.password)
                        input name="password" type="password" required autocomplete="current-password" autofocus[!self.name.is_empty()];
                    }
                    button.primary type="submit" { (t.sign_in) }
                }
                p.dim.small { (t.no_account) }
            },
        )
    }
}
