//! When a segment is closed and which segments are dropped to keep the spool within its bounds
//! (CONTRACT 23), and what is lost with them. Pure decisions; [`super::state`] carries them out.

use super::frames::reader::{FrameReader, NextFrame};
use super::segment::{self, SegmentId};
use super::segment_index::{KnownRecords, SegmentEntry, SegmentIndex};
use super::state::shares::Share;
use crate::observe::DropReason;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Bytes after which a new segment begins.
const SEGMENT_BYTES: u64 = 16 << 20;
/// How long a segment whose records are all acknowledged stays open for new ones.
const IDLE_MS: i64 = 5_000;
/// A segment takes records for this fraction of `spool.max_age` at most: segments expire by their
/// latest record, and a long one would keep its first record for longer.
const AGE_PARTS: i64 = 8;

/// Records that left the spool undelivered; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) reason: DropReason,
    pub(super) count: u64,
}

impl Dropped {
    /// None if nothing was dropped.
    pub(super) fn new(reason: DropReason, count: u64) -> Option<Self> {
        (count > 0).then_some(Self { reason, count })
    }
}

/// A segment that is no longer in the index; the writer removes its file.
pub(super) struct Evicted {
    pub(super) segment: SegmentId,
    /// Present if the segment was dropped before it had been read to its end.
    pub(super) unread: Option<UnreadSegment>,
}

/// What is known of a segment that was dropped before it had been read to its end.
pub(super) struct UnreadSegment {
    pub(super) known: KnownRecords,
    pub(super) reason: DropReason,
}

impl Evicted {
    /// Counts the records that are lost with the file, unless they were counted when it was dropped.
    ///
    /// # Errors
    /// When the system lets no file be opened for now: they are to be counted later.
    pub(super) fn count_lost(&self, folder: &Path) -> io::Result<Option<Dropped>> {
        let Some(unread) = &self.unread else {
            return Ok(None);
        };
        let lost = match count_frames(&segment::path(folder, self.segment)) {
            // More are known than are left in a file without its end.
            Ok((frames, is_whole)) => {
                let known = unread.known.among(frames);
                frames.saturating_sub(known).max((!is_whole).into())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) if are_too_many_open(&error) => return Err(error),
            // It cannot be told how many they are: it is one at least.
            Err(_) => 1,
        };
        Ok(Dropped::new(unread.reason, lost))
    }
}

fn are_too_many_open(error: &io::Error) -> bool {
    let of_system = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    of_system
        .iter()
        .any(|refusal| error.raw_os_error() == Some(refusal.raw_os_error()))
}

/// The frames of a segment, with those that are damaged, and whether its end is there.
fn count_frames(path: &Path) -> io::Result<(u64, bool)> {
    let mut reader = FrameReader::open_sealed(path)?;
    let end = reader.length()?;
    let (mut frames, mut is_whole) = (0_u64, true);
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => {
                frames = frame.ordinal.map_or(frames, u64::from).max(frames) + 1;
            }
            NextFrame::Damaged(place) => is_whole &= place.end < end,
            // It is not known how many the end had: it was one at least.
            NextFrame::Torn(_) => return Ok((frames + 1, false)),
            NextFrame::End => return Ok((frames + u64::from(!is_whole), is_whole)),
        }
    }
}

/// The bounds of a spool's files.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvictionPolicy {
    max_bytes: u64,
    max_age_ms: i64,
}

impl EvictionPolicy {
    pub(super) fn new(max_bytes: u64, max_age: Duration) -> Self {
        Self {
            max_bytes,
            max_age_ms: i64::try_from(max_age.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Whether a segment of `bytes` takes no further record.
    pub(super) fn is_full(bytes: u64) -> bool {
        bytes >= SEGMENT_BYTES
    }

    /// Whether the segment that takes new records is to be closed at this time.
    pub(super) fn is_due(&self, entry: &SegmentEntry, now_ms: i64) -> bool {
        let part = self.max_age_ms / AGE_PARTS;
        entry.is_delivered() && now_ms - entry.last_ms() > IDLE_MS
            || entry.begun_ms().is_some_and(|at| now_ms - at > part)
    }

    /// The segment to drop because all its records exceed the age.
    pub(super) fn expired(
        &self,
        index: &SegmentIndex,
        now_ms: i64,
        aging_ms: i64,
    ) -> Option<SegmentId> {
        let (oldest, entry) = index.oldest()?;
        let now_ms = match entry.is_recovered() {
            true => aging_ms,
            false => now_ms,
        };
        (now_ms.saturating_sub(entry.last_ms()) > self.max_age_ms).then_some(oldest)
    }

    /// Whether an access key takes no further record: three quarters of the size are used, others have
    /// records too, and it has more than an equal part.
    pub(super) fn is_over_share(&self, index: &SegmentIndex, share: Share) -> bool {
        let is_nearly_full = index.bytes() > self.max_bytes / 4 * 3;
        is_nearly_full && share.holders > 1 && share.own > self.max_bytes / share.holders
    }

    /// The segment to drop because the files exceed their size.
    pub(super) fn over_size(&self, index: &SegmentIndex) -> Option<SegmentId> {
        let (oldest, _) = index.oldest()?;
        (index.bytes() > self.max_bytes).then_some(oldest)
    }
}
