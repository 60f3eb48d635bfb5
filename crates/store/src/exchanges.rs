//! Exchanges: the records that carry one `additional_parameters.request_id` in one application (CONTRACT 5).
//! They are a prompt, its answer, and the arguments and results of the tools that were called in between.

use crate::error::StoreError;
use crate::records::{RecordSummary, StoredRecord};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Entity, Stage};

/// One side of an exchange, whether or not its record has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The application it belongs to.
    pub application_id: ApplicationId,
    /// `additional_parameters.request_id` of its records.
    pub id: String,
    /// Its prompt or its answer.
    pub stage: Stage,
}

/// A record as a line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLine {
    /// What a list shows of it.
    pub summary: RecordSummary,
    /// The beginning of its cleaned text; None where there is none.
    pub beginning: Option<String>,
    /// Where its cleaned text is the original itself: the finds in it.
    pub finds: Option<Vec<Entity>>,
    /// Whether the original is kept.
    pub has_original: bool,
    /// The answer's `errors` (§2.9).
    pub errors: Vec<String>,
}

/// Code points of [`RecordLine::beginning`].
pub(crate) const BEGINNING: i32 = 300;

/// Finds the records of an exchange.
#[async_trait]
pub trait ExchangeStore: Send + Sync {
    /// The prompt or the answer of an exchange.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read; the same holds for every method here.
    async fn message_of(&self, exchange: &Exchange) -> Result<Option<RecordSummary>, StoreError>;

    /// These records, and the prompts and answers of their exchanges, each once and in no order.
    async fn lines(&self, of: &[RecordSummary]) -> Result<Vec<RecordLine>, StoreError>;

    /// The arguments and results of the tools that were called in an exchange, oldest first: up to `limit`
    /// records, and no more bytes than fit into memory at once.
    async fn tool_calls(
        &self,
        application: ApplicationId,
        exchange_id: &str,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError>;
}
