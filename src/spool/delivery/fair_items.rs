//! The records that one worker has been given, in fair turns of tenants: one that floods delays its own
//! records. The records of one exchange are one tenant's, so they keep their order.

use crate::fair_queue::{FairQueue, Tenant};
use crate::spool::state::DeliveryItem;
use tokio::sync::mpsc;

/// What a worker receives.
pub(super) struct FairItems {
    incoming: mpsc::UnboundedReceiver<DeliveryItem>,
    waiting: FairQueue<DeliveryItem>,
}

impl FairItems {
    pub(super) fn new(incoming: mpsc::UnboundedReceiver<DeliveryItem>) -> Self {
        Self {
            incoming,
            waiting: FairQueue::default(),
        }
    }

    /// The next record; None once there is none and no further one comes. Dropping the future loses none.
    pub(super) async fn recv(&mut self) -> Option<DeliveryItem> {
        if let Some(item) = self.try_recv() {
            return Some(item);
        }
        let item = self.incoming.recv().await?;
        self.push(item);
        self.try_recv()
    }

    /// The next record, if there is one.
    pub(super) fn try_recv(&mut self) -> Option<DeliveryItem> {
        while let Ok(item) = self.incoming.try_recv() {
            self.push(item);
        }
        self.waiting.next(|_| true)
    }

    /// Records that wait.
    pub(super) fn len(&self) -> usize {
        self.incoming.len() + self.waiting.len()
    }

    fn push(&mut self, item: DeliveryItem) {
        let context = &item.record.context;
        let tenant = Tenant::new(&context.access_key, &context.application_id);
        self.waiting.push(tenant, item.weight, item);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::backend::{Record, RecordContext};
    use crate::spool::tests::samples::sample_record;
    use monitor_model::Secret;
    use std::sync::Arc;

    fn record_of(key: &str, message: &str) -> Record {
        let sample = sample_record(1);
        let context = RecordContext {
            exchange: sample.context.exchange,
            access_key: Secret::new(key),
            application_id: None,
            user_id: None,
            session_id: None,
            trace: None,
        };
        Record {
            context: Arc::new(context),
            message: message.to_owned(),
            ..sample
        }
    }

    #[tokio::test]
    async fn the_records_of_a_quiet_tenant_wait_for_no_flood_of_another() {
        let (sender, incoming) = mpsc::unbounded_channel();
        let mut items = FairItems::new(incoming);
        for number in 0..100 {
            let flooding = record_of("flooding", &format!("{number}"));
            assert!(sender.send(DeliveryItem::new(None, flooding, 0)).is_ok());
        }
        for text in ["first", "second"] {
            let quiet = record_of("quiet", text);
            assert!(sender.send(DeliveryItem::new(None, quiet, 0)).is_ok());
        }
        drop(sender);
        let mut order = Vec::new();
        assert_eq!(items.len(), 102);
        while let Some(item) = items.recv().await {
            order.push((
                item.record.context.access_key.expose().to_owned(),
                item.record.message,
            ));
        }
        let place = |text: &str| order.iter().position(|(_, it)| it == text).unwrap();
        assert!(place("first") < place("second"));
        // A quantum of small records of the other one goes before each.
        assert!(place("second") < 80, "{}", place("second"));
        let flooding: Vec<_> = order.iter().filter(|(key, _)| key == "flooding").collect();
        assert!(
            flooding
                .iter()
                .map(|(_, text)| text.parse::<u32>().unwrap())
                .is_sorted()
        );
    }
}
