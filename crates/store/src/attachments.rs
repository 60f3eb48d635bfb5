//! Attachments of records (CONTRACT 29): what the link from a file to its record says, and the trait that
//! stores it. The bytes are `blobs`.

use crate::error::StoreError;
use crate::exchanges::Exchange;
use async_trait::async_trait;
use monitor_model::TypeCount;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use utoipa::ToSchema;

/// SHA-256 of a file; 64 hexadecimal digits on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash(pub [u8; 32]);

impl BlobHash {
    /// The hash out of its column.
    pub(crate) fn from_column(bytes: &[u8]) -> Result<Self, StoreError> {
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

/// How much of a file's text was analyzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scanned {
    /// All of it.
    Whole,
    /// Its beginning, up to a limit.
    Part,
    /// Nothing: the text of this type cannot be extracted, or the file does not match its type.
    No,
    /// The analysis failed.
    Failed,
}

/// Why no text could be extracted from a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extraction {
    /// It does not follow its format.
    Malformed,
    /// It needs a password.
    Encrypted,
    /// It exceeds the size limit.
    TooLarge,
    /// Extraction took too long.
    TimedOut,
    /// Extraction crashed or needed too much memory.
    Failed,
}

/// What was found in a file's text; never the text itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// How much of the text was analyzed.
    pub scanned: Scanned,
    /// Why a document gave no text, if it should have given some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extraction: Option<Extraction>,
    /// Finds by entity type.
    pub types: Vec<TypeCount>,
}

/// A file attached to a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The hash under which the bytes are stored.
    pub hash: BlobHash,
    /// The file name that the caller gave; text, never a path.
    pub name: String,
    /// The media type that the caller stated.
    pub kind: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether the bytes are stored; false if the application keeps no originals.
    pub kept: bool,
    /// What was found in its text.
    pub findings: Findings,
    /// When it was attached, milliseconds since 1970.
    pub attached_at_ms: i64,
}

/// What a file is attached to.
#[derive(Clone, Debug)]
pub enum AttachTarget {
    /// The record at this position ([`crate::RecordSummary::seq`]).
    Record(i64),
    /// The record of an exchange. If it has not arrived yet, the file waits for it.
    Exchange(Exchange, WaitingLimits),
}

/// The most files of one record.
pub const MOST_FILES: u32 = 256;

/// How many files of one application may wait for their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingLimits {
    /// Number of files.
    pub files: u64,
    /// Bytes of those that are stored.
    pub bytes: u64,
}

impl WaitingLimits {
    /// Whether another file of this size may wait beside so many that do.
    pub(crate) fn allow(self, files: u64, bytes: u64, new: &Attachment) -> bool {
        let more = if new.kept { new.size } else { 0 };
        files < self.files && bytes.saturating_add(more) <= self.bytes
    }
}

/// A link to create.
#[derive(Clone, Debug)]
pub struct NewAttachment {
    /// The record, or the exchange that it belongs to.
    pub to: AttachTarget,
    /// The ticket that [`AttachmentStore::claim_blob`] returned, if the bytes are stored.
    pub ticket: Option<i64>,
    /// The file to link.
    pub attachment: Attachment,
}

/// The outcome of creating a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    /// The link was created.
    New,
    /// The file waits for the record of its exchange.
    Waiting,
    /// The record, or its exchange, already had this file under this name.
    Before {
        /// As it was attached first.
        file: Box<Attachment>,
        /// Whether it still waits for the record.
        waits: bool,
    },
    /// The record, or its exchange, has as many files as it may have.
    TooMany,
    /// Too many files of the application wait for their records.
    TooManyWaiting,
    /// The user of the exchange was erased: no record of it will arrive.
    Erased,
    /// The record does not exist any more.
    NoRecord,
    /// The bytes were removed since they were claimed: claim and write them again.
    BlobGone,
}

/// Time for removing the bytes that one call of [`AttachmentStore::unlinked_blobs`] returned.
pub const REMOVAL: Duration = Duration::from_secs(120);

/// [`REMOVAL`] in milliseconds.
pub(crate) fn removal_ms() -> i64 {
    i64::try_from(REMOVAL.as_millis()).unwrap_or(i64::MAX)
}

/// Links from files to records.
///
/// Bytes are written before their link and removed after it. A writer claims the hash, writes the bytes and
/// links them under the ticket of the claim; removing the bytes in between invalidates the ticket.
#[async_trait]
pub trait AttachmentStore: Send + Sync {
    /// Announces that the bytes of this hash are about to be written. Returns the ticket of an earlier
    /// claim, or else the one offered; None while the bytes are being removed, for [`REMOVAL`] at most.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn claim_blob(
        &self,
        hash: BlobHash,
        size: u64,
        ticket: i64,
    ) -> Result<Option<i64>, StoreError>;

    /// Links a file to a record. A record links to the same bytes under one name once.
    async fn attach(&self, new: NewAttachment) -> Result<Attached, StoreError>;

    /// Removes the links of files that have waited since before this time (milliseconds since 1970) for a
    /// record that has not arrived; returns how many.
    async fn expire_waiting(&self, before_ms: i64) -> Result<u64, StoreError>;

    /// The files of the record at this position, in the order in which they were attached.
    async fn attachments(&self, seq: i64) -> Result<Vec<Attachment>, StoreError>;

    /// Up to `limit` hashes that no record links to. The caller alone may remove their bytes: until it
    /// calls [`AttachmentStore::forget_blobs`], or [`REMOVAL`] has passed, no other caller gets these
    /// hashes or can claim them.
    async fn unlinked_blobs(&self, limit: u32) -> Result<Vec<BlobHash>, StoreError>;

    /// Confirms that the bytes of these hashes were removed.
    async fn forget_blobs(&self, hashes: Vec<BlobHash>) -> Result<(), StoreError>;
}
