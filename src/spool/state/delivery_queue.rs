//! Records in memory on their way to the backend: those waiting for the dispatcher, and the figures of
//! those the delivery workers have.
//!
//! Invariants:
//! - `records` counts every record that was enqueued and has not been finished; `retrying` counts
//!   those of them in a worker's retry queue.
//! - `bytes` is the weight of the records that are not retrying. Retry queues have a bound of their own.
//! - `is_full` is set when a record found no room and cleared when one leaves, and `readable_at` is how much may be in
//!   memory for the next one to find room, so that it is not read back from disk for a queue without room.

use crate::backend::{Durable, Record};
use crate::spool::segment_index::RecordPosition;
use monitor_model::RecordId;
use std::sync::Arc;
use tokio::sync::Notify;

/// A record of an access key that no backend has accepted finds room while less than this part of the memory is used.
const PART_OF_UNKNOWN: u64 = 8;

/// A record on its way to the backend.
pub(crate) struct DeliveryItem {
    /// None for a leased record that the disk refused.
    pub(crate) position: Option<RecordPosition>,
    pub(crate) record: Record,
    /// Bytes that the record counts for.
    pub(crate) weight: u64,
    /// Present if the backend has given its verdict and is about to store the record.
    pub(crate) stored: Option<Stored>,
    /// The record leaves the process once so many records are on disk.
    pub(crate) ticket: u64,
}

/// The backend's id of a record that it is about to store, and what resolves when it has.
pub(crate) struct Stored {
    pub(crate) id: RecordId,
    pub(crate) durable: Durable,
}

impl DeliveryItem {
    pub(crate) fn new(position: Option<RecordPosition>, record: Record, ticket: u64) -> Self {
        Self {
            position,
            weight: record.weight(),
            record,
            stored: None,
            ticket,
        }
    }
}

/// The outcome of offering a record to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offered {
    Enqueued,
    /// There is no room; the record stays on disk.
    NoRoom,
    /// Delivery has ended; the record stays on disk for the next start.
    Closed,
}

/// Items the dispatcher took, and whether more may follow.
pub(crate) struct Batch {
    pub(crate) items: Vec<DeliveryItem>,
    pub(crate) is_last: bool,
}

pub(super) struct DeliveryQueue {
    /// Wakes the dispatcher; None once delivery has ended.
    dispatcher: Option<Arc<Notify>>,
    items: Vec<DeliveryItem>,
    max_bytes: u64,
    bytes: u64,
    records: u64,
    retrying: u64,
    is_full: bool,
    readable_at: u64,
}

impl DeliveryQueue {
    pub(super) fn new(dispatcher: Option<Arc<Notify>>, max_bytes: u64) -> Self {
        Self {
            dispatcher,
            items: Vec::new(),
            max_bytes,
            bytes: 0,
            records: 0,
            retrying: 0,
            is_full: false,
            readable_at: max_bytes / 2,
        }
    }

    /// Enqueues a record if memory has room for it, also for one whose access key is unknown. A record larger than the
    /// bound is taken alone.
    pub(super) fn offer(
        &mut self,
        item: DeliveryItem,
        is_unknown: impl FnOnce(&Record) -> bool,
    ) -> Offered {
        let bytes = self.bytes + item.weight;
        let part = self.max_bytes / PART_OF_UNKNOWN;
        let most = match bytes + item.weight > part && is_unknown(&item.record) {
            true => part,
            false => self.max_bytes,
        };
        // The next one is likely to be alike.
        self.readable_at = (self.max_bytes / 2).min(most.saturating_sub(item.weight));
        if bytes > most && self.bytes > 0 {
            self.is_full = true;
            return Offered::NoRoom;
        }
        match self.push(item) {
            true => Offered::Enqueued,
            false => Offered::Closed,
        }
    }

    /// Enqueues a record whatever the bound; false once delivery has ended.
    pub(super) fn push(&mut self, item: DeliveryItem) -> bool {
        let Some(dispatcher) = &self.dispatcher else {
            return false;
        };
        self.bytes += item.weight;
        self.records += 1;
        self.items.push(item);
        if self.items.len() == 1 {
            dispatcher.notify_one();
        }
        true
    }

    /// Hands everything that waits to the dispatcher.
    pub(super) fn take(&mut self) -> Batch {
        Batch {
            items: std::mem::take(&mut self.items),
            is_last: self.dispatcher.is_none(),
        }
    }

    /// A record that is not retrying leaves its worker for good.
    pub(super) fn finish(&mut self, weight: u64) {
        self.is_full = false;
        self.bytes -= weight;
        self.records -= 1;
    }

    /// A record enters its worker's retry queue and takes no more memory from those behind it.
    pub(super) fn begin_retrying(&mut self, weight: u64) {
        self.is_full = false;
        self.bytes -= weight;
        self.retrying += 1;
    }

    /// A record leaves its worker's retry queue.
    pub(super) fn end_retrying(&mut self, weight: u64) {
        self.bytes += weight;
        self.retrying -= 1;
    }

    /// Lets the dispatcher and the workers end once they are empty.
    pub(super) fn close(&mut self) {
        if let Some(dispatcher) = self.dispatcher.take() {
            dispatcher.notify_one();
        }
    }

    /// Whether there is room for records that are read back from disk.
    pub(super) fn has_room(&self) -> bool {
        !self.is_full && self.bytes <= self.readable_at
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    pub(super) fn retrying(&self) -> u64 {
        self.retrying
    }
}
