//! The bounded way from the request path to the backend, in memory. The durable spool takes this
//! place behind the same two calls. Records of one exchange go through one lane, so pre comes
//! before post; lanes run beside each other.

use super::{Analyzer, AnalyzerError, Record};
use crate::observe::events::RecordLeft;
use crate::observe::{Metrics, TelemetryOutcome};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The request path's end of the queue.
#[derive(Clone)]
pub struct Queue {
    lanes: Arc<Vec<mpsc::UnboundedSender<Record>>>,
    state: Arc<State>,
}

struct State {
    held: AtomicU64,
    waiting: AtomicU64,
    max_bytes: u64,
    metrics: Arc<Metrics>,
}

/// The backend's end of the queue: runs until every [`Queue`] is gone and all is delivered.
pub struct Worker {
    lanes: Vec<mpsc::UnboundedReceiver<Record>>,
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
        let lane = (record.context.exchange.0.as_u128() % self.lanes.len() as u128) as usize;
        if held > state.max_bytes {
            state.held.fetch_sub(weight, Ordering::Relaxed);
            state.left(
                stage,
                TelemetryOutcome::Dropped,
                "the queue is full (queue.max_bytes)",
            );
            return;
        }
        state.waiting.fetch_add(1, Ordering::Relaxed);
        state.metrics.queue_bytes.set(held as i64);
        if self.lanes[lane].send(record).is_err() {
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

    fn left(&self, stage: crate::model::Stage, outcome: TelemetryOutcome, reason: &str) {
        RecordLeft {
            stage,
            outcome,
            reason,
        }
        .emit(&self.metrics);
    }

    fn settle(&self, record: &Record, result: Result<(), AnalyzerError>) {
        match result {
            Ok(()) => self.left(record.stage, TelemetryOutcome::Delivered, ""),
            Err(error @ AnalyzerError::Unavailable(_)) => {
                self.left(record.stage, TelemetryOutcome::Failed, &error.to_string());
            }
            Err(error) => self.left(record.stage, TelemetryOutcome::Refused, &error.to_string()),
        }
    }
}

impl Worker {
    /// Delivers until all senders are gone and the lanes are empty.
    pub async fn run(self) {
        let mut lanes = JoinSet::new();
        for mut lane in self.lanes {
            let (analyzer, state) = (self.analyzer.clone(), self.state.clone());
            lanes.spawn(async move {
                while let Some(record) = lane.recv().await {
                    // A panic must not take the lane and all that is behind it.
                    let analysis = AssertUnwindSafe(analyzer.analyse(&record)).catch_unwind();
                    let result = analysis.await.unwrap_or_else(|_| Err(panicked()));
                    let result = result.map(|_| ());
                    state.settle(&record, result);
                    state.release(record.weight());
                }
            });
        }
        while lanes.join_next().await.is_some() {}
    }
}

fn panicked() -> AnalyzerError {
    AnalyzerError::Unavailable("the analysis panicked".into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::{AnalysisResponse, ExchangeId, Secret, Stage};
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
            replaced: None,
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
