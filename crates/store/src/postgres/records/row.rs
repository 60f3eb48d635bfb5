//! A record in the form in which its columns take it.

use crate::costs::SumNames;
use crate::error::StoreError;
use crate::postgres::seq::seq_at;
use crate::postgres::values::{
    bounded, escaped, exchange_key, session_key, text_key, tool_key, unescaped,
};
use crate::records::{EarlierRecord, NewRecord, ToolCall};
use crate::sql::records::{EncodedRecord, from_json};
use std::borrow::Cow;
use std::sync::Arc;
use uuid::Uuid;

/// What the rows of a record and their index entries take beside its texts, on average.
pub(in crate::postgres) const ROWS_BYTES: usize = 700;

/// A record ready to be inserted. The message and the cleaned text are escaped in place.
pub(in crate::postgres) struct RecordRow {
    pub(in crate::postgres) encoded: EncodedRecord,
    /// Its key in `record_ledger`: that of its exchange and stage, or of its tool call, or its own id.
    pub(in crate::postgres) key: Uuid,
    /// Added to the time in its position if other records took all positions of its millisecond.
    pub(in crate::postgres) shift_ms: i64,
    pub(in crate::postgres) exchange_id: Option<String>,
    pub(in crate::postgres) user_id: Option<String>,
    pub(in crate::postgres) session_id: Option<String>,
    pub(in crate::postgres) tool: Option<ToolCall>,
    pub(in crate::postgres) model: Option<String>,
    pub(in crate::postgres) token: Option<String>,
    pub(in crate::postgres) counted_as: SumNames,
    /// The size that is counted for it.
    pub(in crate::postgres) bytes: i64,
}

impl RecordRow {
    pub(in crate::postgres) fn new(record: NewRecord) -> Result<Self, StoreError> {
        let mut encoded = EncodedRecord::new(record)?;
        encoded.cleaned_text = encoded.cleaned_text.map(escaped_text);
        encoded.record.message = encoded.record.message.map(escaped_text);
        Ok(Self::of(encoded))
    }

    /// The record under an exchange id of its own; None if it has no number.
    pub(super) fn apart(&self) -> Result<Option<Self>, StoreError> {
        let apart = self.encoded.apart()?.map(|encoded| Self {
            shift_ms: self.shift_ms,
            ..Self::of(encoded)
        });
        Ok(apart)
    }

    /// A record whose texts are escaped.
    fn of(encoded: EncodedRecord) -> Self {
        let stored = |text: &Option<String>| text.as_deref().map(|t| escaped(t).into_owned());
        let record = &encoded.record;
        let counted_as = record.cost.as_ref().map(|cost| &cost.counted_as);
        let mut row = Self {
            key: ledger_key(record),
            shift_ms: 0,
            exchange_id: stored(&record.exchange_id),
            user_id: stored(&record.user_id),
            session_id: stored(&record.session_id),
            tool: record.tool.as_ref().map(|tool| ToolCall {
                name: escaped(&tool.name).into_owned(),
                call_id: escaped(&tool.call_id).into_owned(),
            }),
            model: encoded.model().map(|model| escaped(model).into_owned()),
            token: stored(&record.token),
            counted_as: SumNames {
                model: counted_as.and_then(|names| stored(&names.model)),
                user: counted_as.and_then(|names| stored(&names.user)),
            },
            bytes: 0,
            encoded,
        };
        row.bytes = row.size();
        row
    }

    pub(in crate::postgres) fn record(&self) -> &NewRecord {
        &self.encoded.record
    }

    /// The position of the record; `number` is the next value of the running number.
    pub(super) fn seq(&self, number: i64) -> i64 {
        seq_at(self.record().created_at_ms + self.shift_ms, number)
    }

    /// The record as a later one of the same exchange and stage finds it.
    pub(in crate::postgres) fn as_earlier(&self) -> Result<EarlierRecord, StoreError> {
        let mut answer = self.record().answer.clone();
        answer.dataclean.cleaned_text = self.encoded.cleaned_text.as_deref().map(unescaped_text);
        answer.dataclean.entities = from_json(&self.encoded.entities)?;
        Ok(EarlierRecord {
            answer,
            blocked: self.record().blocked,
            has_other_text: false,
        })
    }

    pub(in crate::postgres) fn user_key(&self) -> Option<i64> {
        self.user_id.as_deref().map(text_key)
    }

    pub(in crate::postgres) fn session_key(&self) -> Option<Uuid> {
        self.session_id.as_deref().map(session_key)
    }

    pub(in crate::postgres) fn flagged(&self) -> bool {
        let verdict = &self.record().answer;
        verdict.guardrails.flagged || verdict.custom_policy.flagged || verdict.dataclean.flagged
    }

    pub(in crate::postgres) fn total_us(&self) -> i64 {
        bounded(self.record().answer.timings.total_us)
    }

    pub(in crate::postgres) fn token_count(&self) -> i64 {
        bounded(self.record().answer.tokens.count)
    }

    fn size(&self) -> i64 {
        let optional = [
            self.exchange_id.as_deref(),
            self.user_id.as_deref(),
            self.session_id.as_deref(),
            self.encoded.record.message.as_deref(),
            self.encoded.cleaned_text.as_deref(),
        ];
        let texts: usize = optional.into_iter().flatten().map(str::len).sum();
        let tool = self.tool.as_ref();
        let texts = texts + tool.map_or(0, |tool| tool.name.len() + tool.call_id.len());
        (texts + self.encoded.encoded_bytes() + ROWS_BYTES) as i64
    }
}

fn ledger_key(record: &NewRecord) -> Uuid {
    let Some(exchange) = record.exchange_id.as_deref() else {
        return record.answer.request_id.0;
    };
    let key = exchange_key(record.application_id, record.stage, exchange);
    match &record.tool {
        Some(tool) => tool_key(key, &tool.call_id),
        None => key,
    }
}

/// As [`escaped`], and the same text where nothing is to be escaped.
fn escaped_text(text: Arc<str>) -> Arc<str> {
    match escaped(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped.into(),
    }
}

fn unescaped_text(text: &str) -> Arc<str> {
    unescaped(text.to_owned()).into()
}
