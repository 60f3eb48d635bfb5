//! Erases a user: records with their texts and files are removed, statistics stay, and a tombstone refuses
//! later records of the user for good, from whatever spool. Their callers are answered by
//! `ingest::process::erased_users`.

use super::Records;
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use monitor_model::{ApplicationId, stored_id};
use monitor_store::{Erased, Erasure, StoreError};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

/// What was erased.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Receipt {
    pub(crate) records: u64,
    /// Links from records to files; a file is removed with its last link.
    pub(crate) attachments: u64,
    /// The tombstone that refuses later records; the same if the call is repeated.
    pub(crate) tombstone_id: Uuid,
    /// Milliseconds since 1970.
    at_ms: i64,
}

impl Records {
    /// Erases everything of a user, of one application or of all that the caller reaches. It can be
    /// repeated and continues where it was interrupted.
    pub(crate) async fn erase(
        &self,
        caller: &Caller,
        user_id: String,
        application: Option<ApplicationId>,
    ) -> Result<Receipt, ApiError> {
        if user_id.is_empty() {
            return Err(FieldProblem::new("user_id", "must not be empty").into());
        }
        let stored = stored_id(&user_id);
        let mut receipt = self
            .erase_id(caller, stored.to_string(), application)
            .await?;
        if stored != user_id {
            // An earlier release stored it whole.
            let whole = self.erase_id(caller, user_id, application).await?;
            receipt.records += whole.records;
            receipt.attachments += whole.attachments;
        }
        Ok(receipt)
    }

    /// Ends the refusal of an erased user's records. What was erased stays erased.
    pub(crate) async fn readmit(&self, caller: &Caller, tombstone: Uuid) -> Result<bool, ApiError> {
        let target = Target::Tombstone(tombstone, None);
        let action = self.audit.admit(caller, Action::RecordsReadmit)?;
        let entry = action.entry(caller, target, json!({}));
        let removed = self.tombstones.remove_tombstone(tombstone, Some(entry));
        Ok(removed.await?)
    }

    async fn erase_id(
        &self,
        caller: &Caller,
        user_id: String,
        application: Option<ApplicationId>,
    ) -> Result<Receipt, ApiError> {
        let mut erasure = Erasure {
            id: Uuid::new_v4(),
            user_id,
            application_id: caller.narrow(application)?,
            at_ms: now_ms(),
        };
        let entry = |erasure: &Erasure, details| {
            let target = Target::Tombstone(erasure.id, erasure.application_id);
            Action::RecordsErase.entry(caller, target, details)
        };
        self.audit.admit(caller, Action::RecordsErase)?;
        let begun = entry(&erasure, json!({"incomplete": true}));
        // The tombstone first, so that no record is added behind the steps.
        erasure.id = self.tombstones.add_tombstone(&erasure, Some(begun)).await?;
        let gone = self.erase_all(&erasure).await?;
        self.files.collect().await?;
        let counts = json!({"records": gone.records, "attachments": gone.attachments});
        self.audit.append(entry(&erasure, counts)).await?;
        Ok(Receipt {
            records: gone.records,
            attachments: gone.attachments,
            tombstone_id: erasure.id,
            at_ms: erasure.at_ms,
        })
    }

    /// Erases step by step until nothing is left.
    async fn erase_all(&self, erasure: &Erasure) -> Result<Erased, StoreError> {
        let mut gone = Erased::default();
        loop {
            let step = self.removal.erase_step(erasure).await?;
            if step.records == 0 {
                return Ok(gone);
            }
            gone.records += step.records;
            gone.attachments += step.attachments;
        }
    }
}
