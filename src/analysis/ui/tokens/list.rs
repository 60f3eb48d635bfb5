//! The list of tokens, newest first, including expired and revoked ones.

use super::{ListPart, new_form};
use crate::analysis::admin::Token;
use crate::analysis::clock::now_ms;
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{
    self, PageLink, badge, head, maybe_time, time, token_field,
};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::phrases::TokenPhrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{Services, TokenPosition};
use axum::response::Html;
use maud::{Markup, html};
use monitor_model::ApplicationId;
use uuid::Uuid;

const PER_PAGE: u32 = 50;

/// A part of the list below its form.
pub(super) async fn page(
    services: &Services,
    visit: &Visit,
    part: &ListPart,
    filled: &Form,
    message: Markup,
) -> Result<Html<String>, Failure> {
    let (tokens, next) = services
        .admin
        .list_tokens(&visit.caller, part.application, part.before, PER_PAGE)
        .await?;
    let ids = tokens.iter().filter_map(|token| token.application_id);
    let names = services
        .admin
        .application_names(&visit.caller, ids.chain(part.application))
        .await?;
    let (t, k) = (visit.view.t, visit.view.k());
    let is_open = !filled.text("name").is_empty();
    let content = html! {
        (head(k.tokens, html! { p.dim { (k.tokens_hint) } }, html! {}))
        (message)
        (new_form::markup(visit, filled, is_open))
        @if let Some(id) = part.application { p.facts {
            (k.bound_to) " " strong { (names.get(&id).map_or("", String::as_str)) } " " a href="/ui/tokens" { (k.all_tokens) }
        } }
        @if tokens.is_empty() { div.empty { (t.nothing_found) } } @else { (TokenList { visit, part, names: &names }.table(&tokens)) }
        (pager(visit, part, next))
    };
    Ok(layout::page(visit, Section::Tokens, k.tokens, content))
}

/// The list of tokens as a page shows it.
struct TokenList<'a> {
    visit: &'a Visit,
    part: &'a ListPart,
    names: &'a Names,
}

impl TokenList<'_> {
    fn table(&self, tokens: &[Token]) -> Markup {
        let (t, k) = (self.visit.view.t, self.visit.view.k());
        let table = Table {
            name: k.tokens,
            look: "tokens",
            columns: [
                Column::Text(t.name),
                Column::Text(t.state),
                Column::Text(k.scopes),
                Column::Text(self.visit.view.r().application),
                Column::Text(k.last_use),
                Column::Text(k.ends),
                Column::Text(t.created),
                Column::Actions(t.actions),
            ],
        };
        let rows = html! { @for token in tokens { (table.row(self.cells(token))) } };
        html! { div.table { (table.of(rows)) } }
    }

    fn cells(&self, token: &Token) -> [Markup; 8] {
        let k = self.visit.view.k();
        [
            html! { (token.name) div.dim.small { code title=(token.id.0) { (short(token.id.0)) } } },
            state(k, token),
            html! { div.badges { @for scope in token.scopes.names() { (badge("plain", scope)) } } },
            application(k, token.application_id, self.names),
            html! { @match token.last_used_at_ms { Some(at) => (time(at)), None => span.dim { (k.not_used) } } },
            html! { @match token.expires_at_ms { Some(at) => (time(at)), None => span.dim { (k.never) } } },
            maybe_time(Some(token.created_at_ms)),
            html! {
                @if self.may_rotate(token) { (self.rotation(token)) }
                @if token.revoked_at_ms.is_none() { (self.revocation(token)) }
            },
        ]
    }

    /// Whoever rotates a token gets its value, so that it takes every scope of it.
    fn may_rotate(&self, token: &Token) -> bool {
        token.is_valid_at(now_ms()) && self.visit.caller.must_own(token.scopes).is_ok()
    }

    fn rotation(&self, token: &Token) -> Markup {
        let a = self.visit.view.a();
        html! {
            a.button.quiet href={ "/ui/tokens/" (token.id.0) "/rotate" } { (a.rotate) span.hidden { " " (token.name) } } " "
        }
    }

    fn revocation(&self, token: &Token) -> Markup {
        let k = self.visit.view.k();
        html! {
            form.inline method="post" action={ "/ui/tokens/" (token.id.0) "/revoke" } {
                (token_field(&self.visit.view))
                @for (name, value) in self.part.pairs() { input type="hidden" name=(name) value=(value); }
                button.quiet.danger type="submit" data-confirm={ (k.revoke_question) " " (token.name) } { (k.revoke) span.hidden { " " (token.name) } }
            }
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

fn pager(visit: &Visit, part: &ListPart, next: Option<TokenPosition>) -> Markup {
    let t = visit.view.t;
    let link = |label, before: Option<TokenPosition>| {
        let part = ListPart {
            application: part.application,
            before,
        };
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(part.pairs());
        PageLink {
            label,
            address: format!("/ui/tokens?{}", query.finish()),
        }
    };
    let first = part.before.map(|_| link(t.first_page, None));
    components::pager(t, first, next.map(|next| link(t.next_page, Some(next))))
}
