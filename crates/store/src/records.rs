//! Analysis records (§2.9 `request_id`): what goes in, what a list shows, what comes out whole.

use crate::chain::ChainEntry;
use crate::costs::CallCost;
use crate::error::StoreError;
use crate::found_values::{FoundValue, SameValues, ValueFilter};
use crate::record_filter::RecordFilter;
use crate::sessions::{LIST_PAGE_BYTES, SessionFilter, SessionSummary};
use async_trait::async_trait;
use monitor_model::{
    AnalysisResponse, ApplicationId, CallFacts, CheckedParts, RecordId, Severity, Stage, Status,
    TypeCount, Warning,
};
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;

/// Resolves once a record that was handed over is durable, or with the reason why it was not stored.
pub type Durable = Pin<Box<dyn Future<Output = Result<Insertion, StoreError>> + Send>>;

/// The tool call that a record belongs to. Its arguments are what a model said, an answer; its result is what
/// a model reads, a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool's name, as it may be stored.
    pub name: String,
    /// Identifies the call within its exchange.
    pub call_id: String,
}

/// A record to store. Its id is the answer's `request_id`.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// The application it belongs to.
    pub application_id: ApplicationId,
    /// `user_prompt` or `llm_answer`.
    pub stage: Stage,
    /// `additional_parameters.request_id`: the exchange, and the idempotency key (CONTRACT 5, 23).
    pub exchange_id: Option<String>,
    /// The tool call whose arguments (an answer) or result (a prompt) it is; None for a message.
    pub tool: Option<ToolCall>,
    /// The end user: `additional_parameters.user_id`.
    pub user_id: Option<String>,
    /// The conversation: `additional_parameters.session_id`.
    pub session_id: Option<String>,
    /// When it was received, milliseconds since 1970.
    pub created_at_ms: i64,
    /// Version of the application that judged it (CONTRACT 38); None if the request carried its own rules,
    /// which §4.4 allows.
    pub rules_version: Option<i64>,
    /// The rules that the request carried, as JSON, so that the verdict can be explained later.
    pub inline_rules: Option<Value>,
    /// Whether the application's policy blocks this verdict (CONTRACT 12 and 15).
    pub blocked: bool,
    /// Whether sync mode let it pass without a verdict (CONTRACT 13).
    pub unchecked: bool,
    /// The original message, only if the application keeps originals.
    pub message: Option<Arc<str>>,
    /// As received, including keys that this program does not know.
    pub additional_parameters: Map<String, Value>,
    /// The calls of tools in an answer, or their results in a prompt.
    pub tool_parts: CheckedParts,
    /// Its sequence number at the gateway that registered it (CONTRACT 5).
    pub chain: Option<ChainEntry>,
    /// The tokens and the cost of its call; None of a record that is not the answer of a model.
    pub cost: Option<CallCost>,
    /// What is known of its call.
    pub call: Option<CallFacts>,
    /// The name that the access key of its sender had then.
    pub token: Option<String>,
    /// The answer to the caller.
    pub answer: AnalysisResponse,
    /// What was found in it, as hashes: at most [`crate::MOST_FOUND_VALUES`].
    pub found_values: Vec<FoundValue>,
}

impl NewRecord {
    /// Whether the exchange failed (CONTRACT 17).
    pub fn failed(&self) -> bool {
        self.additional_parameters
            .get("error")
            .is_some_and(|error| !error.is_null())
    }

    /// Whether the text is only a part of the message (CONTRACT 17).
    pub fn incomplete(&self) -> bool {
        self.additional_parameters.get("incomplete") == Some(&Value::Bool(true))
    }
}

/// What became of a record that was handed over.
#[derive(Clone, Debug)]
pub enum Insertion {
    /// It is stored.
    New,
    /// It is stored under an exchange id of its own, with this warning: another record has its id.
    Apart(Warning),
    /// It is not stored: there is this record of the same application, exchange and stage, or tool call.
    Earlier(Box<EarlierRecord>),
}

/// A record that was stored before one of the same application, exchange and stage, or tool call.
#[derive(Clone, Debug)]
pub struct EarlierRecord {
    /// The answer to its caller.
    pub answer: AnalysisResponse,
    /// Whether the policy of that time blocks its verdict.
    pub blocked: bool,
    /// Its text is another one. False if what is stored does not tell.
    pub has_other_text: bool,
}

/// What a list shows of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSummary {
    /// Position in the store's order, and cursor of [`RecordFilter::before`]. The order is that of receipt or
    /// that of insertion; the two differ for records delivered late and between servers with different clocks.
    pub seq: i64,
    /// The record's id, the answer's `request_id`.
    pub id: RecordId,
    /// The application it belongs to.
    pub application_id: ApplicationId,
    /// `user_prompt` or `llm_answer`.
    pub stage: Stage,
    /// The exchange that prompt and answer share.
    pub exchange_id: Option<String>,
    /// The tool call whose arguments (an answer) or result (a prompt) it is; None for a message.
    pub tool: Option<ToolCall>,
    /// The end user.
    pub user_id: Option<String>,
    /// The conversation, see [`SessionSummary`].
    pub session_id: Option<String>,
    /// When it was received, milliseconds since 1970.
    pub created_at_ms: i64,
    /// Version of the application that judged it; None if the request carried its own rules.
    pub rules_version: Option<i64>,
    /// The answer's `status` (§2.9).
    pub status: Status,
    /// The answer's `guardrails.flagged` (§2.9).
    pub flagged_guardrails: bool,
    /// The answer's `custom_policy.flagged` (§2.9).
    pub flagged_custom_policy: bool,
    /// The answer's `dataclean.flagged` (§2.9).
    pub flagged_dataclean: bool,
    /// The answer's `tokens.count` (§2.9).
    pub token_count: u64,
    /// The answer's `tokens.usage_severity` (§2.9).
    pub severity: Option<Severity>,
    /// The answer's `dataclean.types` (§2.9).
    pub types: Vec<TypeCount>,
    /// Whether the exchange failed.
    pub failed: bool,
    /// Whether the text is only a part of the message.
    pub incomplete: bool,
    /// Whether the application's policy blocks this verdict.
    pub blocked: bool,
    /// Whether sync mode let it pass without a verdict; false of a record that was stored before this was.
    pub unchecked: bool,
    /// The tokens and the cost of its call; None of a record that is not the answer of a model, or that was stored
    /// before costs were.
    pub cost: Option<CallCost>,
    /// What is known of its call; None of a record that was stored before this was.
    pub call: Option<CallFacts>,
    /// The name that the access key of its sender had then; None of a record that was stored before this was.
    pub token: Option<String>,
    /// Duration of the analysis, microseconds.
    pub total_us: u64,
    /// The size that the store counts for it: the bytes of its texts and lists, and what the store adds.
    pub bytes: u64,
}

/// A whole record.
#[derive(Clone, Debug)]
pub struct StoredRecord {
    /// What a list shows of it.
    pub summary: RecordSummary,
    /// The original message, if it was kept.
    pub message: Option<String>,
    /// As received, including keys that this program does not know.
    pub additional_parameters: Map<String, Value>,
    /// The rules that the request carried.
    pub inline_rules: Option<Value>,
    /// The calls of tools in an answer, or their results in a prompt.
    pub tool_parts: CheckedParts,
    /// The answer to the caller.
    pub answer: AnalysisResponse,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct RecordPage {
    /// The records, newest first.
    pub records: Vec<RecordSummary>,
    /// [`RecordFilter::before`] of the next page; None when this is the last one.
    pub next_before: Option<i64>,
    /// How far a search for a text went; None without such a search, and if there was nothing to examine.
    pub searched: Option<Searched>,
}

/// What a page of a search for a text examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Number of records that were examined.
    pub records: u32,
    /// When the last of them was received, milliseconds since 1970.
    pub until_ms: i64,
}

/// One page of whole records.
#[derive(Clone, Debug)]
pub struct WholePage {
    /// The records, newest first.
    pub records: Vec<StoredRecord>,
    /// [`RecordFilter::before`] of the next page; None when this is the last one.
    pub next_before: Option<i64>,
}

/// The most bytes of whole records on one page; a page always holds at least one record.
pub(crate) const WHOLE_PAGE_BYTES: u64 = 4 << 20;

/// A page of a list while its records are read, newest first.
pub(crate) struct PageInProgress {
    page: RecordPage,
    limit: usize,
    bytes: usize,
}

impl PageInProgress {
    /// An empty page for `limit` records.
    pub(crate) fn new(limit: u32) -> Self {
        let (records, next_before, searched) = (Vec::new(), None, None);
        Self {
            page: RecordPage {
                records,
                next_before,
                searched,
            },
            limit: limit as usize,
            bytes: 0,
        }
    }

    /// Adds the next record; false once the page is full, and the record shows that a next page exists.
    pub(crate) fn push(&mut self, record: RecordSummary) -> bool {
        let records = &mut self.page.records;
        self.bytes = self.bytes.saturating_add(record.listed_bytes());
        let is_full = records.len() >= self.limit || self.bytes > LIST_PAGE_BYTES;
        if let Some(last) = records.last().filter(|_| is_full) {
            self.page.next_before = Some(last.seq);
            return false;
        }
        records.push(record);
        true
    }

    /// The page as it is.
    pub(crate) fn finish(self) -> RecordPage {
        self.page
    }
}

impl RecordSummary {
    /// The names that records have.
    pub const NAMES: [&'static str; 4] =
        ["user_prompt", "llm_answer", "tool_arguments", "tool_result"];

    /// What the record is of.
    pub fn name(&self) -> &'static str {
        match (&self.tool, self.stage) {
            (None, stage) => stage.record_name(),
            (Some(_), Stage::PostCall) => "tool_arguments",
            (Some(_), Stage::PreCall) => "tool_result",
        }
    }

    /// The bytes of what has no fixed size in a list.
    fn listed_bytes(&self) -> usize {
        let ids = [&self.exchange_id, &self.user_id, &self.session_id];
        let ids: usize = ids.into_iter().flatten().map(String::len).sum();
        let tool = self.tool.as_ref();
        let model = self.cost.as_ref().and_then(|cost| cost.model.as_ref());
        ids + tool.map_or(0, |tool| tool.name.len() + tool.call_id.len())
            + model.map_or(0, String::len)
            + self.token.as_ref().map_or(0, String::len)
            + self
                .types
                .iter()
                .map(|found| found.kind.len())
                .sum::<usize>()
    }
}

impl RecordPage {
    /// The first records of the page that fit into this many bytes together, but at least one.
    pub(crate) fn within(mut self, most: u64) -> Self {
        let mut bytes = 0_u64;
        let fit = self.records.iter().take_while(|record| {
            bytes = bytes.saturating_add(record.bytes);
            bytes <= most
        });
        let fit = fit.count().max(1);
        if fit < self.records.len() {
            self.records.truncate(fit);
            self.next_before = self.records.last().map(|record| record.seq);
        }
        self
    }
}

/// Stores analysis records and lists them.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// Stores a record and returns its answer once it is durable. A second record of the same application,
    /// exchange and stage, or tool call, is not stored: the call returns the first one's answer (CONTRACT 23). A
    /// record with a number that is no repeat of the first one is stored apart from it (CONTRACT 5).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Erased`] or [`StoreError::Closed`]; the record is not stored
    /// in any of these cases.
    async fn insert(&self, record: NewRecord) -> Result<AnalysisResponse, StoreError> {
        let mut own = record.answer.clone();
        match self.insert_new(record).await? {
            Insertion::New => {}
            Insertion::Apart(warning) => own.warnings.push(warning),
            Insertion::Earlier(earlier) => return Ok(earlier.answer),
        }
        Ok(own)
    }

    /// The same for a caller that has the record's answer: gives only what an earlier record has.
    ///
    /// # Errors
    /// The same as those of [`RecordStore::insert`].
    async fn insert_new(&self, record: NewRecord) -> Result<Insertion, StoreError>;

    /// Hands a record over and returns as soon as the queue has room for it, before it is durable. Records
    /// are stored in the order in which they were handed over.
    ///
    /// # Errors
    /// As [`RecordStore::insert`], either here or from the returned future.
    async fn begin_insert(&self, record: NewRecord) -> Result<Durable, StoreError> {
        let inserted = self.insert_new(record).await?;
        Ok(Box::pin(std::future::ready(Ok(inserted))))
    }

    /// One page of the list, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError>;

    /// The whole record with this id.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError>;

    /// The whole records of a page, for exports and replays. The page may be short and still have a next
    /// one: it holds no more bytes than fit into memory at once.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn whole_page(&self, filter: &RecordFilter) -> Result<WholePage, StoreError>;

    /// One page of sessions, the one with the latest record first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionSummary>, StoreError>;

    /// One page of the records that have one of these values, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn page_by_values(&self, filter: &ValueFilter) -> Result<RecordPage, StoreError>;

    /// The values of the record at this position.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn found_values(&self, seq: i64) -> Result<Vec<FoundValue>, StoreError>;

    /// In how many other records the values of the record at this position are, by type; types whose values are in no
    /// other record are left out. Neither the values nor the records that are looked at are without end.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn same_values(&self, seq: i64) -> Result<Vec<SameValues>, StoreError>;
}
