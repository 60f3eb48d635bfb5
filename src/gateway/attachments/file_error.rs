//! Why a file of a call is skipped (§7.3.2). The texts are logged, so they hold nothing of the file, its name
//! or its URL, which may be secret.

use crate::backend::AttachError;
use crate::observe::AttachmentOutcome;
use thiserror::Error;

/// The error of one file; the other files of the call are not affected.
#[derive(Debug, Error)]
pub(super) enum FileError {
    #[error("{0}")]
    Malformed(&'static str),
    #[error("a call may list at most 64 files")]
    TooMany,
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("{0}")]
    Unreachable(&'static str),
    #[error("{0}")]
    Status(u16),
    #[error("larger than files.max_bytes")]
    TooLarge,
    #[error("no memory for it within limits.buffered_bytes")]
    NoMemory,
    #[error("{0}")]
    Late(&'static str),
    #[error("{0}")]
    Backend(#[from] AttachError),
}

impl FileError {
    /// The label of the metric that counts it.
    pub(super) fn outcome(&self) -> AttachmentOutcome {
        match self {
            Self::Malformed(_) => AttachmentOutcome::Malformed,
            Self::TooMany => AttachmentOutcome::TooMany,
            Self::Forbidden(_) => AttachmentOutcome::Forbidden,
            Self::Unreachable(_) => AttachmentOutcome::Unreachable,
            Self::Status(_) => AttachmentOutcome::Status,
            Self::TooLarge => AttachmentOutcome::TooLarge,
            Self::NoMemory => AttachmentOutcome::Dropped,
            Self::Late(_) => AttachmentOutcome::Late,
            Self::Backend(AttachError::Refused(_)) => AttachmentOutcome::Refused,
            Self::Backend(AttachError::Unavailable(_) | AttachError::Failed(_)) => {
                AttachmentOutcome::Undelivered
            }
        }
    }
}
