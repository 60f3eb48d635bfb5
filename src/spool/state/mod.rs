//! The state of a spool, shared under one lock by the request path, the delivery workers and the
//! writer. Every change goes through a method that keeps the invariants. Nothing here touches a file or waits.
//!
//! Three parts have invariants of their own: [`segment_log`] (the segments), [`delivery_queue`] (records in memory
//! on their way to the backend) and [`waiting_letters`]. Between them hold:
//!
//! 1. **Delivery reads from one place.** While `backlog` is None, an accepted record goes to `delivery` from memory.
//!    Otherwise every record from the cursor on waits on disk, except leased ones: they are never read back.
//! 2. **In memory or on disk.** A record in `delivery`, or leased, counts as in flight in `log`, and is
//!    acknowledged exactly once: [`State::finish`] or [`State::finish_leased`].
//! 3. **Bounds.** The files are within [`EvictionPolicy`] after each call that adds to them.

mod delivery_queue;
mod outcomes;
mod reading;
mod segment_log;
pub(super) mod shares;
mod waiting_letters;
mod write_buffer;

pub(crate) use delivery_queue::{Batch, DeliveryItem, Stored};
pub(crate) use outcomes::{
    Accepted, Appended, Figures, Leased, LeasedRecord, NotAccepted, Progress, TakenChunks,
    WriterRound,
};
pub(crate) use segment_log::Initial;
pub(crate) use write_buffer::{Chunk, length_of};

use super::dead_letter::encoding::EncodedLetter;
use super::eviction::EvictionPolicy;
use super::segment_index::{ReadCursor, RecordPosition};
use super::sequence::{Hashed, Sequencer};
use crate::backend::Record;
use crate::fair_queue::KnownHolders;
use delivery_queue::{DeliveryQueue, Offered};
use segment_log::SegmentLog;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::Notify;
use waiting_letters::WaitingLetters;

pub(super) struct State {
    log: SegmentLog,
    delivery: DeliveryQueue,
    dead_letters: WaitingLetters,
    /// Where reading back from disk continues, unless that segment is gone: see [`State::backlog`].
    backlog: Option<ReadCursor>,
    /// A call waits for the disk: the writer does not gather further records first.
    urgent: bool,
    closing: bool,
    /// The writer waits to be woken.
    writer_idle: bool,
}

impl State {
    /// Without a dispatcher nothing is delivered.
    pub(super) fn new(
        initial: Initial,
        policy: EvictionPolicy,
        max_memory: u64,
        dispatcher: Option<Arc<Notify>>,
    ) -> Self {
        let log = SegmentLog::new(initial, policy);
        Self {
            backlog: log.oldest().map(ReadCursor::start),
            log,
            delivery: DeliveryQueue::new(dispatcher, max_memory),
            dead_letters: WaitingLetters::default(),
            urgent: false,
            closing: false,
            writer_idle: false,
        }
    }

    // --- The request path ---

    /// Accepts a record for delivery.
    pub(super) fn push(&mut self, hashed: Hashed, now_ms: i64) -> Result<Accepted, NotAccepted> {
        self.log.may_accept(hashed.record())?;
        Ok(self.append_and_offer(hashed, now_ms))
    }

    /// Accepts a record that was promised before, whatever share its access key has.
    pub(super) fn push_promised(
        &mut self,
        hashed: Hashed,
        now_ms: i64,
    ) -> Result<Accepted, NotAccepted> {
        self.log.may_append(hashed.record())?;
        Ok(self.append_and_offer(hashed, now_ms))
    }

    fn append_and_offer(&mut self, hashed: Hashed, now_ms: i64) -> Accepted {
        let (start, record) = self.log.append(hashed, now_ms);
        let ticket = self.log.accepted();
        if self.backlog.is_none() {
            let item = DeliveryItem::new(Some(start.position), record, ticket);
            if self.offer(item) == Offered::NoRoom {
                self.backlog = Some(start);
            }
        }
        Accepted {
            ticket,
            dropped: self.log.evict_over_size(),
        }
    }

    /// Accepts a record that the caller delivers itself.
    pub(super) fn lease(&mut self, hashed: Hashed, now_ms: i64) -> Leased {
        if self.log.may_accept(hashed.record()).is_err() {
            return Leased {
                record: LeasedRecord {
                    position: None,
                    record: hashed.into_record(),
                    ticket: self.log.accepted(),
                },
                dropped: None,
            };
        }
        let (start, record) = self.log.append(hashed, now_ms);
        self.log.lease(start.position);
        Leased {
            record: LeasedRecord {
                position: Some(start.position),
                record,
                ticket: self.log.accepted(),
            },
            dropped: self.log.evict_over_size(),
        }
    }

    /// Whether new segments are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.log.is_encrypted()
    }

    /// The backend has accepted a record of this one's access key.
    pub(super) fn add_known_holder(&self, record: &Record) {
        self.log.add_known_holder(record);
    }

    /// The access keys that the backend has accepted.
    pub(super) fn known_holders(&self) -> Arc<KnownHolders> {
        self.log.known_holders().clone()
    }

    /// The bytes that are not on disk, for those who have no lock.
    pub(super) fn watch_unsynced(&self) -> Arc<AtomicU64> {
        self.log.buffer().watch_unsynced()
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
            self.log.finish(position);
        }
    }

    /// A leased record that was never enqueued is done with.
    pub(super) fn finish_leased(&mut self, position: RecordPosition) {
        self.log.finish(position);
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
        self.dead_letters.add(letter)
    }

    fn offer(&mut self, item: DeliveryItem) -> Offered {
        let position = item.position;
        let log = &self.log;
        let offered = self.delivery.offer(item, |record| log.is_unknown(record));
        if offered == Offered::Enqueued
            && let Some(position) = position
        {
            self.log.begin_delivery(position);
        }
        offered
    }

    // --- The writer ---

    /// Whether the writer has a reason to begin a round.
    pub(super) fn has_work(&self) -> bool {
        self.log.buffer().has_unsynced()
            || self.closing
            || !self.dead_letters.is_empty()
            || self.can_read_backlog()
    }

    /// Whether the writer may wait a moment for further records before it syncs.
    pub(super) fn may_gather(&self) -> bool {
        self.log.has_unwritten() && !self.urgent && !self.closing
    }

    pub(super) fn set_writer_idle(&mut self, idle: bool) {
        self.writer_idle = idle;
    }

    /// Whether there are bytes that are not on disk.
    pub(super) fn has_unsynced(&self) -> bool {
        self.log.buffer().has_unsynced()
    }

    /// Whether the spool is being closed.
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether the writer waits to be woken.
    pub(super) fn is_writer_idle(&self) -> bool {
        self.writer_idle
    }

    /// Whether an idle writer has to be woken for what a worker left it.
    pub(super) fn wakes_writer(&self) -> bool {
        self.writer_idle && (self.can_read_backlog() || !self.dead_letters.is_empty())
    }

    /// Expires old segments, those of an earlier process by `aging_ms`; hands the writer everything it has to do.
    pub(super) fn begin_round(&mut self, now_ms: i64, aging_ms: i64) -> WriterRound {
        let dropped = self.log.expire(now_ms, aging_ms);
        self.urgent = false;
        WriterRound {
            acks: self.log.take_acks(),
            dead_letters: self.dead_letters.take(),
            evicted: self.log.take_evicted(),
            dropped,
            progress: Progress {
                appended: self.appended(),
                cut_unreported: self.log.sequencer().is_cut_unreported(),
                closing: self.closing,
            },
        }
    }

    /// Hands over what is to be written.
    pub(super) fn take_appended(&mut self) -> TakenChunks {
        TakenChunks {
            chunks: self.log.take_chunks(),
            appended: self.appended(),
        }
    }

    fn appended(&self) -> Appended {
        Appended {
            accepted: self.log.accepted(),
            latest: self.log.sequencer().latest(),
        }
    }

    /// Hands the writer what was acknowledged since its round began.
    pub(super) fn take_acks(&mut self) -> Vec<RecordPosition> {
        self.log.take_acks()
    }

    /// The writer has synced or discarded so many bytes.
    pub(super) fn released(&mut self, bytes: u64) {
        self.log.released(bytes);
    }

    /// The current segment is full.
    #[cfg(test)]
    pub(super) fn begin_segment(&mut self) {
        self.log.stop_appending(self.log.current());
    }

    // --- Figures ---

    pub(super) fn figures(&self, now_ms: i64) -> Figures {
        let index = self.log.index();
        let age_ms = index.oldest_unacked_ms().map_or(0, |at| now_ms - at);
        Figures {
            bytes: index.bytes(),
            records: index.unacked(),
            oldest_seconds: age_ms.max(0) as f64 / 1e3,
            in_memory: self.delivery.records(),
            memory_bytes: self.delivery.bytes(),
            retrying: self.delivery.retrying(),
            has_backlog: self.backlog.is_some(),
            only_in_memory: self.log.only_in_memory(),
        }
    }

    /// Whose sequence numbers these are, and the latest one.
    pub(super) fn sequencer(&self) -> &Sequencer {
        self.log.sequencer()
    }
}

#[cfg(test)]
mod tests;
