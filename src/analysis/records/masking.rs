//! Records without their originals: finds in a text are replaced by their types, and whoever reads cleaned texts only
//! does not get what may repeat an original. `originals` decides who gets the originals.

use super::StoredRecord;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::{
    CheckedPart, Entity, MODEL_PARAMETER, STORED_RESPONSE_PARAMETER, TypeCount, USAGE_PARAMETER,
};
use monitor_store::{RecordFilter, RecordLine};
use serde_json::Value;
use std::sync::Arc;

const NO_FINDS: &[Entity] = &[];
/// Stands in a place of what whoever reads cleaned texts only does not see.
const HIDDEN: &str = "[hidden]";
/// Bytes of a word of a gateway or of a model server.
const LONGEST_WORD: usize = 64;
/// Parameters that gateways write and that hold no text. Others are a caller's own and may hold anything.
const PLAIN_PARAMETERS: [&str; 11] = [
    "request_id",
    "user_id",
    "session_id",
    "incomplete",
    "unchecked",
    "response_replaced",
    "response_replacement",
    "tool_call_id",
    MODEL_PARAMETER,
    USAGE_PARAMETER,
    STORED_RESPONSE_PARAMETER,
];

/// A record without its originals.
pub(crate) struct CleanedRecord {
    pub(crate) record: StoredRecord,
    /// The message with its finds masked, and where the masks are; as it is stored if it is
    /// [`CleanedRecord::revealed`]. None if it is not kept, or was not checked whole.
    pub(crate) masked: Option<MaskedText>,
    /// The store has an original that a caller with the scope read may see.
    pub(crate) has_original: bool,
}

/// A page of records without their originals.
pub(crate) struct CleanedPage {
    /// The newest one first.
    pub(crate) records: Vec<CleanedRecord>,
    /// `before` of the next page; None when this is the last one.
    pub(crate) next_before: Option<i64>,
}

/// A text whose finds are replaced by their types, unless it is revealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MaskedText {
    pub(crate) text: String,
    /// The finds, where they are in this text.
    pub(crate) entities: Vec<Entity>,
}

impl CleanedRecord {
    /// A record that is shown as it is stored, to a caller who asked for its original.
    pub(crate) fn revealed(record: StoredRecord) -> Self {
        let message = record.message.clone().map(|text| MaskedText {
            text,
            entities: record.answer.dataclean.entities.clone(),
        });
        Self {
            record,
            masked: message,
            has_original: false,
        }
    }

    /// The text of the message that everybody may see, with its finds where they are marked.
    pub(crate) fn text(&self) -> Option<(&str, &[Entity])> {
        let cleaned = self.record.answer.dataclean.cleaned_text.as_deref();
        match &self.masked {
            Some(masked) => Some((&masked.text, &masked.entities)),
            None => cleaned.map(|text| (text, NO_FINDS)),
        }
    }
}

/// A search in texts matches originals too: only whoever reads them may search.
pub(super) fn must_search(caller: &Caller, filter: &RecordFilter) -> Result<(), ApiError> {
    match filter.text.is_some() && !caller.reads_originals() {
        true => Err(ApiError::Field {
            field: "text",
            problem: "searches original texts too, which takes the scope read",
        }),
        false => Ok(()),
    }
}

/// Takes the originals out of a record, and from a caller that never reads them what may repeat them.
pub(super) fn cleaned(caller: &Caller, mut record: StoredRecord) -> CleanedRecord {
    let has_original = has_original(&record);
    // The rules of a message are those of its parts: where nothing was looked for, nobody knows what to mask.
    let is_searched = record.answer.dataclean.cleaned_text.is_some() && was_checked_whole(&record);
    let masked = take_message(&mut record);
    for part in &mut record.tool_parts.parts {
        clean_part(part, is_searched);
    }
    if !caller.reads_originals() {
        withhold(&mut record, has_original);
    }
    CleanedRecord {
        record,
        masked,
        has_original,
    }
}

/// The beginning of a record's text that everybody may see, as [`cleaned`] shows it.
pub(crate) fn beginning(line: RecordLine) -> Option<MaskedText> {
    let text = line.beginning?;
    if line.has_original && !are_of_other_checks(&line.errors) {
        return None;
    }
    Some(match &line.finds {
        Some(finds) => mask(&text, finds),
        None => MaskedText {
            entities: labels(&text, &line.summary.types),
            text,
        },
    })
}

/// Where a cleaned text has the names of its finds in their places.
fn labels(text: &str, types: &[TypeCount]) -> Vec<Entity> {
    let label = |(at, _)| {
        let (before, behind) = text.split_at(at);
        let (kind, _) = behind.strip_prefix('[')?.split_once(']')?;
        let found = types.iter().find(|found| found.kind == kind)?;
        let start = before.chars().count();
        Some(Entity {
            kind: found.kind.as_str().into(),
            start,
            end: start + kind.chars().count() + 2,
        })
    };
    text.match_indices('[').filter_map(label).collect()
}

/// Whether the store has an original of it.
pub(crate) fn has_original(record: &StoredRecord) -> bool {
    let is_original = |part: &CheckedPart| !part.is_cleaned && part.text.is_some();
    record.message.is_some() || record.tool_parts.parts.iter().any(is_original)
}

/// Takes the message away; a cleaned text that shows as much is masked, or goes too.
fn take_message(record: &mut StoredRecord) -> Option<MaskedText> {
    let message = record.message.take()?;
    let is_whole = was_checked_whole(record);
    let report = &mut record.answer.dataclean;
    let cleaned = report.cleaned_text.take().filter(|_| is_whole)?;
    let masked = mask(&message, &report.entities);
    report.cleaned_text = Some(match *cleaned == *message {
        // Detection leaves the text as it is (CONTRACT 25).
        true => Arc::from(masked.text.as_str()),
        false => cleaned,
    });
    Some(masked)
}

/// A text that was cleaned only in part is as good as an original.
fn was_checked_whole(record: &StoredRecord) -> bool {
    are_of_other_checks(&record.answer.errors)
}

fn are_of_other_checks(errors: &[String]) -> bool {
    !errors.iter().any(|error| error.starts_with("dataclean"))
}

fn clean_part(part: &mut CheckedPart, is_searched: bool) {
    if part.is_cleaned {
        return;
    }
    part.is_cleaned = true;
    let entities = std::mem::take(&mut part.entities);
    // A find behind the escapes of JSON stands nowhere in the text as it is.
    let is_certain = |text: &String| part.types.is_empty() || !text.contains('\\');
    let is_known = is_searched && !part.is_unchecked;
    let text = part.text.take().filter(|_| is_known);
    let text = text.filter(is_certain);
    if let Some(text) = text {
        let masked = mask(&text, &entities);
        part.text = Some(masked.text);
        part.entities = masked.entities;
    }
}

/// Takes away what may repeat a part of an original: a judge's reasons, an error's message, a caller's parameters.
fn withhold(record: &mut StoredRecord, has_original: bool) {
    let of_error = record.additional_parameters.remove("error");
    record
        .additional_parameters
        .retain(|name, value| PLAIN_PARAMETERS.contains(&name.as_str()) && is_plain(name, value));
    if let Some(mut error) = of_error.filter(|error| !error.is_null()) {
        let known = ["type", "code", "closed_by"];
        match error.as_object_mut() {
            Some(error) => error.retain(|name, it| known.contains(&name.as_str()) && is_word(it)),
            None => error = HIDDEN.into(),
        }
        record
            .additional_parameters
            .insert("error".to_owned(), error);
    }
    record.inline_rules = None;
    if has_original {
        let policies = &mut record.answer.custom_policy.policies;
        let reasons = policies.iter_mut().map(|policy| &mut policy.reason);
        for reason in reasons.filter(|reason| !reason.is_empty()) {
            HIDDEN.clone_into(reason);
        }
    }
}

/// Whether a gateway writes such a value under this name of [`PLAIN_PARAMETERS`]. Other callers may put a text there.
fn is_plain(name: &str, value: &Value) -> bool {
    match name {
        "request_id" | "user_id" | "session_id" | "tool_call_id" | MODEL_PARAMETER => {
            value.is_null() || value.is_string()
        }
        USAGE_PARAMETER | "response_replacement" => value.as_object().is_some_and(|fields| {
            fields
                .iter()
                .all(|(name, it)| has_form_of_word(name) && is_word(it))
        }),
        _ => value.is_null() || value.is_boolean(),
    }
}

/// A number, a flag, or one word.
fn is_word(value: &Value) -> bool {
    match value {
        Value::String(text) => has_form_of_word(text),
        Value::Array(_) | Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn has_form_of_word(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    text.len() <= LONGEST_WORD && text.bytes().all(is_sign)
}

/// Replaces each find by its type. Of finds that overlap, each that hides more than those before it has a label.
fn mask(text: &str, entities: &[Entity]) -> MaskedText {
    let mut masked = MaskedText {
        text: String::with_capacity(text.len()),
        entities: Vec::new(),
    };
    let mut finds: Vec<&Entity> = entities.iter().collect();
    finds.sort_by_key(|find| find.start);
    let mut finds = finds.into_iter().peekable();
    let (mut length, mut hidden_to) = (0, 0);
    for (at, character) in text.chars().enumerate() {
        while let Some(find) = finds.next_if(|find| find.start <= at) {
            if find.end <= hidden_to.max(at) {
                continue;
            }
            let label = format!("[{}]", find.kind);
            let start = length;
            length += label.chars().count();
            masked.text.push_str(&label);
            masked.entities.push(Entity {
                kind: find.kind.clone(),
                start,
                end: length,
            });
            hidden_to = hidden_to.max(find.end);
        }
        if at >= hidden_to {
            masked.text.push(character);
            length += 1;
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn find(kind: &str, start: usize, end: usize) -> Entity {
        Entity {
            kind: kind.into(),
            start,
            end,
        }
    }

    #[test]
    fn a_parameter_of_a_gateways_name_is_plain_only_with_a_gateways_value() {
        let usage = json!({"prompt_tokens": 7});
        let replacement = json!({"stage": "pre_call", "type": "dataclean"});
        for (name, value) in [
            (USAGE_PARAMETER, usage),
            ("response_replacement", replacement),
            (MODEL_PARAMETER, "m".into()),
            ("incomplete", true.into()),
        ] {
            assert!(is_plain(name, &value), "{name}");
        }
        for (name, value) in [
            (USAGE_PARAMETER, "of ann@example.org".into()),
            (USAGE_PARAMETER, json!({"note": "of ann@example.org"})),
            (USAGE_PARAMETER, json!({"a": {"b": 1}})),
            ("incomplete", "ann".into()),
            (MODEL_PARAMETER, json!(["ann"])),
        ] {
            assert!(!is_plain(name, &value), "{name}");
        }
    }

    #[test]
    fn names_of_finds_are_marked_in_a_cleaned_text_and_other_brackets_are_not() {
        let types = [TypeCount {
            kind: "EMAILS".to_owned(),
            count: 2,
        }];
        let found = labels("Ё [x] [EMAILS], a[0 [[EMAILS] [EMAILS", &types);
        assert_eq!(found, [find("EMAILS", 6, 14), find("EMAILS", 21, 29)]);
    }

    #[test]
    fn finds_become_their_types_by_code_points() {
        let masked = mask("Ё a@b.c, 7", &[find("EMAILS", 2, 7), find("N", 9, 10)]);
        assert_eq!(masked.text, "Ё [EMAILS], [N]");
        assert_eq!(masked.entities, [find("EMAILS", 2, 10), find("N", 12, 15)]);
        let overlapping = mask(
            "0123456",
            &[find("A", 1, 4), find("B", 2, 5), find("C", 2, 3)],
        );
        assert_eq!(overlapping.text, "0[A][B]56");
        assert_eq!(mask("ab", &[find("A", 5, 9), find("B", 1, 1)]).text, "ab");
        assert_eq!(mask("ab", &[find("A", 0, 9)]).text, "[A]");
    }

    #[test]
    fn a_part_whose_find_stands_behind_escapes_has_no_text() {
        let part = |text: &str, types: &[&str], is_searched: bool| {
            let mut part = CheckedPart {
                text: Some(text.to_owned()),
                types: types.iter().map(|kind| (*kind).to_owned()).collect(),
                ..CheckedPart::default()
            };
            clean_part(&mut part, is_searched);
            part.text
        };
        assert_eq!(part(r#"{"n":"4\u0031"}"#, &["CARD"], true), None);
        let plain = r#"{"n":"\n"}"#;
        assert_eq!(part(plain, &[], true).as_deref(), Some(plain));
        assert_eq!(part(plain, &[], false), None, "nothing was looked for");
    }
}
