//! The form of an application with what would have spared a false alarm: what was found as exceptions, and thresholds
//! above the scores. Nothing is saved before its person has tried and saved it. The values that were found are those of
//! the original, so that reading them has an entry in the audit log.

use super::current::{CurrentApplication, Editable};
use super::{edit, fields};
use crate::analysis::access::Scope;
use crate::analysis::records::StoredRecord;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{Tone, notice};
use crate::analysis::ui::request::form::Form;
use axum::response::Html;
use monitor_model::RecordId;
use std::collections::BTreeSet;

/// The most exceptions that a form gets.
const MOST: usize = 10;
/// Characters of the longest value that becomes an exception.
const LONGEST: usize = 200;

pub(super) async fn page(Editable(current): Editable, form: Form) -> Result<Html<String>, Failure> {
    let CurrentApplication {
        services,
        visit,
        stored,
    } = &current;
    visit.must(Scope::Read)?;
    let id: RecordId = form.text("record").parse().map_err(|_| Failure::NotFound)?;
    let record = services.records.original(&visit.caller, id).await?;
    if record.summary.application_id != stored.id {
        return Err(Failure::NotFound);
    }
    let filled = filled(fields::of(stored), &record);
    let message = notice(Tone::Good, visit.view.f().prefilled);
    Ok(edit::prefilled(&current, &filled, message))
}

/// The fields with exceptions and thresholds.
fn filled(mut form: Form, record: &StoredRecord) -> Form {
    let prefix = fields::prefix(record.summary.stage);
    for (kind, value) in found(record).into_iter().take(MOST) {
        let regex = value.map(|value| escaped(&value)).unwrap_or_default();
        form = form.and(&format!("{prefix}allowed.name"), &kind);
        form = form.and(&format!("{prefix}allowed.regex"), &regex);
    }
    let categories = record.answer.guardrails.categories.iter();
    for category in categories.filter(|category| category.flagged) {
        let name = format!("{prefix}category.{}", category.name);
        form = form.with(&name, &above(category.score));
    }
    form
}

/// What was found, by type; without the value where the original is not kept.
fn found(record: &StoredRecord) -> BTreeSet<(String, Option<String>)> {
    let report = &record.answer.dataclean;
    let Some(message) = &record.message else {
        let kinds = report.types.iter().map(|found| found.kind.clone());
        return kinds.map(|kind| (kind, None)).collect();
    };
    let finds = report.entities.iter().filter_map(|find| {
        let length = find.end.saturating_sub(find.start);
        let value = || -> String { message.chars().skip(find.start).take(length).collect() };
        (length <= LONGEST).then(|| (find.kind.to_string(), Some(value())))
    });
    // Each is looked for from the start of the text.
    finds.take(10 * MOST).collect()
}

/// A regex that matches this text alone.
fn escaped(text: &str) -> String {
    let mut regex = String::with_capacity(text.len());
    for character in text.chars() {
        // Behind a backslash, < and > are the ends of a word.
        let is_plain = matches!(character, '_' | '@' | '/' | ',' | ':' | '<' | '>');
        if character.is_ascii_punctuation() && !is_plain {
            regex.push('\\');
        }
        regex.push(character);
    }
    regex
}

/// The next hundredth above a score.
fn above(score: f64) -> String {
    format!("{:.2}", ((score * 100.0).floor() + 1.0).min(100.0) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::{above, escaped};

    #[test]
    fn what_is_allowed_is_the_text_alone() {
        assert_eq!(escaped("a.b+c@d.org"), r"a\.b\+c@d\.org");
        assert_eq!(escaped("4111-1111 (1)"), r"4111\-1111 \(1\)");
    }

    #[test]
    fn a_threshold_is_above_the_score_as_far_as_it_can_be() {
        let all = [0.5, 0.579, 0.99, 1.0].map(above);
        assert_eq!(all, ["0.51", "0.58", "1.00", "1.00"]);
    }
}
