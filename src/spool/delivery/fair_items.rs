//! The records that one worker has been given, in fair turns of tenants: one that floods delays its own
//! records. The records of one exchange are one tenant's, so they keep their order. Access keys that the backend
//! has not accepted take turns as one; those that are bound to one application take turns with each other within
//! its share.

use crate::fair_queue::{FairQueue, JobClass, KnownHolders, OpenClasses, Tenant};
use crate::spool::state::DeliveryItem;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::mpsc;

/// All access keys that the backend has not accepted.
const UNKNOWN: u64 = 0;

/// What a worker receives.
pub(super) struct FairItems {
    incoming: mpsc::UnboundedReceiver<DeliveryItem>,
    waiting: FairQueue<DeliveryItem>,
    known: Arc<KnownHolders>,
    /// By access key, the tenant among whose records its own wait: further ones of a key of which more becomes known
    /// meanwhile stay behind them.
    waiting_as: HashMap<u64, WaitingAs>,
}

/// The records of one access key that wait.
struct WaitingAs {
    holder: u64,
    count: usize,
}

impl FairItems {
    pub(super) fn new(
        incoming: mpsc::UnboundedReceiver<DeliveryItem>,
        known: Arc<KnownHolders>,
    ) -> Self {
        Self {
            incoming,
            waiting: FairQueue::default(),
            known,
            waiting_as: HashMap::new(),
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
        let item = self.waiting.next(OpenClasses::ALL, |_| false)?;
        self.count_out(tenant_of(&item).holder);
        Some(item)
    }

    /// Records that wait.
    pub(super) fn len(&self) -> usize {
        self.incoming.len() + self.waiting.len()
    }

    fn push(&mut self, item: DeliveryItem) {
        let mut tenant = tenant_of(&item);
        let key = tenant.holder;
        let share = || self.known.share_of(key).unwrap_or(UNKNOWN);
        let waiting = self.waiting_as.entry(key).or_insert_with(|| WaitingAs {
            holder: share(),
            count: 0,
        });
        waiting.count += 1;
        tenant.holder = waiting.holder;
        if tenant.holder != key && tenant.holder != UNKNOWN {
            tenant.application = key;
        }
        self.waiting.push(tenant, JobClass::Long, item.weight, item);
    }

    fn count_out(&mut self, key: u64) {
        if let Some(waiting) = self.waiting_as.get_mut(&key) {
            waiting.count -= 1;
            if waiting.count == 0 {
                self.waiting_as.remove(&key);
            }
        }
    }
}

fn tenant_of(item: &DeliveryItem) -> Tenant {
    let context = &item.record.context;
    Tenant::new(&context.access_key, &context.application_id)
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
            message: Arc::new(message.into()),
            ..sample
        }
    }

    fn known(keys: &[&str]) -> Arc<KnownHolders> {
        let known = Arc::<KnownHolders>::default();
        for key in keys {
            known.insert(Tenant::new(&Secret::new(*key), &()).holder);
        }
        known
    }

    #[tokio::test]
    async fn invented_keys_take_turns_as_one_and_a_key_that_becomes_known_keeps_its_order() {
        let (sender, incoming) = mpsc::unbounded_channel();
        let known = known(&["known"]);
        let mut items = FairItems::new(incoming, known.clone());
        let large = "x".repeat(64 << 10);
        let offer = |key: &str, text: &str| {
            let record = record_of(key, &format!("{text} {large}"));
            assert!(sender.send(DeliveryItem::new(None, record, 0)).is_ok());
        };
        offer("later", "first");
        for number in 0..40 {
            offer(&format!("invented {number}"), "invented");
        }
        for number in 0..4 {
            offer("known", &format!("known {number}"));
        }
        let mut order = vec![items.recv().await.unwrap()];
        known.insert(Tenant::new(&Secret::new("later"), &()).holder);
        offer("later", "second");
        drop(sender);
        while let Some(item) = items.recv().await {
            order.push(item);
        }
        let place = |text: &str| {
            let mut texts = order.iter().map(|item| &item.record.message);
            texts.position(|it| it.starts_with(text)).unwrap()
        };
        assert!(place("known 3") < 12, "{}", place("known 3"));
        assert!(place("first") < place("second"));
    }

    #[tokio::test]
    async fn the_keys_of_one_application_have_one_share_of_the_delivery() {
        let (sender, incoming) = mpsc::unbounded_channel();
        let keys: Vec<_> = (0..40).map(|number| format!("bound {number}")).collect();
        let known = known(&["quiet"]);
        for key in &keys {
            let key = Tenant::new(&Secret::new(&**key), &()).holder;
            known.insert_with_share(key, 7);
        }
        let mut items = FairItems::new(incoming, known);
        let large = "x".repeat(64 << 10);
        let offer = |key: &str, text: &str| {
            let record = record_of(key, &format!("{text} {large}"));
            assert!(sender.send(DeliveryItem::new(None, record, 0)).is_ok());
        };
        for round in 0..2 {
            keys.iter()
                .for_each(|key| offer(key, &format!("{key} {round}")));
        }
        (0..4).for_each(|number| offer("quiet", &format!("quiet {number}")));
        drop(sender);
        let mut order = Vec::new();
        while let Some(item) = items.recv().await {
            order.push(item.record.message.clone());
        }
        let place = |text: &str| order.iter().position(|it| it.starts_with(text)).unwrap();
        assert!(place("quiet 3") < 12, "{}", place("quiet 3"));
        // The keys take turns with each other.
        assert!(place("bound 39 0") < place("bound 0 1"));
        assert!(place("bound 5 0") < place("bound 5 1"));
    }

    #[tokio::test]
    async fn the_records_of_a_quiet_tenant_wait_for_no_flood_of_another() {
        let (sender, incoming) = mpsc::unbounded_channel();
        let mut items = FairItems::new(incoming, known(&["flooding", "quiet"]));
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
        let place = |text: &str| {
            order
                .iter()
                .position(|(_, it)| it.as_str() == text)
                .unwrap()
        };
        assert!(place("first") < place("second"));
        // Each takes its turn with one of the other one.
        assert!(place("second") < 8, "{}", place("second"));
        let flooding: Vec<_> = order.iter().filter(|(key, _)| key == "flooding").collect();
        assert!(
            flooding
                .iter()
                .map(|(_, text)| text.parse::<u32>().unwrap())
                .is_sorted()
        );
    }
}
