//! What a lane does with the files of a record that the backend has (CONTRACT 29, 31): they are handed
//! over, and the record's entry stays in the spool until they have come to their ends.

use super::item::Item;
use super::lanes::Lane;
use crate::observe::events::AttachmentsAbandoned;
use crate::observe::{AttachmentOutcome, TelemetryOutcome};
use futures_util::FutureExt;
use monitor_model::RecordId;

impl Lane {
    pub(super) async fn delivered(&mut self, item: Item, id: Option<RecordId>) {
        self.left(&item, TelemetryOutcome::Delivered, "");
        match id.filter(|_| item.record.files.is_some()) {
            None => self.release(&item),
            Some(id) if item.place.is_some() => self.owe(item, id).await,
            // So that its files are in the spool, as others' are.
            Some(id) => {
                self.release(&item);
                item.record
                    .into_files_owed(id)
                    .map(|record| self.shared.push(record));
            }
        }
    }

    /// The item stays until its files have come to their ends.
    pub(super) async fn owe(&mut self, item: Item, id: RecordId) {
        let (list, context) = (item.record.files.clone(), item.record.context.clone());
        let ended = match list {
            Some(list) => {
                let owing = &self.shared.files;
                owing.hand_over(item.weight, (list, context), id).await
            }
            None => None,
        };
        let Some(ended) = ended else {
            self.files_left(&item, AttachmentOutcome::Dropped, "too many wait already");
            return self.release(&item);
        };
        self.files.push(
            async move {
                if ended.await.is_err() {
                    // The process ends: they are owed at the next start.
                    std::future::pending::<()>().await;
                }
                item
            }
            .boxed(),
        );
    }

    pub(super) fn files_left(&self, item: &Item, outcome: AttachmentOutcome, reason: &'static str) {
        let list = item.record.files.as_ref();
        AttachmentsAbandoned {
            request_id: list.map_or("", |list| &list.request_id),
            outcome,
            reason,
        }
        .emit(&self.shared.metrics);
    }
}
