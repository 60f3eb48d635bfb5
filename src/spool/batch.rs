//! Which records of a lane go together in one call (CONTRACT 39): of one access key, no two of one
//! exchange, so that a pre-call record that has to be sent again is still before its answer.

use super::item::Item;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// Records of one batch.
pub(super) const MOST: usize = 64;
/// Between two batches of a lane that are not full; a lane that was idle sends at once.
pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a batch's records together; a longer one goes alone.
const MOST_BYTES: u64 = 1 << 20;

/// Takes the first one and what may go with it; the rest stays in its order.
pub(super) fn take(waiting: &mut VecDeque<Item>) -> Vec<Item> {
    let mut batch: Vec<Item> = Vec::new();
    let mut left = VecDeque::with_capacity(waiting.len());
    let (mut bytes, mut seen) = (0, HashSet::new());
    for item in waiting.drain(..) {
        let fits = batch
            .first()
            .is_none_or(|first| goes_with(first, &item) && bytes + item.weight <= MOST_BYTES);
        // Whatever of an exchange stays keeps back what comes later of it.
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

fn goes_with(first: &Item, item: &Item) -> bool {
    is_unsent(first) && is_unsent(item) && key(first) == key(item)
}

/// One that is about to be kept has been sent, and so has one whose files are left.
fn is_unsent(item: &Item) -> bool {
    item.kept.is_none() && item.record.registered().is_none()
}

fn key(item: &Item) -> &str {
    item.record.context.access_key.expose()
}
