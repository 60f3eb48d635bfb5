//! Reads by the identifier of an exchange (CONTRACT 48): the stored verdict on one of its messages, and the tools
//! that were called in it.

use super::Records;
use super::masking::{CleanedRecord, cleaned};
use super::queries::hide_chain;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::{Stage, stored_id};
use monitor_store::{Exchange, RecordSummary};

/// The most parts of tool calls that are shown beside an exchange.
const MOST_TOOL_PARTS: u32 = 100;

/// A message of an exchange, as a caller names it.
pub(crate) struct ExchangeName {
    /// What its sender put into `additional_parameters.request_id`.
    pub(crate) id: String,
    pub(crate) stage: Stage,
    /// None stands for the application that the token is bound to.
    pub(crate) application_id: Option<String>,
}

impl Records {
    /// The record of a message, if it has arrived and the caller may know of it.
    pub(crate) async fn message_of(
        &self,
        caller: &Caller,
        name: ExchangeName,
    ) -> Result<RecordSummary, ApiError> {
        let named = name.application_id.as_deref();
        let application = self.application_cache.resolve(named, caller).await?;
        let exchange = Exchange {
            application_id: application.id,
            id: stored_id(&name.id).into_owned(),
            stage: name.stage,
        };
        let exchanges = self.exchanges.clone();
        let read = async move { exchanges.message_of(&exchange).await };
        let found = self.reads.look_up(caller, read).await?;
        found.ok_or(ApiError::NotArrived)
    }

    /// The parts of tool calls in the exchange of a record, oldest first: those that the caller may read, and not
    /// the record itself. Without their originals.
    pub(crate) async fn tool_calls(
        &self,
        caller: &Caller,
        beside: &RecordSummary,
    ) -> Result<Vec<CleanedRecord>, ApiError> {
        let Some(exchange) = beside.exchange_id.clone() else {
            return Ok(Vec::new());
        };
        let (exchanges, application) = (self.exchanges.clone(), beside.application_id);
        let read = async move {
            let parts = exchanges.tool_calls(application, &exchange, MOST_TOOL_PARTS);
            parts.await
        };
        let mut found = self.reads.read(caller, read).await?;
        found.retain(|part| part.summary.id != beside.id);
        let parts = found.into_iter().map(|mut part| {
            hide_chain(caller, &mut part);
            cleaned(caller, part)
        });
        Ok(parts.collect())
    }
}
