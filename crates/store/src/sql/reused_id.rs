//! Another record under the exchange id of a stored one (CONTRACT 5, 23). Whoever may read records knows the ids of
//! exchanges, so a record that somebody else sent first must not take the place of a gateway's own one: a numbered
//! record is a repeat only if what is stored tells so, and otherwise stored under an exchange id of its own.

use super::columns::Columns;
use super::records::{EncodedRecord, from_json, json};
use crate::error::StoreError;
use crate::records::NewRecord;
use monitor_model::{CHAIN_PARAMETER, Warning, WarningCode};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// What the answer of a record says that is stored beside another one of its exchange and stage.
pub const STORED_APART: &str = "its id stands for another text, which was stored first: this record is stored beside \
     it, under an id of its own";

type Digest = [u8; 32];

/// What a record that meets a stored one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// The same record again.
    Repeat,
    /// Another text of a client: it is not stored.
    OtherText,
    /// Another record of a gateway: it is stored under an exchange id of its own.
    Apart,
}

/// What tells a record from another one under its exchange id.
#[derive(Clone)]
pub(crate) struct Fingerprint {
    message: Option<Digest>,
    /// The cleaned text with the places of what was found.
    cleaned: Option<Digest>,
    rules: Digest,
    chain: Option<Value>,
    /// Without the chain.
    parameters: Map<String, Value>,
}

/// What a fingerprint covers, as the columns hold it.
struct Parts<'r> {
    message: Option<&'r str>,
    cleaned_text: Option<&'r str>,
    entities: &'r str,
    rules_version: Option<i64>,
    inline_rules: Option<&'r str>,
    parameters: Map<String, Value>,
}

impl Fingerprint {
    /// Of a record that is to be stored.
    pub(crate) fn of(row: &EncodedRecord) -> Self {
        Self::new(Parts {
            message: row.record.message.as_deref(),
            cleaned_text: row.cleaned_text.as_deref(),
            entities: &row.entities,
            rules_version: row.record.rules_version,
            inline_rules: row.inline_rules.as_deref(),
            parameters: row.record.additional_parameters.clone(),
        })
    }

    /// Of a stored record, from the columns of `records` and `record_bodies`.
    pub(crate) fn stored(summary: &impl Columns, body: &impl Columns) -> Result<Self, StoreError> {
        Ok(Self::new(Parts {
            message: body.optional_raw("message")?,
            cleaned_text: body.optional_raw("cleaned_text")?,
            entities: body.raw("entities")?,
            rules_version: summary.optional_number("rules_version")?,
            inline_rules: body.optional_raw("inline_rules")?,
            parameters: from_json(body.raw("additional_parameters")?)?,
        }))
    }

    fn new(mut parts: Parts<'_>) -> Self {
        let version = parts.rules_version.map(|version| version.to_string());
        let rules = [
            version.as_deref().unwrap_or_default(),
            parts.inline_rules.unwrap_or_default(),
        ];
        Self {
            message: parts.message.map(|text| digest(&[text])),
            cleaned: parts
                .cleaned_text
                .map(|text| digest(&[text, parts.entities])),
            rules: digest(&rules),
            chain: parts.parameters.remove(CHAIN_PARAMETER),
            parameters: parts.parameters,
        }
    }

    /// What the record with this fingerprint is beside the stored one.
    pub(crate) fn beside(&self, record: &NewRecord, stored: &Self) -> Reuse {
        let has_same_text = self.has_same_text(stored);
        if record.chain.is_none() {
            return match has_same_text {
                Some(false) => Reuse::OtherText,
                Some(true) | None => Reuse::Repeat,
            };
        }
        let is_repeat = match self.chain.is_some() && self.chain == stored.chain {
            // A gateway gives a number once. Whoever knows it may have used it for a text of his own; what was cleaned
            // differs between rules too.
            true => {
                self.message.is_none() || stored.message.is_none() || has_same_text == Some(true)
            }
            false => {
                let is_same = self.rules == stored.rules && self.parameters == stored.parameters;
                has_same_text == Some(true) && is_same
            }
        };
        match is_repeat {
            true => Reuse::Repeat,
            false => Reuse::Apart,
        }
    }

    /// None if what is stored does not tell.
    fn has_same_text(&self, other: &Self) -> Option<bool> {
        match (self.message, other.message) {
            (Some(own), Some(other)) => Some(own == other),
            _ if self.rules != other.rules => None,
            _ if self.cleaned.is_none() && other.cleaned.is_none() => None,
            _ => Some(self.cleaned == other.cleaned),
        }
    }
}

impl EncodedRecord {
    /// The record under an exchange id of its own, and marked; None if it has no number. The id derives from its link
    /// in the chain, which covers gateway, number and text: no other record can have it.
    pub(crate) fn apart(&self) -> Result<Option<Self>, StoreError> {
        let (Some(exchange), Some(chain)) = (&self.record.exchange_id, &self.record.chain) else {
            return Ok(None);
        };
        let mut record = self.record.clone();
        record.exchange_id = Some(format!("{exchange}#{:.32}", chain.link));
        record.answer.warnings.push(stored_apart());
        Ok(Some(Self {
            answer: json(&record.answer)?,
            record,
            cleaned_text: self.cleaned_text.clone(),
            severity: self.severity.clone(),
            types: self.types.clone(),
            entities: self.entities.clone(),
            additional_parameters: self.additional_parameters.clone(),
            inline_rules: self.inline_rules.clone(),
            tool_parts: self.tool_parts.clone(),
            part_keys: self.part_keys.clone(),
            part_keys_json: self.part_keys_json.clone(),
            usage: self.usage.clone(),
            call: self.call.clone(),
        }))
    }
}

/// The mark of a record that is stored apart.
pub(crate) fn stored_apart() -> Warning {
    Warning::new(WarningCode::Other, STORED_APART)
}

fn digest(parts: &[&str]) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
