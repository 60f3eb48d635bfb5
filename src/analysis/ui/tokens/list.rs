//! The list of tokens, newest first, also those that are over.

use super::{Part, form};
use crate::analysis::clock::now_ms;
use crate::analysis::token_admin::show_place;
use crate::analysis::ui::components::{badge, head, maybe_time, time, token_field};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::form::Form;
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::names::Names;
use crate::analysis::ui::phrases::TokenPhrases;
use crate::analysis::ui::visit::Visit;
use crate::analysis::{Service, TokenPlace};
use crate::model::ApplicationId;
use crate::store::Token;
use axum::response::Html;
use maud::{Markup, html};
use uuid::Uuid;

const PER_PAGE: u32 = 50;

/// A part of the list below its form.
pub(super) async fn shown(
    service: &Service,
    visit: &Visit,
    (part, filled): (&Part, &Form),
    message: Markup,
) -> Result<Html<String>, Failure> {
    let (tokens, next) = service
        .list_tokens(&visit.caller, part.application, part.before, PER_PAGE)
        .await?;
    let ids = tokens.iter().filter_map(|token| token.application_id);
    let names = service
        .application_names(&visit.caller, ids.chain(part.application))
        .await?;
    let (t, k) = (visit.view.t, visit.view.k());
    let is_open = !filled.text("name").is_empty();
    let content = html! {
        (head(k.tokens, html! { p.dim { (k.tokens_hint) } }, html! {}))
        (message)
        (form::shown(visit, filled, is_open))
        @if let Some(id) = part.application { p.facts {
            (k.bound_to) " " strong { (names.get(&id).map_or("", String::as_str)) } " " a href="/ui/tokens" { (k.all_tokens) }
        } }
        @if tokens.is_empty() { div.empty { (t.nothing_found) } } @else { (table(visit, &tokens, &names)) }
        (pager(visit, part, next))
    };
    Ok(layout::page(visit, Section::Tokens, k.tokens, content))
}

fn table(visit: &Visit, tokens: &[Token], names: &Names) -> Markup {
    let (t, k) = (visit.view.t, visit.view.k());
    let application = visit.view.r().application;
    html! {
        div.table {
            table.tokens {
                caption.hidden { (k.tokens) }
                thead { tr {
                    th scope="col" { (t.name) } th scope="col" { (t.state) } th scope="col" { (k.scopes) } th scope="col" { (application) }
                    th scope="col" { (k.last_use) } th scope="col" { (k.ends) } th scope="col" { (t.created) }
                    th scope="col" { span.hidden { (t.actions) } }
                } }
                tbody { @for token in tokens { (row(visit, token, names)) } }
            }
        }
    }
}

fn row(visit: &Visit, token: &Token, names: &Names) -> Markup {
    let k = visit.view.k();
    html! {
        tr {
            th scope="row" { (token.name) div.dim.small { code title=(token.id.0) { (short(token.id.0)) } } }
            td { (state(k, token)) }
            td { div.badges { @for scope in token.scopes.names() { (badge("plain", scope)) } } }
            td { (application(k, token.application_id, names)) }
            td { @match token.last_used_at_ms { Some(at) => (time(at)), None => span.dim { (k.not_used) } } }
            td { @match token.expires_at_ms { Some(at) => (time(at)), None => span.dim { (k.never) } } }
            td { (maybe_time(Some(token.created_at_ms))) }
            td.actions { @if token.revoked_at_ms.is_none() {
                form.inline method="post" action={ "/ui/tokens/" (token.id.0) "/revoke" } {
                    (token_field(&visit.view))
                    button.quiet.danger type="submit" data-confirm={ (k.revoke_question) " " (token.name) } { (k.revoke) span.hidden { " " (token.name) } }
                }
            } }
        }
    }
}

/// The beginning of an identifier tells tokens of one name apart.
fn short(id: Uuid) -> String {
    id.to_string().chars().take(8).collect()
}

fn state(k: &TokenPhrases, token: &Token) -> Markup {
    match token.revoked_at_ms {
        Some(at) => html! { (badge("bad", k.revoked)) div.small.dim { (time(at)) } },
        None if token.is_valid_at(now_ms()) => badge("good", k.valid),
        None => badge("warn", k.expired),
    }
}

fn application(k: &TokenPhrases, id: Option<ApplicationId>, names: &Names) -> Markup {
    match id {
        None => html! { span.dim { (k.any_application) } },
        Some(id) => {
            let text = names.get(&id).cloned().unwrap_or_else(|| id.to_string());
            html! { a.plain.cut href={ "/ui/applications/" (id) } title=(id) { (text) } }
        }
    }
}

fn pager(visit: &Visit, part: &Part, next: Option<TokenPlace>) -> Markup {
    let t = visit.view.t;
    let address = |place: Option<TokenPlace>| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(
            part.application
                .map(|id| ("application_id", id.to_string())),
        );
        query.extend_pairs(place.map(|place| ("before", show_place(place))));
        format!("/ui/tokens?{}", query.finish())
    };
    html! {
        @if part.before.is_some() || next.is_some() {
            nav.pager aria-label=(t.pages) {
                @if part.before.is_some() { a.button href=(address(None)) { (t.first_page) } }
                @if next.is_some() { a.button href=(address(next)) { (t.next_page) } }
            }
        }
    }
}
