//! What leaves a spool otherwise than to the backend (CONTRACT 23): why, and what is known of a
//! segment that goes before it was read.

use super::segment::{Next, Reader, SegmentId};
use std::path::Path;

/// Why records went without being delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// spool.max_bytes.
    Full,
    /// spool.max_age.
    Old,
    /// The disk took nothing and memory is full.
    Disk,
}

impl Loss {
    /// The label of `monitor_spool_lost_total`.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Old => "old",
            Self::Disk => "disk",
        }
    }
}

/// A segment whose file may go.
pub(super) struct Gone {
    pub(super) segment: SegmentId,
    /// Present where it is dropped before anybody knew what it holds.
    pub(super) unread: Option<Unread>,
}

/// What is known of a segment that was never read to its end.
pub(super) struct Unread {
    /// Records of it that are acknowledged, or in memory on their way.
    pub(super) known: u64,
    pub(super) loss: Loss,
}

impl Unread {
    /// Counts what is lost with the file.
    pub(super) fn lost(&self, path: &Path) -> Option<(Loss, u64)> {
        let end = std::fs::metadata(path).ok()?.len();
        let mut reader = Reader::open(path).ok()?;
        let mut frames = 0_u64;
        while let Ok(Next::Frame(_)) = reader.next(end) {
            frames += 1;
        }
        let lost = frames.saturating_sub(self.known);
        (lost > 0).then_some((self.loss, lost))
    }
}
