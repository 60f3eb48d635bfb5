//! From the spool to the backend: records of one exchange go through one lane, so that pre comes
//! before post; lanes run beside each other. A record leaves its lane only with an answer that will
//! not change: kept, or refused for good (CONTRACT 23).

use super::state::Item;
use super::{Shared, batch, dead, now_ms};
use crate::model::RecordId;
use crate::observe::events::{AttachmentsLeft, RecordDelayed, RecordLeft};
use crate::observe::{AttachmentOutcome, TelemetryOutcome};
use crate::telemetry::{Analyzer, AnalyzerError, FilesOwed, Kept, Record, Verdict};
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
    pub(super) owed: Option<mpsc::UnboundedReceiver<FilesOwed>>,
}

/// What became of a record.
enum Fate {
    /// The backend has it under this id.
    Delivered(RecordId),
    /// Its verdict is known; it is about to be kept under this id.
    Judged(RecordId, Kept),
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
    ways: FuturesUnordered<BoxFuture<'static, (Item, Settled)>>,
    /// Records whose files are under way; nothing waits for these.
    files: FuturesUnordered<BoxFuture<'static, Item>>,
}

/// Whether a record is kept, under this id.
type Settled = (RecordId, Result<(), AnalyzerError>);

impl Worker {
    /// The files of records that the backend has, for whoever handles them; None the second time.
    /// Where nobody takes this end, files are not handled.
    pub fn files(&mut self) -> Option<mpsc::UnboundedReceiver<FilesOwed>> {
        self.owed.take()
    }

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
                files: FuturesUnordered::new(),
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
                Some((item, settled)) = self.ways.next() => self.kept(item, settled).await,
                Some(item) = self.files.next() => self.release(&item),
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
            (None, None) => self.deliver(item).await,
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
        match self.judge(&item.record).await {
            Fate::Judged(id, kept) => self.follow(item, id, kept),
            Fate::Delivered(id) => self.delivered(item, Some(id)).await,
            Fate::Dead(status, reason) => self.bury(&item, status, &reason),
        }
    }

    fn follow(&mut self, item: Item, id: RecordId, kept: Kept) {
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

    /// Asks until there is an answer.
    async fn judge(&mut self, record: &Record) -> Fate {
        let (gate, mut own_failures) = (&self.shared.gate, 0);
        loop {
            let round = gate.pass().await;
            let before = gate.successes();
            // A panic must not take the lane and all that is behind it.
            let verdict = AssertUnwindSafe(ask(&*self.analyzer, record)).catch_unwind();
            let error = match verdict.await.unwrap_or_else(|_| Err(panicked())) {
                Ok(Verdict { analysis, kept }) => {
                    gate.answered();
                    let id = analysis.request_id;
                    return match kept {
                        Some(kept) => Fate::Judged(id, kept),
                        None => Fate::Delivered(id),
                    };
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

    async fn delivered(&mut self, item: Item, id: Option<RecordId>) {
        self.left(&item, TelemetryOutcome::Delivered, "");
        match id.filter(|_| item.record.files.is_some()) {
            None => self.release(&item),
            Some(id) if item.place.is_some() => self.owe(item, id).await,
            // So that its files are in the spool, as others' are.
            Some(id) => {
                self.release(&item);
                item.record
                    .into_files_owed(id)
                    .map(|record| self.shared.push(record));
            }
        }
    }

    /// The item stays until its files have come to their ends.
    async fn owe(&mut self, item: Item, id: RecordId) {
        let (list, context) = (item.record.files.clone(), item.record.context.clone());
        let ended = match list {
            Some(list) => {
                let owing = &self.shared.files;
                owing.hand_over(item.weight, (list, context), id).await
            }
            None => None,
        };
        let Some(ended) = ended else {
            self.files_left(&item, AttachmentOutcome::Dropped, "too many wait already");
            return self.release(&item);
        };
        self.files.push(
            async move {
                if ended.await.is_err() {
                    // The process ends: they are owed at the next start.
                    std::future::pending::<()>().await;
                }
                item
            }
            .boxed(),
        );
    }

    fn bury(&self, item: &Item, status: u16, reason: &str) {
        let letter = dead::encode(now_ms(), status, &item.record);
        self.shared.lock().dead.push(letter);
        self.left(item, TelemetryOutcome::Refused, reason);
        if item.record.files.is_some() {
            let reason = "the backend refused the record";
            self.files_left(item, AttachmentOutcome::NoRecord, reason);
        }
        self.release(item);
    }

    fn left(&self, item: &Item, outcome: TelemetryOutcome, reason: &str) {
        RecordLeft {
            stage: item.record.stage,
            outcome,
            reason,
        }
        .emit(&self.shared.metrics);
    }

    fn files_left(&self, item: &Item, outcome: AttachmentOutcome, reason: &'static str) {
        let list = item.record.files.as_ref();
        AttachmentsLeft {
            request_id: list.map_or("", |list| &list.request_id),
            outcome,
            reason,
        }
        .emit(&self.shared.metrics);
    }

    /// Nothing of it is owed any more.
    fn release(&self, item: &Item) {
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
        return analyzer.judge(record).await;
    }
    Ok(Verdict {
        analysis: analyzer.analyse(record).await?,
        kept: None,
    })
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
