//! A record of an awaited call (CONTRACT 12): it has its number and its place in a segment, and goes to
//! no lane while the call itself delivers it. Whatever becomes of the call, the record leaves the spool
//! only with a backend's answer.

use super::book::Place;
use super::item::Item;
use super::numbers::Digested;
use super::{Receipt, Shared, Spool, now_ms};
use crate::backend::{Durable, Record};
use monitor_model::RecordId;
use std::sync::Arc;

/// What has to be decided of it; dropped without a decision, it is delivered like any other record.
pub struct Lease {
    shared: Arc<Shared>,
    /// None once it is decided.
    waiting: Option<Waiting>,
}

/// The record and where it stands.
pub(super) struct Waiting {
    /// None where the disk takes no more.
    pub(super) place: Option<Place>,
    pub(super) record: Record,
    /// As [`Item::ticket`].
    pub(super) ticket: u64,
}

impl Spool {
    /// Takes a record that a call of its own is about to deliver.
    pub fn lease(&self, record: Record) -> Lease {
        let digested = Digested::from(record);
        let (waiting, lost, latest, wake) = {
            let mut state = self.shared.lock();
            let (waiting, lost) = state.hold(digested, now_ms());
            (waiting, lost, state.numbers.latest(), state.idle)
        };
        if wake {
            self.shared.wake.notify_one();
        }
        self.shared.report(waiting.record.stage, lost);
        if waiting.place.is_some() {
            self.shared.goes_early(latest);
        }
        Lease {
            shared: self.shared.clone(),
            waiting: Some(waiting),
        }
    }
}

impl Lease {
    /// The record.
    pub fn record(&self) -> Option<&Record> {
        self.waiting.as_ref().map(|waiting| &waiting.record)
    }

    /// The record, so that what became of the call can be noted on it. The file keeps it as it was.
    pub fn record_mut(&mut self) -> Option<&mut Record> {
        self.waiting.as_mut().map(|waiting| &mut waiting.record)
    }

    /// The backend has it under this id; its files go on as a record of their own, so that a process
    /// that is killed meanwhile does not register it again.
    pub fn delivered(mut self, id: RecordId) {
        let Some(Waiting { place, record, .. }) = self.waiting.take() else {
            return;
        };
        if let Some(files) = record.into_files_owed(id) {
            self.shared.push(files);
        }
        self.settle(place);
    }

    /// The backend refuses it for good with that status: it is a dead letter.
    pub fn refused(mut self, status: u16) {
        if let Some(Waiting { place, record, .. }) = self.waiting.take() {
            self.shared.bury(status, &record);
            self.settle(place);
        }
    }

    /// The backend is about to keep it; where it fails to, it is delivered like any other record.
    pub fn deliver_when_durable(mut self, id: RecordId, durable: Durable) {
        if let Some(waiting) = self.waiting.take() {
            self.shared.lock().send(waiting.item(Some((id, durable))));
        }
    }

    /// The call came to nothing: the record is delivered like any other.
    pub fn release(mut self) -> Receipt {
        self.leave()
    }

    fn settle(&self, place: Option<Place>) {
        if let Some(place) = place {
            self.shared.lock().settled_alone(place);
        }
    }

    fn leave(&mut self) -> Receipt {
        let Some(waiting) = self.waiting.take() else {
            return Receipt::NEVER;
        };
        match waiting.place {
            None => self.shared.push(waiting.record),
            Some(_) => {
                let receipt = Receipt(waiting.ticket);
                self.shared.lock().send(waiting.item(None));
                receipt
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Waiting {
    fn item(self, kept: Option<(RecordId, Durable)>) -> Item {
        Item {
            place: self.place,
            weight: self.record.weight(),
            record: self.record,
            kept,
            ticket: self.ticket,
        }
    }
}
