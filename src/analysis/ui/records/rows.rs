//! An exchange as a row of the list, the same on a page and in its live tail.

use super::bounded_text::{self, LinkStyle, TextLimit};
use crate::analysis::records::rows::{ListRow, RowMessage};
use crate::analysis::records::{CallCost, RecordSummary};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::layout::components::{badge, time_exact};
use crate::analysis::ui::layout::highlight::marked;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::paths;
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::{ApplicationId, Priced, RecordId, Stage, Status};

/// The table that the rows stand in.
pub(crate) fn columns(view: &View) -> Table<'static, 8> {
    let r = view.r();
    Table {
        name: r.records,
        look: "records",
        columns: [
            Column::Text(r.time),
            Column::Text(r.said),
            Column::Text(r.verdict),
            Column::Text(r.application),
            Column::Text(r.user),
            Column::Text(r.session),
            Column::Number(view.t.tokens),
            Column::Number(r.cost),
        ],
    }
}

/// How much of a message a row shows.
const SHOWN: TextLimit = TextLimit {
    bytes: 240,
    marks: 8,
};

/// Rows of the list of a filter, newest first.
pub(crate) fn rows(view: &View, rows: &[ListRow], names: &Names, query: &ListQuery) -> Markup {
    let table = columns(view);
    html! { @for row in rows {
        tr role="row" data-record=(row.record.id) data-seq=(row.record.seq) data-exchange=(earliest(row)) {
            (table.cells(cells(view, row, names, &address(query, row))))
        }
    } }
}

/// Names the exchange of a row for scripts: its first record stays the same, whichever message comes next.
fn earliest(row: &ListRow) -> RecordId {
    let messages = row.messages.iter().map(|message| &message.summary);
    let earliest = messages.min_by_key(|summary| summary.seq);
    earliest.map_or(row.record.id, |summary| summary.id)
}

/// The page of a row, which knows the list that it is of.
pub(super) fn address(query: &ListQuery, row: &ListRow) -> String {
    let query = query.with("before", None).with("limit", None);
    query.address(&format!("/ui/records/{}", row.record.id))
}

/// The switch of live updates at this address, which begin behind the newest of these records.
pub(crate) fn live_switch(view: &View, address: &str, records: &[RecordSummary]) -> Markup {
    let r = view.r();
    let newest = records.iter().map(|record| record.seq).max();
    html! {
        div.live.scripted data-tail=(address) data-after=(newest.unwrap_or_default()) {
            button type="button" aria-pressed="true" data-paused=(r.live_paused) data-going=(r.live) {
                span.dot aria-hidden="true" {} span.word { (r.live) }
            }
            span.problem hidden data-end="" { (r.live_over) " " (way_on(view)) }
            span.problem hidden data-end="signed-out" { (view.t.signed_out) " " (way_on(view)) }
        }
    }
}

/// Leads back to this page, past the sign-in where the session has ended.
pub(super) fn way_on(view: &View) -> Markup {
    html! { a href=(paths::address("/ui/sign-in", &[("next", &view.here)])) { (view.t.go_on) } }
}

fn cells(view: &View, row: &ListRow, names: &Names, page: &str) -> [Markup; 8] {
    let (r, record) = (view.r(), &whole(row));
    let of_user = |user: &str| paths::address("/ui/records", &[("user_id", user)]);
    let of_session = |session: &str| session_address(record.application_id, session);
    [
        html! { a href=(page) { (time_exact(record.created_at_ms)) } },
        html! { (kinds(view, row)) (line(row, page)) },
        html! { div.badges { (verdict(r, record)) } },
        application(r, record.application_id, names),
        link(record.user_id.as_deref(), of_user),
        link(record.session_id.as_deref(), of_session),
        html! { (record.token_count) @if let Some(severity) = record.severity { " " (badge("warn", severity.as_str())) } },
        cost_cell(r, record.cost.as_ref()),
    ]
}

/// What the messages of a row are together.
fn whole(row: &ListRow) -> RecordSummary {
    let mut whole = row.record.clone();
    let others = row.messages.iter().map(|message| &message.summary);
    for other in others.filter(|other| other.id != row.record.id) {
        whole.blocked |= other.blocked;
        whole.failed |= other.failed;
        whole.incomplete |= other.incomplete;
        whole.unchecked |= other.unchecked;
        whole.flagged_guardrails |= other.flagged_guardrails;
        whole.flagged_custom_policy |= other.flagged_custom_policy;
        whole.token_count = whole.token_count.saturating_add(other.token_count);
        whole.severity = whole.severity.or(other.severity);
        whole.cost = whole.cost.or_else(|| other.cost.clone());
        if whole.status == Status::Success {
            whole.status = other.status;
        }
        for found in &other.types {
            match whole.types.iter_mut().find(|own| own.kind == found.kind) {
                Some(own) => own.count = own.count.saturating_add(found.count),
                None => whole.types.push(found.clone()),
            }
        }
    }
    whole
}

/// What a row has: an exchange, or one record.
fn kinds(view: &View, row: &ListRow) -> Markup {
    match row.messages.len() {
        0 | 1 => kind(view, &row.record),
        _ => html! { span.kind-of { "⇄ " (view.r().exchange) } },
    }
}

/// A line of what was said: the prompt's text, else that of the answer.
fn line(row: &ListRow, page: &str) -> Markup {
    let mut texts = row
        .messages
        .iter()
        .filter_map(|RowMessage { text, .. }| text.as_ref());
    let text = texts.find(|text| !text.text.trim().is_empty());
    html! {
        @if let Some(text) = text {
            @let (shown, is_cut) = bounded_text::part(&text.text, &text.entities, SHOWN);
            a.plain.line href=(page) { (marked(shown, &text.entities)) @if is_cut { "…" } }
        }
    }
}

fn cost_cell(r: &RecordPhrases, call: Option<&CallCost>) -> Markup {
    match call {
        Some(call) => html! {
            (cost(r, call))
            @if let Some(model) = &call.model { div.dim.small { (bounded_text::name(model)) } }
        },
        None => html! { span.dim { "–" } },
    }
}

/// What a call cost, or why that is not said.
pub(super) fn cost(r: &RecordPhrases, call: &CallCost) -> Markup {
    match (call.amount, &call.currency) {
        (Some(amount), Some(currency)) => html! {
            (amount) " " (currency)
            @if call.priced == Some(Priced::Estimated) { " " span.dim.small { (r.cost_estimated) } }
        },
        _ if call.priced.is_none() => html! { span.dim { (r.cost_repeated) } },
        _ => html! { span.dim { (r.cost_unpriced) } },
    }
}

/// A caller's word as a link, where there is one.
fn link(word: Option<&str>, to: impl FnOnce(&str) -> String) -> Markup {
    match word {
        Some(word) => bounded_text::link(word, LinkStyle::plain(""), to),
        None => html! { span.dim { "–" } },
    }
}

/// The page of a session.
pub(super) fn session_address(application: ApplicationId, session: &str) -> String {
    let application = application.to_string();
    paths::address(
        "/ui/sessions/one",
        &[("application_id", &application), ("session_id", session)],
    )
}

/// An application's name, or that it is gone.
pub(crate) fn application(r: &RecordPhrases, id: ApplicationId, names: &Names) -> Markup {
    let href = paths::address("/ui/records", &[("application_id", &id.to_string())]);
    html! {
        a.plain.cut href=(href) title=(id) {
            @match names.get(&id) { Some(name) => (name), None => span.dim { (r.removed_application) } }
        }
    }
}

/// Prompt or answer, or the part of a tool call, with the tool's name.
pub(super) fn kind(view: &View, record: &RecordSummary) -> Markup {
    let arrow = match record.stage {
        Stage::PreCall => "→ ",
        Stage::PostCall => "← ",
    };
    html! {
        span.kind-of { (arrow) (kind_name(view, record)) }
        @if let Some(tool) = &record.tool { div.dim.small { (bounded_text::name(&tool.name)) } }
    }
}

/// What a record is of, in a word or two.
pub(super) fn kind_name(view: &View, record: &RecordSummary) -> &'static str {
    match (&record.tool, record.stage) {
        (None, Stage::PreCall) => view.t.prompt,
        (None, Stage::PostCall) => view.t.answer,
        (Some(_), Stage::PostCall) => view.r().tool_arguments,
        (Some(_), Stage::PreCall) => view.r().tool_result,
    }
}

/// What was decided about a record, in short. A check that is not complete is told quietly, beside what it found; that
/// a call passed because of it is not.
pub(super) fn verdict(r: &RecordPhrases, record: &RecordSummary) -> Markup {
    let marks = [
        (record.blocked, "bad", r.was_blocked),
        (record.failed, "bad", r.was_failed),
        (record.flagged_guardrails, "bad", r.by_guardrails),
        (record.flagged_custom_policy, "bad", r.by_custom_policy),
        (record.unchecked, "warn", r.was_unchecked),
        (record.incomplete, "warn", r.was_incomplete),
        (
            record.status == Status::PartialSuccess,
            "plain",
            r.analysis_partial,
        ),
        (record.status == Status::Error, "bad", r.analysis_failed),
    ];
    let is_plain = !marks.iter().any(|(holds, ..)| *holds) && record.types.is_empty();
    html! {
        @for (_, tone, text) in marks.into_iter().filter(|(holds, ..)| *holds) { (badge(tone, text)) }
        @for found in &record.types { (badge("warn", &format!("{} × {}", found.kind, found.count))) }
        @if is_plain { span.dim { (r.was_clean) } }
    }
}
