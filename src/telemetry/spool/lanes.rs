//! From the spool to the backend: records of one exchange go through one lane, so that pre comes
//! before post; lanes run beside each other. A record leaves its lane only with an answer that will
//! not change: kept, or refused for good (CONTRACT 23).

use super::state::Item;
use super::{Shared, dead, now_ms};
use crate::observe::TelemetryOutcome;
use crate::observe::events::{RecordDelayed, RecordLeft};
use crate::telemetry::{Analyzer, AnalyzerError, Kept, Record, Verdict};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Failures of one record, each while the backend answered others, after which it is given up: what
/// the backend can never take must not stand before all that come behind it.
const MAX_OWN_FAILURES: u32 = 8;
/// Records of one lane at most that are judged and not yet kept.
const AHEAD: usize = 64;

/// The backend's end of a spool: runs until the spool is closed and its lanes are empty.
pub struct Worker {
    pub(super) lanes: Vec<mpsc::UnboundedReceiver<Item>>,
    pub(super) analyzer: Arc<dyn Analyzer>,
    pub(super) shared: Arc<Shared>,
}

/// What became of a record.
enum Fate {
    Delivered,
    /// Its verdict is known; it is about to be kept.
    Judged(Kept),
    /// The status it was refused with; 0 for none.
    Dead(u16, String),
}

/// One record is judged at a time, in order; several may be on their way to be kept.
struct Lane {
    items: mpsc::UnboundedReceiver<Item>,
    analyzer: Arc<dyn Analyzer>,
    shared: Arc<Shared>,
    ways: FuturesUnordered<BoxFuture<'static, (Item, Result<(), AnalyzerError>)>>,
}

impl Worker {
    /// Delivers.
    pub async fn run(self) {
        let mut lanes = JoinSet::new();
        for items in self.lanes {
            let lane = Lane {
                items,
                analyzer: self.analyzer.clone(),
                shared: self.shared.clone(),
                ways: FuturesUnordered::new(),
            };
            lanes.spawn(lane.run());
        }
        while lanes.join_next().await.is_some() {}
    }
}

impl Lane {
    async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                Some((item, result)) = self.ways.next() => self.kept(item, result).await,
                item = self.items.recv(), if self.ways.len() < AHEAD => match item {
                    Some(item) => self.take(item).await,
                    None => break,
                },
            }
        }
        while let Some((item, result)) = self.ways.next().await {
            self.kept(item, result).await;
        }
    }

    async fn take(&mut self, mut item: Item) {
        match item.kept.take() {
            Some(kept) => self.follow(item, kept),
            None => self.deliver(item).await,
        }
    }

    async fn deliver(&mut self, item: Item) {
        match self.judge(&item.record).await {
            Fate::Judged(kept) => self.follow(item, kept),
            Fate::Delivered => self.settle(&item, TelemetryOutcome::Delivered, ""),
            Fate::Dead(status, reason) => self.bury(&item, status, &reason),
        }
    }

    fn follow(&mut self, item: Item, kept: Kept) {
        self.ways
            .push(kept.map(move |result| (item, result)).boxed());
    }

    async fn kept(&mut self, item: Item, result: Result<(), AnalyzerError>) {
        match result {
            Ok(()) => self.settle(&item, TelemetryOutcome::Delivered, ""),
            Err(AnalyzerError::KeyRefused(status) | AnalyzerError::Refused(status)) => {
                self.bury(&item, status, "the backend refused to keep it");
            }
            Err(_) if item.place.is_some() => self.deliver(item).await,
            Err(_) => {
                self.shared.lock().settled(None, item.weight);
                self.shared.push(item.record);
            }
        }
    }

    /// Asks until there is an answer.
    async fn judge(&mut self, record: &Record) -> Fate {
        let (gate, mut own_failures) = (&self.shared.gate, 0);
        loop {
            let round = gate.pass().await;
            let before = gate.successes();
            // A panic must not take the lane and all that is behind it.
            let verdict = AssertUnwindSafe(self.analyzer.judge(record)).catch_unwind();
            let error = match verdict.await.unwrap_or_else(|_| Err(panicked())) {
                Ok(Verdict { kept, .. }) => {
                    gate.answered();
                    return kept.map_or(Fate::Delivered, Fate::Judged);
                }
                Err(refused @ (AnalyzerError::KeyRefused(_) | AnalyzerError::Refused(_))) => {
                    gate.answered();
                    return dead(&refused);
                }
                Err(error) => error,
            };
            // Who asks to wait has nothing against the record.
            let own = !matches!(error, AnalyzerError::Busy(_));
            own_failures += u32::from(own && (gate.successes() > before || gate.is_open()));
            if own_failures > MAX_OWN_FAILURES {
                return dead(&error);
            }
            RecordDelayed {
                stage: record.stage,
                reason: &error.to_string(),
            }
            .emit(&self.shared.metrics);
            gate.failed(round);
        }
    }

    fn bury(&self, item: &Item, status: u16, reason: &str) {
        let letter = dead::encode(now_ms(), status, &item.record);
        self.shared.lock().dead.push(letter);
        self.settle(item, TelemetryOutcome::Refused, reason);
    }

    fn settle(&self, item: &Item, outcome: TelemetryOutcome, reason: &str) {
        RecordLeft {
            stage: item.record.stage,
            outcome,
            reason,
        }
        .emit(&self.shared.metrics);
        let mut state = self.shared.lock();
        state.settled(item.place, item.weight);
        if state.idle && (state.wants_more() || !state.dead.is_empty()) {
            self.shared.wake.notify_one();
        }
    }
}

fn dead(refused: &AnalyzerError) -> Fate {
    let status = match refused {
        AnalyzerError::KeyRefused(status) | AnalyzerError::Refused(status) => *status,
        AnalyzerError::Unavailable(_) | AnalyzerError::Busy(_) => 0,
    };
    Fate::Dead(status, refused.to_string())
}

fn panicked() -> AnalyzerError {
    AnalyzerError::Unavailable("the analysis panicked".into())
}
