//! `/ui/oidc`: to an identity provider and back. A short-lived cookie keeps the state of the sign-in
//! meanwhile. A refusal is shown on a page, logged, and written to the audit log (`people::refused_sign_ins`).

use super::ReturnQuery;
use super::browser_session::{new_sign_in, with_cookie};
use crate::analysis::people::Account;
use crate::analysis::people::oidc::{
    CallbackParameters, Flow, LASTS, OidcError, Person, Provider, denied,
};
use crate::analysis::people::oidc_accounts::EntryError;
use crate::analysis::people::refused_sign_ins::RefusedSignIn;
use crate::analysis::people::sign_ins::SignInMethod;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout;
use crate::analysis::ui::layout::components::{Tone, notice};
use crate::analysis::ui::paths::{OIDC_CALLBACK, own_page};
use crate::analysis::ui::request::View;
use crate::analysis::ui::request::cookie;
use crate::analysis::ui::state::Ui;
use crate::observe::Throttle;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maud::{Markup, html};
use monitor_model::Secret;
use serde::Deserialize;
use std::sync::LazyLock;
use std::time::Duration;

/// Bytes of the longest address that a sign-in returns to; a longer one returns to the start page.
const LONGEST_NEXT: usize = 1_000;

static FAILED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

/// The parameters of the provider's redirect.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Callback {
    state: String,
    code: String,
    iss: String,
    error: String,
}

/// The button on the sign-in page that leads to the provider; empty where none is configured.
pub(super) fn button(ui: &Ui, view: &View, next: &str) -> Markup {
    let t = view.t;
    let Some(provider) = ui.services.people.oidc() else {
        return html! {};
    };
    let label = provider.settings().label.as_deref();
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", next);
    html! {
        p { a.button.wide href={ "/ui/oidc?" (query.finish()) } { (t.sign_in_by) " " (label.unwrap_or(t.another_server)) } }
        p.or { span { (t.or_by_password) } }
    }
}

pub(super) async fn begin(
    State(ui): State<Ui>,
    view: View,
    Query(query): Query<ReturnQuery>,
) -> Result<Response, Failure> {
    let provider = ui.services.people.oidc().ok_or(Failure::NotFound)?;
    let (address, flow) = match provider.begin(&redirect(&view)).await {
        Ok(begun) => begun,
        Err(error) => return Ok(refuse(&ui, &view, &error.into())),
    };
    let next = match own_page(&query.next) {
        next if next.len() <= LONGEST_NEXT => next,
        _ => "/ui",
    };
    let kept = format!(
        "{}~{}",
        provider.word(&flow).expose(),
        URL_SAFE_NO_PAD.encode(next)
    );
    let cookie = kept_flow(&view, &Secret::new(kept), LASTS);
    Ok(with_cookie(Redirect::to(&address).into_response(), cookie))
}

pub(super) async fn finish(
    State(ui): State<Ui>,
    view: View,
    headers: HeaderMap,
    Query(callback): Query<Callback>,
) -> Result<Response, Failure> {
    let provider = ui.services.people.oidc().ok_or(Failure::NotFound)?;
    let (flow, next) = read_flow(provider, &view, &headers);
    let over = kept_flow(&view, &Secret::new("over"), Duration::ZERO);
    let entered = match flow {
        Some(flow) => enter(&ui, &view, provider, &flow, &callback).await,
        None => Err(OidcError::Stale.into()),
    };
    let response = match entered {
        Ok(cookie) => with_cookie(
            layout::redirect_page(&view, view.t.signed_in, &next).into_response(),
            cookie,
        ),
        Err(SignInError::Refused(refused)) => refuse(&ui, &view, &refused),
        Err(SignInError::Failed(failure)) => return Err(failure),
    };
    Ok(with_cookie(response, over))
}

/// Why a sign-in by the provider ended without a session.
enum SignInError {
    Refused(Box<Refused>),
    Failed(Failure),
}

/// A refused sign-in, with the person that a verified token names and their account, if known.
struct Refused {
    error: OidcError,
    person: Option<Person>,
    account: Option<Box<Account>>,
}

impl From<OidcError> for Refused {
    fn from(error: OidcError) -> Self {
        Self {
            error,
            person: None,
            account: None,
        }
    }
}

impl From<OidcError> for SignInError {
    fn from(error: OidcError) -> Self {
        Self::Refused(Box::new(error.into()))
    }
}

async fn enter(
    ui: &Ui,
    view: &View,
    provider: &Provider,
    flow: &Flow,
    callback: &Callback,
) -> Result<Option<HeaderValue>, SignInError> {
    if !callback.error.is_empty() {
        return Err(denied(&callback.error).into());
    }
    let returned = CallbackParameters {
        state: &callback.state,
        code: &callback.code,
        issuer: &callback.iss,
        redirect: &redirect(view),
        address: view.peer.address,
    };
    provider.recognize(flow, &returned)?;
    let taken = ui.services.people.take_state(flow).await;
    if !taken.map_err(|error| SignInError::Failed(error.into()))? {
        return Err(OidcError::Stale.into());
    }
    let person = provider.finish(flow, returned).await?;
    let account = match ui.services.people.account_for(&person).await {
        Ok(account) => account,
        Err(EntryError::Failed(error)) => return Err(SignInError::Failed(error.into())),
        Err(EntryError::Refused(why, account)) => {
            return Err(SignInError::Refused(Box::new(Refused {
                error: OidcError::AccessDenied(why),
                person: Some(person),
                account,
            })));
        }
    };
    new_sign_in(ui, view, &account, SignInMethod::Provider)
        .await
        .map_err(SignInError::Failed)
}

/// Where the provider sends the browser back to.
fn redirect(view: &View) -> String {
    format!("{}{OIDC_CALLBACK}", view.origin)
}

fn kept_flow(view: &View, value: &Secret, lasts: Duration) -> Option<HeaderValue> {
    cookie::set(cookie::OIDC, value, Some(lasts), view.peer.is_tls)
}

/// The sign-in that this browser has begun, and the page to return to.
fn read_flow(provider: &Provider, view: &View, headers: &HeaderMap) -> (Option<Flow>, String) {
    let kept = cookie::read(headers, cookie::OIDC, view.peer.is_tls);
    let (word, next) = kept
        .as_deref()
        .and_then(|kept| kept.split_once('~'))
        .unwrap_or_default();
    let next = URL_SAFE_NO_PAD.decode(next).ok();
    let next = next.and_then(|next| String::from_utf8(next).ok());
    (
        provider.read(word),
        own_page(&next.unwrap_or_default()).to_owned(),
    )
}

/// Logs a refusal, notes it for the audit log, and gives its page.
fn refuse(ui: &Ui, view: &View, refused: &Refused) -> Response {
    if let Some(times) = FAILED.pass() {
        log::warn!(
            "signing in by the identity provider failed ({times} times since the last message): {}",
            refused.error
        );
    }
    ui.services.people.refused_sign_ins.note(&RefusedSignIn {
        reason: (&refused.error).into(),
        account: refused.account.as_deref(),
        person: refused.person.as_ref(),
        address: view.peer.address,
    });
    page(view, &refused.error)
}

fn page(view: &View, error: &OidcError) -> Response {
    let t = view.t;
    // The callback's own address cannot be opened again.
    let view = &View {
        here: "/ui/sign-in".to_owned(),
        ..view.clone()
    };
    let status = match error {
        OidcError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        OidcError::Unreachable(_)
        | OidcError::Answer(_)
        | OidcError::Metadata(_)
        | OidcError::Refused(..) => StatusCode::BAD_GATEWAY,
        OidcError::Denied(_)
        | OidcError::Token(_)
        | OidcError::Stale
        | OidcError::AccessDenied(_) => StatusCode::FORBIDDEN,
    };
    let content = html! {
        (notice(Tone::Bad, &t.tell(&error.to_string())))
        p { a.button href="/ui/sign-in" { (t.sign_in_again) } }
    };
    (
        status,
        layout::signed_out_page(view, t.oidc_failed, content),
    )
        .into_response()
}
