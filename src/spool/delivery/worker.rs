//! A delivery worker sends its records to the backend in order, one at a time or in batches; several may
//! be on their way to the backend's disk. A record leaves its worker only with an answer that will not
//! change: stored, or refused for good (CONTRACT 23). [`super::outcome`] handles that answer.

use super::batch;
use super::context::WorkerContext;
use super::fair_items::FairItems;
use super::outcome::OutcomeHandler;
use super::retry_queue::{Retried, RetryQueue};
use crate::backend::{AnalyzerError, Durable, Record, Verdict};
use crate::observe::events::RecordDelayed;
use crate::spool::state::{DeliveryItem, Stored};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use monitor_model::RecordId;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Failures after which a record moves to the retry queue: a record the backend cannot take must not
/// delay all that come behind it.
const MAX_OWN_FAILURES: u32 = 3;
/// Retry queues take this fraction of `queue.max_bytes` beside the other records.
const RETRY_FRACTION: u64 = 4;
/// Records of one worker at most that the backend has answered and not yet stored.
const MAX_UNSTORED: usize = 64;

pub(super) struct DeliveryWorker {
    shared: Arc<WorkerContext>,
    items: FairItems,
    latest_batch: Option<Instant>,
    retries: RetryQueue,
    /// Records that the backend has answered and is about to store.
    unstored: FuturesUnordered<BoxFuture<'static, StoreResult>>,
    outcomes: OutcomeHandler,
}

/// Whether the backend has stored a record under this id.
struct StoreResult {
    item: DeliveryItem,
    id: RecordId,
    result: Result<(), AnalyzerError>,
}

/// The outcome of sending a record.
enum Sent {
    /// The backend has stored it, under this id if its answer could be read.
    Stored(Option<RecordId>),
    /// The backend has answered and is about to store it.
    Answered(Stored),
    /// The backend refuses it for good.
    Refused { status: u16, reason: String },
    /// The backend has failed on it since then, and takes others as far as is known.
    Failing(Instant),
}

impl DeliveryWorker {
    /// `workers` is the number of workers that share the memory for retries.
    pub(super) fn new(
        shared: Arc<WorkerContext>,
        items: mpsc::UnboundedReceiver<DeliveryItem>,
        workers: usize,
    ) -> Self {
        let memory = shared.core.bounds().memory;
        let known = shared.core.lock().known_holders();
        Self {
            outcomes: OutcomeHandler::new(shared.clone()),
            items: FairItems::new(items, known),
            shared,
            latest_batch: None,
            retries: RetryQueue::new(memory / RETRY_FRACTION / workers as u64),
            unstored: FuturesUnordered::new(),
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                Some(stored) = self.unstored.next() => self.on_stored(stored).await,
                Some(item) = self.outcomes.next_attached() => self.outcomes.finish(&item),
                () = due(self.retries.next_try()) => self.retry().await,
                item = self.items.recv(), if self.unstored.len() < MAX_UNSTORED => match item {
                    Some(item) if self.shared.analyzer.takes_batches() => self.handle_many(item).await,
                    Some(item) => self.handle(item).await,
                    None => break,
                },
            }
        }
        while let Some(stored) = self.unstored.next().await {
            self.on_stored(stored).await;
        }
    }

    // --- One record ---

    async fn handle(&mut self, mut item: DeliveryItem) {
        match (item.stored.take(), item.record.registered()) {
            (Some(stored), _) => self.wait_stored(item, stored),
            (None, Some(id)) => self.outcomes.attach_files(item, id).await,
            (None, None) => {
                if let Some(item) = self.join_retries(item) {
                    self.deliver(item).await;
                }
            }
        }
    }

    /// Gives the record back unless an earlier one of its exchange is in the retry queue.
    fn join_retries(&mut self, item: DeliveryItem) -> Option<DeliveryItem> {
        let weight = item.weight;
        let back = self.retries.join(item);
        if back.is_none() {
            self.shared.core.lock().begin_retrying(weight);
        }
        back
    }

    async fn deliver(&mut self, item: DeliveryItem) {
        self.shared
            .core
            .wait_to_send(item.ticket, &item.record)
            .await;
        let since = match self.send_until_answered(&item.record).await {
            Sent::Failing(since) => since,
            sent => return self.conclude(item, sent).await,
        };
        while !self.retries.has_room(item.weight) {
            due(self.retries.next_try()).await;
            self.retry().await;
        }
        self.shared.core.lock().begin_retrying(item.weight);
        self.retries.add(item, since);
    }

    async fn conclude(&mut self, item: DeliveryItem, sent: Sent) {
        match sent {
            Sent::Answered(stored) => self.wait_stored(item, stored),
            Sent::Stored(id) => self.outcomes.delivered(item, id).await,
            Sent::Refused { status, reason } => {
                self.outcomes.refused(item, status, &reason).await;
            }
            Sent::Failing(_) => {
                self.outcomes
                    .refused(item, 0, "the backend failed on it for spool.max_age")
                    .await;
            }
        }
    }

    /// Sends until there is an answer, or until the backend fails on this record alone. If that cannot be
    /// told from an outage, one record of the worker moves to the retry queue anyway, and the result of the
    /// next record decides which it was.
    async fn send_until_answered(&mut self, record: &Record) -> Sent {
        let (mut failures, mut own_failures) = (0, 0);
        let since = Instant::now();
        loop {
            let attempt = self.shared.breaker.wait_for_turn().await;
            let before = self.shared.breaker.answers();
            let error = match self.send(record).await {
                Ok(sent) => return sent,
                Err(error) => error,
            };
            self.log_delay(record, &error);
            let breaker = &self.shared.breaker;
            // A backend that asks to wait has nothing against the record.
            if !matches!(error, AnalyzerError::Busy(_)) {
                failures += 1;
                own_failures += u32::from(breaker.answers() > before || breaker.is_closed());
            }
            let in_doubt = failures >= MAX_OWN_FAILURES && self.retries.is_empty();
            breaker.failed(attempt);
            if own_failures >= MAX_OWN_FAILURES || in_doubt {
                return Sent::Failing(since);
            }
        }
    }

    /// Sends a record once.
    async fn send(&mut self, record: &Record) -> Result<Sent, AnalyzerError> {
        // A panic must not take the worker and all records behind this one.
        let verdict = AssertUnwindSafe(self.shared.analyzer.deliver(record)).catch_unwind();
        let verdict = verdict.await.unwrap_or_else(|_| Err(panicked()));
        let sent = match verdict {
            Ok(Verdict { analysis, durable }) => {
                let id = analysis.request_id;
                match durable {
                    None => Sent::Stored(Some(id)),
                    Some(durable) if self.shared.breaker.is_closed() => {
                        Sent::Answered(Stored { id, durable })
                    }
                    // A backend that judges and cannot store has not recovered.
                    Some(durable) => {
                        durable.await?;
                        Sent::Stored(Some(id))
                    }
                }
            }
            Err(error @ (AnalyzerError::KeyRefused(status) | AnalyzerError::Refused(status))) => {
                let reason = error.to_string();
                Sent::Refused { status, reason }
            }
            Err(AnalyzerError::TooLong) => Sent::Stored(None),
            Err(error) => return Err(error),
        };
        self.shared.breaker.answered();
        Ok(sent)
    }

    /// Retries the record that is due. A record that the backend fails on for as long as any record is
    /// kept becomes a dead letter.
    async fn retry(&mut self) {
        let Some(mut retrying) = self.retries.take_next() else {
            return;
        };
        let Some(DeliveryItem { record, ticket, .. }) = retrying.items.front() else {
            return;
        };
        // It may have come behind an earlier record of its exchange, and not be on disk yet.
        self.shared.core.wait_to_send(*ticket, record).await;
        let attempt = self.shared.breaker.wait_for_turn().await;
        let answers_others = self.shared.breaker.is_closed();
        let sent = match self.send(record).await {
            Ok(sent) => sent,
            Err(error) => {
                self.log_delay(record, &error);
                Sent::Failing(retrying.since)
            }
        };
        let max_age = self.shared.core.bounds().age;
        match sent {
            Sent::Failing(_) if !answers_others => {
                self.shared.breaker.failed(attempt);
                self.retries.put_back(retrying, Retried::NoAnswer);
            }
            Sent::Failing(since) if since.elapsed() < max_age => {
                self.retries.put_back(retrying, Retried::Failed);
            }
            sent => {
                if let Some(item) = retrying.items.pop_front() {
                    self.shared.core.lock().end_retrying(item.weight);
                    self.conclude(item, sent).await;
                }
                self.retries.put_back(retrying, Retried::Done);
            }
        }
    }

    // --- Batches ---

    /// Sends this record and those that have come with it as batches, and alone what the backend does not
    /// take in a batch.
    async fn handle_many(&mut self, first: DeliveryItem) {
        let mut waiting = VecDeque::from([first]);
        while !waiting.is_empty() {
            let there = waiting.len() + self.items.len();
            if let Some(latest) = self.latest_batch.filter(|_| there < batch::MAX_RECORDS) {
                tokio::time::sleep_until(latest + batch::PAUSE).await;
            }
            while waiting.len() < batch::MAX_RECORDS
                && let Some(item) = self.items.try_recv()
            {
                waiting.push_back(item);
            }
            let items = batch::take(&mut waiting).into_iter();
            let mut items: Vec<_> = items.filter_map(|item| self.join_retries(item)).collect();
            // While the backend does not answer, single records probe it.
            match items.len() > 1 && self.shared.breaker.is_closed() {
                true => items = self.send_batch(items).await,
                false => self.latest_batch = None,
            }
            for item in items {
                self.handle(item).await;
            }
        }
    }

    /// Gives back the records that have to be sent alone.
    async fn send_batch(&mut self, items: Vec<DeliveryItem>) -> Vec<DeliveryItem> {
        let tickets: Vec<_> = items.iter().map(|item| item.ticket).collect();
        let records: Vec<_> = items.iter().map(|item| &item.record).collect();
        for (ticket, record) in tickets.into_iter().zip(&records) {
            self.shared.core.wait_to_send(ticket, record).await;
        }
        self.latest_batch = Some(Instant::now());
        let call = self.shared.analyzer.analyze_batch(&records);
        let call = AssertUnwindSafe(call).catch_unwind();
        let Some(results) = call.await.unwrap_or_default() else {
            return items;
        };
        // If the backend took none of them, the first one that is sent alone fails on its own account.
        self.shared.breaker.answered();
        let mut alone = Vec::new();
        for (item, result) in items.into_iter().zip(results) {
            match result {
                // A backend that does not give the id is asked for it.
                Ok(None) if item.record.files.is_some() => alone.push(item),
                Ok(id) => self.outcomes.delivered(item, id).await,
                Err(
                    AnalyzerError::Unavailable(_) | AnalyzerError::Busy(_) | AnalyzerError::TooLong,
                ) => alone.push(item),
                Err(AnalyzerError::KeyRefused(status) | AnalyzerError::Refused(status)) => {
                    self.outcomes
                        .refused(item, status, "the backend refused it")
                        .await;
                }
            }
        }
        alone
    }

    // --- Storing ---

    fn wait_stored(&mut self, item: DeliveryItem, stored: Stored) {
        let Stored { id, durable } = stored;
        self.unstored.push(confirm(item, id, durable).boxed());
    }

    async fn on_stored(&mut self, stored: StoreResult) {
        let StoreResult { item, id, result } = stored;
        match result {
            Ok(()) => self.outcomes.delivered(item, Some(id)).await,
            Err(AnalyzerError::KeyRefused(status) | AnalyzerError::Refused(status)) => {
                self.outcomes
                    .refused(item, status, "the backend refused to store it")
                    .await;
            }
            Err(error) if item.position.is_some() => {
                self.log_delay(&item.record, &error);
                self.shared.breaker.failed_later().await;
                self.deliver(item).await;
            }
            // The record was leased while the disk refused it.
            Err(_) => {
                self.outcomes.finish(&item);
                self.shared.core.push_promised(item.record);
            }
        }
    }

    fn log_delay(&self, record: &Record, error: &AnalyzerError) {
        RecordDelayed {
            stage: record.stage,
            reason: &error.to_string(),
        }
        .emit(self.shared.core.metrics());
    }
}

async fn confirm(item: DeliveryItem, id: RecordId, durable: Durable) -> StoreResult {
    let result = durable.await;
    StoreResult { item, id, result }
}

/// Never resolves if nothing is to be retried.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn panicked() -> AnalyzerError {
    AnalyzerError::Unavailable("the analysis panicked".into())
}
