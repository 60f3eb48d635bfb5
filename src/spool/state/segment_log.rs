//! The segments of a spool: where records are appended, which of them are acknowledged, and which segments are
//! dropped. How records get to the backend is not known here.
//!
//! 1. **One append.** A record gets its sequence number, its position in `current` and its bytes in
//!    `buffer` in one call, so that numbers are in the order of the segments (see [`crate::spool::sequence`]).
//! 2. **`accepted` counts every such append.** Its value after a record's append is the record's
//!    *ticket*: the record is on disk once the writer has announced that count.
//! 3. **Index and buffer agree.** A segment's bytes in `index` are those in its file, plus those the
//!    writer holds, plus those in `buffer`. A segment that leaves `index` leaves `buffer`, `acks` and `shares`
//!    too, and is in `evicted` until the writer takes it.
//! 4. **Only `current` grows.** Every segment before it is sealed, or is one of an earlier process that
//!    has not been read to its end. A new number is always greater than every number used before.

use super::outcomes::NotAccepted;
use super::shares::SpoolShares;
use super::write_buffer::{Chunk, WriteBuffer};
use crate::backend::Record;
use crate::fair_queue::KnownHolders;
use crate::observe::DropReason;
use crate::spool::eviction::{Dropped, Evicted, EvictionPolicy, UnreadSegment};
use crate::spool::frames::format::{HEADER, MAX_CONTENT};
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::writer::FrameWriter;
use crate::spool::segment::SegmentId;
use crate::spool::segment_index::{ReadCursor, RecordPosition, SegmentIndex};
use crate::spool::sequence::{Hashed, Sequencer};
#[cfg(test)]
use crate::spool::witness;
use std::sync::Arc;

/// The weight of a record that a frame certainly holds, also as a dead letter.
const MAX_WEIGHT: u64 = MAX_CONTENT as u64 - (1 << 20);

pub(super) struct SegmentLog {
    index: SegmentIndex,
    policy: EvictionPolicy,
    /// The segment that takes new records, and what writes its frames.
    current: SegmentId,
    writer: FrameWriter,
    keys: Arc<Keyring>,
    sequencer: Sequencer,
    buffer: WriteBuffer,
    accepted: u64,
    /// Acknowledgements for the writer.
    acks: Vec<RecordPosition>,
    /// Segments whose files the writer removes.
    evicted: Vec<Evicted>,
    /// Records in memory whose segments were dropped: they are lost if the process ends before they are delivered.
    only_in_memory: u64,
    shares: SpoolShares,
}

/// What a spool starts with.
pub(crate) struct Initial {
    /// The segments found in the folder.
    pub(crate) index: SegmentIndex,
    /// The number of the first new segment.
    pub(crate) current: SegmentId,
    pub(crate) sequencer: Sequencer,
    /// The keys of the folder's files.
    pub(crate) keys: Arc<Keyring>,
}

impl SegmentLog {
    pub(super) fn new(initial: Initial, policy: EvictionPolicy) -> Self {
        Self {
            index: initial.index,
            policy,
            current: initial.current,
            writer: FrameWriter::new(&initial.keys),
            keys: initial.keys,
            sequencer: initial.sequencer,
            buffer: WriteBuffer::default(),
            accepted: 0,
            acks: Vec::new(),
            evicted: Vec::new(),
            only_in_memory: 0,
            shares: SpoolShares::default(),
        }
    }

    // --- Appending ---

    /// Whether a record may be appended, whatever share its access key has.
    pub(super) fn may_append(&self, record: &Record) -> Result<(), NotAccepted> {
        match self.buffer.is_full(false) {
            true => Err(NotAccepted::DiskBehind),
            false if record.weight() > MAX_WEIGHT => Err(NotAccepted::TooLarge),
            false => Ok(()),
        }
    }

    /// Whether a new record may be appended.
    pub(super) fn may_accept(&self, record: &Record) -> Result<(), NotAccepted> {
        self.may_append(record)?;
        let share = self.shares.of(record);
        if self.policy.is_over_share(&self.index, share) {
            return Err(NotAccepted::OverShare);
        }
        match share.is_unknown && self.buffer.is_full(true) {
            true => Err(NotAccepted::DiskBehind),
            false => Ok(()),
        }
    }

    /// Invariant 1: number, position and bytes in one step.
    pub(super) fn append(&mut self, hashed: Hashed, now_ms: i64) -> (ReadCursor, Record) {
        if EvictionPolicy::is_full(self.current_bytes()) {
            self.rotate();
        }
        let record = self.sequencer.assign(hashed);
        let offset = self.current_bytes();
        let position = self.index.next_position(self.current);
        let size = self.buffer.append(position, &self.writer, &record);
        self.index.append(self.current, size, now_ms);
        self.shares.add(self.current, &record, size);
        self.accepted += 1;
        #[cfg(test)]
        witness::appended(position, &record);
        (ReadCursor { position, offset }, record)
    }

    /// Records appended so far: the ticket of the latest.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Whose sequence numbers these are, and the latest one.
    pub(super) fn sequencer(&self) -> &Sequencer {
        &self.sequencer
    }

    /// Whether new segments are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.keys.current().is_some()
    }

    /// Whether the backend has accepted no record of this one's access key.
    pub(super) fn is_unknown(&self, record: &Record) -> bool {
        self.shares.is_unknown(record)
    }

    /// The backend has accepted a record of this one's access key.
    pub(super) fn add_known_holder(&self, record: &Record) {
        self.shares.add_known(record);
    }

    /// The access keys that the backend has accepted.
    pub(super) fn known_holders(&self) -> &Arc<KnownHolders> {
        self.shares.known()
    }

    // --- What is in memory, and what is acknowledged ---

    /// The record is in memory on its way to the backend.
    pub(super) fn begin_delivery(&mut self, position: RecordPosition) {
        self.index.begin_delivery(position);
    }

    /// The record is in memory until it is acknowledged, and never read back.
    pub(super) fn lease(&mut self, position: RecordPosition) {
        self.index.lease(position);
    }

    /// A record that was in memory is done with.
    pub(super) fn finish(&mut self, position: RecordPosition) {
        match self.index.end_delivery(position) {
            true => self.acks.push(position),
            false => self.only_in_memory = self.only_in_memory.saturating_sub(1),
        }
        self.acknowledge(position);
    }

    /// The frame at this position is not a record this version knows; it is done with.
    pub(super) fn skip_frame(&mut self, position: RecordPosition) {
        self.acks.push(position);
        self.acknowledge(position);
    }

    /// The frames from this position up to ordinal `end` are damaged; they are done with. Gives how many of them
    /// were still to be delivered.
    pub(super) fn skip_damaged(&mut self, from: RecordPosition, end: u32) -> u64 {
        let mut lost = 0;
        for ordinal in from.ordinal..end {
            let position = RecordPosition { ordinal, ..from };
            if self.count_frame(position) {
                lost += 1;
                #[cfg(test)]
                witness::gives_up(position);
                self.skip_frame(position);
            }
        }
        lost
    }

    /// Nothing is readable from this position to the end of its segment. Gives how many records were still to be
    /// delivered, as far as that is known.
    pub(super) fn skip_damaged_end(&mut self, from: RecordPosition) -> u64 {
        let entry = self.index.get(from.segment);
        let known = entry.map_or(0, |entry| entry.records());
        let is_unread = entry.is_some_and(|entry| entry.is_unread());
        // A segment of an earlier process does not tell how many records it had: it was one at least that the backend
        // has not acknowledged.
        let is_owed = |ordinal: &u32| {
            let ordinal = *ordinal;
            !is_unread || self.index.is_readable(RecordPosition { ordinal, ..from })
        };
        let first = (from.ordinal..).find(is_owed).unwrap_or(from.ordinal);
        #[cfg(test)]
        witness::gives_up_from(from);
        self.skip_damaged(from, known.max(first + 1))
    }

    fn acknowledge(&mut self, position: RecordPosition) {
        if self.index.acknowledge(position) {
            self.retire(position.segment);
        }
    }

    // --- Reading back ---

    /// Counts a frame that was read back; whether its record is to be delivered.
    pub(super) fn count_frame(&mut self, position: RecordPosition) -> bool {
        self.index.count_frame(position);
        self.index.is_readable(position)
    }

    /// Whether a segment has a record to be delivered from this position on.
    pub(super) fn has_readable(&self, from: RecordPosition) -> bool {
        let entry = self.index.get(from.segment);
        let records = entry.map_or(0, |entry| entry.records());
        let mut positions =
            (from.ordinal..records).map(|ordinal| RecordPosition { ordinal, ..from });
        positions.any(|position| self.index.is_readable(position))
    }

    /// Bytes of a segment once everything is written; None if it has no record, or is gone.
    pub(super) fn bytes_of(&self, segment: SegmentId) -> Option<u64> {
        self.index.get(segment).map(|entry| entry.bytes())
    }

    /// Bytes of a segment that are in its file, if the writer still holds `held_back` of them.
    pub(super) fn bytes_in_file(&self, segment: SegmentId, held_back: u64) -> u64 {
        let bytes = self.bytes_of(segment).unwrap_or(0);
        bytes.saturating_sub(self.buffer.buffered(segment) + held_back)
    }

    /// The segment that takes new records.
    pub(super) fn current(&self) -> SegmentId {
        self.current
    }

    /// Whether a segment has records, or takes new ones.
    pub(super) fn has(&self, segment: SegmentId) -> bool {
        segment == self.current || self.index.get(segment).is_some()
    }

    /// The oldest segment with records.
    pub(super) fn oldest(&self) -> Option<SegmentId> {
        self.index.oldest().map(|(segment, _)| segment)
    }

    /// The segment after this one.
    pub(super) fn next_after(&self, segment: SegmentId) -> SegmentId {
        self.index.next_after(segment).unwrap_or(self.current)
    }

    // --- Segments ---

    /// No more records are appended to this segment: it is damaged, or about to be dropped.
    pub(super) fn stop_appending(&mut self, segment: SegmentId) {
        if segment == self.current {
            self.rotate();
        }
    }

    /// A segment has been read to its end: it goes once all its records are acknowledged.
    pub(super) fn seal(&mut self, segment: SegmentId) {
        if self.index.seal(segment) {
            self.retire(segment);
        }
    }

    /// Closes the current segment when it is due and drops those that are too old; of an earlier process those that
    /// are by `aging_ms`.
    pub(super) fn expire(&mut self, now_ms: i64, aging_ms: i64) -> Option<Dropped> {
        let current = self.index.get(self.current);
        if current.is_some_and(|entry| self.policy.is_due(entry, now_ms)) {
            self.rotate();
        }
        let mut lost = 0;
        while let Some(segment) = self.policy.expired(&self.index, now_ms, aging_ms) {
            lost += self.evict(segment, DropReason::Old);
        }
        Dropped::new(DropReason::Old, lost)
    }

    /// Drops the oldest segments until the files are within their size.
    pub(super) fn evict_over_size(&mut self) -> Option<Dropped> {
        let mut lost = 0;
        while let Some(segment) = self.policy.over_size(&self.index) {
            lost += self.evict(segment, DropReason::Full);
        }
        Dropped::new(DropReason::Full, lost)
    }

    /// Drops a segment with its records and gives how many are lost, as far as that is known. The
    /// writer counts those of a segment that has not been read, before it removes the file.
    fn evict(&mut self, segment: SegmentId, reason: DropReason) -> u64 {
        self.stop_appending(segment);
        let Some(entry) = self.index.get(segment) else {
            return 0;
        };
        let lost = entry.lost_if_dropped();
        let known = entry.is_unread().then(|| entry.known());
        self.only_in_memory += entry.in_flight();
        #[cfg(test)]
        witness::gives_up_from(RecordPosition {
            segment,
            ordinal: 0,
        });
        self.retire(segment);
        match (known, self.evicted.last_mut()) {
            (Some(known), Some(evicted)) => {
                evicted.unread = Some(UnreadSegment { known, reason });
                0
            }
            _ => lost,
        }
    }

    /// Begins a new segment.
    fn rotate(&mut self) {
        let old = self.current;
        self.current += 1;
        self.writer = FrameWriter::new(&self.keys);
        self.seal(old);
    }

    /// Removes a segment; the writer removes its file in its next round (invariant 3).
    fn retire(&mut self, segment: SegmentId) {
        self.index.remove(segment);
        self.shares.remove(segment);
        self.buffer.discard(segment);
        self.acks.retain(|position| position.segment != segment);
        self.evicted.push(Evicted {
            segment,
            unread: None,
        });
    }

    fn current_bytes(&self) -> u64 {
        self.bytes_of(self.current).unwrap_or(HEADER)
    }

    // --- The writer ---

    /// Whether there are bytes that the writer has not taken.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// What is not on disk yet.
    pub(super) fn buffer(&self) -> &WriteBuffer {
        &self.buffer
    }

    /// Hands all chunks to the writer, which reports each with [`Self::released`].
    pub(super) fn take_chunks(&mut self) -> Vec<Chunk> {
        self.buffer.take()
    }

    /// Hands the writer what was acknowledged since it last asked.
    pub(super) fn take_acks(&mut self) -> Vec<RecordPosition> {
        std::mem::take(&mut self.acks)
    }

    /// Hands the writer the segments whose files it removes.
    pub(super) fn take_evicted(&mut self) -> Vec<Evicted> {
        std::mem::take(&mut self.evicted)
    }

    /// The writer has synced or discarded so many bytes.
    pub(super) fn released(&mut self, bytes: u64) {
        self.buffer.released(bytes);
    }

    // --- Figures ---

    /// The segments and their bytes.
    pub(super) fn index(&self) -> &SegmentIndex {
        &self.index
    }

    /// Records that are lost if the process ends before they are delivered.
    pub(super) fn only_in_memory(&self) -> u64 {
        self.only_in_memory
    }
}
