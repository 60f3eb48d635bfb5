//! The words of an answer without the calls of tools that its text ends with: a gateway registers them behind the
//! words, and as parts of the record too.

use monitor_model::Stage;
use monitor_store::StoredRecord;
use monitor_wire::json::arguments_text;

/// What the model says beside its calls, given the text of its record; all of the text where it ends in another way.
pub(crate) fn without_calls<'t>(text: &'t str, record: &StoredRecord) -> &'t str {
    without(text, record).unwrap_or(text)
}

fn without<'t>(text: &'t str, record: &StoredRecord) -> Option<&'t str> {
    let parts = &record.tool_parts;
    if parts.omitted > 0 || record.summary.stage != Stage::PostCall {
        return None;
    }
    let mut rest = text;
    for part in parts.parts.iter().rev() {
        // The text of an answer has no arguments that the policy exempts.
        if !part.is_exempt {
            let arguments = arguments_text(part.text.as_deref()?);
            rest = last_line_off(rest, &arguments)?;
        }
        rest = last_line_off(rest, &part.name)?;
    }
    Some(rest)
}

/// The text before `end`, which stands on lines of its own; an empty one stands nowhere.
fn last_line_off<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    if end.is_empty() {
        return Some(text);
    }
    let before = text.strip_suffix(end)?;
    match before.is_empty() {
        true => Some(before),
        false => before.strip_suffix('\n'),
    }
}
