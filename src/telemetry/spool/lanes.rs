//! From the spool to the backend: records of one exchange go through one lane, so that pre comes
//! before post; lanes run beside each other. A record leaves its lane only with an answer that will
//! not change: kept, or refused for good (CONTRACT 23).

use super::state::Item;
use super::{Shared, batch, dead, now_ms};
use crate::observe::TelemetryOutcome;
use crate::observe::events::{RecordDelayed, RecordLeft};
use crate::telemetry::{Analyzer, AnalyzerError, Kept, Record, Verdict};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

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
    /// When the latest batch went out.
    latest_batch: Option<Instant>,
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
                latest_batch: None,
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
                    Some(item) if self.analyzer.takes_batches() => self.take_many(item).await,
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

    /// Takes what has come with this one, as batches; what the backend does not take so, alone.
    async fn take_many(&mut self, first: Item) {
        let mut waiting = VecDeque::from([first]);
        while !waiting.is_empty() {
            let there = waiting.len() + self.items.len();
            if let Some(latest) = self.latest_batch.filter(|_| there < batch::MOST) {
                tokio::time::sleep_until(latest + batch::PAUSE).await;
            }
            while waiting.len() < batch::MOST
                && let Ok(item) = self.items.try_recv()
            {
                waiting.push_back(item);
            }
            let mut items = batch::take(&mut waiting);
            // While the backend is away, single records ask for it.
            match items.len() > 1 && self.shared.gate.is_open() {
                true => items = self.deliver_batch(items).await,
                false => self.latest_batch = None,
            }
            for item in items {
                self.take(item).await;
            }
        }
    }

    /// Gives back what has to be sent alone.
    async fn deliver_batch(&mut self, items: Vec<Item>) -> Vec<Item> {
        let tickets: Vec<_> = items.iter().map(|item| item.ticket).collect();
        let records: Vec<_> = items.iter().map(|item| &item.record).collect();
        for (ticket, record) in tickets.into_iter().zip(&records) {
            self.shared.leaves(ticket, record).await;
        }
        self.latest_batch = Some(Instant::now());
        let call = AssertUnwindSafe(self.analyzer.analyse_batch(&records)).catch_unwind();
        let Some(results) = call.await.unwrap_or_default() else {
            return items;
        };
        let mut alone = Vec::new();
        for (item, result) in items.into_iter().zip(results) {
            match result {
                Ok(()) => self.settle(&item, TelemetryOutcome::Delivered, ""),
                Err(AnalyzerError::Unavailable(_) | AnalyzerError::Busy(_)) => alone.push(item),
                Err(AnalyzerError::KeyRefused(status) | AnalyzerError::Refused(status)) => {
                    self.bury(&item, status, "the backend refused it");
                }
            }
        }
        // A backend that takes none of them is asked again by the first of those.
        self.shared.gate.answered();
        alone
    }

    async fn deliver(&mut self, item: Item) {
        self.shared.leaves(item.ticket, &item.record).await;
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
            // It was held while the disk took no more.
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
