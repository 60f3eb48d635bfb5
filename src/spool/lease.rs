//! The lease on a record of an awaited call (CONTRACT 12): the record has its number and its position
//! in a segment, but the call delivers it instead of a delivery worker. Whatever the outcome of the
//! call, the record leaves the spool only with an answer of the backend.

use super::core::{Receipt, SpoolCore};
use super::state::{DeliveryItem, LeasedRecord, Stored};
use crate::backend::{Durable, Record};
use monitor_model::RecordId;
use std::sync::Arc;

/// A leased record. Dropped without a decision, it is delivered like any other record.
pub struct Lease {
    core: Arc<SpoolCore>,
    /// None once it is decided.
    leased: Option<LeasedRecord>,
}

impl Lease {
    pub(super) fn new(core: Arc<SpoolCore>, record: Record) -> Self {
        let leased = Some(core.lease(record));
        Self { core, leased }
    }

    /// The record, until the lease ends.
    pub fn record(&self) -> Option<&Record> {
        self.leased.as_ref().map(|leased| &leased.record)
    }

    /// The record, to note the outcome of the call on it. The copy on disk stays as it was.
    pub fn record_mut(&mut self) -> Option<&mut Record> {
        self.leased.as_mut().map(|leased| &mut leased.record)
    }

    /// The backend has stored the record, under this id if it is known. Its attached files continue as a record of
    /// their own, so that a process killed meanwhile does not register this one again.
    pub fn delivered(mut self, id: Option<RecordId>) {
        let Some(leased) = self.leased.take() else {
            return;
        };
        let position = leased.position;
        self.core.lock().add_known_holder(&leased.record);
        if let Some(files) = id.and_then(|id| leased.record.into_files_owed(id)) {
            self.core.push_promised(files);
        }
        if let Some(position) = position {
            self.core.lock().finish_leased(position);
        }
    }

    /// The backend refused the record for good with that status: it becomes a dead letter.
    pub fn refused(mut self, status: u16) {
        if let Some(leased) = self.leased.take() {
            self.core
                .add_dead_letter(status, &leased.record, leased.position);
        }
    }

    /// The backend is about to store the record under this id; if it fails to, the record is delivered
    /// like any other.
    pub fn deliver_when_durable(mut self, id: RecordId, durable: Durable) {
        if let Some(leased) = self.leased.take() {
            self.enqueue(leased, Some(Stored { id, durable }));
        }
    }

    /// The call failed: the record is delivered like any other.
    pub fn release(mut self) -> Receipt {
        self.end()
    }

    fn end(&mut self) -> Receipt {
        let Some(leased) = self.leased.take() else {
            return Receipt::NEVER;
        };
        if leased.position.is_none() {
            return self.core.push(leased.record);
        }
        let receipt = Receipt(leased.ticket);
        self.enqueue(leased, None);
        receipt
    }

    fn enqueue(&self, leased: LeasedRecord, stored: Option<Stored>) {
        let mut item = DeliveryItem::new(leased.position, leased.record, leased.ticket);
        item.stored = stored;
        self.core.lock().enqueue(item);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}
