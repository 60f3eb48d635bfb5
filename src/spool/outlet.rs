//! From the spool's state to its lanes, in portions. What becomes of a record is `lanes`'.

use super::Shared;
use super::item::Item;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// Records that come within this time go to their lanes together.
const GATHER: Duration = Duration::from_millis(5);

/// Gives records to their lanes: one exchange, one lane. What comes within a moment goes together, since
/// each time a lane is woken costs as much as a good part of a call.
pub(super) async fn hand_out(
    shared: Arc<Shared>,
    outlet: Arc<Notify>,
    lanes: Vec<mpsc::UnboundedSender<Item>>,
) {
    let mut goes_on = true;
    while goes_on {
        outlet.notified().await;
        tokio::time::sleep(GATHER).await;
        let items;
        (items, goes_on) = shared.lock().take_outbox();
        // So that a lane is not woken once for what comes and once for the disk.
        let latest = items.iter().map(|item| item.ticket).max();
        shared.written(latest.unwrap_or(0)).await;
        for item in items {
            let lane = item.record.context.exchange.0.as_u128() % lanes.len() as u128;
            // A lane ends with this end of it.
            let _ = lanes[lane as usize].send(item);
        }
    }
}
