//! The bounded way from the request path to the backend, in memory. The durable spool takes this
//! place behind the same two calls. Records of one exchange go through one lane, so pre comes
//! before post; lanes run beside each other.

use super::{Analyzer, AnalyzerError, Kept, Record, Verdict};
use crate::model::{ExchangeId, Stage};
use crate::observe::events::RecordLeft;
use crate::observe::{Metrics, TelemetryOutcome};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Records of one lane at most that are judged and not yet kept.
const AHEAD: usize = 64;
/// What a record that is only waited for is counted as, in bytes.
const FOLLOWED: u64 = 256;

/// The request path's end of the queue.
#[derive(Clone)]
pub struct Queue {
    lanes: Arc<Vec<mpsc::UnboundedSender<Item>>>,
    state: Arc<State>,
}

enum Item {
    /// To be judged and kept.
    Record(Record),
    /// Judged on the request path, on its way to be kept.
    Judged(Stage, Kept),
}

/// A record on its way to be kept, with its weight.
type Way = futures_util::future::BoxFuture<'static, (Stage, u64, Result<(), AnalyzerError>)>;

struct State {
    held: AtomicU64,
    waiting: AtomicU64,
    max_bytes: u64,
    metrics: Arc<Metrics>,
}

/// The backend's end of the queue: runs until every [`Queue`] is gone and all is delivered.
pub struct Worker {
    lanes: Vec<mpsc::UnboundedReceiver<Item>>,
    analyzer: Arc<dyn Analyzer>,
    state: Arc<State>,
}

impl Queue {
    /// A queue of `max_bytes` of text and `lanes` calls to the backend at once.
    pub fn new(
        analyzer: Arc<dyn Analyzer>,
        lanes: usize,
        max_bytes: u64,
        metrics: Arc<Metrics>,
    ) -> (Self, Worker) {
        // Unbounded by count: the bound is in bytes and kept by `push`.
        let (senders, receivers) = (0..lanes.max(1)).map(|_| mpsc::unbounded_channel()).unzip();
        let state = Arc::new(State {
            held: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            max_bytes,
            metrics,
        });
        let queue = Self {
            lanes: Arc::new(senders),
            state: state.clone(),
        };
        (
            queue,
            Worker {
                lanes: receivers,
                analyzer,
                state,
            },
        )
    }

    /// Takes a record and returns at once. Over the bound the record is dropped, counted and warned
    /// about; the client's call is never touched.
    pub fn push(&self, record: Record) {
        let state = &self.state;
        let (stage, weight) = (record.stage, record.weight());
        let held = state.held.fetch_add(weight, Ordering::Relaxed) + weight;
        if held > state.max_bytes {
            state.held.fetch_sub(weight, Ordering::Relaxed);
            state.left(
                stage,
                TelemetryOutcome::Dropped,
                "the queue is full (queue.max_bytes)",
            );
            return;
        }
        self.send(record.context.exchange, stage, weight, Item::Record(record));
    }

    /// Waits, off the request path, for a record whose verdict is known, and counts what becomes of
    /// it. It is taken whatever the bound: it weighs next to nothing, and its text is the backend's.
    pub fn follow(&self, exchange: ExchangeId, stage: Stage, kept: Kept) {
        self.state.held.fetch_add(FOLLOWED, Ordering::Relaxed);
        self.send(exchange, stage, FOLLOWED, Item::Judged(stage, kept));
    }

    /// One exchange, one lane.
    fn send(&self, exchange: ExchangeId, stage: Stage, weight: u64, item: Item) {
        let state = &self.state;
        let lane = (exchange.0.as_u128() % self.lanes.len() as u128) as usize;
        state.waiting.fetch_add(1, Ordering::Relaxed);
        let held = state.held.load(Ordering::Relaxed);
        state.metrics.queue_bytes.set(held as i64);
        if self.lanes[lane].send(item).is_err() {
            state.release(weight);
            state.left(stage, TelemetryOutcome::Dropped, "the process is stopping");
        }
    }

    /// Records taken and not yet settled.
    pub fn waiting(&self) -> u64 {
        self.state.waiting.load(Ordering::Relaxed)
    }
}

impl State {
    fn release(&self, weight: u64) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let before = self.held.fetch_sub(weight, Ordering::Relaxed);
        self.metrics
            .queue_bytes
            .set(before.saturating_sub(weight) as i64);
    }

    fn left(&self, stage: Stage, outcome: TelemetryOutcome, reason: &str) {
        RecordLeft {
            stage,
            outcome,
            reason,
        }
        .emit(&self.metrics);
    }

    fn settle(&self, stage: Stage, weight: u64, result: Result<(), AnalyzerError>) {
        match result {
            Ok(()) => self.left(stage, TelemetryOutcome::Delivered, ""),
            Err(error @ AnalyzerError::Unavailable(_)) => {
                self.left(stage, TelemetryOutcome::Failed, &error.to_string());
            }
            Err(error) => self.left(stage, TelemetryOutcome::Refused, &error.to_string()),
        }
        self.release(weight);
    }
}

impl Worker {
    /// Delivers until all senders are gone and the lanes are empty.
    pub async fn run(self) {
        let mut lanes = JoinSet::new();
        for items in self.lanes {
            let lane = Lane {
                items,
                analyzer: self.analyzer.clone(),
                state: self.state.clone(),
                ways: FuturesUnordered::new(),
            };
            lanes.spawn(lane.run());
        }
        while lanes.join_next().await.is_some() {}
    }
}

/// One record is judged at a time, in order; several may be on their way to be kept.
struct Lane {
    items: mpsc::UnboundedReceiver<Item>,
    analyzer: Arc<dyn Analyzer>,
    state: Arc<State>,
    ways: FuturesUnordered<Way>,
}

impl Lane {
    async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                Some((stage, weight, result)) = self.ways.next() => {
                    self.state.settle(stage, weight, result);
                }
                item = self.items.recv(), if self.ways.len() < AHEAD => match item {
                    Some(Item::Record(record)) => self.judge(record).await,
                    Some(Item::Judged(stage, kept)) => self.follow(stage, FOLLOWED, kept),
                    None => break,
                },
            }
        }
        while let Some((stage, weight, result)) = self.ways.next().await {
            self.state.settle(stage, weight, result);
        }
    }

    async fn judge(&mut self, record: Record) {
        let (stage, weight) = (record.stage, record.weight());
        // A panic must not take the lane and all that is behind it.
        let verdict = AssertUnwindSafe(self.analyzer.judge(&record)).catch_unwind();
        match verdict.await.unwrap_or_else(|_| Err(panicked())) {
            Ok(Verdict { kept: None, .. }) => self.state.settle(stage, weight, Ok(())),
            Ok(Verdict {
                kept: Some(kept), ..
            }) => self.follow(stage, weight, kept),
            Err(error) => self.state.settle(stage, weight, Err(error)),
        }
    }

    fn follow(&mut self, stage: Stage, weight: u64, kept: Kept) {
        self.ways
            .push(kept.map(move |result| (stage, weight, result)).boxed());
    }
}

fn panicked() -> AnalyzerError {
    AnalyzerError::Unavailable("the analysis panicked".into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::{AnalysisResponse, Secret};
    use crate::telemetry::RecordContext;
    use async_trait::async_trait;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Seen(Mutex<Vec<(Stage, ExchangeId)>>);

    #[async_trait]
    impl Analyzer for Seen {
        async fn analyse(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
            self.0
                .lock()
                .unwrap()
                .push((record.stage, record.context.exchange));
            Err(AnalyzerError::Unavailable("not asked for".into()))
        }
    }

    fn record(stage: Stage, exchange: ExchangeId, message: &str) -> Record {
        let context = RecordContext {
            exchange,
            access_key: Secret::new("k"),
            application_id: None,
            user_id: None,
            session_id: None,
        };
        Record {
            stage,
            context: Arc::new(context),
            message: message.into(),
            incomplete: false,
            unchecked: false,
            failure: None,
        }
    }

    #[tokio::test]
    async fn pre_comes_before_post_and_nothing_is_left_behind() {
        let seen = Arc::new(Seen::default());
        let metrics = Arc::new(Metrics::new().unwrap());
        let (queue, worker) = Queue::new(seen.clone(), 4, 1 << 20, metrics);
        let ids: Vec<_> = (0..50).map(|_| ExchangeId::random()).collect();
        for stage in [Stage::PreCall, Stage::PostCall] {
            ids.iter()
                .for_each(|id| queue.push(record(stage, *id, "text")));
        }
        assert_eq!(queue.waiting(), 100);
        let state = queue.state.clone();
        drop(queue);
        worker.run().await;
        assert_eq!(state.held.load(Ordering::Relaxed), 0);
        let seen = seen.0.lock().unwrap();
        for id in ids {
            let order: Vec<_> = seen
                .iter()
                .filter(|(_, e)| *e == id)
                .map(|(s, _)| *s)
                .collect();
            assert_eq!(order, [Stage::PreCall, Stage::PostCall]);
        }
    }

    #[tokio::test]
    async fn a_full_queue_drops_and_counts() {
        let metrics = Arc::new(Metrics::new().unwrap());
        let (queue, _worker) = Queue::new(Arc::new(Seen::default()), 1, 2000, metrics.clone());
        queue.push(record(
            Stage::PreCall,
            ExchangeId::random(),
            &"x".repeat(1000),
        ));
        queue.push(record(
            Stage::PreCall,
            ExchangeId::random(),
            &"x".repeat(1000),
        ));
        assert_eq!(queue.waiting(), 1);
        let text = String::from_utf8(metrics.render()).unwrap();
        assert!(
            text.contains(r#"{outcome="dropped",stage="user_prompt"} 1"#),
            "{text}"
        );
    }
}
