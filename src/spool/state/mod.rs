//! The state of a spool, shared under one lock by the request path, the delivery workers and the
//! writer. Its fields are private: every change goes through a method that keeps the invariants below.
//! Nothing here touches a file, waits, or reads a clock.
//!
//! 1. **One append.** A record gets its sequence number, its position in `current` and its bytes in
//!    `buffer` in one call, so that numbers are in the order of the segments (see [`super::sequence`]).
//! 2. **`accepted` counts every such append.** Its value after a record's append is the record's
//!    *ticket*: the record is on disk once the writer has announced that count.
//! 3. **Index and buffer agree.** A segment's bytes in `index` are those in its file, plus those the
//!    writer holds, plus those in `buffer`. A segment that leaves `index` leaves `buffer` and `acks` too,
//!    and is in `evicted` until the writer takes it.
//! 4. **Only `current` grows.** Every segment before it is sealed, or is one of an earlier process that
//!    has not been read to its end. A new number is always greater than every number used before.
//! 5. **Delivery reads from one place.** While `backlog` is None, an accepted record goes to `delivery`
//!    from memory. Otherwise every record from the cursor on waits on disk, and `backlog` names a segment
//!    that is in `index` or is `current`. Leased records are the exception: they are never read back.
//! 6. **In memory or on disk.** A record in `delivery`, or leased, counts as in flight in `index`, and is
//!    acknowledged exactly once: [`State::finish`] or [`State::finish_leased`].
//! 7. **Bounds.** The files are within [`EvictionPolicy`] after each call that adds to them, and the
//!    dead letters that wait for the writer within [`MAX_WAITING`] but for the last one.
//!
//! Long because: nearly every method keeps several of these invariants at once, so the fields cannot have two
//! owners. [`write_buffer`] and [`delivery_queue`] have invariants of their own and stand apart.

mod delivery_queue;
mod write_buffer;

pub(crate) use delivery_queue::{Batch, DeliveryItem, Stored};
pub(crate) use write_buffer::{Chunk, length_of};

use super::dead_letter::encoding::{EncodedLetter, MAX_WAITING};
use super::eviction::{DropReason, Dropped, Evicted, EvictionPolicy, UnreadSegment};
use super::frames::format::HEADER;
use super::frames::format::MAX_CONTENT;
use super::frames::keyring::Keyring;
use super::frames::writer::FrameWriter;
use super::segment::SegmentId;
use super::segment_index::{ReadCursor, RecordPosition, SegmentIndex};
use super::sequence::{Hashed, SequenceNumber, Sequencer};
use super::shares::SpoolShares;
use crate::backend::Record;
use crate::fair_queue::KnownHolders;
use delivery_queue::{DeliveryQueue, Offered};
use std::sync::Arc;
use tokio::sync::Notify;
use write_buffer::WriteBuffer;

pub(super) struct State {
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
    /// Dead letters for the writer, and their bytes.
    dead_letters: Vec<EncodedLetter>,
    dead_letter_bytes: usize,
    /// Segments whose files the writer removes.
    evicted: Vec<Evicted>,
    delivery: DeliveryQueue,
    /// Records in memory whose segments were dropped: they are lost if the process ends before they are delivered.
    only_in_memory: u64,
    shares: SpoolShares,
    /// Where reading back from disk continues.
    backlog: Option<ReadCursor>,
    /// A call waits for the disk: the writer does not gather further records first.
    urgent: bool,
    closing: bool,
    /// The writer waits to be woken.
    writer_idle: bool,
}

/// What a spool starts with.
pub(super) struct Initial {
    /// The segments found in the folder.
    pub(super) index: SegmentIndex,
    /// The number of the first new segment.
    pub(super) current: SegmentId,
    pub(super) sequencer: Sequencer,
    /// The keys of the folder's files.
    pub(super) keys: Arc<Keyring>,
}

/// A record that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    /// The record is on disk once so many are.
    pub(super) ticket: u64,
    /// Older records that were dropped to make room.
    pub(super) dropped: Option<Dropped>,
}

/// Why a record is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAccepted {
    /// The disk is too far behind.
    DiskBehind,
    /// The spool is nearly full, and the record's access key has more than its share.
    OverShare,
    /// No frame holds the record.
    TooLarge,
}

/// The weight of a record that a frame certainly holds, also as a dead letter.
const MAX_WEIGHT: u64 = MAX_CONTENT as u64 - (1 << 20);

/// A record leased to the call that is about to deliver it.
pub(super) struct LeasedRecord {
    /// None if the disk is too far behind.
    pub(super) position: Option<RecordPosition>,
    pub(super) record: Record,
    /// The record is on disk once so many are.
    pub(super) ticket: u64,
}

/// The outcome of leasing a record.
pub(super) struct Leased {
    pub(super) record: LeasedRecord,
    /// Older records that were dropped to make room.
    pub(super) dropped: Option<Dropped>,
}

/// Everything the writer does in one round.
pub(super) struct WriterRound {
    pub(super) chunks: Vec<Chunk>,
    pub(super) acks: Vec<RecordPosition>,
    pub(super) dead_letters: Vec<EncodedLetter>,
    pub(super) evicted: Vec<Evicted>,
    /// Records that expired at the beginning of the round.
    pub(super) dropped: Option<Dropped>,
    pub(super) progress: Progress,
}

/// How far the request path had come when a round began.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    /// Records accepted so far.
    pub(super) accepted: u64,
    /// The latest sequence number given.
    pub(super) latest: SequenceNumber,
    /// No record has reported yet that the process before was cut off.
    pub(super) cut_unreported: bool,
    /// The spool is being closed: this is the last round.
    pub(super) closing: bool,
}

/// The figures of a spool at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// Bytes of the segments.
    pub(super) bytes: u64,
    /// Unacknowledged records, as far as their segments have been read.
    pub(super) records: u64,
    /// Age of the oldest unacknowledged record; 0 if there is none.
    pub(super) oldest_seconds: f64,
    /// Records in memory on their way to the backend.
    pub(super) in_memory: u64,
    /// Bytes of those that are not retrying.
    pub(super) memory_bytes: u64,
    /// Those of them in a retry queue.
    pub(super) retrying: u64,
    /// There are more records on disk.
    pub(super) has_backlog: bool,
    /// Records that are lost if the process ends before they are delivered.
    pub(super) only_in_memory: u64,
}

impl State {
    /// Without a dispatcher nothing is delivered.
    pub(super) fn new(
        initial: Initial,
        policy: EvictionPolicy,
        max_memory: u64,
        dispatcher: Option<Arc<Notify>>,
    ) -> Self {
        let oldest = initial.index.oldest();
        Self {
            backlog: oldest.map(|(id, _)| ReadCursor::start(id)),
            index: initial.index,
            policy,
            current: initial.current,
            writer: FrameWriter::new(&initial.keys),
            keys: initial.keys,
            sequencer: initial.sequencer,
            buffer: WriteBuffer::default(),
            accepted: 0,
            acks: Vec::new(),
            dead_letters: Vec::new(),
            dead_letter_bytes: 0,
            evicted: Vec::new(),
            delivery: DeliveryQueue::new(dispatcher, max_memory),
            only_in_memory: 0,
            shares: SpoolShares::default(),
            urgent: false,
            closing: false,
            writer_idle: false,
        }
    }

    // --- The request path ---

    /// Accepts a record for delivery.
    pub(super) fn push(&mut self, hashed: Hashed, now_ms: i64) -> Result<Accepted, NotAccepted> {
        self.may_accept(hashed.record())?;
        Ok(self.append_and_offer(hashed, now_ms))
    }

    /// Accepts a record that was promised before, whatever share its access key has.
    pub(super) fn push_promised(
        &mut self,
        hashed: Hashed,
        now_ms: i64,
    ) -> Result<Accepted, NotAccepted> {
        self.may_append(hashed.record())?;
        Ok(self.append_and_offer(hashed, now_ms))
    }

    fn append_and_offer(&mut self, hashed: Hashed, now_ms: i64) -> Accepted {
        let (start, record) = self.append(hashed, now_ms);
        if self.backlog.is_none() {
            let item = DeliveryItem::new(Some(start.position), record, self.accepted);
            if self.offer(item) == Offered::NoRoom {
                self.backlog = Some(start);
            }
        }
        Accepted {
            ticket: self.accepted,
            dropped: self.evict_over_size(),
        }
    }

    /// Accepts a record that the caller delivers itself.
    pub(super) fn lease(&mut self, hashed: Hashed, now_ms: i64) -> Leased {
        if self.may_accept(hashed.record()).is_err() {
            return Leased {
                record: LeasedRecord {
                    position: None,
                    record: hashed.into_record(),
                    ticket: self.accepted,
                },
                dropped: None,
            };
        }
        let (start, record) = self.append(hashed, now_ms);
        self.index.lease(start.position);
        Leased {
            record: LeasedRecord {
                position: Some(start.position),
                record,
                ticket: self.accepted,
            },
            dropped: self.evict_over_size(),
        }
    }

    fn may_append(&self, record: &Record) -> Result<(), NotAccepted> {
        match self.buffer.is_full() {
            true => Err(NotAccepted::DiskBehind),
            false if record.weight() > MAX_WEIGHT => Err(NotAccepted::TooLarge),
            false => Ok(()),
        }
    }

    fn may_accept(&self, record: &Record) -> Result<(), NotAccepted> {
        self.may_append(record)?;
        let share = self.shares.of(record);
        match self.policy.is_over_share(&self.index, share) {
            true => Err(NotAccepted::OverShare),
            false => Ok(()),
        }
    }

    /// Whether new segments are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.keys.current().is_some()
    }

    /// The backend has accepted a record of this one's access key.
    pub(super) fn prove(&self, record: &Record) {
        self.shares.prove(record);
    }

    /// The access keys that the backend has accepted.
    pub(super) fn known_holders(&self) -> Arc<KnownHolders> {
        self.shares.known().clone()
    }

    /// Has the writer sync without gathering further records; true if it has to be woken.
    pub(super) fn hurry(&mut self) -> bool {
        self.urgent = true;
        self.writer_idle
    }

    /// Ends delivery and, with its next round, the writer.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.delivery.close();
    }

    /// Invariant 1: number, position and bytes in one step.
    fn append(&mut self, hashed: Hashed, now_ms: i64) -> (ReadCursor, Record) {
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
        super::witness::appended(position, &record);
        (ReadCursor { position, offset }, record)
    }

    // --- Delivery ---

    /// Enqueues a record that has no position, or is in flight already.
    pub(super) fn enqueue(&mut self, item: DeliveryItem) {
        self.delivery.push(item);
    }

    /// Hands everything that waits to the dispatcher.
    pub(super) fn take_deliveries(&mut self) -> Batch {
        self.delivery.take()
    }

    /// A record left its worker for good.
    pub(super) fn finish(&mut self, position: Option<RecordPosition>, weight: u64) {
        self.delivery.finish(weight);
        if let Some(position) = position {
            self.finish_leased(position);
        }
    }

    /// A leased record that was never enqueued is done with.
    pub(super) fn finish_leased(&mut self, position: RecordPosition) {
        match self.index.end_delivery(position) {
            true => self.acks.push(position),
            false => self.only_in_memory = self.only_in_memory.saturating_sub(1),
        }
        self.acknowledge(position);
    }

    /// A record enters its worker's retry queue.
    pub(super) fn begin_retrying(&mut self, weight: u64) {
        self.delivery.begin_retrying(weight);
    }

    /// A record leaves its worker's retry queue.
    pub(super) fn end_retrying(&mut self, weight: u64) {
        self.delivery.end_retrying(weight);
    }

    /// Takes a dead letter for the writer; false if the disk is behind and there is no room for it.
    pub(super) fn add_dead_letter(&mut self, letter: EncodedLetter) -> bool {
        if self.dead_letter_bytes > MAX_WAITING {
            return false;
        }
        self.dead_letter_bytes += letter.bytes.len();
        self.dead_letters.push(letter);
        true
    }

    fn offer(&mut self, item: DeliveryItem) -> Offered {
        let position = item.position;
        let offered = self.delivery.offer(item);
        if offered == Offered::Enqueued
            && let Some(position) = position
        {
            self.index.begin_delivery(position);
        }
        offered
    }

    fn acknowledge(&mut self, position: RecordPosition) {
        if self.index.acknowledge(position) {
            self.retire(position.segment);
        }
    }

    // --- The writer ---

    /// Whether the writer has a reason to begin a round.
    pub(super) fn has_work(&self) -> bool {
        !self.buffer.is_empty()
            || self.closing
            || !self.dead_letters.is_empty()
            || self.can_read_backlog()
    }

    /// Whether the writer may wait a moment for further records before it syncs.
    pub(super) fn may_gather(&self) -> bool {
        !self.buffer.is_empty() && !self.urgent && !self.closing
    }

    pub(super) fn set_writer_idle(&mut self, idle: bool) {
        self.writer_idle = idle;
    }

    /// Whether the writer waits to be woken.
    pub(super) fn is_writer_idle(&self) -> bool {
        self.writer_idle
    }

    /// Whether an idle writer has to be woken for what a worker left it.
    pub(super) fn wakes_writer(&self) -> bool {
        self.writer_idle && (self.can_read_backlog() || !self.dead_letters.is_empty())
    }

    /// Expires old segments and hands the writer everything it has to do.
    pub(super) fn begin_round(&mut self, now_ms: i64) -> WriterRound {
        let dropped = self.expire(now_ms);
        self.urgent = false;
        self.dead_letter_bytes = 0;
        WriterRound {
            chunks: self.buffer.take(),
            acks: std::mem::take(&mut self.acks),
            dead_letters: std::mem::take(&mut self.dead_letters),
            evicted: std::mem::take(&mut self.evicted),
            dropped,
            progress: Progress {
                accepted: self.accepted,
                latest: self.sequencer.latest(),
                cut_unreported: self.sequencer.is_cut_unreported(),
                closing: self.closing,
            },
        }
    }

    /// Hands the writer what was acknowledged since its round began.
    pub(super) fn take_acks(&mut self) -> Vec<RecordPosition> {
        std::mem::take(&mut self.acks)
    }

    /// The writer has written or discarded so many bytes.
    pub(super) fn released(&mut self, bytes: u64) {
        self.buffer.released(bytes);
    }

    // --- Reading back ---

    /// Where to read on, if delivery has room and the spool is not closing.
    pub(super) fn next_to_read(&self) -> Option<ReadCursor> {
        self.backlog
            .filter(|_| self.can_read_backlog() && !self.closing)
    }

    /// Whether a segment has more than these bytes, which are still to be written to its file.
    pub(super) fn has_more(&self, segment: SegmentId, end: u64) -> bool {
        let entry = self.index.get(segment);
        entry.is_some_and(|entry| entry.bytes() > end)
    }

    /// Whether the backlog still continues at this place: its segment may have been dropped.
    pub(super) fn reads_at(&self, cursor: ReadCursor) -> bool {
        self.backlog == Some(cursor)
    }

    /// Bytes of a segment that are in its file, if the writer still holds `held_back` of them.
    pub(super) fn readable_bytes(&self, segment: SegmentId, held_back: u64) -> u64 {
        let bytes = self.index.get(segment).map_or(0, |entry| entry.bytes());
        bytes.saturating_sub(self.buffer.buffered(segment) + held_back)
    }

    /// Counts the frame at the backlog's cursor; whether its record is to be delivered.
    pub(super) fn count_frame(&mut self, position: RecordPosition) -> bool {
        self.index.count_frame(position);
        self.index.is_readable(position)
    }

    /// Enqueues the record at the backlog's cursor; false if delivery has no room for it.
    pub(super) fn offer_backlog(&mut self, position: RecordPosition, record: Record) -> bool {
        // It is on disk: it leaves the process at once.
        self.offer(DeliveryItem::new(Some(position), record, 0)) != Offered::NoRoom
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
                super::witness::gives_up(position);
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
        let is_unread = entry.is_some_and(|entry| entry.known_if_unread().is_some());
        // A segment of an earlier process does not tell how many records it had: it was one at least that the backend
        // has not acknowledged.
        let is_owed = |ordinal: &u32| {
            let ordinal = *ordinal;
            !is_unread || self.index.is_readable(RecordPosition { ordinal, ..from })
        };
        let first = (from.ordinal..).find(is_owed).unwrap_or(from.ordinal);
        #[cfg(test)]
        super::witness::gives_up_from(from);
        self.skip_damaged(from, known.max(first + 1))
    }

    /// Continues the backlog at `cursor`, unless its segment was retired while its frames were enqueued.
    pub(super) fn read_up_to(&mut self, cursor: ReadCursor) {
        if self.reads_in(cursor.position.segment) {
            self.backlog = Some(cursor);
        }
    }

    /// Where a segment that takes no more records lacks some that it had, if nothing more can be read in it and
    /// `end` of its bytes are in its file.
    pub(super) fn lacking_from(&self, segment: SegmentId, end: u64) -> Option<ReadCursor> {
        let cursor = self.backlog.filter(|_| self.reads_in(segment))?;
        let is_whole = segment != self.current && !self.has_more(segment, end);
        let records = self.index.get(segment)?.records();
        let mut lacking = (cursor.position.ordinal..records)
            .map(|ordinal| RecordPosition { segment, ordinal })
            .filter(|position| self.index.is_readable(*position));
        (is_whole && lacking.next().is_some()).then_some(cursor)
    }

    /// Nothing readable is left in a segment, of which `end` bytes are in its file. True if reading goes
    /// on in the next segment.
    pub(super) fn end_of_segment(&mut self, segment: SegmentId, end: u64) -> bool {
        let Some(cursor) = self.backlog.filter(|_| self.reads_in(segment)) else {
            return true;
        };
        let bytes = self.index.get(segment).map(|entry| entry.bytes());
        if segment == self.current {
            // Level with the request path: from here on records are delivered from memory.
            if bytes.is_none_or(|bytes| bytes == cursor.offset) {
                self.backlog = None;
            }
            return false;
        }
        if bytes.is_some_and(|bytes| bytes > end) {
            return false;
        }
        if self.index.seal(segment) {
            self.retire(segment);
        }
        if self.backlog == Some(cursor) {
            self.backlog = Some(self.start_after(segment));
        }
        true
    }

    /// No more records are appended to this segment: it is damaged.
    pub(super) fn stop_appending(&mut self, segment: SegmentId) {
        if segment == self.current {
            self.rotate();
        }
    }

    fn can_read_backlog(&self) -> bool {
        self.backlog.is_some() && self.delivery.has_room()
    }

    fn reads_in(&self, segment: SegmentId) -> bool {
        self.backlog
            .is_some_and(|cursor| cursor.position.segment == segment)
    }

    fn start_after(&self, segment: SegmentId) -> ReadCursor {
        ReadCursor::start(self.index.next_after(segment).unwrap_or(self.current))
    }

    // --- Segments ---

    /// Closes the current segment when it is due and drops those that are too old.
    fn expire(&mut self, now_ms: i64) -> Option<Dropped> {
        let current = self.index.get(self.current);
        if current.is_some_and(|entry| self.policy.is_due(entry, now_ms)) {
            self.rotate();
        }
        let mut lost = 0;
        while let Some(segment) = self.policy.expired(&self.index, now_ms) {
            lost += self.evict(segment, DropReason::Old);
        }
        Dropped::new(DropReason::Old, lost)
    }

    /// Drops the oldest segments until the files are within their size.
    fn evict_over_size(&mut self) -> Option<Dropped> {
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
        let (lost, known) = (entry.lost_if_dropped(), entry.known_if_unread());
        self.only_in_memory += entry.in_flight();
        #[cfg(test)]
        super::witness::gives_up_from(RecordPosition {
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
        if self.index.seal(old) {
            self.retire(old);
        }
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
        if self.reads_in(segment) {
            self.backlog = Some(self.start_after(segment));
        }
    }

    fn current_bytes(&self) -> u64 {
        let current = self.index.get(self.current);
        current.map_or(HEADER, |entry| entry.bytes())
    }

    /// Makes the disk look as if it were that far behind.
    #[cfg(test)]
    pub(super) fn set_unwritten(&mut self, bytes: u64) {
        self.buffer.set_unwritten(bytes);
    }

    // --- Figures ---

    pub(super) fn figures(&self, now_ms: i64) -> Figures {
        let oldest = self.index.oldest_unacked_ms();
        Figures {
            bytes: self.index.bytes(),
            records: self.index.unacked(),
            oldest_seconds: oldest.map_or(0, |at| now_ms - at).max(0) as f64 / 1e3,
            in_memory: self.delivery.records(),
            memory_bytes: self.delivery.bytes(),
            retrying: self.delivery.retrying(),
            has_backlog: self.backlog.is_some(),
            only_in_memory: self.only_in_memory,
        }
    }

    /// Whose sequence numbers these are, and the latest one.
    pub(super) fn sequencer(&self) -> &Sequencer {
        &self.sequencer
    }
}

#[cfg(test)]
mod tests;
