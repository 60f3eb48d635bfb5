//! Chooses the records of a worker that are sent in one call (CONTRACT 39): those of one access key, and
//! no two of one exchange, so that a pre-call record that has to be sent again still precedes its
//! post-call record.

use crate::spool::state::DeliveryItem;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// Records in one batch at most.
pub(super) const MAX_RECORDS: usize = 64;
/// Time between two batches of a worker that are not full; an idle worker sends at once.
pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a batch's records together at most; a longer record is sent alone.
const MAX_BYTES: u64 = 1 << 20;

/// Takes the first record and those that may go with it; the others keep their order.
pub(super) fn take(waiting: &mut VecDeque<DeliveryItem>) -> Vec<DeliveryItem> {
    let mut batch: Vec<DeliveryItem> = Vec::new();
    let mut left = VecDeque::with_capacity(waiting.len());
    let (mut bytes, mut seen) = (0, HashSet::new());
    for item in waiting.drain(..) {
        let fits = batch
            .first()
            .is_none_or(|first| goes_with(first, &item) && bytes + item.weight <= MAX_BYTES);
        // A record that stays keeps back every later record of its exchange.
        if seen.insert(item.record.context.exchange.0) && fits {
            bytes += item.weight;
            batch.push(item);
        } else {
            left.push_back(item);
        }
    }
    *waiting = left;
    batch
}

fn goes_with(first: &DeliveryItem, item: &DeliveryItem) -> bool {
    is_unsent(first) && is_unsent(item) && key(first) == key(item)
}

/// Whether the backend does not have the record yet, as far as is known.
fn is_unsent(item: &DeliveryItem) -> bool {
    item.stored.is_none() && item.record.registered().is_none()
}

fn key(item: &DeliveryItem) -> &str {
    item.record.context.access_key.expose()
}
