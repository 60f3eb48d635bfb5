//! One session as a conversation: prompts, answers, calls of tools and their results in order. The page opens at the
//! latest ones. Originals are masked until they are revealed, as on the page of a record.

use super::bounded_text::{self, TextLimit};
use super::tool_calls::no_text;
use super::tool_parts::Parts;
use super::{record, rows};
use crate::analysis::Services;
use crate::analysis::access::Scope;
use crate::analysis::records::StoredRecord;
use crate::analysis::records::masking::{CleanedPage, CleanedRecord};
use crate::analysis::records::tool_parts::without_calls;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{head, time_exact};
use crate::analysis::ui::layout::highlight::{beginning, marked};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use monitor_model::{RecordId, Stage};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// Where the page is sent to that has its originals.
const REVEAL: &str = "/ui/sessions/one/original";
/// Messages of a page.
const PER_PAGE: u32 = 20;
/// How much of a message a page shows.
const SHOWN: TextLimit = TextLimit {
    bytes: 3_000,
    marks: 24,
};
/// How much of all calls and results of tools a page shows, and how many of one record.
const PARTS_BYTES: usize = 64 * 1024;
const PARTS: usize = 12;

/// What a page has shown so far, oldest first.
struct Shown<'r> {
    parts: Parts<'r>,
    /// The text of the latest prompt.
    prompt: Option<&'r str>,
}

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Html<String>, Failure> {
    visit.must_read()?;
    show(&services, &visit, &ListQuery::read(pairs), false).await
}

/// The page with its originals, each of which the audit log has an entry of.
pub(super) async fn reveal(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
    _: Form,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Read)?;
    show(&services, &visit, &ListQuery::read(pairs), true).await
}

async fn show(
    services: &Services,
    visit: &Visit,
    query: &ListQuery,
    is_revealed: bool,
) -> Result<Html<String>, Failure> {
    let mut filter = query.records()?;
    filter.limit = PER_PAGE;
    let (Some(application), Some(session)) = (filter.application_id, filter.session_id.clone())
    else {
        return Err(Failure::NotFound);
    };
    let mut page = services.records.whole_page(&visit.caller, filter).await?;
    put_in_order(&mut page.records);
    if is_revealed {
        for cleaned in &mut page.records {
            let id = cleaned.record.summary.id;
            *cleaned = CleanedRecord::revealed(services.records.original(&visit.caller, id).await?);
        }
    }
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
        (originals(visit, query, &page, is_revealed))
        (messages(view, query, &page))
    };
    Ok(layout::page(visit, Section::Sessions, &title, content))
}

/// What the page shows of originals, and the button that shows them.
fn originals(visit: &Visit, query: &ListQuery, page: &CleanedPage, is_revealed: bool) -> Markup {
    let here = query.address("/ui/sessions/one");
    let may_reveal = visit.may(Scope::Read) && page.records.iter().any(|one| one.has_original);
    html! {
        @if is_revealed { (record::revealed(visit.view.r(), &here)) }
        @else if may_reveal { (record::reveal_form(visit, &query.address(REVEAL))) }
    }
}

/// Newest first, the records of an exchange together: its prompt is the oldest of them, also where it was received
/// behind its answer, and its place is that of the first record.
fn put_in_order(records: &mut [CleanedRecord]) {
    records.reverse();
    records.sort_by_key(|cleaned| cleaned.record.summary.created_at_ms);
    let mut exchanges: HashMap<String, usize> = HashMap::new();
    let places = records.iter().enumerate().map(|(at, cleaned)| {
        let summary = &cleaned.record.summary;
        let is_prompt = summary.stage == Stage::PreCall && summary.tool.is_none();
        let first = match &summary.exchange_id {
            Some(exchange) => *exchanges.entry(exchange.clone()).or_insert(at),
            None => at,
        };
        (summary.id, (first, !is_prompt, at))
    });
    let places: HashMap<RecordId, (usize, bool, usize)> = places.collect();
    records.sort_by_key(|cleaned| Reverse(places.get(&cleaned.record.summary.id).copied()));
}

fn messages(view: &View, query: &ListQuery, page: &CleanedPage) -> Markup {
    let (t, r) = (view.t, view.r());
    let to = |before: Option<i64>| {
        let before = before.map(|before| before.to_string());
        query
            .with("before", before.as_deref())
            .address("/ui/sessions/one")
    };
    let mut shown = Shown {
        parts: Parts::of(records(page), PARTS_BYTES, PARTS),
        prompt: None,
    };
    html! {
        @if page.next_before.is_some() { p.pager { a.button href=(to(page.next_before)) { (r.earlier) } } }
        @if page.records.is_empty() { div.empty { (t.nothing_found) } }
        ol.conversation { @for record in page.records.iter().rev() { (message(view, record, &mut shown)) } }
        @if query.has(&["before"]) { p.pager { a.button href=(to(None)) { (r.latest_messages) } } }
    }
}

fn records(page: &CleanedPage) -> impl DoubleEndedIterator<Item = &StoredRecord> {
    page.records.iter().map(|cleaned| &cleaned.record)
}

fn message<'r>(view: &View, cleaned: &'r CleanedRecord, shown: &mut Shown<'r>) -> Markup {
    let (r, record) = (view.r(), &cleaned.record);
    let summary = &record.summary;
    let (text, entities) = cleaned.text().unwrap_or_default();
    let text = without_calls(text, record);
    let is_prompt = summary.stage == Stage::PreCall && summary.tool.is_none();
    // A program sends the words of its user again with each result.
    let is_same = is_prompt && shown.prompt == Some(text) && !record.tool_parts.is_empty();
    if is_prompt {
        shown.prompt = Some(text);
    }
    let (text, is_cut) = bounded_text::part(text, entities, SHOWN);
    let parts = shown.parts.of_record(view, record);
    html! {
        li class={ "card " (summary.stage.as_str()) } {
            div.facts { strong { (rows::kind(view, summary)) } span.dim { (time_exact(summary.created_at_ms)) }
                a href={ "/ui/records/" (summary.id) } { (r.whole_record) } }
            @if is_same { p.dim { (r.same_prompt) } }
            @else if !text.is_empty() { p.pre { (marked(text, entities)) @if is_cut { "…" } } }
            @else if record.tool_parts.is_empty() { p.dim { (no_text(r, cleaned)) } }
            (parts)
            div.badges { (rows::verdict(r, summary)) }
            @if is_prompt && summary.blocked { p.dim { (r.got_phrase) "." } }
        }
    }
}
