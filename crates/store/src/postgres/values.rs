//! How PostgreSQL columns hold the program's values: texts with U+0000 escaped, which PostgreSQL refuses, and
//! digests by which indexes find texts of any length.

use crate::error::StoreError;
use crate::sql::columns::{Columns, plain_columns};
use monitor_model::{ApplicationId, Stage};
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use std::borrow::Cow;
use uuid::Uuid;

impl Columns for PgRow {
    plain_columns!();

    fn text(&self, column: &str) -> Result<String, sqlx::Error> {
        Ok(unescaped(self.try_get(column)?))
    }

    fn optional_text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
        let text: Option<String> = self.try_get(column)?;
        Ok(text.map(unescaped))
    }

    fn stage(&self) -> Result<Stage, StoreError> {
        match self.try_get::<i16, _>("stage")? {
            0 => Ok(Stage::PreCall),
            1 => Ok(Stage::PostCall),
            _ => Err(StoreError::Unreadable("record")),
        }
    }

    fn rules(&self) -> Result<Value, StoreError> {
        let stored: Value = serde_json::from_str(self.raw("rules")?)
            .map_err(|_| StoreError::Unreadable("set of rules"))?;
        Ok(map_strings(stored, &unescaped))
    }
}

/// The number that the column `stage` holds.
pub(super) fn stage_number(stage: Stage) -> i16 {
    match stage {
        Stage::PreCall => 0,
        Stage::PostCall => 1,
    }
}

/// A count as its column holds it.
pub(super) fn bounded(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The escape character: a noncharacter that texts hardly ever contain. A text that contains it gets
/// [`MARK_ITSELF`] in its place.
const MARK: char = '\u{10FFFF}';
const NUL: &str = "\u{10FFFF}0";
const MARK_ITSELF: &str = "\u{10FFFF}1";

/// A text as its column holds it.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    // The mark first, so that the mark of an escaped NUL is not escaped again.
    Cow::Owned(text.replace(MARK, MARK_ITSELF).replace('\0', NUL))
}

/// A text as it was before it was stored.
pub(super) fn unescaped(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut parts = text.split(MARK);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (character, rest) = match part.strip_prefix('0') {
            Some(rest) => ('\0', rest),
            None => (MARK, part.strip_prefix('1').unwrap_or(part)),
        };
        whole.push(character);
        whole.push_str(rest);
    }
    whole
}

/// Changes every string of a JSON document, including the names of fields.
pub(super) fn map_strings(value: Value, change: &impl Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| map_strings(item, change))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (change(name), map_strings(value, change)))
            .collect(),
        other => other,
    }
}

/// A JSON document as jsonb accepts it.
pub(super) fn escaped_json(value: Value) -> String {
    map_strings(value, &|text| escaped(&text).into_owned()).to_string()
}

/// The key under which an index finds a text; different texts may share a key.
pub(super) fn text_key(text: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    digest
        .first_chunk()
        .map_or(0, |first| i64::from_be_bytes(*first))
}

/// The key in `record_ledger`: the same for records of the same application, exchange and stage.
pub(super) fn exchange_key(application: ApplicationId, stage: Stage, exchange: &str) -> Uuid {
    wide_key(&[
        application.0.as_bytes(),
        &[stage as u8],
        exchange.as_bytes(),
    ])
}

/// The key in `record_ledger` of a part of a tool call: as that of a message, and of the call's identifier.
pub(super) fn tool_key(exchange_key: Uuid, call_id: &str) -> Uuid {
    wide_key(&[b"tool call", exchange_key.as_bytes(), call_id.as_bytes()])
}

/// The key of sessions with this name, whichever application they belong to.
pub(super) fn session_key(name: &str) -> Uuid {
    wide_key(&[name.as_bytes()])
}

/// Wide enough that no two inputs share a key.
fn wide_key(parts: &[&[u8]]) -> Uuid {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    let digest: [u8; 32] = digest.finalize().into();
    digest
        .first_chunk()
        .map_or(Uuid::nil(), |first| Uuid::from_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_text_comes_back_and_none_holds_a_nul_while_it_is_stored() {
        for text in [
            "",
            "plain",
            "\0",
            "a\0b\0",
            "\u{10FFFF}",
            "\u{10FFFF}0",
            "\0\u{10FFFF}1\0",
            "\u{10FFFF}\0\u{10FFFF}",
        ] {
            let stored = escaped(text).into_owned();
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(unescaped(stored), text);
        }
    }

    #[test]
    fn a_document_comes_back_with_its_names() {
        let document = json!({"a\0": ["\0", {"b": "\u{10FFFF}"}], "n": 1.5});
        let stored = escaped_json(document.clone());
        assert!(!stored.contains("\\u0000"));
        let back = serde_json::from_str(&stored).unwrap_or_default();
        assert_eq!(map_strings(back, &unescaped), document);
    }

    #[test]
    fn keys_tell_applications_stages_and_names_apart() {
        let (one, other) = (ApplicationId::random(), ApplicationId::random());
        let keys = [
            exchange_key(one, Stage::PreCall, "x"),
            exchange_key(one, Stage::PostCall, "x"),
            exchange_key(other, Stage::PreCall, "x"),
            exchange_key(one, Stage::PreCall, "y"),
            tool_key(exchange_key(one, Stage::PreCall, "x"), "y"),
            tool_key(exchange_key(one, Stage::PostCall, "x"), "y"),
            tool_key(exchange_key(one, Stage::PreCall, "x"), "z"),
            session_key("x"),
            session_key("y"),
        ];
        let different: std::collections::HashSet<_> = keys.into_iter().collect();
        assert_eq!(different.len(), keys.len());
    }
}
