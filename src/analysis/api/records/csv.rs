//! Records as CSV (RFC 4180), safe to open in a spreadsheet: a cell that looks like a formula gets a
//! leading apostrophe.
//!
//! Written by hand: cells with a semicolon or a formula are quoted too, and the crate `csv` has no quoting rule
//! per cell.

use jiff::Timestamp;
use monitor_store::{RecordSummary, StoredRecord};
use std::borrow::Cow;

/// The header line.
pub(crate) const HEADER: &str = "seq,request_id,record,application_id,exchange_id,user_id,session_id,\
     created_at,rules_version,status,guardrails,custom_policy,dataclean,blocked,failed,incomplete,\
     tokens,usage_severity,types,cleaned_text,message,tool_name,tool_call_id\r\n";

/// Appends the line of a record.
pub(crate) fn line(record: &StoredRecord, out: &mut String) {
    for (place, text) in cells(record).iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        cell(text, out);
    }
    out.push_str("\r\n");
}

/// The cells, in the order of the header.
fn cells(record: &StoredRecord) -> [Cow<'_, str>; 23] {
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
    ]
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

fn cell(text: &str, out: &mut String) {
    // Spreadsheets skip invisible characters before they look for a formula.
    let shown = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
    let formula = shown.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let odd = text.starts_with(['\t', '\r', '\n']);
    let quoted = formula || odd || text.contains(['"', ',', '\r', '\n', ';']);
    if !quoted {
        return out.push_str(text);
    }
    out.push('"');
    if (formula && text.parse::<f64>().is_err()) || odd {
        out.push('\'');
    }
    for c in text.chars() {
        if c == '"' {
            out.push('"');
        }
        out.push(c);
    }
    out.push('"');
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
        ] {
            assert_eq!(written(text), expected, "{text:?}");
        }
    }
}
