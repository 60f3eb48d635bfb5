//! Erasing a user: the records with their texts and files go, statistics stay, and a tombstone
//! refuses what comes late, from whatever spool, for good. A caller that hands in such a record gets
//! its verdict with a warning, and nothing is kept: a refusal would put it into dead letters, text and
//! all.

use super::Service;
use super::audit::{Action, Target};
use super::authority::Caller;
use super::clock::now_ms;
use super::error::{ApiError, FieldProblem};
use monitor_model::{AnalysisResponse, ApplicationId};
use monitor_store::{Durable, Erased, Erasure, StoreError};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

/// What a verdict says of a record that was not kept.
pub(super) const WARNING: &str = "erased: this user's records were erased, nothing was kept";

/// What was removed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Receipt {
    records: u64,
    attachments: u64,
    tombstone_id: Uuid,
    at_ms: i64,
}

impl Service {
    /// Removes everything of a user, of one application or of all that the caller reaches. Can be
    /// repeated: it goes on where it was broken off.
    pub(super) async fn erase(
        &self,
        caller: &Caller,
        user_id: String,
        application: Option<ApplicationId>,
    ) -> Result<Receipt, ApiError> {
        if user_id.is_empty() {
            return Err(FieldProblem::new("user_id", "must not be empty").into());
        }
        let mut erasure = Erasure {
            id: Uuid::new_v4(),
            user_id,
            application_id: caller.narrow(application)?,
            at_ms: now_ms(),
        };
        // First, so that nothing comes in behind the steps.
        erasure.id = self.store.add_tombstone(&erasure).await?;
        let gone = self.erase_all(&erasure).await?;
        self.files.collect().await?;
        self.audited(
            caller,
            Action::RecordsErase,
            Target::Tombstone(erasure.id, erasure.application_id),
            json!({"records": gone.records, "attachments": gone.attachments}),
        )
        .await?;
        Ok(Receipt {
            records: gone.records,
            attachments: gone.attachments,
            tombstone_id: erasure.id,
            at_ms: erasure.at_ms,
        })
    }

    /// Step by step until nothing is left.
    async fn erase_all(&self, erasure: &Erasure) -> Result<Erased, StoreError> {
        let mut gone = Erased::default();
        loop {
            let step = self.store.erase_step(erasure).await?;
            if step.records == 0 {
                return Ok(gone);
            }
            gone.records += step.records;
            gone.attachments += step.attachments;
        }
    }
}

/// The answer of a record that the store was given: its own where the record's user was erased.
pub(super) fn settle(
    kept: Result<AnalysisResponse, StoreError>,
    own: AnalysisResponse,
) -> Result<AnalysisResponse, StoreError> {
    match kept {
        Err(StoreError::Erased) => Ok(AnalysisResponse {
            warnings: [own.warnings, vec![WARNING.to_owned()]].concat(),
            ..own
        }),
        other => other,
    }
}

/// A record that is refused for its user is as good as kept: nobody is to hand it in again.
pub(super) fn settle_later(begun: Result<Durable, StoreError>) -> Result<Durable, StoreError> {
    let as_kept = |kept| match kept {
        Err(StoreError::Erased) => Ok(()),
        other => other,
    };
    match begun {
        Ok(durable) => Ok(Box::pin(async move { as_kept(durable.await) })),
        Err(StoreError::Erased) => Ok(Box::pin(std::future::ready(Ok(())))),
        Err(error) => Err(error),
    }
}
