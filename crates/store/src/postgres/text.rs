//! How texts stand in the database: U+0000 in a form that PostgreSQL takes, and digests under which
//! texts of any length are found.

use monitor_model::{ApplicationId, Stage};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use uuid::Uuid;

/// A noncharacter that texts do not use; one that does is written as [`MARK_ITSELF`].
const MARK: char = '\u{10FFFF}';
const NUL: &str = "\u{10FFFF}0";
const MARK_ITSELF: &str = "\u{10FFFF}1";

/// A text as it is stored.
pub(super) fn shield(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    // The mark first, so that the one in a shielded NUL is not taken for the text's own.
    Cow::Owned(text.replace(MARK, MARK_ITSELF).replace('\0', NUL))
}

/// A stored text as it was.
pub(super) fn unshield(text: String) -> String {
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

/// Every string of a JSON document, names of fields too, as it is stored or as it was.
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

/// A JSON document as jsonb takes it.
pub(super) fn shield_json(value: Value) -> String {
    map_strings(value, &|text| shield(&text).into_owned()).to_string()
}

/// The key under which a text is found; equal keys of different texts are possible.
pub(super) fn text_key(text: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    digest
        .first_chunk()
        .map_or(0, |first| i64::from_be_bytes(*first))
}

/// The ledger's key: a record of the same application, exchange and stage has the same.
pub(super) fn exchange_key(application: ApplicationId, stage: Stage, exchange: &str) -> Uuid {
    wide_key(&[
        application.0.as_bytes(),
        &[stage as u8],
        exchange.as_bytes(),
    ])
}

/// The key of sessions of a name, whatever application they belong to.
pub(super) fn session_key(name: &str) -> Uuid {
    wide_key(&[name.as_bytes()])
}

/// Wide enough that no two texts have the same.
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
            let stored = shield(text).into_owned();
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(unshield(stored), text);
        }
    }

    #[test]
    fn a_document_comes_back_with_its_names() {
        let document = json!({"a\0": ["\0", {"b": "\u{10FFFF}"}], "n": 1.5});
        let stored = shield_json(document.clone());
        assert!(!stored.contains("\\u0000"));
        let back = serde_json::from_str(&stored).unwrap_or_default();
        assert_eq!(map_strings(back, &unshield), document);
    }

    #[test]
    fn keys_tell_applications_stages_and_names_apart() {
        let (one, other) = (ApplicationId::random(), ApplicationId::random());
        let keys = [
            exchange_key(one, Stage::PreCall, "x"),
            exchange_key(one, Stage::PostCall, "x"),
            exchange_key(other, Stage::PreCall, "x"),
            exchange_key(one, Stage::PreCall, "y"),
            session_key("x"),
            session_key("y"),
        ];
        let different: std::collections::HashSet<_> = keys.into_iter().collect();
        assert_eq!(different.len(), keys.len());
    }
}
