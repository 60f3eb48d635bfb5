//! `/ui/sign-in` and `/ui/sign-out`. Each sign-in gives the browser a new value; guessing is slowed
//! by `people::sign_in_limits`.

use super::components::{Tone, notice, token_field};
use super::failure::Failure;
use super::form::Form;
use super::preferences::own_page;
use super::view::View;
use super::visit::Visit;
use super::{Ui, cookie, layout, oidc};
use crate::analysis::ApiError;
use crate::analysis::access::token_cache::random_value;
use crate::analysis::people::sign_ins::LONGEST_MS;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use monitor_model::Secret;
use monitor_store::Account;
use serde::Deserialize;
use std::time::{Duration, Instant};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    next: String,
}

pub(super) async fn page(
    State(ui): State<Ui>,
    mut view: View,
    Query(asked): Query<Asked>,
) -> Result<Response, Failure> {
    if let Some(browser) = &view.browser
        && ui.services.people.signed_in(browser).await?.is_some()
    {
        return Ok(Redirect::to(own_page(&asked.next)).into_response());
    }
    let cookie = fresh_browser(&mut view)?;
    let page = form(&ui, &view, (("", &asked.next), None));
    Ok(with_cookie(page.into_response(), cookie))
}

pub(super) async fn enter(
    State(ui): State<Ui>,
    view: View,
    fields: Form,
) -> Result<Response, Failure> {
    let (name, address, now) = (fields.text("name"), view.peer.address, Instant::now());
    let given = (name, fields.text("next"));
    if let Some(wait) = ui.services.people.limits.wait(name, address, now) {
        return Ok(too_many(&ui, &view, (given, wait)));
    }
    // Counted before it is looked at: many at once count too.
    ui.services.people.limits.failed(name, address, now);
    let account = ui
        .services
        .people
        .verify_password(name, fields.secret("password"), address)
        .await?;
    let Some(account) = account else {
        if let Some(wait) = ui.services.people.limits.wait(name, address, now) {
            return Ok(too_many(&ui, &view, (given, wait)));
        }
        let page = form(&ui, &view, (given, Some(view.t.wrong_password)));
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
    };
    ui.services.people.limits.succeeded(name, address);
    enter_as(&ui, &view, &account, own_page(fields.text("next"))).await
}

/// Signs somebody in who was recognised.
pub(super) async fn enter_as(
    ui: &Ui,
    view: &View,
    account: &Account,
    next: &str,
) -> Result<Response, Failure> {
    let cookie = new_sign_in(ui, view, account).await?;
    Ok(with_cookie(Redirect::to(next).into_response(), cookie))
}

/// Begins a sign-in in place of the browser's present one; gives its cookie.
pub(super) async fn new_sign_in(
    ui: &Ui,
    view: &View,
    account: &Account,
) -> Result<Option<HeaderValue>, Failure> {
    if let Some(before) = &view.browser {
        ui.services.people.sign_out(before).await?;
    }
    let value = ui.services.people.begin_sign_in(account).await?;
    let lasts = Duration::from_millis(LONGEST_MS as u64);
    let (name, is_tls) = (cookie::BROWSER, view.peer.is_tls);
    Ok(cookie::set(name, &value, Some(lasts), is_tls))
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

/// Gives a browser without a value one, so that a form can be bound to it.
pub(super) fn fresh_browser(view: &mut View) -> Result<Option<HeaderValue>, Failure> {
    if view.browser.is_some() {
        return Ok(None);
    }
    let value: Secret = random_value().map_err(|_| ApiError::Internal)?;
    let cookie = view.set_browser(cookie::VISITOR, &value);
    view.browser = Some(value);
    Ok(cookie)
}

pub(super) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn too_many(ui: &Ui, view: &View, (given, wait): ((&str, &str), Duration)) -> Response {
    let seconds = wait.as_secs().max(1);
    let text = view.t.too_many_attempts.replace("{}", &seconds.to_string());
    let page = form(ui, view, (given, Some(&text)));
    let wait = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
    (StatusCode::TOO_MANY_REQUESTS, wait, page).into_response()
}

fn form(
    ui: &Ui,
    view: &View,
    ((name, next), problem): ((&str, &str), Option<&str>),
) -> Html<String> {
    let t = view.t;
    layout::alone(
        view,
        t.sign_in,
        maud::html! {
            @if let Some(problem) = problem { (notice(Tone::Bad, problem)) }
            (oidc::button(ui, view, next))
            form.stack method="post" action="/ui/sign-in" {
                (token_field(view))
                input type="hidden" name="next" value=(next);
                label { (t.name)
                    input name="name" value=(name) required autocomplete="username" autocapitalize="none" spellcheck="false" autofocus[name.is_empty()];
                }
                label { (t.password)
                    input name="password" type="password" required autocomplete="current-password" autofocus[!name.is_empty()];
                }
                button.primary type="submit" { (t.sign_in) }
            }
            p.dim.small { (t.no_account) }
        },
    )
}
