//! The list of records: filters, keyset pages, exports, and a table that grows by itself while its
//! first page is open.

use super::asked::{Asked, Pairs};
use super::{filters, row, saved};
use crate::analysis::ui::components::{head, refusal};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::view::View;
use crate::analysis::ui::visit::Visit;
use crate::analysis::{ApiError, Service};
use crate::store::{RecordPage, Scope};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use std::sync::Arc;

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must(Scope::Read)?;
    let asked = Asked::read(pairs);
    shown(&service, &visit, (&asked, html! {})).await
}

/// The page of a filter below a message.
pub(super) async fn shown(
    service: &Service,
    visit: &Visit,
    (asked, message): (&Asked, Markup),
) -> Result<Response, Failure> {
    let (status, shown) = match found(service, visit, asked).await {
        Ok(shown) => (StatusCode::OK, shown),
        Err(error @ (ApiError::Fields(_) | ApiError::Field { .. })) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            refusal(visit.view.r().wrong_filter, &error),
        ),
        Err(other) => return Err(other.into()),
    };
    let saved = saved::bar(service, visit, asked).await?;
    let r = visit.view.r();
    let content = html! {
        (head(r.records, html! { p.dim { (r.records_hint) } }, html! {}))
        (message)
        (saved)
        (filters::form(&visit.view, asked))
        (shown)
    };
    let page = layout::page(visit, Section::Records, r.records, content);
    Ok((status, page).into_response())
}

/// The table and what stands around it.
async fn found(service: &Service, visit: &Visit, asked: &Asked) -> Result<Markup, ApiError> {
    let view = &visit.view;
    let asked = asked.resolved(service, &visit.caller, view.r()).await?;
    let page = service.page(&visit.caller, asked.records()?).await?;
    let ids = page.records.iter().map(|record| record.application_id);
    let names = service.application_names(&visit.caller, ids).await?;
    Ok(html! {
        div.bar {
            (live(view, &asked, &page))
            (exports(view, &asked))
        }
        (table(view, &page, &names))
        (pager(view, &asked, &page))
    })
}

/// Rows come by themselves on the first page, where no text has to be looked for.
fn live(view: &View, asked: &Asked, page: &RecordPage) -> Markup {
    let r = view.r();
    if asked.has(&["before", "text", "to"]) {
        return html! { span {} };
    }
    let newest = page.records.iter().map(|record| record.seq).max();
    let address = asked.address("/ui/records/live");
    html! {
        div.live.scripted data-tail=(address) data-after=(newest.unwrap_or_default()) {
            button type="button" aria-pressed="true" data-paused=(r.live_paused) data-going=(r.live) {
                span.dot aria-hidden="true" {} span.word { (r.live) }
            }
            span.problem hidden { (r.live_over) }
        }
    }
}

fn exports(view: &View, asked: &Asked) -> Markup {
    let r = view.r();
    let asked = asked.with("before", None).with("limit", None);
    let address = |format: &str| {
        let address = asked.address("/ui/records/export");
        let sign = if address.contains('?') { '&' } else { '?' };
        format!("{address}{sign}format={format}")
    };
    html! {
        div.actions role="group" aria-label=(r.export) {
            span.dim { (r.export) }
            a.button.small href=(address("csv")) title=(r.export_csv) download { "CSV" }
            a.button.small href=(address("jsonl")) title=(r.export_jsonl) download { "JSONL" }
        }
    }
}

fn table(view: &View, page: &RecordPage, names: &row::Names) -> Markup {
    let (t, r) = (view.t, view.r());
    let is_empty = page.records.is_empty();
    let is_partial = is_empty && page.next_before.is_some();
    html! {
        div.empty #nothing hidden[!is_empty] {
            @if is_partial { (r.searched_in_part) } @else { (t.nothing_found) }
        }
        div.table #records hidden[is_empty] {
            table.records {
                caption.hidden { (r.records) }
                thead { tr {
                    th scope="col" { (r.time) } th scope="col" { (r.kind) } th scope="col" { (r.verdict) }
                    th scope="col" { (r.application) } th scope="col" { (r.user) } th scope="col" { (r.session) }
                    th.number scope="col" { (t.tokens) }
                } }
                tbody { (row::rows(view, &page.records, names)) }
            }
        }
    }
}

fn pager(view: &View, asked: &Asked, page: &RecordPage) -> Markup {
    let (t, r) = (view.t, view.r());
    let is_search = asked.has(&["text"]);
    let to = |before: Option<i64>| {
        let before = before.map(|before| before.to_string());
        asked
            .with("before", before.as_deref())
            .address("/ui/records")
    };
    html! {
        @if is_search && page.next_before.is_some() && !page.records.is_empty() { p.hint { (r.searched_in_part) } }
        @if asked.has(&["before"]) || page.next_before.is_some() {
            nav.pager aria-label=(t.pages) {
                @if asked.has(&["before"]) { a.button href=(to(None)) { (r.newest) } }
                @if page.next_before.is_some() {
                    a.button href=(to(page.next_before)) { @if is_search { (r.search_older) } @else { (r.older) } }
                }
            }
        }
    }
}
