//! One session as a conversation: what was asked and what was answered, in the order in which it
//! came, the latest part first to be shown.

use super::asked::{Asked, Pairs};
use super::given::{self, Room};
use super::row;
use crate::analysis::Services;
use crate::analysis::ui::components::{head, time_exact};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::marks::{beginning, marked};
use crate::analysis::ui::view::View;
use crate::analysis::ui::visit::Visit;
use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use monitor_store::{Scope, StoredRecord, WholePage};
use std::sync::Arc;

/// Messages of a page.
const PER_PAGE: u32 = 20;
/// How much of a message a page shows.
const SHOWN: Room = Room {
    bytes: 3_000,
    marks: 24,
};

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Read)?;
    let asked = Asked::read(pairs);
    let mut filter = asked.records()?;
    filter.limit = PER_PAGE;
    let (Some(application), Some(session)) = (filter.application_id, filter.session_id.clone())
    else {
        return Err(Failure::NotFound);
    };
    let page = services.records.whole_page(&visit.caller, filter).await?;
    if page.records.is_empty() && !asked.has(&["before"]) {
        return Err(Failure::NotFound);
    }
    let names = services
        .admin
        .application_names(&visit.caller, std::iter::once(application))
        .await?;
    let (view, r) = (&visit.view, visit.view.r());
    let title = format!("{} {}", r.session, beginning(&session, 80).0);
    let list = asked.with("before", None).address("/ui/records");
    let beside = html! { p.facts { (row::application(r, application, &names)) } };
    let actions = html! {
        a.button href=(list) { (r.as_list) }
        a.button href="/ui/sessions" { (r.sessions) }
    };
    let content = html! {
        (head(&title, beside, actions))
        (messages(view, &asked, &page))
    };
    Ok(layout::page(&visit, Section::Sessions, &title, content))
}

fn messages(view: &View, asked: &Asked, page: &WholePage) -> Markup {
    let (t, r) = (view.t, view.r());
    let to = |before: Option<i64>| {
        let before = before.map(|before| before.to_string());
        asked
            .with("before", before.as_deref())
            .address("/ui/sessions/one")
    };
    html! {
        @if page.next_before.is_some() { p.pager { a.button href=(to(page.next_before)) { (r.earlier) } } }
        @if page.records.is_empty() { div.empty { (t.nothing_found) } }
        ol.conversation { @for record in page.records.iter().rev() { (message(view, record)) } }
        @if asked.has(&["before"]) { p.pager { a.button href=(to(None)) { (r.latest_messages) } } }
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
    let (text, is_cut) = given::part(text.unwrap_or_default(), entities, SHOWN);
    html! {
        li class={ "card " (summary.stage.as_str()) } {
            div.facts { strong { (row::kind(view, summary.stage)) } span.dim { (time_exact(summary.created_at_ms)) }
                a href={ "/ui/records/" (summary.id) } { (r.whole_record) } }
            @if text.is_empty() { p.dim { (r.no_text) } } @else { p.pre { (marked(text, entities)) @if is_cut { "…" } } }
            div.badges { (row::verdict(r, summary)) }
        }
    }
}
