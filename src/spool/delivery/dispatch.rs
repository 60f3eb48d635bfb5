//! Starts the delivery workers and gives each record to its worker: all records of one exchange go to
//! the same worker, so that the pre-call record is sent before the post-call record.

use super::breaker::DeliveryBreaker;
use super::context::WorkerContext;
use super::pending_attachments::{AttachmentQueue, PendingAttachments};
use super::worker::DeliveryWorker;
use crate::backend::Analyzer;
use crate::spool::core::SpoolCore;
use crate::spool::state::DeliveryItem;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

/// Records that come within this time are given to their workers together: waking a worker costs as much
/// as a good part of a call.
const GATHER: Duration = Duration::from_millis(5);

/// The backend's end of a spool: runs until the spool is closed and its workers are empty.
pub struct Delivery {
    core: Arc<SpoolCore>,
    /// Wakes the dispatcher when records wait.
    wakes: Arc<Notify>,
    workers: Arc<WorkerContext>,
    attachments: Option<mpsc::UnboundedReceiver<PendingAttachments>>,
}

impl Delivery {
    pub(in crate::spool) fn new(
        core: Arc<SpoolCore>,
        wakes: Arc<Notify>,
        analyzer: Arc<dyn Analyzer>,
        breaker: Arc<DeliveryBreaker>,
    ) -> Self {
        let (attachments, pending) = AttachmentQueue::new(core.bounds().memory / 2);
        let workers = WorkerContext {
            core: core.clone(),
            analyzer,
            breaker,
            attachments,
        };
        Self {
            core,
            wakes,
            workers: Arc::new(workers),
            attachments: Some(pending),
        }
    }

    /// The attached files of stored records, for the task that sends them; None the second time. Without
    /// such a task, attached files are dropped.
    pub fn attachments(&mut self) -> Option<mpsc::UnboundedReceiver<PendingAttachments>> {
        self.attachments.take()
    }

    /// Delivers records until the spool is closed.
    pub async fn run(self) {
        let bounds = self.core.bounds();
        let count = bounds.concurrency.max(1);
        let mut tasks = JoinSet::new();
        let mut workers = Vec::with_capacity(count);
        for _ in 0..count {
            let (sender, items) = mpsc::unbounded_channel();
            workers.push(sender);
            let worker = DeliveryWorker::new(self.workers.clone(), items, count);
            tasks.spawn(worker.run());
        }
        tasks.spawn(dispatch(self.core, self.wakes, workers));
        while tasks.join_next().await.is_some() {}
    }
}

async fn dispatch(
    core: Arc<SpoolCore>,
    wakes: Arc<Notify>,
    workers: Vec<mpsc::UnboundedSender<DeliveryItem>>,
) {
    let mut is_last = false;
    while !is_last {
        wakes.notified().await;
        tokio::time::sleep(GATHER).await;
        let batch = core.lock().take_deliveries();
        is_last = batch.is_last;
        // Waiting for the disk here wakes each worker once instead of twice.
        let latest = batch.items.iter().map(|item| item.ticket).max();
        core.wait_written(latest.unwrap_or(0)).await;
        for item in batch.items {
            let worker = item.record.context.exchange.0.as_u128() % workers.len() as u128;
            // A worker runs for as long as its sender exists.
            let _ = workers[worker as usize].send(item);
        }
    }
}
