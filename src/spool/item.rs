//! What is on its way: a record to the backend, bytes to their file. Nothing is decided here.

use super::book::Place;
use super::segment::SegmentId;
use crate::backend::{Durable, Record};
use monitor_model::RecordId;

/// A record on its way through a lane.
pub(super) struct Item {
    /// None for one that the disk took no place for: its verdict is known, and it is about to be kept.
    pub(super) place: Option<Place>,
    pub(super) record: Record,
    pub(super) weight: u64,
    /// Ends once the record is kept under this id, where its verdict is known.
    pub(super) kept: Option<(RecordId, Durable)>,
    /// It leaves its lane once so many records are on disk.
    pub(super) ticket: u64,
}

/// Frames for one segment.
pub(super) struct Chunk {
    pub(super) segment: SegmentId,
    pub(super) bytes: Vec<u8>,
}
