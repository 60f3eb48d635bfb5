//! Messages of an earlier time, for a store that is filled and not sent to.

use super::{BuiltRecord, Written};
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use crate::analysis::ingest::Ingest;
use crate::analysis::ingest::request::{ProcessInput, ProcessRequest};
use crate::fair_queue::Urgency;
use monitor_model::Stage;

/// A message that was received at an earlier time.
pub(crate) struct EarlierMessage {
    pub(crate) stage: Stage,
    /// Milliseconds since 1970.
    pub(crate) at_ms: i64,
    pub(crate) input: ProcessInput,
}

/// A record that was handed to the store.
pub(crate) struct EarlierRecord {
    /// The policy of its application blocks it.
    pub(crate) blocked: bool,
    /// Ends once it is stored.
    pub(crate) durable: Written,
}

impl Ingest {
    /// Analyzes a message as if it came in at its time, and hands its record to the store, which has records in the
    /// order of these calls.
    ///
    /// # Errors
    /// [`ApiError`]: application, field, store.
    pub(crate) async fn process_earlier(
        &self,
        caller: &Caller,
        message: EarlierMessage,
    ) -> Result<EarlierRecord, ApiError> {
        let EarlierMessage {
            stage,
            at_ms,
            input,
        } = message;
        let request = ProcessRequest {
            stage,
            input,
            validation: None,
            tool: None,
            urgency: Urgency::Deferred,
        };
        let built = self.build_record_at(caller, request, Some(at_ms)).await?;
        let BuiltRecord {
            mut record,
            pending,
            ..
        } = built;
        pending.complete(&mut record).await;
        Ok(EarlierRecord {
            blocked: record.blocked,
            durable: self.begin_insert(record).await?,
        })
    }
}
