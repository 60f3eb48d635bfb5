//! Records and sessions between domain types and columns.

use super::columns::Columns;
use crate::costs::{CallCost, SumNames, Usage};
use crate::error::StoreError;
use crate::exchanges::RecordLine;
use crate::found_values::VALUE_BYTES;
use crate::record_filter::ToolFilter;
use crate::records::{NewRecord, RecordSummary, StoredRecord, ToolCall};
use crate::sessions::SessionSummary;
use monitor_model::{Amount, AnalysisResponse, ApplicationId, RecordId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A record whose nested values are serialized, so that the writer only binds them. The cleaned text and the
/// entities are taken out of the answer: they have columns of their own.
pub(crate) struct EncodedRecord {
    pub(crate) record: NewRecord,
    pub(crate) cleaned_text: Option<Arc<str>>,
    pub(crate) severity: Option<String>,
    pub(crate) types: String,
    pub(crate) entities: Arc<str>,
    pub(crate) additional_parameters: String,
    pub(crate) answer: String,
    pub(crate) inline_rules: Option<String>,
    pub(crate) tool_parts: Option<String>,
    /// What finds the record by these parts, see [`part_keys`].
    pub(crate) part_keys: Vec<String>,
    /// The same as JSON.
    pub(crate) part_keys_json: Option<String>,
    pub(crate) usage: Option<String>,
    pub(crate) call: Option<String>,
}

impl EncodedRecord {
    pub(crate) fn new(mut record: NewRecord) -> Result<Self, StoreError> {
        let cleaned_text = record.answer.dataclean.cleaned_text.take();
        let entities = std::mem::take(&mut record.answer.dataclean.entities);
        let severity = record.answer.tokens.usage_severity;
        let part_keys = part_keys(&record);
        let parts = Some(&record.tool_parts).filter(|parts| !parts.is_empty());
        Ok(Self {
            severity: severity.map(|level| word(&level)).transpose()?,
            types: json(&record.answer.dataclean.types)?,
            entities: json(&entities)?.into(),
            additional_parameters: json(&record.additional_parameters)?,
            answer: json(&record.answer)?,
            inline_rules: record.inline_rules.as_ref().map(json).transpose()?,
            tool_parts: parts.map(json).transpose()?,
            part_keys_json: keys_json(&part_keys)?,
            part_keys,
            usage: record.cost.as_ref().map(usage_column).transpose()?,
            call: record.call.as_ref().map(json).transpose()?,
            cleaned_text,
            record,
        })
    }

    /// Bytes of the serialized values, without the message and the cleaned text, and of what was found.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let always = [
            self.types.as_str(),
            &self.entities,
            &self.additional_parameters,
            &self.answer,
        ];
        let optional = [
            self.inline_rules.as_deref(),
            self.tool_parts.as_deref(),
            self.part_keys_json.as_deref(),
            self.usage.as_deref(),
            self.model(),
            self.call.as_deref(),
            self.record.token.as_deref(),
        ];
        let optional = optional.into_iter().flatten();
        let texts: usize = always.into_iter().chain(optional).map(str::len).sum();
        texts + self.record.found_values.len() * VALUE_BYTES
    }

    /// The model of the call.
    pub(crate) fn model(&self) -> Option<&str> {
        self.record.cost.as_ref()?.model.as_deref()
    }

    /// The currency of its cost.
    pub(crate) fn currency(&self) -> Option<&str> {
        self.record.cost.as_ref()?.currency.as_deref()
    }

    /// Its cost in units.
    pub(crate) fn cost_units(&self) -> Option<i64> {
        self.record.cost.as_ref()?.units()
    }

    /// How its cost is known.
    pub(crate) fn priced(&self) -> Option<&'static str> {
        Some(self.record.cost.as_ref()?.priced?.as_str())
    }
}

/// Begins what stands for a tool among the types of records: no type has it.
const TOOL_MARK: char = '\u{1f}';

/// What stands for calls and results of tools among the types of records.
pub(crate) fn tool_key(filter: &ToolFilter) -> String {
    match filter {
        ToolFilter::Any => TOOL_MARK.to_string(),
        // The JSON functions of some versions of SQLite end a text at this character.
        ToolFilter::Named(name) => format!("{TOOL_MARK}{}", name.replace('\0', "\u{fffd}")),
    }
}

/// What finds a record by its parts: the names of their tools, and the types that were found in them.
fn part_keys(record: &NewRecord) -> Vec<String> {
    let parts = &record.tool_parts.parts;
    let mut names: BTreeSet<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    names.extend(record.tool.as_ref().map(|tool| tool.name.as_str()));
    if names.is_empty() {
        return Vec::new();
    }
    names.insert("");
    let of_name = |name: &str| tool_key(&ToolFilter::Named(name.to_owned()));
    let types = parts.iter().flat_map(|part| part.types.iter().cloned());
    let types: BTreeSet<String> = types.collect();
    names.into_iter().map(of_name).chain(types).collect()
}

fn keys_json(keys: &[String]) -> Result<Option<String>, StoreError> {
    (!keys.is_empty()).then(|| json(&keys)).transpose()
}

/// What a list shows, from the columns of `records`.
pub(crate) fn summary(row: &impl Columns) -> Result<RecordSummary, StoreError> {
    Ok(RecordSummary {
        seq: row.number("seq")?,
        id: RecordId(row.id("id")?),
        application_id: ApplicationId(row.id("application_id")?),
        stage: row.stage()?,
        exchange_id: row.optional_text("exchange_id")?,
        tool: tool_call(row)?,
        user_id: row.optional_text("user_id")?,
        session_id: row.optional_text("session_id")?,
        created_at_ms: row.number("created_at_ms")?,
        rules_version: row.optional_number("rules_version")?,
        status: from_word(row.raw("status")?)?,
        flagged_guardrails: row.flag("flagged_guardrails")?,
        flagged_custom_policy: row.flag("flagged_custom_policy")?,
        flagged_dataclean: row.flag("flagged_dataclean")?,
        token_count: row.count("token_count")?,
        severity: row.optional_raw("severity")?.map(from_word).transpose()?,
        types: from_json(row.raw("types")?)?,
        failed: row.flag("failed")?,
        incomplete: row.flag("incomplete")?,
        blocked: row.flag("blocked")?,
        unchecked: row.flag("unchecked")?,
        cost: call_cost(row)?,
        call: row.optional_raw("call_facts")?.map(from_json).transpose()?,
        token: row.optional_text("token_name")?,
        total_us: row.count("total_us")?,
        bytes: row.count("bytes")?,
    })
}

/// The column `usage`. Where SQLite counts sums, it reads the names out of it.
#[derive(Serialize, Deserialize)]
struct UsageColumn {
    #[serde(flatten)]
    usage: Usage,
    #[serde(flatten)]
    counted_as: SumNames,
}

fn usage_column(cost: &CallCost) -> Result<String, StoreError> {
    json(&UsageColumn {
        usage: cost.usage,
        counted_as: cost.counted_as.clone(),
    })
}

/// The tokens and the cost of a record's call, if it is the answer of a model.
fn call_cost(row: &impl Columns) -> Result<Option<CallCost>, StoreError> {
    let Some(usage) = row.optional_raw("usage")? else {
        return Ok(None);
    };
    let UsageColumn { usage, counted_as } = from_json(usage)?;
    let amount = row.optional_number("cost")?;
    Ok(Some(CallCost {
        model: row.optional_text("model")?,
        usage,
        priced: row.optional_raw("priced")?.map(from_word).transpose()?,
        amount: amount.map(|units| Amount::of_units(units.into())),
        currency: row.optional_text("currency")?,
        counted_as,
    }))
}

/// The tool call of a record, if it is a part of one.
fn tool_call(row: &impl Columns) -> Result<Option<ToolCall>, StoreError> {
    let Some(name) = row.optional_text("tool_name")? else {
        return Ok(None);
    };
    let call_id = row.text("tool_call_id")?;
    Ok(Some(ToolCall { name, call_id }))
}

/// A whole record, from its summary and the columns of `record_bodies`.
pub(crate) fn stored(
    summary: RecordSummary,
    body: &impl Columns,
) -> Result<StoredRecord, StoreError> {
    let inline_rules = body.optional_raw("inline_rules")?;
    let tool_parts = body.optional_raw("tool_parts")?;
    Ok(StoredRecord {
        summary,
        message: body.optional_text("message")?,
        additional_parameters: from_json(body.raw("additional_parameters")?)?,
        inline_rules: inline_rules.map(from_json).transpose()?,
        tool_parts: tool_parts.map(from_json).transpose()?.unwrap_or_default(),
        answer: answer(body)?,
    })
}

/// A line of a list, from its summary and what is read of its texts.
pub(crate) fn line(summary: RecordSummary, text: &impl Columns) -> Result<RecordLine, StoreError> {
    #[derive(Deserialize)]
    struct Errors {
        #[serde(default)]
        errors: Vec<String>,
    }
    let Errors { errors } = from_json(text.raw("answer")?)?;
    Ok(RecordLine {
        summary,
        beginning: text.optional_text("beginning")?,
        finds: text.optional_raw("finds")?.map(from_json).transpose()?,
        has_original: text.flag("has_original")?,
        errors,
    })
}

/// The answer to the caller, from the columns of `record_bodies`.
pub(crate) fn answer(body: &impl Columns) -> Result<AnalysisResponse, StoreError> {
    let mut answer: AnalysisResponse = from_json(body.raw("answer")?)?;
    answer.dataclean.cleaned_text = body.optional_text("cleaned_text")?.map(Arc::from);
    answer.dataclean.entities = from_json(body.raw("entities")?)?;
    Ok(answer)
}

/// A session, from the columns of `sessions`.
pub(crate) fn session(row: &impl Columns) -> Result<SessionSummary, StoreError> {
    Ok(SessionSummary {
        application_id: ApplicationId(row.id("application_id")?),
        session_id: row.text("session_id")?,
        user_id: row.optional_text("user_id")?,
        first_ms: row.number("first_ms")?,
        last_ms: row.number("last_ms")?,
        messages: row.count("messages")?,
        flagged: row.count("flagged")?,
        tokens: row.count("tokens")?,
    })
}

/// The wire name of an enum variant without content.
fn word(value: &impl Serialize) -> Result<String, StoreError> {
    Ok(json(value)?.trim_matches('"').to_owned())
}

/// The enum variant with this wire name.
pub(crate) fn from_word<T: DeserializeOwned>(word: &str) -> Result<T, StoreError> {
    serde_json::from_value(word.into()).map_err(|_| StoreError::Unreadable("record"))
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::Unreadable("record"))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable("record"))
}
