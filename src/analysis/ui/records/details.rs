//! What else is kept of a record: how its exchange failed, by which rules it was judged, how long that
//! took, its files, and what its caller sent along.

use super::{bounded_text, rows};
use crate::analysis::access::Scope;
use crate::analysis::records::{Attachment, CallCost, RecordSummary, Scanned, StoredRecord};
use crate::analysis::ui::layout::components::badge;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::paths;
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use maud::{Markup, html};
use monitor_model::{CALL_PARAMETER, CallFacts, MODEL_PARAMETER, Stage, USAGE_PARAMETER};
use serde_json::Value;

/// Parameters that the page shows elsewhere.
const SHOWN_ELSEWHERE: [&str; 6] = [
    "request_id",
    "user_id",
    "session_id",
    "error",
    "incomplete",
    "tool_call_id",
];

/// The same with the answer of a model.
const OF_CALL: [&str; 2] = [MODEL_PARAMETER, USAGE_PARAMETER];

/// Bytes of each of a request's parameters, and of all of them; of rules that came with it, and of each
/// word about a failure.
const PARAMETER: usize = 4_096;
const PARAMETERS: usize = 24 * 1024;
const RULES: usize = 8 * 1024;
const WORD: usize = 1_024;

/// Why the exchange failed and who closed it, above everything else.
pub(super) fn failure(view: &View, record: &StoredRecord) -> Markup {
    let r = view.r();
    let error = record.additional_parameters.get("error");
    let Some(error) = error.filter(|error| !error.is_null()) else {
        return html! {};
    };
    let part = |name: &str| error.get(name).filter(|part| !part.is_null()).map(plain);
    let closed_by = match error.get("closed_by").and_then(Value::as_str) {
        Some("client") => Some(r.closed_by_client.to_owned()),
        Some("upstream") => Some(r.closed_by_upstream.to_owned()),
        Some("gateway") => Some(r.closed_by_gateway.to_owned()),
        _ => part("closed_by"),
    };
    let parts = [
        (r.closed_by, closed_by),
        (r.error_kind, part("type")),
        (r.error_code, part("code")),
    ];
    html! {
        div.notice.bad {
            strong { (r.error) }
            @match part("message") {
                Some(message) => p { (message) },
                None if !error.is_object() => p { (plain(error)) },
                None => {}
            }
            p.facts { @for (name, text) in parts { @if let Some(text) = text { span { (name) ": " strong { (text) } } } } }
        }
    }
}

/// Identifiers, rules and times; of the call what the record or the other message of its exchange has.
pub(super) fn card(visit: &Visit, record: &StoredRecord, other: Option<&RecordSummary>) -> Markup {
    let (t, r, summary) = (visit.view.t, visit.view.r(), &record.summary);
    let cost = summary
        .cost
        .as_ref()
        .or(other.and_then(|other| other.cost.as_ref()));
    let facts = match (&summary.call, other) {
        (Some(own), _) if summary.stage == Stage::PostCall => Some(own),
        (own, other) => other.and_then(|other| other.call.as_ref()).or(own.as_ref()),
    };
    let times = record.answer.timings;
    let times = [
        (r.timing_total, times.total_us),
        (r.timing_dataclean, times.dataclean_us),
        (r.timing_tokens, times.tokens_us),
    ];
    html! {
        section.card {
            h2 { (r.details) }
            dl.pairs {
                dt { (r.rules) } dd { (rules(visit, record)) }
                dt { (t.state) } dd { code { (summary.status.as_str()) } }
                dt { (r.timings) } dd { @for (name, us) in times { div { (visit.view.u().in_milliseconds(us)) " " span.dim { (name) } } } }
                @if let Some(cost) = cost { (call(visit, cost)) }
                @if let Some(facts) = facts { (of_call(visit, facts)) }
                @if let Some(token) = &summary.token { dt { (r.access_key) } dd { a.plain href=(paths::address("/ui/records", &[("token", token.as_str())])) { (bounded_text::name(token)) } } }
                dt { (r.record_id) } dd { code { (summary.id) } }
                @if let Some(exchange) = &summary.exchange_id { dt { (r.exchange) } dd { code { (bounded_text::name(exchange)) } } }
                @if let Some(tool) = &summary.tool {
                    dt { (r.tool) } dd { code { (bounded_text::name(&tool.name)) } }
                    dt { (r.tool_call) } dd { code { (bounded_text::name(&tool.call_id)) } }
                }
                dt { (r.application) } dd { a href={ "/ui/applications/" (summary.application_id) } { code { (summary.application_id) } } }
            }
        }
    }
}

/// The model of a call, its tokens and its cost.
fn call(visit: &Visit, cost: &CallCost) -> Markup {
    let r = visit.view.r();
    let [prompt, cached, written, completion, reasoning, _] = cost.usage.tokens.to_array();
    let tokens = [
        (r.prompt_tokens, prompt),
        (r.cached_tokens, cached),
        (r.cache_write_tokens, written),
        (r.completion_tokens, completion),
        (r.reasoning_tokens, reasoning),
    ];
    let tokens = tokens.map(|(name, tokens)| tokens.map(|tokens| (name, tokens)));
    html! {
        @if let Some(model) = &cost.model { dt { (r.model) } dd { a.plain href=(paths::address("/ui/records", &[("model", model.as_str())])) { code { (bounded_text::name(model)) } } } }
        dt { (r.call_tokens) }
        dd {
            @for (name, tokens) in tokens.into_iter().flatten() { div { (tokens) " " span.dim { (name) } } }
            @if cost.usage.estimated { div.dim.small { (r.tokens_estimated) } }
        }
        dt { (r.cost) } dd { (rows::cost(r, cost)) }
    }
}

/// Who answered a call, how, and how long that took.
fn of_call(visit: &Visit, facts: &CallFacts) -> Markup {
    let (r, u) = (visit.view.r(), visit.view.u());
    let times = [
        (r.first_byte, facts.first_byte_ms),
        (r.latency, facts.latency_ms),
    ];
    let times =
        times.map(|(name, ms)| ms.map(|ms| (name, u.in_milliseconds(ms.saturating_mul(1_000)))));
    html! {
        @if let Some(provider) = &facts.provider { dt { (r.provider) } dd { code { (bounded_text::name(provider)) } } }
        @if let Some(status) = facts.status { dt { (r.http_status) } dd { code { (status) } } }
        @for (name, time) in times.into_iter().flatten() { dt { (name) } dd { (time) } }
        @if let Some(address) = facts.client_address { dt { (r.client_address) } dd { code { (address) } } }
    }
}

fn rules(visit: &Visit, record: &StoredRecord) -> Markup {
    let (r, summary) = (visit.view.r(), &record.summary);
    let Some(version) = summary.rules_version else {
        return html! {
            (r.rules_inline)
            @if let Some(rules) = &record.inline_rules { (inline_rules(r, rules)) }
        };
    };
    let before = version.saturating_add(1).to_string();
    let address = paths::address(
        &format!("/ui/applications/{}/versions", summary.application_id),
        &[("before", &before)],
    );
    html! { a href=(address) { (r.rules_version) " " (version) } }
}

fn inline_rules(r: &RecordPhrases, rules: &Value) -> Markup {
    let (shown, is_cut) = bounded_text::value(rules, RULES);
    html! {
        pre.text tabindex="0" { (shown) @if is_cut { "…" } }
        @if is_cut { p.hint { (r.text_cut) } }
    }
}

/// The files of a record, for saving.
pub(super) fn files(visit: &Visit, address: &str, files: &[Attachment]) -> Markup {
    let r = visit.view.r();
    let table = Table {
        name: r.attachments,
        look: "",
        columns: [
            Column::Text(r.file),
            Column::Number(r.size),
            Column::Text(r.finds),
        ],
    };
    let rows = html! { @for file in files { (table.row(cells(visit, address, file))) } };
    html! {
        @if !files.is_empty() {
            section.card { h2 { (r.attachments) } div.table.flat { (table.of(rows)) } }
        }
    }
}

fn cells(visit: &Visit, address: &str, file: &Attachment) -> [Markup; 3] {
    let (view, r) = (&visit.view, visit.view.r());
    let may_save = file.kept && visit.may(Scope::Read);
    let scanned = match file.findings.scanned {
        Scanned::Whole => r.scanned_whole,
        Scanned::Part => r.scanned_part,
        Scanned::No => r.scanned_no,
        Scanned::Failed => r.scanned_failed,
    };
    [
        html! {
            @if may_save { a href=(paths::address(&format!("{address}/attachments/{}", file.hash), &[("name", &file.name)])) download title=(r.save_file) { (file.name) } } @else if file.name.is_empty() { span.dim { (r.name_hidden) } } @else { (file.name) }
            div.dim.small { (file.kind) @if !file.kept { " · " (r.not_kept) } }
        },
        html! { (view.u().size(file.size)) },
        html! {
            div.badges { @for found in &file.findings.types { (badge("warn", &format!("{} × {}", found.kind, found.count))) } }
            span.dim.small { (scanned) }
        },
    ]
}

/// What the caller sent along and the page does not show elsewhere, as far as there is room.
pub(super) fn parameters(view: &View, record: &StoredRecord) -> Markup {
    let r = view.r();
    let all = record.additional_parameters.iter();
    let is_elsewhere = |name: &str| {
        let of_call = record.summary.cost.is_some() && OF_CALL.contains(&name);
        let of_facts = record.summary.call.is_some() && name == CALL_PARAMETER;
        of_call || of_facts || SHOWN_ELSEWHERE.contains(&name)
    };
    let mut all = all.filter(|(name, _)| !is_elsewhere(name));
    let (mut shown, mut left, mut is_cut) = (Vec::new(), PARAMETERS, false);
    for (name, value) in all.by_ref() {
        let (text, is_part) = bounded_text::value(value, PARAMETER.min(left));
        left = left.saturating_sub(text.len() + name.len() + PARAMETER / 64);
        is_cut |= is_part;
        shown.push((name, text, is_part));
        if left == 0 {
            break;
        }
    }
    is_cut |= all.next().is_some();
    html! {
        @if !shown.is_empty() {
            section.card {
                h2 { (r.parameters) }
                dl.pairs { @for (name, text, is_part) in &shown {
                    dt { code { (bounded_text::name(name)) } } dd.pre { (text) @if *is_part { "…" } }
                } }
                @if is_cut { p.hint { (r.text_cut) } }
            }
        }
    }
}

/// The beginning of a word about a failure, which another server may have chosen.
fn plain(value: &Value) -> String {
    bounded_text::value(value, WORD).0
}
