//! From the spool to the backend: records of one exchange go through one lane, so that pre comes
//! before post; lanes run beside each other. A record leaves its lane only with an answer that will
//! not change: kept, or refused for good (CONTRACT 23).

use super::PendingAttachments;
use super::item::Item;
use super::outlet::hand_out;
use super::parked::{Parked, Tried};
use super::{Shared, batch};
use crate::backend::{Analyzer, AnalyzerError, Durable, Record, Verdict};
use crate::observe::events::{RecordDelayed, RecordFinished};
use crate::observe::{AttachmentOutcome, TelemetryOutcome};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use monitor_model::RecordId;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Failures of one record after which it is put aside: what the backend cannot take must not stand
/// before all that come behind it.
const MAX_OWN_FAILURES: u32 = 3;
/// The part of `queue.max_bytes` that records which are put aside may take beside the others.
const ASIDE: u64 = 4;
/// Records of one lane at most that are judged and not yet kept.
const AHEAD: usize = 64;

/// The backend's end of a spool: runs until the spool is closed and its lanes are empty.
pub struct Delivery {
    /// Told when records wait for their lanes.
    pub(super) outlet: Arc<Notify>,
    pub(super) analyzer: Arc<dyn Analyzer>,
    pub(super) shared: Arc<Shared>,
    pub(super) owed: Option<mpsc::UnboundedReceiver<PendingAttachments>>,
}

/// What became of a record.
enum Fate {
    /// The backend has it under this id.
    Delivered(RecordId),
    /// Its verdict is known; it is about to be kept under this id.
    Judged(RecordId, Durable),
    /// The status it was refused with.
    Dead(u16, String),
    /// The backend has failed on it since then, and takes others, as far as is known.
    Failing(Instant),
}

/// One record is judged at a time, in order; several may be on their way to be kept.
pub(super) struct Lane {
    items: mpsc::UnboundedReceiver<Item>,
    analyzer: Arc<dyn Analyzer>,
    pub(super) shared: Arc<Shared>,
    /// When the latest batch went out.
    latest_batch: Option<Instant>,
    parked: Parked,
    ways: FuturesUnordered<BoxFuture<'static, (Item, Settled)>>,
    /// Records whose files are under way; nothing waits for these.
    pub(super) files: FuturesUnordered<BoxFuture<'static, Item>>,
}

/// Whether a record is kept, under this id.
type Settled = (RecordId, Result<(), AnalyzerError>);

impl Delivery {
    /// The files of records that the backend has, for whoever handles them; None the second time.
    /// Where nobody takes this end, files are not handled.
    pub fn files(&mut self) -> Option<mpsc::UnboundedReceiver<PendingAttachments>> {
        self.owed.take()
    }

    /// Delivers.
    pub async fn run(self) {
        let mut lanes = JoinSet::new();
        let bounds = self.shared.lock().bounds();
        let count = bounds.concurrency.max(1);
        let mut ends = Vec::with_capacity(count);
        for _ in 0..count {
            let (end, items) = mpsc::unbounded_channel();
            ends.push(end);
            let lane = Lane {
                items,
                analyzer: self.analyzer.clone(),
                shared: self.shared.clone(),
                latest_batch: None,
                parked: Parked::new(bounds.memory / ASIDE / count as u64),
                ways: FuturesUnordered::new(),
                files: FuturesUnordered::new(),
            };
            lanes.spawn(lane.run());
        }
        lanes.spawn(hand_out(self.shared, self.outlet, ends));
        while lanes.join_next().await.is_some() {}
    }
}

impl Lane {
    async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                Some((item, settled)) = self.ways.next() => self.kept(item, settled).await,
                Some(item) = self.files.next() => self.release(&item),
                () = due(self.parked.next_try()) => self.retry().await,
                item = self.items.recv(), if self.ways.len() < AHEAD => match item {
                    Some(item) if self.analyzer.takes_batches() => self.take_many(item).await,
                    Some(item) => self.take(item).await,
                    None => break,
                },
            }
        }
        while let Some((item, settled)) = self.ways.next().await {
            self.kept(item, settled).await;
        }
    }

    async fn take(&mut self, mut item: Item) {
        match (item.kept.take(), item.record.registered()) {
            (Some((id, kept)), _) => self.follow(item, id, kept),
            (None, Some(id)) => self.owe(item, id).await,
            (None, None) => {
                if let Some(item) = self.join(item) {
                    self.deliver(item).await;
                }
            }
        }
    }

    /// Gives the record back unless an earlier one of its exchange is put aside.
    fn join(&mut self, item: Item) -> Option<Item> {
        let weight = item.weight;
        let back = self.parked.join(item);
        if back.is_none() {
            self.shared.lock().park(weight);
        }
        back
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
            items = items
                .into_iter()
                .filter_map(|item| self.join(item))
                .collect();
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
        let call = AssertUnwindSafe(self.analyzer.analyze_batch(&records)).catch_unwind();
        let Some(results) = call.await.unwrap_or_default() else {
            return items;
        };
        let mut alone = Vec::new();
        for (item, result) in items.into_iter().zip(results) {
            match result {
                // Who does not say the id is asked for it.
                Ok(None) if item.record.files.is_some() => alone.push(item),
                Ok(id) => self.delivered(item, id).await,
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
        let since = match self.judge(&item.record).await {
            Fate::Failing(since) => since,
            fate => return self.conclude(item, fate).await,
        };
        while !self.parked.has_room(item.weight) {
            due(self.parked.next_try()).await;
            self.retry().await;
        }
        self.shared.lock().park(item.weight);
        self.parked.add(item, since);
    }

    async fn conclude(&mut self, item: Item, fate: Fate) {
        match fate {
            Fate::Judged(id, kept) => self.follow(item, id, kept),
            Fate::Delivered(id) => self.delivered(item, Some(id)).await,
            Fate::Dead(status, reason) => self.bury(&item, status, &reason),
            Fate::Failing(_) => self.bury(&item, 0, "the backend failed on it for spool.max_age"),
        }
    }

    /// Tries the record once that was put aside and is next. One that the backend fails on for as
    /// long as any record is kept becomes a dead letter.
    async fn retry(&mut self) {
        let Some(mut aside) = self.parked.take() else {
            return;
        };
        let Some(record) = aside.items.front().map(|item| &item.record) else {
            return;
        };
        let round = self.shared.gate.pass().await;
        let own = self.shared.gate.is_open();
        let fate = match self.ask(record).await {
            Ok(fate) => fate,
            Err(error) => {
                self.delayed(record, &error);
                Fate::Failing(aside.since)
            }
        };
        let patience = self.shared.lock().bounds().age;
        match fate {
            Fate::Failing(_) if !own => {
                self.shared.gate.failed(round);
                self.parked.put_back(aside, Tried::NoAnswer);
            }
            Fate::Failing(since) if since.elapsed() < patience => {
                self.parked.put_back(aside, Tried::Failed);
            }
            fate => {
                if let Some(item) = aside.items.pop_front() {
                    self.shared.lock().unpark(item.weight);
                    self.conclude(item, fate).await;
                }
                self.parked.put_back(aside, Tried::Left);
            }
        }
    }

    fn follow(&mut self, item: Item, id: RecordId, kept: Durable) {
        let settled = kept.map(move |result| (item, (id, result)));
        self.ways.push(settled.boxed());
    }

    async fn kept(&mut self, item: Item, (id, result): Settled) {
        match result {
            Ok(()) => self.delivered(item, Some(id)).await,
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

    /// Asks until there is an answer, or until it shows that the backend fails on this record alone.
    /// Where nobody can tell that from an outage, one record of the lane stands aside all the same: the
    /// next one tells.
    async fn judge(&mut self, record: &Record) -> Fate {
        let (mut failures, mut own_failures) = (0, 0);
        let since = Instant::now();
        loop {
            let round = self.shared.gate.pass().await;
            let before = self.shared.gate.successes();
            let error = match self.ask(record).await {
                Ok(fate) => return fate,
                Err(error) => error,
            };
            self.delayed(record, &error);
            let gate = &self.shared.gate;
            // Who asks to wait has nothing against the record.
            if !matches!(error, AnalyzerError::Busy(_)) {
                failures += 1;
                own_failures += u32::from(gate.successes() > before || gate.is_open());
            }
            let in_doubt = failures >= MAX_OWN_FAILURES && self.parked.is_empty();
            gate.failed(round);
            if own_failures >= MAX_OWN_FAILURES || in_doubt {
                return Fate::Failing(since);
            }
        }
    }

    /// Asks once.
    async fn ask(&mut self, record: &Record) -> Result<Fate, AnalyzerError> {
        // A panic must not take the lane and all that is behind it.
        let verdict = AssertUnwindSafe(ask(&*self.analyzer, record)).catch_unwind();
        let fate = match verdict.await.unwrap_or_else(|_| Err(panicked())) {
            Ok(Verdict { analysis, durable }) => match durable {
                Some(durable) => Fate::Judged(analysis.request_id, durable),
                None => Fate::Delivered(analysis.request_id),
            },
            Err(AnalyzerError::KeyRefused(status)) => {
                Fate::Dead(status, AnalyzerError::KeyRefused(status).to_string())
            }
            Err(AnalyzerError::Refused(status)) => {
                Fate::Dead(status, AnalyzerError::Refused(status).to_string())
            }
            Err(error) => return Err(error),
        };
        self.shared.gate.answered();
        Ok(fate)
    }

    fn delayed(&self, record: &Record, error: &AnalyzerError) {
        RecordDelayed {
            stage: record.stage,
            reason: &error.to_string(),
        }
        .emit(&self.shared.metrics);
    }

    fn bury(&self, item: &Item, status: u16, reason: &str) {
        self.shared.bury(status, &item.record);
        self.left(item, TelemetryOutcome::Refused, reason);
        if item.record.files.is_some() {
            let reason = "the backend refused the record";
            self.files_left(item, AttachmentOutcome::NoRecord, reason);
        }
        self.release(item);
    }

    pub(super) fn left(&self, item: &Item, outcome: TelemetryOutcome, reason: &str) {
        RecordFinished {
            stage: item.record.stage,
            outcome,
            reason,
        }
        .emit(&self.shared.metrics);
    }

    /// Nothing of it is owed any more.
    pub(super) fn release(&self, item: &Item) {
        let mut state = self.shared.lock();
        state.settled(item.place, item.weight);
        if state.idle && (state.wants_more() || !state.dead.is_empty()) {
            self.shared.wake.notify_one();
        }
    }
}

/// Files go to the id that the backend keeps, which of a record that is sent again is the first one.
async fn ask(analyzer: &dyn Analyzer, record: &Record) -> Result<Verdict, AnalyzerError> {
    if record.files.is_none() {
        return analyzer.check(record).await;
    }
    Ok(Verdict {
        analysis: analyzer.analyze(record).await?,
        durable: None,
    })
}

/// Never, where nothing is put aside.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn panicked() -> AnalyzerError {
    AnalyzerError::Unavailable("the analysis panicked".into())
}
