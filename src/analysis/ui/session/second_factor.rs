//! `/ui/second-factor`: the second factor of one's own account. It is turned on and off with the password and a code.

use super::own_pages;
use crate::analysis::people::People;
use crate::analysis::people::second_factor::{
    Proof, SetUp, is_secret, key_uri, new_secret, recovery_codes,
};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{Tone, copy_box, head, notice, token_field};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths::SECOND_FACTOR;
use crate::analysis::ui::request::{Form, Visit};
use crate::analysis::ui::state::Ui;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use monitor_model::Secret;
use qrcode::QrCode;
use std::fmt::Write as _;

/// Modules of the margin of a QR code.
const MARGIN: usize = 4;

pub(super) async fn page(visit: Visit) -> Result<Html<String>, Failure> {
    present(&visit, html! {})
}

pub(super) async fn turn_on(
    State(ui): State<Ui>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    let account = &visit.account;
    let secret = form.secret("secret");
    if account.password.is_none() || account.second_factor.is_some() || !is_secret(&secret) {
        return Ok((StatusCode::CONFLICT, present(&visit, html! {})?).into_response());
    }
    let browser = visit.view.browser.clone().ok_or(Failure::SignedOut)?;
    let set_up = SetUp {
        secret: secret.clone(),
        proof: proof(&form),
        kept: &browser,
    };
    let people = &ui.services.people;
    if let Some(response) = too_many_attempts(people, &visit).await? {
        return Ok(response);
    }
    match people.turn_on_second_factor(account, set_up).await? {
        Some(codes) => {
            let address = visit.view.peer.address;
            people.limits.succeeded(&account.name, address).await?;
            Ok(frame(&visit, recovery_notice(&visit, &codes)).into_response())
        }
        None => {
            let problem = notice(Tone::Bad, visit.view.s().wrong_proof);
            let page = frame(&visit, html! { (problem) (set_up_form(&visit, &secret)) });
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

pub(super) async fn turn_off(
    State(ui): State<Ui>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    let (people, account) = (&ui.services.people, &visit.account);
    if account.second_factor.is_none() {
        return Ok((StatusCode::CONFLICT, present(&visit, html! {})?).into_response());
    }
    if let Some(response) = too_many_attempts(people, &visit).await? {
        return Ok(response);
    }
    if !people.turn_off_second_factor(account, proof(&form)).await? {
        let problem = notice(Tone::Bad, visit.view.s().wrong_proof);
        let page = present(&visit, problem)?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
    }
    let address = visit.view.peer.address;
    people.limits.succeeded(&account.name, address).await?;
    Ok(Redirect::to(SECOND_FACTOR).into_response())
}

fn proof(form: &Form) -> Proof {
    Proof {
        password: form.secret("password"),
        code: form.secret("code"),
    }
}

/// Counts an attempt; gives the answer where there were too many.
async fn too_many_attempts(people: &People, visit: &Visit) -> Result<Option<Response>, Failure> {
    let (name, address) = (&visit.account.name, visit.view.peer.address);
    let Some(wait) = people.limits.count(name, address).await? else {
        return Ok(None);
    };
    let seconds = wait.as_secs().max(1);
    let text = visit.view.t.too_many_attempts;
    let text = text.replace("{}", &seconds.to_string());
    let wait = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
    let page = present(visit, notice(Tone::Bad, &text))?;
    Ok(Some(
        (StatusCode::TOO_MANY_REQUESTS, wait, page).into_response(),
    ))
}

/// The page of an account as it is: without a second factor it has a new secret.
fn present(visit: &Visit, message: Markup) -> Result<Html<String>, Failure> {
    let (t, account) = (visit.view.t, &visit.account);
    let content = match (&account.password, &account.second_factor) {
        (None, _) => html! { p { (t.no_password) } },
        (Some(_), Some(_)) => turn_off_form(visit),
        (Some(_), None) => {
            let secret = new_secret()?;
            html! {
                @if visit.must_set_up { (notice(Tone::Bad, visit.view.s().must_set_up)) }
                (set_up_form(visit, &secret))
            }
        }
    };
    Ok(frame(visit, html! { (message) (content) }))
}

fn frame(visit: &Visit, content: Markup) -> Html<String> {
    let title = visit.view.s().second_factor;
    let content = html! { (head(title, html! {}, own_pages::links(visit))) (content) };
    layout::page(visit, Section::Account, title, content)
}

fn set_up_form(visit: &Visit, secret: &Secret) -> Markup {
    let (view, s) = (&visit.view, visit.view.s());
    let host = view.origin.split_once("://").map_or("", |(_, host)| host);
    let uri = key_uri(secret, &visit.account, host);
    html! {
        section.card.narrow {
            p { (s.set_up_hint) }
            (qr_code(&uri, s.qr_code))
            p { (s.secret_hint) }
            (copy_box(view.t, "factor-secret", secret.expose()))
            form.stack method="post" action="/ui/second-factor/on" {
                (token_field(view))
                input type="hidden" name="secret" value=(secret.expose());
                input type="hidden" name="name" value=(visit.account.name) autocomplete="username";
                label { (view.t.password)
                    input name="password" type="password" required autocomplete="current-password";
                }
                label { (s.code)
                    input name="code" required maxlength="64" inputmode="numeric" autocomplete="one-time-code";
                }
                button.primary type="submit" { (s.turn_on) }
            }
        }
    }
}

/// The picture of a text; empty where it is too long for one.
fn qr_code(text: &Secret, label: &str) -> Markup {
    let Ok(code) = QrCode::new(text.expose()) else {
        return html! {};
    };
    let (width, size) = (code.width(), code.width() + 2 * MARGIN);
    let mut path = String::new();
    for (at, color) in code.to_colors().into_iter().enumerate() {
        if color.select(true, false) {
            let (x, y) = (at % width + MARGIN, at / width + MARGIN);
            // Writing to a string does not fail.
            let _ = write!(path, "M{x} {y}h1v1h-1z");
        }
    }
    html! {
        svg viewBox={ "0 0 " (size) " " (size) } width="240" height="240" role="img" aria-label=(label) shape-rendering="crispEdges" {
            rect width=(size) height=(size) fill="#fff" {}
            path d=(path) fill="#000" {}
        }
    }
}

fn recovery_notice(visit: &Visit, codes: &[Secret]) -> Markup {
    let (t, s) = (visit.view.t, visit.view.s());
    html! {
        div.notice.good role="status" {
            strong { (s.now_on) }
            p { (s.recovery_hint) }
            ul #recovery-codes { @for code in codes { li { code { (code.expose()) } "\n" } } }
            button type="button" data-copy="#recovery-codes" { (t.copy) }
        }
    }
}

fn turn_off_form(visit: &Visit) -> Markup {
    let (view, s) = (&visit.view, visit.view.s());
    let left = recovery_codes(&visit.account);
    html! {
        section.card.narrow {
            p { (s.is_on) }
            p.dim { (s.recovery_left) " " (left) }
            form.stack method="post" action="/ui/second-factor/off" {
                (token_field(view))
                input type="hidden" name="name" value=(visit.account.name) autocomplete="username";
                label { (view.t.password)
                    input name="password" type="password" required autocomplete="current-password";
                }
                label { (s.code)
                    input name="code" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" aria-describedby="code-hint";
                }
                p.hint #code-hint { (s.code_hint) }
                button.danger type="submit" { (s.turn_off) }
            }
        }
    }
}
