//! `/ui/oidc`: to an identity provider and back. What the browser has to keep meanwhile is in a cookie
//! that lasts as long as the way may take. Who is refused is told on a page, in the log and in the audit
//! log (`people::refused_sign_ins`).

use super::components::{Tone, notice};
use super::failure::Failure;
use super::preferences::own_page;
use super::sign_in::{new_sign_in, with_cookie};
use super::view::View;
use super::{Ui, cookie, layout};
use crate::analysis::people::oidc::{Flow, LASTS, OidcError, Person, Provider, Returned, denied};
use crate::analysis::people::oidc_accounts::EntryError;
use crate::analysis::people::refused_sign_ins::RefusedSignIn;
use crate::observe::Throttle;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maud::{Markup, html};
use monitor_model::Secret;
use monitor_store::Account;
use serde::Deserialize;
use std::sync::LazyLock;
use std::time::Duration;

pub(super) const BACK: &str = "/ui/oidc/callback";
/// Bytes of a page's address that are gone on with afterwards.
const LONGEST_NEXT: usize = 1_000;

static FAILED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    next: String,
}

/// What a provider sends along.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Brought {
    state: String,
    code: String,
    iss: String,
    error: String,
}

/// The way in, on the page of signing in.
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
    Query(asked): Query<Asked>,
) -> Result<Response, Failure> {
    let provider = ui.services.people.oidc().ok_or(Failure::NotFound)?;
    let (address, flow) = match provider.begin(&redirect(&view)).await {
        Ok(begun) => begun,
        Err(error) => return Ok(refuse(&ui, &view, &error.into())),
    };
    let next = match own_page(&asked.next) {
        next if next.len() <= LONGEST_NEXT => next,
        _ => "/ui",
    };
    let kept = format!("{}~{}", flow.word().expose(), URL_SAFE_NO_PAD.encode(next));
    let cookie = kept_flow(&view, &Secret::new(kept), LASTS);
    Ok(with_cookie(Redirect::to(&address).into_response(), cookie))
}

pub(super) async fn finish(
    State(ui): State<Ui>,
    view: View,
    headers: HeaderMap,
    Query(brought): Query<Brought>,
) -> Result<Response, Failure> {
    let provider = ui.services.people.oidc().ok_or(Failure::NotFound)?;
    let (flow, next) = read_flow(&view, &headers);
    let over = kept_flow(&view, &Secret::new("over"), Duration::ZERO);
    let entered = enter(&ui, provider, (&view, flow, brought)).await;
    let response = match entered {
        Ok(cookie) => with_cookie(
            layout::passage(&view, view.t.signed_in, &next).into_response(),
            cookie,
        ),
        Err(Entry::Refused(refused)) => refuse(&ui, &view, &refused),
        Err(Entry::Failed(failure)) => return Err(failure),
    };
    Ok(with_cookie(response, over))
}

enum Entry {
    Refused(Box<Refused>),
    Failed(Failure),
}

/// Why nobody is signed in, and who it would have been, as far as a token that was checked says so.
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

impl From<OidcError> for Entry {
    fn from(error: OidcError) -> Self {
        Self::Refused(Box::new(error.into()))
    }
}

async fn enter(
    ui: &Ui,
    provider: &Provider,
    (view, flow, brought): (&View, Option<Flow>, Brought),
) -> Result<Option<HeaderValue>, Entry> {
    let flow = flow.ok_or(OidcError::Stale)?;
    if !brought.error.is_empty() {
        return Err(denied(&brought.error).into());
    }
    let returned = Returned {
        state: &brought.state,
        code: &brought.code,
        issuer: &brought.iss,
        redirect: &redirect(view),
    };
    let person = provider.finish(&flow, returned).await?;
    let account = match ui.services.people.account_for(&person).await {
        Ok(account) => account,
        Err(EntryError::Failed(error)) => return Err(Entry::Failed(error.into())),
        Err(EntryError::Refused(why, account)) => {
            return Err(Entry::Refused(Box::new(Refused {
                error: OidcError::NotLetIn(why),
                person: Some(person),
                account,
            })));
        }
    };
    new_sign_in(ui, view, &account).await.map_err(Entry::Failed)
}

/// Where the provider sends the browser back to.
fn redirect(view: &View) -> String {
    format!("{}{BACK}", view.origin)
}

fn kept_flow(view: &View, value: &Secret, lasts: Duration) -> Option<HeaderValue> {
    cookie::set(cookie::OIDC, value, Some(lasts), view.peer.is_tls)
}

/// The browser's sign-in that is under way, and where it goes on afterwards.
fn read_flow(view: &View, headers: &HeaderMap) -> (Option<Flow>, String) {
    let kept = cookie::read(headers, cookie::OIDC, view.peer.is_tls);
    let (word, next) = kept
        .and_then(|kept| kept.split_once('~'))
        .unwrap_or_default();
    let next = URL_SAFE_NO_PAD.decode(next).ok();
    let next = next.and_then(|next| String::from_utf8(next).ok());
    (
        Flow::read(word),
        own_page(&next.unwrap_or_default()).to_owned(),
    )
}

/// Tells of a refusal wherever it is told of.
fn refuse(ui: &Ui, view: &View, refused: &Refused) -> Response {
    if let Some(times) = FAILED.pass() {
        log::warn!(
            "signing in by the identity provider failed ({times} times since the last such line): {}",
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
    // What a provider brought along is no page to come back to.
    let view = &View {
        here: "/ui/sign-in".to_owned(),
        ..view.clone()
    };
    let status = match error {
        OidcError::Unreachable(_)
        | OidcError::Answer(_)
        | OidcError::Description(_)
        | OidcError::Refused(..) => StatusCode::BAD_GATEWAY,
        OidcError::Denied(_) | OidcError::Token(_) | OidcError::Stale | OidcError::NotLetIn(_) => {
            StatusCode::FORBIDDEN
        }
    };
    let content = html! {
        (notice(Tone::Bad, &t.tell(&error.to_string())))
        p { a.button href="/ui/sign-in" { (t.sign_in_again) } }
    };
    (status, layout::alone(view, t.oidc_failed, content)).into_response()
}
