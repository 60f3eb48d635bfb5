//! Beginning a session in a browser: the value of its cookie, to which forms are bound.

use super::browser_name::browser_name;
use crate::analysis::ApiError;
use crate::analysis::access::token_cache::random_value;
use crate::analysis::people::Account;
use crate::analysis::people::sign_ins::{LONGEST_MS, Origin, SignInMethod};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::request::cookie;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::state::Ui;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use monitor_model::Secret;
use std::time::Duration;

/// Signs in a person whose password, and code where one is asked for, were right.
pub(crate) async fn enter_as(
    ui: &Ui,
    view: &View,
    account: &Account,
    next: &str,
) -> Result<Response, Failure> {
    let cookie = new_sign_in(ui, view, account, SignInMethod::Password).await?;
    Ok(with_cookie(Redirect::to(next).into_response(), cookie))
}

/// Begins a sign-in in place of the browser's present one; gives its cookie.
pub(crate) async fn new_sign_in(
    ui: &Ui,
    view: &View,
    account: &Account,
    way: SignInMethod,
) -> Result<Option<HeaderValue>, Failure> {
    if let Some(before) = &view.browser {
        ui.services.people.sign_out(before).await?;
    }
    let agent = view.agent.as_ref().and_then(|agent| agent.to_str().ok());
    let origin = Origin {
        way,
        address: view.peer.address,
        browser: agent.and_then(browser_name),
    };
    let value = ui.services.people.begin_sign_in(account, origin).await?;
    let lasts = Duration::from_millis(LONGEST_MS as u64);
    let (name, is_tls) = (cookie::BROWSER, view.peer.is_tls);
    Ok(cookie::set(name, &value, Some(lasts), is_tls))
}

/// Gives a browser without a value one, so that a form can be bound to it.
pub(crate) fn fresh_browser(view: &mut View) -> Result<Option<HeaderValue>, Failure> {
    if view.browser.is_some() {
        return Ok(None);
    }
    let value: Secret = random_value().map_err(|_| ApiError::Internal)?;
    let cookie = view.set_browser(cookie::VISITOR, &value);
    view.browser = Some(value);
    Ok(cookie)
}

pub(crate) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
