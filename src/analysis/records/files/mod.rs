//! Stores, links and removes the files of records (CONTRACT 29). `attachments` decides who may do it and
//! analyzes their texts.

pub(crate) mod file_room;
pub(super) mod file_text;
pub(crate) mod upload_room;

use crate::analysis::error::ApiError;
use crate::config::AttachmentSettings;
use crate::observe::clock::settled_ms;
use crate::observe::events::FileStorageFailed;
use monitor_store::{
    AttachTarget, Attached, Attachment, AttachmentStore, BlobError, BlobHash, BlobStore,
    NewAttachment, REMOVAL, Received, StoreError,
};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use uuid::Uuid;

/// Attempts to link a file whose bytes are being removed at that moment, and the wait after each.
const TRIES: u32 = 20;
const WAIT: Duration = Duration::from_millis(50);
/// The number is `monitor_store::MOST_FILES`.
const TOO_MANY: &str = "attached_files: the record has 256 files, as many as it may have";
/// Files whose bytes are removed in one step.
const STEP: u32 = 100;

/// A file, and whether it waits for its record.
pub(crate) struct Linked {
    pub(crate) file: Attachment,
    pub(crate) waits: bool,
}

/// The blobs, and their links in the store.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) store: Arc<dyn AttachmentStore>,
    pub(crate) blobs: BlobStore,
    pub(crate) limits: AttachmentSettings,
}

impl Files {
    /// Links a file to a record, or lets it wait for one; durable when this returns. Returns the existing link,
    /// which may be an earlier one.
    pub(crate) async fn link(
        &self,
        to: &AttachTarget,
        received: &Received,
        file: Attachment,
    ) -> Result<Linked, ApiError> {
        for _ in 0..TRIES {
            let waits = match self.try_link(to, received, &file).await? {
                Attached::New => false,
                Attached::Waiting => true,
                Attached::Before { file, waits } => {
                    let file = *file;
                    return Ok(Linked { file, waits });
                }
                Attached::NoRecord => return Err(ApiError::NotFound),
                Attached::Erased => return Err(ApiError::ExchangeErased),
                Attached::TooMany => return Err(ApiError::Conflict(TOO_MANY)),
                Attached::TooManyWaiting => return Err(ApiError::TooManyWaiting),
                Attached::BlobGone => {
                    tokio::time::sleep(WAIT).await;
                    continue;
                }
            };
            return Ok(Linked { file, waits });
        }
        Err(ApiError::StoreDown)
    }

    async fn try_link(
        &self,
        to: &AttachTarget,
        received: &Received,
        attachment: &Attachment,
    ) -> Result<Attached, ApiError> {
        let mut ticket = None;
        if attachment.kept {
            let (hash, size) = (attachment.hash, attachment.size);
            let (offered, _) = Uuid::new_v4().as_u64_pair();
            ticket = self
                .store
                .claim_blob(hash, size, offered.cast_signed())
                .await?;
            if ticket.is_none() {
                return Ok(Attached::BlobGone);
            }
            self.blobs.keep(received).await?;
        }
        let new = NewAttachment {
            to: to.clone(),
            ticket,
            attachment: attachment.clone(),
        };
        Ok(self.store.attach(new).await?)
    }

    /// Removes the files that have waited for too long for a message that has not been analyzed.
    pub(crate) async fn expire_waiting(&self) -> Result<u64, StoreError> {
        let longest = i64::try_from(self.limits.waiting_for.as_millis()).unwrap_or(i64::MAX);
        let before_ms = settled_ms().saturating_sub(longest);
        self.store.expire_waiting(before_ms).await
    }

    /// Removes the bytes that no record links to, step by step.
    pub(crate) async fn collect(&self) -> Result<(), StoreError> {
        loop {
            let hashes = self.store.unlinked_blobs(STEP).await?;
            if hashes.is_empty() {
                return Ok(());
            }
            // Half of the allowed time: an upload in progress then arrives within the other half.
            let removed = timeout(REMOVAL / 2, self.remove(&hashes)).await;
            removed.map_err(|_| failed(&"files are removed too slowly"))??;
            self.store.forget_blobs(hashes).await?;
        }
    }

    async fn remove(&self, hashes: &[BlobHash]) -> Result<(), StoreError> {
        for hash in hashes {
            let removed = self.blobs.remove(*hash).await;
            removed.map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

/// A failure to remove files, reported.
fn failed(error: &dyn Display) -> StoreError {
    FileStorageFailed { error }.emit();
    StoreError::Files(error.to_string())
}

impl From<BlobError> for ApiError {
    fn from(error: BlobError) -> Self {
        FileStorageFailed { error: &error }.emit();
        Self::StoreDown
    }
}
