//! Which records of which segment the backend has not acknowledged yet (CONTRACT 23). Pure bookkeeping:
//! nothing here touches a file.
//!
//! Invariants of an entry:
//! - `records` counts the frames of the segment. For a segment of an earlier process it counts those
//!   read so far, until the segment is sealed.
//! - A sealed segment gets no more records. It is settled, and its file may go, once every record in it
//!   is acknowledged.
//! - `in_flight` counts its unacknowledged records that are in memory: leased, or in delivery.
//! - `bytes` of the index is the sum of the entries' `bytes`.

use super::frames::format::HEADER;
use super::segment::SegmentId;
use std::collections::BTreeMap;

/// The position of a record: its segment, and the number of frames before it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordPosition {
    pub(super) segment: SegmentId,
    pub(super) ordinal: u32,
}

/// Where reading a segment continues: the next record, and a file offset from which on its frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadCursor {
    pub(super) position: RecordPosition,
    pub(super) offset: u64,
}

impl ReadCursor {
    /// The first frame of a segment.
    pub(super) fn start(segment: SegmentId) -> Self {
        Self {
            position: RecordPosition {
                segment,
                ordinal: 0,
            },
            // Behind the file's header, however long it is.
            offset: 0,
        }
    }

    /// Moves behind the frame with this ordinal, which ends at `offset`.
    pub(super) fn move_behind(&mut self, ordinal: u32, offset: u64) {
        self.position.ordinal = ordinal + 1;
        self.offset = offset;
    }
}

/// What is known of one segment.
#[derive(Debug, Default)]
pub(super) struct SegmentEntry {
    records: u32,
    sealed: bool,
    acked: BitSet,
    /// Records that are never read back from the file: the call that leased them delivers them, or a
    /// delivery worker does from memory once that call has failed.
    leased: BitSet,
    /// Bytes of the segment's file once everything is written.
    bytes: u64,
    /// When the latest record came, milliseconds since 1970.
    last_ms: i64,
    arrivals: ArrivalTimes,
    /// Written by an earlier process.
    recovered: bool,
    in_flight: u32,
}

/// A segment file that an earlier process left; times in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentFile {
    pub(super) bytes: u64,
    /// When the file was created, as far as the file system knows; never after its first record came.
    pub(super) begun_ms: i64,
    /// When the file was last written to.
    pub(super) last_ms: i64,
}

/// All segments of a spool, by number.
#[derive(Debug, Default)]
pub(super) struct SegmentIndex {
    segments: BTreeMap<SegmentId, SegmentEntry>,
    bytes: u64,
}

/// When records of a segment came, as samples: an ordinal and milliseconds since 1970.
#[derive(Debug, Default)]
struct ArrivalTimes {
    samples: Vec<(u32, i64)>,
    /// Least milliseconds between two samples.
    spacing: i64,
}

impl ArrivalTimes {
    const MAX_SAMPLES: usize = 512;
    const MIN_SPACING_MS: i64 = 500;

    fn add(&mut self, ordinal: u32, now_ms: i64) {
        // A clock that was set back always adds a sample.
        let next = self.samples.last().map(|(_, at)| at + self.spacing);
        if next.is_some_and(|next| (next - self.spacing..next).contains(&now_ms)) {
            return;
        }
        if self.samples.len() == Self::MAX_SAMPLES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.spacing *= 2;
        }
        self.spacing = self.spacing.max(Self::MIN_SPACING_MS);
        self.samples.push((ordinal, now_ms));
    }

    /// A time no later than when that record came.
    fn of(&self, ordinal: u32) -> Option<i64> {
        let after = self
            .samples
            .partition_point(|(number, _)| *number <= ordinal);
        Some(self.samples.get(after.checked_sub(1)?)?.1)
    }
}

#[derive(Clone, Debug, Default)]
struct BitSet {
    words: Vec<u64>,
    count: u32,
}

impl BitSet {
    fn insert(&mut self, bit: u32) {
        let (word, mask) = (bit as usize / 64, 1 << (bit % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.count += u32::from(self.words[word] & mask == 0);
        self.words[word] |= mask;
    }

    /// Removes every bit from `end` on.
    fn truncate(&mut self, end: u32) {
        self.words.truncate(end.div_ceil(64) as usize);
        if let Some(last) = self.words.get_mut(end as usize / 64) {
            *last &= (1 << (end % 64)) - 1;
        }
        self.count = self.words.iter().map(|word| word.count_ones()).sum();
    }

    /// The lowest bit that is missing.
    fn first_missing(&self) -> u32 {
        let full = self.words.iter().take_while(|word| **word == u64::MAX);
        let full = full.count();
        let more = self.words.get(full).map_or(0, |word| word.trailing_ones());
        u32::try_from(full).unwrap_or(0) * 64 + more
    }

    fn contains(&self, bit: u32) -> bool {
        let word = self.words.get(bit as usize / 64);
        word.is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }
}

/// The records of a segment that are acknowledged, or in memory.
pub(super) struct KnownRecords {
    acked: BitSet,
    in_flight: u32,
}

impl KnownRecords {
    /// How many of the first `frames` frames they are. Where the end of a segment is damaged, more may be acknowledged
    /// than it ever had.
    pub(super) fn among(&self, frames: u64) -> u64 {
        let mut acked = self.acked.clone();
        acked.truncate(u32::try_from(frames).unwrap_or(u32::MAX));
        u64::from(acked.count) + u64::from(self.in_flight)
    }
}

impl SegmentEntry {
    /// Bytes of the segment's file once everything is written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Frames of the segment; of one of an earlier process, those read so far.
    pub(super) fn records(&self) -> u32 {
        self.records
    }

    /// When the latest record came, milliseconds since 1970.
    pub(super) fn last_ms(&self) -> i64 {
        self.last_ms
    }

    /// When the first record came, or no later, milliseconds since 1970.
    pub(super) fn begun_ms(&self) -> Option<i64> {
        self.arrivals.of(0)
    }

    /// Whether there are records and all so far are acknowledged.
    pub(super) fn is_delivered(&self) -> bool {
        self.records > 0 && self.acked.count >= self.records
    }

    /// Unacknowledged records that are in memory.
    pub(super) fn in_flight(&self) -> u64 {
        u64::from(self.in_flight)
    }

    /// Records that are lost when the segment is dropped: neither acknowledged nor in memory.
    pub(super) fn lost_if_dropped(&self) -> u64 {
        self.unacked().saturating_sub(u64::from(self.in_flight))
    }

    /// Whether the segment has not been read to its end.
    pub(super) fn is_unread(&self) -> bool {
        !self.sealed
    }

    /// The records that are known to be acknowledged or in memory.
    pub(super) fn known(&self) -> KnownRecords {
        KnownRecords {
            acked: self.acked.clone(),
            in_flight: self.in_flight,
        }
    }

    fn is_settled(&self) -> bool {
        self.sealed && self.acked.count >= self.records
    }

    fn unacked(&self) -> u64 {
        u64::from(self.records.saturating_sub(self.acked.count))
    }

    /// Whether an earlier process wrote it.
    pub(super) fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// When the oldest unacknowledged record came, or no later. A record of an earlier process counts
    /// from when its segment was begun.
    fn oldest_unacked_ms(&self) -> Option<i64> {
        let unread = self.recovered && !self.sealed;
        let first = self.acked.first_missing();
        (unread || first < self.records).then(|| self.arrivals.of(first))?
    }
}

impl SegmentIndex {
    /// Adds a segment that an earlier process left, with the ordinals in its acknowledgement log.
    pub(super) fn add_recovered(&mut self, id: SegmentId, file: SegmentFile, acked: &[u32]) {
        let mut entry = SegmentEntry {
            bytes: file.bytes,
            last_ms: file.last_ms,
            recovered: true,
            ..SegmentEntry::default()
        };
        entry.arrivals.add(0, file.begun_ms);
        acked
            .iter()
            .for_each(|ordinal| entry.acked.insert(*ordinal));
        self.bytes += file.bytes;
        self.segments.insert(id, entry);
    }

    /// The position of the next record that is appended to a segment.
    pub(super) fn next_position(&self, segment: SegmentId) -> RecordPosition {
        let entry = self.segments.get(&segment);
        RecordPosition {
            segment,
            ordinal: entry.map_or(0, SegmentEntry::records),
        }
    }

    /// Appends a record of `bytes` to a segment, which begins with its first record.
    pub(super) fn append(&mut self, id: SegmentId, bytes: u64, now_ms: i64) -> RecordPosition {
        let entry = self.segments.entry(id).or_insert_with(|| {
            self.bytes += HEADER;
            SegmentEntry {
                bytes: HEADER,
                ..SegmentEntry::default()
            }
        });
        let ordinal = entry.records;
        entry.records += 1;
        entry.bytes += bytes;
        entry.last_ms = now_ms;
        entry.arrivals.add(ordinal, now_ms);
        self.bytes += bytes;
        RecordPosition {
            segment: id,
            ordinal,
        }
    }

    /// Counts a frame that was read back.
    pub(super) fn count_frame(&mut self, position: RecordPosition) {
        if let Some(entry) = self.segments.get_mut(&position.segment)
            && !entry.sealed
        {
            entry.records = entry.records.max(position.ordinal + 1);
        }
    }

    /// Whether the record is to be read back for delivery: neither acknowledged nor leased.
    pub(super) fn is_readable(&self, position: RecordPosition) -> bool {
        let entry = self.segments.get(&position.segment);
        entry.is_some_and(|entry| {
            !entry.acked.contains(position.ordinal) && !entry.leased.contains(position.ordinal)
        })
    }

    /// The record is in memory on its way to the backend.
    pub(super) fn begin_delivery(&mut self, position: RecordPosition) {
        if let Some(entry) = self.segments.get_mut(&position.segment) {
            entry.in_flight += 1;
        }
    }

    /// The record is leased: it is in memory until it is acknowledged, and not read back.
    pub(super) fn lease(&mut self, position: RecordPosition) {
        if let Some(entry) = self.segments.get_mut(&position.segment) {
            entry.leased.insert(position.ordinal);
            entry.in_flight += 1;
        }
    }

    /// The record is no longer in memory; false if its segment has been dropped meanwhile.
    pub(super) fn end_delivery(&mut self, position: RecordPosition) -> bool {
        let entry = self.segments.get_mut(&position.segment);
        entry.map(|entry| entry.in_flight -= 1).is_some()
    }

    /// Seals a segment; true if it is settled.
    pub(super) fn seal(&mut self, id: SegmentId) -> bool {
        self.segments.get_mut(&id).is_some_and(|entry| {
            entry.sealed = true;
            // After a crash the log may acknowledge frames that never reached the disk.
            entry.acked.truncate(entry.records);
            entry.is_settled()
        })
    }

    /// Acknowledges a record; true if its segment is settled.
    pub(super) fn acknowledge(&mut self, position: RecordPosition) -> bool {
        self.segments
            .get_mut(&position.segment)
            .is_some_and(|entry| {
                entry.acked.insert(position.ordinal);
                entry.is_settled()
            })
    }

    /// Removes a segment, whether or not it is settled.
    pub(super) fn remove(&mut self, id: SegmentId) {
        if let Some(entry) = self.segments.remove(&id) {
            self.bytes -= entry.bytes;
        }
    }

    /// Bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Unacknowledged records, as far as their segments have been read.
    pub(super) fn unacked(&self) -> u64 {
        self.segments.values().map(SegmentEntry::unacked).sum()
    }

    /// When the oldest unacknowledged record came, milliseconds since 1970.
    pub(super) fn oldest_unacked_ms(&self) -> Option<i64> {
        let mut segments = self.segments.values();
        segments.find_map(SegmentEntry::oldest_unacked_ms)
    }

    pub(super) fn get(&self, id: SegmentId) -> Option<&SegmentEntry> {
        self.segments.get(&id)
    }

    /// The oldest segment.
    pub(super) fn oldest(&self) -> Option<(SegmentId, &SegmentEntry)> {
        let (id, entry) = self.segments.first_key_value()?;
        Some((*id, entry))
    }

    /// The first segment after this one.
    pub(super) fn next_after(&self, id: SegmentId) -> Option<SegmentId> {
        self.segments.range(id + 1..).next().map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests;
