//! Handles the outcome of a record (CONTRACT 23, 29): logs and counts it, hands the attached files of a stored
//! record over, makes a refused record a dead letter, and lets the record leave the spool.

use super::context::WorkerContext;
use super::pending_attachments::AttachmentsOf;
use crate::observe::events::{AttachmentsAbandoned, RecordFinished};
use crate::observe::{AttachmentOutcome, TelemetryOutcome};
use crate::spool::segment_index::RecordPosition;
use crate::spool::state::DeliveryItem;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use monitor_model::RecordId;
use std::future::Future;
use std::sync::Arc;

/// Bytes of a record whose dead letter counts as on its way until it is on disk.
const LARGE: u64 = 256 << 10;

/// The outcomes of one worker's records.
pub(super) struct OutcomeHandler {
    shared: Arc<WorkerContext>,
    /// Records whose attached files are being sent; no other record waits for them.
    attaching: FuturesUnordered<BoxFuture<'static, DeliveryItem>>,
}

impl OutcomeHandler {
    pub(super) fn new(shared: Arc<WorkerContext>) -> Self {
        Self {
            shared,
            attaching: FuturesUnordered::new(),
        }
    }

    /// The next record whose attached files are done with; None at once while there is none.
    pub(super) fn next_attached(&mut self) -> impl Future<Output = Option<DeliveryItem>> {
        self.attaching.next()
    }

    /// The backend has stored the record, under this id if it gave one.
    pub(super) async fn delivered(&mut self, item: DeliveryItem, id: Option<RecordId>) {
        self.log_finished(&item, TelemetryOutcome::Delivered, "");
        self.shared.core.lock().add_known_holder(&item.record);
        match id.filter(|_| item.record.files.is_some()) {
            None => {
                if item.record.files.is_some() {
                    let reason = "the backend's verdict is too long to be read";
                    self.log_abandoned(&item, AttachmentOutcome::NoRecord, reason);
                }
                self.finish(&item);
            }
            Some(id) if item.position.is_some() => self.attach_files(item, id).await,
            // The record was leased while the disk refused it: its files get a place in the spool now.
            Some(id) => {
                self.finish(&item);
                if let Some(files) = item.record.into_files_owed(id) {
                    self.shared.core.push_promised(files);
                }
            }
        }
    }

    /// Hands the attached files over; the record stays in the spool until they are done with.
    pub(super) async fn attach_files(&mut self, item: DeliveryItem, record: RecordId) {
        let ended = match &item.record.files {
            Some(list) => {
                let files = AttachmentsOf {
                    list: list.clone(),
                    context: item.record.context.clone(),
                    record,
                    weight: item.weight,
                };
                self.shared.attachments.hand_over(files).await
            }
            None => None,
        };
        let Some(ended) = ended else {
            let reason = "too many wait already";
            self.log_abandoned(&item, AttachmentOutcome::Dropped, reason);
            return self.finish(&item);
        };
        let attached = async move {
            if ended.await.is_err() {
                // The process ends; the next start sends them.
                std::future::pending::<()>().await;
            }
            item
        };
        self.attaching.push(attached.boxed());
    }

    /// The backend refuses the record for good: it becomes a dead letter.
    pub(super) async fn refused(&mut self, item: DeliveryItem, status: u16, reason: &str) {
        let core = &self.shared.core;
        let letter = core
            .add_dead_letter_in_turn(status, &item.record, item.position)
            .await;
        self.log_finished(&item, TelemetryOutcome::Refused, reason);
        if item.record.files.is_some() {
            let reason = "the backend refused the record";
            self.log_abandoned(&item, AttachmentOutcome::NoRecord, reason);
        }
        let weight = item.weight;
        drop(item);
        // No other record takes the place of a large one in memory until its letter has left it.
        if let Some(letter) = letter.filter(|_| weight >= LARGE) {
            core.wake_writer();
            core.letter_memory().wait_for(letter).await;
        }
        self.leave(None, weight);
    }

    /// The record leaves the spool.
    pub(super) fn finish(&self, item: &DeliveryItem) {
        self.leave(item.position, item.weight);
    }

    /// A record of this weight leaves its worker, and the spool if it is named.
    fn leave(&self, position: Option<RecordPosition>, weight: u64) {
        let mut state = self.shared.core.lock();
        state.finish(position, weight);
        if state.wakes_writer() {
            self.shared.core.wake_writer();
        }
    }

    fn log_finished(&self, item: &DeliveryItem, outcome: TelemetryOutcome, reason: &str) {
        RecordFinished {
            stage: item.record.stage,
            outcome,
            reason,
        }
        .emit(self.shared.core.metrics());
    }

    fn log_abandoned(&self, item: &DeliveryItem, outcome: AttachmentOutcome, reason: &'static str) {
        let list = item.record.files.as_ref();
        AttachmentsAbandoned {
            request_id: list.map_or("", |list| &list.request_id),
            outcome,
            reason,
        }
        .emit(self.shared.core.metrics());
    }
}
