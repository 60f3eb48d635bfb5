//! Attachments and erasure as the rest of the program sees them (CONTRACT 29): what a file's link to
//! its record says, and the trait that keeps it. The bytes are `blobs`.

use super::StoreError;
use async_trait::async_trait;
use monitor_model::{ApplicationId, TypeCount};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

/// SHA-256 of a file; 64 hexadecimal digits on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash(pub [u8; 32]);

impl BlobHash {
    /// The hash out of its column.
    pub(super) fn from_column(bytes: &[u8]) -> Result<Self, StoreError> {
        let bytes = bytes.try_into();
        bytes
            .map(Self)
            .map_err(|_| StoreError::Unreadable("hash of a file"))
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for BlobHash {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            let digits = text.get(at..at + 2).ok_or(())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| ())?;
        }
        Ok(Self(bytes))
    }
}

/// How far the text of a file was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scanned {
    /// All of it.
    Whole,
    /// Its beginning, up to a bound.
    Part,
    /// None of it: no type whose text can be read, or not the text that the type promises.
    No,
    /// The analysis failed.
    Failed,
}

/// Why a document gave no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extraction {
    /// It is not of its format.
    Malformed,
    /// It needs a password.
    Encrypted,
    /// It is larger than what is read.
    TooLarge,
    /// It takes too long.
    TimedOut,
    /// Reading it broke off, or needs too much memory.
    Failed,
}

/// What was found in a file's text, never the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// How far it was looked at.
    pub scanned: Scanned,
    /// Why it gave no text, where it is a document that should have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extraction: Option<Extraction>,
    /// Finds by entity type.
    pub types: Vec<TypeCount>,
}

/// A file of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// What it is stored under.
    pub hash: BlobHash,
    /// As the caller named it: text, never a path.
    pub name: String,
    /// Its media type, as the caller said.
    pub kind: String,
    /// Bytes.
    pub size: u64,
    /// Whether its bytes are kept; not where the application keeps no originals.
    pub kept: bool,
    /// What was found in its text.
    pub findings: Findings,
    /// When it was attached, milliseconds since 1970.
    pub attached_at_ms: i64,
}

/// A link that is to be made.
#[derive(Clone, Debug)]
pub struct NewAttachment {
    /// The record's place ([`super::RecordSummary::seq`]).
    pub seq: i64,
    /// What [`AttachmentStore::claim_blob`] gave, where the bytes are kept.
    pub ticket: Option<i64>,
    /// The file.
    pub attachment: Attachment,
}

/// What became of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    /// It is there.
    New,
    /// The record has had this file before.
    Before,
    /// The record is gone.
    NoRecord,
    /// The bytes were removed since they were claimed: claim and write them again.
    BlobGone,
}

/// Whose records go (issue: erasure). No application is every one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Names the tombstone.
    pub id: Uuid,
    /// The end user.
    pub user_id: String,
    /// Only of this application.
    pub application_id: Option<ApplicationId>,
    /// When it was asked for, milliseconds since 1970.
    pub at_ms: i64,
}

impl Erasure {
    /// What a tombstone knows a user by.
    pub(super) fn user_hash(user_id: &str) -> [u8; 32] {
        Sha256::new()
            .chain_update("erased user\0")
            .chain_update(user_id)
            .finalize()
            .into()
    }
}

/// What one step, or all of them, removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Records, with their texts.
    pub records: u64,
    /// Links of files to them.
    pub attachments: u64,
}

/// Time for removing the bytes that one call of [`AttachmentStore::unlinked_blobs`] gave.
pub const REMOVAL: Duration = Duration::from_secs(120);

/// Links of files to records, and the erasure of a user's records.
///
/// Bytes are written before their link and removed after it: who keeps bytes claims their hash, writes
/// them, and links them under the claim's ticket, which no longer fits when they were removed between.
#[async_trait]
pub trait AttachmentStore: Send + Sync {
    /// Says that the bytes of this hash are about to be written. Gives the ticket of an earlier claim,
    /// else the one offered; None while the bytes are being removed, for [`REMOVAL`] at most.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; so for every method here that changes it.
    async fn claim_blob(
        &self,
        hash: BlobHash,
        size: u64,
        ticket: i64,
    ) -> Result<Option<i64>, StoreError>;

    /// Links a file to a record. One file of one record is one link.
    async fn attach(&self, new: NewAttachment) -> Result<Attached, StoreError>;

    /// The files of the record at this place, in the order in which they came.
    async fn attachments(&self, seq: i64) -> Result<Vec<Attachment>, StoreError>;

    /// Hashes that no record has a link to, at most so many, for the caller alone to remove: until
    /// they are forgotten, or [`REMOVAL`] is over, nobody else is told them, and nobody claims them.
    async fn unlinked_blobs(&self, limit: u32) -> Result<Vec<BlobHash>, StoreError>;

    /// The bytes of these are gone.
    async fn forget_blobs(&self, hashes: Vec<BlobHash>) -> Result<(), StoreError>;

    /// Refuses records of this user from now on ([`StoreError::Erased`]). Gives the identifier of the
    /// tombstone that does, which may be an earlier one.
    async fn add_tombstone(&self, erasure: &Erasure) -> Result<Uuid, StoreError>;

    /// Removes some of the user's records with all that belongs to them; nothing is left to do when
    /// it removed none.
    async fn erase_step(&self, erasure: &Erasure) -> Result<Erased, StoreError>;
}
