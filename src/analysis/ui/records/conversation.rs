//! One session as a conversation: prompts and answers in order. The page opens at the latest ones.

use super::bounded_text::{self, TextLimit};
use super::rows;
use crate::analysis::Services;
use crate::analysis::access::Scope;
use crate::analysis::records::{StoredRecord, WholePage};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{head, time_exact};
use crate::analysis::ui::layout::highlight::{beginning, marked};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use std::sync::Arc;

/// Messages of a page.
const PER_PAGE: u32 = 20;
/// How much of a message a page shows.
const SHOWN: TextLimit = TextLimit {
    bytes: 3_000,
    marks: 24,
};

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Read)?;
    let query = ListQuery::read(pairs);
    let mut filter = query.records()?;
    filter.limit = PER_PAGE;
    let (Some(application), Some(session)) = (filter.application_id, filter.session_id.clone())
    else {
        return Err(Failure::NotFound);
    };
    let page = services.records.whole_page(&visit.caller, filter).await?;
    if page.records.is_empty() && !query.has(&["before"]) {
        return Err(Failure::NotFound);
    }
    let names = services
        .admin
        .application_names(&visit.caller, std::iter::once(application))
        .await?;
    let (view, r) = (&visit.view, visit.view.r());
    let title = format!("{} {}", r.session, beginning(&session, 80).0);
    let list = query.with("before", None).address("/ui/records");
    let beside = html! { p.facts { (rows::application(r, application, &names)) } };
    let actions = html! {
        a.button href=(list) { (r.as_list) }
        a.button href="/ui/sessions" { (r.sessions) }
    };
    let content = html! {
        (head(&title, beside, actions))
        (messages(view, &query, &page))
    };
    Ok(layout::page(&visit, Section::Sessions, &title, content))
}

fn messages(view: &View, query: &ListQuery, page: &WholePage) -> Markup {
    let (t, r) = (view.t, view.r());
    let to = |before: Option<i64>| {
        let before = before.map(|before| before.to_string());
        query
            .with("before", before.as_deref())
            .address("/ui/sessions/one")
    };
    html! {
        @if page.next_before.is_some() { p.pager { a.button href=(to(page.next_before)) { (r.earlier) } } }
        @if page.records.is_empty() { div.empty { (t.nothing_found) } }
        ol.conversation { @for record in page.records.iter().rev() { (message(view, record)) } }
        @if query.has(&["before"]) { p.pager { a.button href=(to(None)) { (r.latest_messages) } } }
    }
}

fn message(view: &View, record: &StoredRecord) -> Markup {
    let (r, summary) = (view.r(), &record.summary);
    let report = &record.answer.dataclean;
    let entities = match record.message {
        Some(_) => report.entities.as_slice(),
        None => &[],
    };
    let text = record.message.as_deref().or(report.cleaned_text.as_deref());
    let (text, is_cut) = bounded_text::part(text.unwrap_or_default(), entities, SHOWN);
    html! {
        li class={ "card " (summary.stage.as_str()) } {
            div.facts { strong { (rows::kind(view, summary)) } span.dim { (time_exact(summary.created_at_ms)) }
                a href={ "/ui/records/" (summary.id) } { (r.whole_record) } }
            @if text.is_empty() { p.dim { (r.no_text) } } @else { p.pre { (marked(text, entities)) @if is_cut { "…" } } }
            div.badges { (rows::verdict(r, summary)) }
        }
    }
}
