//! The list of records: filters, keyset pages, exports, and a table that grows by itself while its
//! first page is open.

use super::by_value::{self, Typed};
use super::filters::{self, filter_bar, types, users};
use super::rows;
use crate::analysis::records::{RecordFilter, RecordPage};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{content_or_refusal, head, number, time_exact};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use monitor_model::{ApplicationId, is_pattern_name};
use std::sync::Arc;

/// Bytes of an export that a page keeps until it is whole; a larger one is left to the browser.
const EXPORT_BYTES: u64 = 256 << 20;

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    headers: HeaderMap,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let query = ListQuery::read(pairs);
    if headers.contains_key("x-fragment") {
        let part = found(&services, &visit, &query).await?;
        return Ok(Html(part.into_string()).into_response());
    }
    page_with(&services, &visit, &query, html! {}).await
}

/// The page of a filter below a message.
pub(super) async fn page_with(
    services: &Services,
    visit: &Visit,
    query: &ListQuery,
    message: Markup,
) -> Result<Response, Failure> {
    let (status, shown) = content_or_refusal(&visit.view, found(services, visit, query).await)?;
    let saved = filter_bar::bar(services, visit, query).await?;
    let r = visit.view.r();
    let content = html! {
        (head(r.records, html! { p.dim { (r.records_hint) (layout::components::in_utc(&visit.view)) } }, html! {}))
        (message)
        (saved)
        (filters::form(visit, query))
        (by_value::form(&visit.view, &Typed::default(), false))
        (shown)
    };
    let page = layout::page(visit, Section::Records, r.records, content);
    Ok((status, page).into_response())
}

/// The records that match: their table, with the exports above and the pages below.
async fn found(services: &Services, visit: &Visit, query: &ListQuery) -> Result<Markup, ApiError> {
    let view = &visit.view;
    let query = query.resolved(services, &visit.caller, view.r()).await?;
    let filter = query.records()?;
    let enough = filter.limit;
    let searched = RecordFilter {
        application_id: filter.application_id,
        kind: filter.kind.clone(),
        limit: 1,
        ..RecordFilter::default()
    };
    let user = filter.user_id.clone().filter(|_| filter.before.is_none());
    let records = &services.records;
    let page = records.page(&visit.caller, filter.clone()).await?;
    let rows = records.rows(&visit.caller, &filter, &page.records).await?;
    let is_nothing = page.records.is_empty() && page.next_before.is_none();
    let user = user.filter(|_| is_nothing);
    let meant = users_meant(services, visit, searched.application_id, user).await?;
    let unknown = match is_nothing {
        true => unknown_type(services, visit, searched).await?,
        false => None,
    };
    let ids = page.records.iter().map(|record| record.application_id);
    let names = services.admin.application_names(&visit.caller, ids).await?;
    let shown = rows::columns(view).of(rows::rows(view, &rows, &names, &query));
    Ok(html! {
        div.bar {
            (live(view, &query, &page))
            (exports(view, &query))
        }
        @if let Some(kind) = unknown { (types::unknown(view, &query, &kind)) }
        (users::meant(view, &query, &meant))
        (table(view, &page, shown, rows.is_empty()))
        @if query.has(&["text"]) { (search(view, &query, &page, enough)) }
        div #ways { (pager(view, &query, &page)) }
    })
}

/// Users whose names contain the user of a filter that finds nothing.
async fn users_meant(
    services: &Services,
    visit: &Visit,
    application: Option<ApplicationId>,
    user: Option<String>,
) -> Result<Vec<String>, ApiError> {
    match user {
        Some(user) => {
            let records = &services.records;
            records.users_like(&visit.caller, application, &user).await
        }
        None => Ok(Vec::new()),
    }
}

/// The type of this filter, if it is none that is built in and no record has a find of it.
async fn unknown_type(
    services: &Services,
    visit: &Visit,
    filter: RecordFilter,
) -> Result<Option<String>, ApiError> {
    let kind = filter.kind.clone();
    let Some(kind) = kind.filter(|kind| !is_pattern_name(kind)) else {
        return Ok(None);
    };
    let found = services.records.page(&visit.caller, filter).await?;
    Ok(found.records.is_empty().then_some(kind))
}

/// The switch of live updates; only the first page without a text search has them.
fn live(view: &View, query: &ListQuery, page: &RecordPage) -> Markup {
    if query.has(&["before", "text", "to"]) {
        return html! { span {} };
    }
    rows::live_switch(view, &query.address("/ui/records/live"), &page.records)
}

fn exports(view: &View, query: &ListQuery) -> Markup {
    let r = view.r();
    let query = query.with("before", None).with("limit", None);
    let address = |format: &str| {
        let address = query.address("/ui/records/export");
        let sign = if address.contains('?') { '&' } else { '?' };
        format!("{address}{sign}format={format}")
    };
    html! {
        div.actions role="group" aria-label=(r.export) data-exports=(EXPORT_BYTES) {
            span.dim { (r.export) }
            a.button.small href=(address("csv")) title=(r.export_csv) download="records.csv" { "CSV" }
            a.button.small href=(address("jsonl")) title=(r.export_jsonl) download="records.jsonl" { "JSONL" }
            span.exporting hidden data-begins=(r.export_begins) data-going=(r.export_going) data-saved=(r.export_saved)
                data-cancelled=(r.export_cancelled) data-broke=(r.export_broke) data-left=(r.export_left) {
                span.told {} span.hidden role="status" {} span.again hidden { " " (rows::way_on(view)) }
                button.small.quiet type="button" { (r.export_cancel) }
            }
        }
    }
}

fn table(view: &View, page: &RecordPage, rows: Markup, is_empty: bool) -> Markup {
    let (t, r) = (view.t, view.r());
    let is_partial = is_empty && page.next_before.is_some();
    html! {
        div.empty #nothing hidden[!is_empty] {
            @if is_partial { (r.searched_in_part) } @else { (t.nothing_found) }
        }
        div.table #records hidden[is_empty] {
            (rows)
        }
    }
}

/// How far a search has come. With scripts it continues by itself until a page is full.
fn search(view: &View, query: &ListQuery, page: &RecordPage, enough: u32) -> Markup {
    let r = view.r();
    let count = number(searched(query, page));
    let back = page.searched.filter(|_| page.next_before.is_some());
    html! {
        div.seek data-seek=(older(query, page).unwrap_or_default()) data-enough=(enough)
            data-stopped=(r.search_stopped) data-broke=(r.search_broke) {
            span.dot aria-hidden="true" {}
            span.told data-utc {
                @match back {
                    Some(back) => { (r.searched_back.replace("{}", &count)) " " (time_exact(back.until_ms)) " UTC." }
                    None => (r.searched_all.replace("{}", &count)),
                }
            }
            span.hidden role="status" {}
            span.again hidden { " " (rows::way_on(view)) }
            button.small type="button" hidden { (r.stop_search) }
        }
    }
}

/// Records that a search has looked at so far.
fn searched(query: &ListQuery, page: &RecordPage) -> u64 {
    let here = page.searched.map_or(0, |searched| searched.records);
    query.searched().saturating_add(here.into())
}

/// The address of the page behind this one.
fn older(query: &ListQuery, page: &RecordPage) -> Option<String> {
    let before = page.next_before?;
    Some(match query.has(&["text"]) {
        true => query.continued_search("/ui/records", before, searched(query, page)),
        false => query
            .with("before", Some(&before.to_string()))
            .address("/ui/records"),
    })
}

fn pager(view: &View, query: &ListQuery, page: &RecordPage) -> Markup {
    let (t, r) = (view.t, view.r());
    let is_search = query.has(&["text"]);
    let older = older(query, page);
    html! {
        @if is_search && older.is_some() && !page.records.is_empty() { p.hint { (r.searched_in_part) } }
        @if query.has(&["before"]) || older.is_some() {
            nav.pager aria-label=(t.pages) {
                @if query.has(&["before"]) { a.button rel="first" href=(query.with("before", None).address("/ui/records")) { (r.newest) } }
                @if let Some(older) = older {
                    a.button href=(older) { @if is_search { (r.search_older) } @else { (r.older) } }
                }
            }
        }
    }
}
