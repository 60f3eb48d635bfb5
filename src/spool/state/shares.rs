//! Whose records the files hold. While the spool is nearly full, an access key that has more than an equal
//! part of it takes no more: a flood during an outage pushes out no record of another key. The keys that are bound to
//! one application have one part together, once a call has shown which one that is.
//!
//! Keys that the backend has not accepted since this process started count as one, so that inventing keys
//! brings no further parts. Bytes are those in the files: a record counts until its segment is removed. What
//! an earlier process left counts for nobody.

use crate::backend::Record;
use crate::fair_queue::{KnownHolders, holder_of};
use crate::spool::segment::SegmentId;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// All keys that the backend has not accepted.
const UNKNOWN: u64 = 0;

#[derive(Default)]
pub(crate) struct SpoolShares {
    known: Arc<KnownHolders>,
    bytes: HashMap<u64, u64>,
    segments: BTreeMap<SegmentId, HashMap<u64, u64>>,
}

/// What one access key has, and how many have something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) own: u64,
    pub(crate) holders: u64,
    /// Whether it is the share of all keys that the backend has not accepted.
    pub(crate) is_unknown: bool,
}

impl SpoolShares {
    /// The backend has accepted a record of this access key.
    pub(crate) fn add_known(&self, record: &Record) {
        self.known.insert(holder_of(&record.context.access_key));
    }

    /// The keys that the backend has accepted.
    pub(crate) fn known(&self) -> &Arc<KnownHolders> {
        &self.known
    }

    /// Whether the backend has not accepted the record's access key.
    pub(crate) fn is_unknown(&self, record: &Record) -> bool {
        self.holder(record) == UNKNOWN
    }

    /// The share of the record's access key.
    pub(crate) fn of(&self, record: &Record) -> Share {
        let holder = self.holder(record);
        let own = self.bytes.get(&holder).copied().unwrap_or(0);
        Share {
            own,
            holders: self.bytes.len() as u64 + u64::from(own == 0),
            is_unknown: holder == UNKNOWN,
        }
    }

    /// A record was appended to a segment.
    pub(crate) fn add(&mut self, segment: SegmentId, record: &Record, bytes: u64) {
        let holder = self.holder(record);
        *self.bytes.entry(holder).or_default() += bytes;
        let segment = self.segments.entry(segment).or_default();
        *segment.entry(holder).or_default() += bytes;
    }

    /// A segment is gone.
    pub(crate) fn remove(&mut self, segment: SegmentId) {
        for (holder, bytes) in self.segments.remove(&segment).into_iter().flatten() {
            if let Some(own) = self.bytes.get_mut(&holder) {
                *own = own.saturating_sub(bytes);
                if *own == 0 {
                    self.bytes.remove(&holder);
                }
            }
        }
    }

    fn holder(&self, record: &Record) -> u64 {
        let key = holder_of(&record.context.access_key);
        self.known.share_of(key).unwrap_or(UNKNOWN)
    }
}
