//! Records of a user who was erased: the caller gets its verdict with a warning and nothing is stored. An
//! error would make the gateway move the record to its dead letters, text and all.

use super::{Met, Stored, StoredVerdict, Written};
use crate::analysis::ingest::measures::StoreTimer;
use crate::observe::ReusedId;
use monitor_model::{Warning, WarningCode};
use monitor_store::{
    Durable, EarlierRecord, ErasedExchange, Insertion, NewRecord, RecordRemoval, StoreError,
};
use std::sync::Arc;

/// What a verdict says whose record was not stored.
pub(crate) const NOT_STORED: &str = "this user's records were erased, nothing was stored";

/// The verdict of an insert: that of the stored record, or the caller's own one for an erased user.
pub(super) fn verdict_of_insert(
    stored: Result<Insertion, StoreError>,
    mut own: StoredVerdict,
) -> Result<Stored, StoreError> {
    match stored {
        Ok(Insertion::New) => {}
        Ok(Insertion::Apart(warning)) => own.answer.warnings.push(warning),
        Ok(Insertion::Earlier(earlier)) => {
            let EarlierRecord {
                answer,
                blocked,
                has_other_text,
            } = *earlier;
            return Ok(Stored {
                verdict: StoredVerdict { answer, blocked },
                met: match has_other_text {
                    true => Met::OtherText,
                    false => Met::Record,
                },
            });
        }
        Err(StoreError::Erased) => {
            let warning = Warning::new(WarningCode::UserErased, NOT_STORED);
            own.answer.warnings.push(warning);
        }
        Err(error) => return Err(error),
    }
    Ok(Stored {
        verdict: own,
        met: Met::Nothing,
    })
}

/// A record that is refused because its user was erased counts as durable: nobody is to send it again.
pub(super) fn durable_of_insert(
    begun: Result<Durable, StoreError>,
    timer: StoreTimer,
    refused: RefusedExchange,
) -> Result<Written, StoreError> {
    let or_erased = |stored| match stored {
        Err(StoreError::Erased) => Ok(()),
        other => other.map(drop),
    };
    match begun {
        Ok(durable) => Ok(Box::pin(async move {
            let stored = durable.await;
            if let Ok(insertion) = &stored {
                timer.stored(insertion);
                if let Insertion::Earlier(earlier) = insertion
                    && earlier.has_other_text
                {
                    timer.id_reused(ReusedId::NotStored);
                }
            }
            or_erased(refused.erase_if(stored).await)
        })),
        Err(StoreError::Erased) => Ok(Box::pin(async move {
            or_erased(refused.erase_if::<Insertion>(Err(StoreError::Erased)).await)
        })),
        Err(error) => Err(error),
    }
}

/// The exchange of a record that names its user. If the record is refused, parts of tool calls and files that name none
/// have nobody else.
pub(super) struct RefusedExchange {
    removal: Arc<dyn RecordRemoval>,
    exchange: Option<ErasedExchange>,
}

impl RefusedExchange {
    pub(super) fn of(record: &NewRecord, removal: &Arc<dyn RecordRemoval>) -> Self {
        let id = record.exchange_id.as_ref();
        let exchange = id.filter(|_| record.user_id.is_some());
        Self {
            removal: removal.clone(),
            exchange: exchange.map(|id| ErasedExchange {
                application_id: record.application_id,
                id: id.clone(),
                at_ms: record.created_at_ms,
            }),
        }
    }

    /// Erases the exchange if the store refused the record for its user. If that fails, the record has to be sent again.
    pub(super) async fn erase_if<T>(&self, stored: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Err(StoreError::Erased), Some(exchange)) = (&stored, &self.exchange) {
            self.removal.erase_exchange(exchange).await?;
        }
        stored
    }
}
