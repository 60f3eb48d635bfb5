//! The rest of a record's exchange on its page: its other message, what the client of a blocked one got, and the ways
//! to the rows before and behind it in the list that it was opened from.

use super::bounded_text::{self, TextLimit};
use super::tool_calls::no_text;
use super::{rows, tool_parts, verdicts};
use crate::analysis::Services;
use crate::analysis::records::exchanges::ExchangeName;
use crate::analysis::records::masking::CleanedRecord;
use crate::analysis::records::rows::{Direction, ListRow};
use crate::analysis::records::{RecordFilter, RecordSummary};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::time_exact;
use crate::analysis::ui::layout::highlight::{beginning, marked};
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Caller};
use maud::{Markup, html};
use monitor_model::Stage;

/// How much of the other message a page shows.
const SHOWN: TextLimit = TextLimit {
    bytes: 16 * 1024,
    marks: 100,
};
/// Letters of a user's name in the title of a page.
const TITLE: usize = 40;

/// What the page of a record shows of its exchange and of the list around it.
pub(super) struct ExchangeContext {
    /// The other message.
    pub(super) other: Option<CleanedRecord>,
    /// What the client got in place of a blocked message, if it is known.
    phrase: Option<String>,
    newer: Option<String>,
    older: Option<String>,
}

impl ExchangeContext {
    pub(super) async fn of(
        services: &Services,
        visit: &Visit,
        record: &RecordSummary,
        query: &ListQuery,
    ) -> Result<Self, Failure> {
        let caller = &visit.caller;
        let other = other(services, caller, record).await?;
        let summary = other.as_ref().map(|other| &other.record.summary);
        let messages: Vec<&RecordSummary> = std::iter::once(record).chain(summary).collect();
        let blocked = messages.iter().find(|message| message.blocked);
        let phrase = match blocked.filter(|message| message.tool.is_none()) {
            None => None,
            Some(blocked) => {
                let (application, version) = (blocked.application_id, blocked.rules_version);
                services.admin.phrase(caller, application, version).await?
            }
        };
        let [newer, older] = next_to(services, visit, query, &messages).await;
        Ok(Self {
            other,
            phrase,
            newer,
            older,
        })
    }

    /// The other message, if it is of this stage.
    pub(super) fn message(&self, view: &View, stage: Stage) -> Markup {
        let other = self.other.as_ref();
        let other = other.filter(|other| other.record.summary.stage == stage);
        html! { @if let Some(other) = other { (message(view, other)) } }
    }

    /// The links to the rows before and behind it.
    pub(super) fn ways(&self, view: &View) -> Markup {
        let r = view.r();
        html! {
            @if let Some(newer) = &self.newer { a.button rel="prev" href=(newer) { (r.newer_record) } }
            @if let Some(older) = &self.older { a.button rel="next" href=(older) { (r.older_record) } }
        }
    }

    /// What the client got where there is no answer, or where the answer was replaced.
    pub(super) fn outcome(&self, view: &View, record: &RecordSummary) -> Markup {
        let r = view.r();
        let is_message = record.tool.is_none() && record.exchange_id.is_some();
        let other = self.other.as_ref().map(|other| &other.record.summary);
        let is_blocked = record.blocked || other.is_some_and(|other| other.blocked);
        let has_answer = record.stage == Stage::PostCall || other.is_some();
        html! {
            @if is_message && is_blocked {
                section.card {
                    h2 { (r.got_phrase) }
                    @match &self.phrase {
                        Some(phrase) => pre.text tabindex="0" { (bounded_text::within(phrase, SHOWN.bytes)) },
                        None => p.dim { (r.phrase_unknown) },
                    }
                }
            } @else if is_message && !has_answer {
                section.card { h2 { (view.t.answer) } p.dim { (r.no_answer) } }
            }
        }
    }
}

/// The other message of a record's exchange, if it has arrived.
async fn other(
    services: &Services,
    caller: &Caller,
    record: &RecordSummary,
) -> Result<Option<CleanedRecord>, ApiError> {
    let Some(id) = record.exchange_id.clone().filter(|_| record.tool.is_none()) else {
        return Ok(None);
    };
    let name = ExchangeName {
        id,
        stage: match record.stage {
            Stage::PreCall => Stage::PostCall,
            Stage::PostCall => Stage::PreCall,
        },
        application_id: Some(record.application_id.to_string()),
    };
    let found = match services.records.message_of(caller, name).await {
        Ok(found) => services.records.record(caller, found.id).await,
        Err(error) => Err(error),
    };
    match found {
        Ok(other) => Ok(Some(other)),
        // Its application may be gone, and a record may go at any time.
        Err(ApiError::NotArrived | ApiError::NotFound | ApiError::Field { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The pages of the rows before and behind that of these messages. What cannot be found or read leads nowhere; a search
/// in texts goes one way only.
async fn next_to(
    services: &Services,
    visit: &Visit,
    query: &ListQuery,
    messages: &[&RecordSummary],
) -> [Option<String>; 2] {
    let Some(filter) = filter(services, visit, query).await else {
        return [None, None];
    };
    let (records, caller) = (&services.records, &visit.caller);
    let older = records.next_row(caller, &filter, messages, Direction::Older);
    let older = older.await.unwrap_or_default();
    let newer = match filter.text.is_none() {
        true => {
            let newer = records.next_row(caller, &filter, messages, Direction::Newer);
            newer.await.unwrap_or_default()
        }
        false => None,
    };
    [newer, older].map(|row: Option<ListRow>| row.map(|row| rows::address(query, &row)))
}

/// The list that the page was opened from; None if its filter is none.
async fn filter(services: &Services, visit: &Visit, query: &ListQuery) -> Option<RecordFilter> {
    let query = query.with("before", None).with("limit", None);
    let query = query
        .resolved(services, &visit.caller, visit.view.r())
        .await;
    query.ok()?.records().ok()
}

fn message(view: &View, other: &CleanedRecord) -> Markup {
    let (r, summary) = (view.r(), &other.record.summary);
    let (text, entities) = other.text().unwrap_or_default();
    let (shown, is_cut) = bounded_text::part(text, entities, SHOWN);
    let is_flagged = summary.flagged_guardrails
        || summary.flagged_custom_policy
        || summary.flagged_dataclean
        || summary.blocked;
    html! {
        section.card data-other=(summary.id) {
            h2 { (rows::kind_name(view, summary)) }
            p.facts {
                span.dim { (time_exact(summary.created_at_ms)) " UTC" }
                a href={ "/ui/records/" (summary.id) } { (r.whole_record) }
            }
            @if shown.is_empty() { p.dim { (no_text(r, other)) } } @else {
                pre.text tabindex="0" { (marked(shown, entities)) @if is_cut { "…" } }
            }
            div.badges { (rows::verdict(r, summary)) }
        }
        (tool_parts::card(view, &other.record))
        @if is_flagged { (verdicts::card(view, &other.record)) }
    }
}

/// The title of a record's page, which tells it from others.
pub(super) fn title(view: &View, record: &RecordSummary) -> String {
    let time = jiff::Timestamp::from_millisecond(record.created_at_ms);
    let time = time.map_or_else(
        |_| String::new(),
        |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
    );
    let id = record.id.to_string();
    let (id, _) = beginning(&id, 8);
    let kind = rows::kind_name(view, record);
    match &record.user_id {
        Some(user) => format!("{kind} {id}, {time}, {}", beginning(user, TITLE).0),
        None => format!("{kind} {id}, {time}"),
    }
}
