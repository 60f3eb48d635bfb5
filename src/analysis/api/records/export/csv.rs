//! Records as CSV (RFC 4180), safe to open in a spreadsheet: a cell that looks like a formula gets a
//! leading apostrophe, and so does what becomes a cell of its own where the separator is another one.
//!
//! Written by hand: cells with a semicolon or a formula are quoted too, and the crate `csv` has no quoting rule
//! per cell.

use jiff::Timestamp;
use monitor_model::{Priced, Stage};
use monitor_store::{RecordSummary, StoredRecord};
use std::borrow::Cow;

/// The header line.
pub(crate) const HEADER: &str = "seq,request_id,record,application_id,exchange_id,user_id,session_id,\
     created_at,rules_version,status,guardrails,custom_policy,dataclean,blocked,failed,incomplete,\
     tokens,usage_severity,types,cleaned_text,message,tool_name,tool_call_id,\
     tool_calls,tool_results,\
     model,prompt_tokens,cached_tokens,cache_write_tokens,completion_tokens,reasoning_tokens,\
     cost,currency,priced,unchecked,\
     provider,http_status,latency_ms,first_byte_ms,client_address,token\r\n";

/// Appends the line of a record.
pub(crate) fn line(record: &StoredRecord, out: &mut String) {
    let (message, calls) = (message_cells(record), call_cells(&record.summary));
    let cells = message.into_iter().chain(cost_cells(&record.summary));
    for (place, text) in cells.chain(calls).enumerate() {
        if place > 0 {
            out.push(',');
        }
        cell(&text, out);
    }
    out.push_str("\r\n");
}

/// The cells of a message and its verdict, in the order of the header.
fn message_cells(record: &StoredRecord) -> [Cow<'_, str>; 25] {
    let (summary, tool) = (&record.summary, record.summary.tool.as_ref());
    let created = Timestamp::from_millisecond(summary.created_at_ms);
    let created = created.map_or_else(|_| String::new(), |time| time.to_string());
    let version = summary.rules_version.map(|version| version.to_string());
    let severity = summary.severity.map(|level| level.as_str());
    let cleaned = record.answer.dataclean.cleaned_text.as_deref();
    [
        summary.seq.to_string().into(),
        summary.id.to_string().into(),
        summary.name().into(),
        summary.application_id.to_string().into(),
        summary.exchange_id.as_deref().unwrap_or_default().into(),
        summary.user_id.as_deref().unwrap_or_default().into(),
        summary.session_id.as_deref().unwrap_or_default().into(),
        created.into(),
        version.unwrap_or_default().into(),
        summary.status.as_str().into(),
        word(summary.flagged_guardrails),
        word(summary.flagged_custom_policy),
        word(summary.flagged_dataclean),
        word(summary.blocked),
        word(summary.failed),
        word(summary.incomplete),
        summary.token_count.to_string().into(),
        severity.unwrap_or_default().into(),
        types(summary).into(),
        cleaned.unwrap_or_default().into(),
        record.message.as_deref().unwrap_or_default().into(),
        tool.map_or("", |tool| &tool.name).into(),
        tool.map_or("", |tool| &tool.call_id).into(),
        parts(record, Stage::PostCall).into(),
        parts(record, Stage::PreCall).into(),
    ]
}

/// The cells of what a call cost, from `model` to `priced`.
fn cost_cells(summary: &RecordSummary) -> [Cow<'_, str>; 9] {
    let cost = summary.cost.as_ref();
    let tokens = cost.map(|cost| cost.usage.tokens.to_array());
    let [prompt, cached, written, completion, reasoning, _] = tokens.unwrap_or_default();
    let amount = cost.and_then(|cost| cost.amount);
    [
        cost.and_then(|cost| cost.model.as_deref())
            .unwrap_or_default()
            .into(),
        number(prompt),
        number(cached),
        number(written),
        number(completion),
        number(reasoning),
        amount
            .map_or_else(String::new, |amount| amount.to_string())
            .into(),
        cost.and_then(|cost| cost.currency.as_deref())
            .unwrap_or_default()
            .into(),
        cost.and_then(|cost| cost.priced)
            .map_or("", Priced::as_str)
            .into(),
    ]
}

/// The cells of how a call went, from `unchecked` to the end of the line.
fn call_cells(summary: &RecordSummary) -> [Cow<'_, str>; 7] {
    let call = summary.call.as_ref();
    let address = call.and_then(|call| call.client_address);
    [
        word(summary.unchecked),
        call.and_then(|call| call.provider.as_deref())
            .unwrap_or_default()
            .into(),
        number(call.and_then(|call| call.status).map(u64::from)),
        number(call.and_then(|call| call.latency_ms)),
        number(call.and_then(|call| call.first_byte_ms)),
        address
            .map_or_else(String::new, |address| address.to_string())
            .into(),
        summary.token.as_deref().unwrap_or_default().into(),
    ]
}

fn number(number: Option<u64>) -> Cow<'static, str> {
    number
        .map_or_else(String::new, |number| number.to_string())
        .into()
}

/// The calls of an answer, or the results of a prompt, as JSON.
fn parts(record: &StoredRecord, stage: Stage) -> String {
    let parts = &record.tool_parts.parts;
    let has_some = record.summary.stage == stage && !parts.is_empty();
    // Texts and numbers only: writing them cannot fail.
    let json = has_some.then(|| serde_json::to_string(parts).unwrap_or_default());
    json.unwrap_or_default()
}

fn types(summary: &RecordSummary) -> String {
    let types = summary.types.iter();
    let types: Vec<_> = types
        .map(|found| format!("{}:{}", found.kind, found.count))
        .collect();
    types.join(";")
}

fn word(flag: bool) -> Cow<'static, str> {
    if flag { "true" } else { "false" }.into()
}

/// Where a spreadsheet may begin a cell inside of one: behind a semicolon, a tab or a line break, if its language has
/// another separator than the comma, and so sees no quotes.
const SEPARATORS: [char; 4] = [';', '\t', '\r', '\n'];
/// What a formula begins with, and what looks alike.
const FORMULA: [char; 13] = [
    '=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '\u{2212}',
];

/// Appends a cell.
pub(crate) fn cell(text: &str, out: &mut String) {
    let odd = text.starts_with(['\t', '\r', '\n']);
    let special = text.contains(['"', ',']) || text.contains(SEPARATORS);
    if !special && !begins_as_formula(text) {
        return out.push_str(text);
    }
    out.push('"');
    if odd {
        out.push('\'');
    }
    for part in text.split_inclusive(SEPARATORS) {
        if is_formula(part) {
            out.push('\'');
        }
        for c in part.chars() {
            if c == '"' {
                out.push('"');
            }
            out.push(c);
        }
    }
    out.push('"');
}

fn is_formula(part: &str) -> bool {
    let is_number = || part.trim_end_matches(SEPARATORS).parse::<f64>().is_ok();
    begins_as_formula(part) && !is_number()
}

/// Spreadsheets skip invisible characters before they look for a formula, and quotes where they split a cell.
fn begins_as_formula(part: &str) -> bool {
    let shown = part.trim_start_matches(|c: char| c == '"' || is_invisible(c));
    shown.starts_with(FORMULA)
}

/// Blanks, control and format characters, fillers and variation selectors.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::cell;

    fn written(text: &str) -> String {
        let mut out = String::new();
        cell(text, &mut out);
        out
    }

    #[test]
    fn a_cell_is_quoted_where_it_has_to_be_and_never_a_formula() {
        for (text, expected) in [
            ("", ""),
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("-2+3|cmd", "\"'-2+3|cmd\""),
            ("  =1", "\"'  =1\""),
            ("\u{0}=1", "\"'\u{0}=1\""),
            ("＝1", "\"'＝1\""),
            ("\tx", "\"'\tx\""),
            ("-7", "\"-7\""),
            ("a=b", "a=b"),
            ("a-b", "a-b"),
            ("\u{feff}=1", "\"'\u{feff}=1\""),
            ("\u{200b}\u{202e}@x", "\"'\u{200b}\u{202e}@x\""),
            ("\u{e0020}+a", "\"'\u{e0020}+a\""),
            ("\u{2212}1+1", "\"'\u{2212}1+1\""),
            ("a;=1+1;b", "\"a;'=1+1;b\""),
            ("a; \"=1\"", "\"a;' \"\"=1\"\"\""),
            ("a\n=B1\r\n@c", "\"a\n'=B1\r\n'@c\""),
            ("x\t=1", "\"x\t'=1\""),
            ("1;-2;+3", "\"1;-2;+3\""),
        ] {
            assert_eq!(written(text), expected, "{text:?}");
        }
    }
}
