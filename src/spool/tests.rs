//! The spool with a scripted backend. What a crash leaves is a copy of the folder, taken while the spool is at work.
#![allow(clippy::unwrap_used)]

pub(super) mod samples;

use super::*;
use crate::backend::{AnalyzerError, AttachError, Attachment, RecordContext, Verdict};
use async_trait::async_trait;
use monitor_model::{AnalysisResponse, CallTokens, ExchangeId, RecordId, Secret, Stage};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;
use support::stack::Folder;

/// Has a verdict on every record, and cannot store it.
const NO_STORE: u16 = 507;

/// Answers with a status, or not at all for 0; remembers what it stored, in order.
#[derive(Default)]
struct Backend {
    status: AtomicU16,
    taken: Mutex<Vec<(u128, Stage)>>,
    asked: AtomicUsize,
    /// How many more times it asks exchange 0 to wait.
    busy: AtomicUsize,
    /// How many more times it fails on exchange 0.
    fails: AtomicUsize,
}

#[async_trait]
impl Analyzer for Backend {
    async fn analyze(&self, record: &Record) -> Result<AnalysisResponse, AnalyzerError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        let less = |left: usize| left.checked_sub(1);
        let is_first = record.context.exchange.0.is_nil();
        let turns =
            |left: &AtomicUsize| left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if is_first && turns(&self.busy).is_ok() {
            return Err(AnalyzerError::Busy(429));
        }
        if is_first && turns(&self.fails).is_ok() {
            return Err(AnalyzerError::Unavailable("status 500".into()));
        }
        match self.status.load(Ordering::Relaxed) {
            200 => {
                let key = (record.context.exchange.0.as_u128(), record.stage);
                self.taken.lock().unwrap().push(key);
                Ok(answer())
            }
            0 => Err(AnalyzerError::Unavailable("down".into())),
            status => Err(AnalyzerError::Refused(status)),
        }
    }

    async fn deliver(&self, record: &Record) -> Result<Verdict, AnalyzerError> {
        if self.status.load(Ordering::Relaxed) != NO_STORE {
            let analysis = self.analyze(record).await?;
            return Ok(Verdict {
                analysis,
                durable: None,
            });
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        let full = async { Err(AnalyzerError::Unavailable("the disk is full".into())) };
        Ok(Verdict {
            analysis: answer(),
            durable: Some(Box::pin(full)),
        })
    }

    async fn attach(&self, _: &Secret, _: RecordId, _: Attachment) -> Result<(), AttachError> {
        Ok(())
    }
}

pub(super) fn answer() -> AnalysisResponse {
    // A simulated history asks for thousands.
    static ANSWER: LazyLock<AnalysisResponse> = LazyLock::new(|| {
        serde_json::from_value(serde_json::json!({
            "request_id": "00000000-0000-0000-0000-000000000000", "schema_version": "2.0.0",
            "status": "success", "errors": [], "tokens": {"count": 0, "usage_severity": null},
            "guardrails": {"flagged": false}, "custom_policy": {"flagged": false},
            "dataclean": {"flagged": false, "cleaned_text": null, "types": []},
        }))
        .unwrap()
    });
    ANSWER.clone()
}

const BOUNDS: SpoolBounds = SpoolBounds {
    bytes: 1 << 30,
    age: Duration::from_secs(3_600),
    memory: 1 << 20,
    concurrency: 4,
    dead: 1 << 20,
};

struct World {
    backend: Arc<Backend>,
    metrics: Arc<Metrics>,
    spool: Spool,
    closer: Option<Closer>,
    delivery: tokio::task::JoinHandle<()>,
}

impl World {
    fn open(folder: &Path, bounds: SpoolBounds, status: u16) -> Self {
        let backend = Arc::new(Backend::default());
        backend.status.store(status, Ordering::Relaxed);
        let metrics = Arc::new(Metrics::new().unwrap());
        let opened = Spool::open(&folder.into(), bounds, backend.clone(), metrics.clone()).unwrap();
        Self {
            backend,
            metrics,
            spool: opened.spool,
            closer: Some(opened.closer),
            delivery: tokio::spawn(opened.delivery.run()),
        }
    }

    fn says(&self, status: u16) {
        self.backend.status.store(status, Ordering::Relaxed);
    }

    async fn delivered(&self, count: usize) {
        eventually(|| self.backend.taken.lock().unwrap().len() >= count).await;
    }

    async fn close(mut self) -> Vec<(u128, Stage)> {
        self.close_spool().await;
        self.delivery.await.unwrap();
        std::mem::take(&mut *self.backend.taken.lock().unwrap())
    }

    /// Closes the spool while its backend takes nothing.
    async fn stop(mut self) {
        self.close_spool().await;
        self.delivery.abort();
    }

    async fn close_spool(&mut self) {
        let closer = self.closer.take().unwrap();
        let closed = tokio::task::spawn_blocking(|| closer.close());
        closed.await.unwrap();
    }

    fn metric(&self, series: &str) -> f64 {
        let text = String::from_utf8(self.metrics.render()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }
}

async fn eventually(mut holds: impl FnMut() -> bool) {
    let patience = tokio::time::timeout(Duration::from_secs(30), async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    patience.await.unwrap();
}

pub(super) fn record(exchange: u128, stage: Stage) -> Record {
    Record {
        stage,
        context: Arc::new(RecordContext {
            exchange: ExchangeId(uuid::Uuid::from_u128(exchange)),
            access_key: Secret::new("k"),
            application_id: None,
            user_id: None,
            session_id: None,
            trace: None,
        }),
        message: "text ".repeat(20).into(),
        part_breaks: Vec::new(),
        tools: monitor_model::ToolParts::default(),
        incomplete: false,
        unchecked: false,
        replaced: None,
        failure: None,
        files: None,
        model: None,
        usage: CallTokens::default(),
        is_stored_response: false,
        call: None,
        chain: None,
    }
}

fn files(folder: &Path, ending: &str) -> usize {
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    names
        .filter(|path| path.extension().is_some_and(|kind| kind == ending))
        .count()
}

fn copy(from: &Path) -> Folder {
    let to = Folder::unmade();
    std::fs::create_dir_all(to.path()).unwrap();
    // Of a moment before the segments, which may know more.
    let _ = std::fs::copy(from.join("chain"), to.path().join("chain"));
    // Logs first: a record acknowledged by then is in a segment that is copied later, or was removed.
    for ending in ["ack", "seg"] {
        for file in std::fs::read_dir(from).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|kind| kind == ending) {
                // It may have been removed since it was listed.
                let _ = std::fs::copy(&path, to.path().join(path.file_name().unwrap()));
            }
        }
    }
    to
}

fn assert_in_order(taken: &[(u128, Stage)], exchanges: u128) {
    let mut seen: HashMap<u128, Vec<Stage>> = HashMap::new();
    for (exchange, stage) in taken {
        seen.entry(*exchange).or_default().push(*stage);
    }
    for exchange in 0..exchanges {
        assert_eq!(
            seen[&exchange],
            [Stage::PreCall, Stage::PostCall],
            "{exchange}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_everything_arrives_once_in_order_and_leaves_no_file() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 200);
    for exchange in 0..1000 {
        world.spool.push(record(exchange, Stage::PreCall));
        let receipt = world.spool.push(record(exchange, Stage::PostCall));
        if exchange % 100 == 0 {
            world.spool.wait_durable(receipt).await;
        }
    }
    world.delivered(2000).await;
    assert_eq!(world.spool.waiting(), 0);
    assert_in_order(&world.close().await, 1000);
    let again = World::open(folder.path(), BOUNDS, 200);
    eventually(|| again.spool.waiting() == 0).await;
    assert_eq!(
        again.close().await,
        [],
        "what was acknowledged is not sent again"
    );
    assert_eq!(files(folder.path(), "ack"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_backlog_stays_on_disk_and_comes_back_in_order() {
    let folder = Folder::unmade();
    let bounds = SpoolBounds {
        memory: 20_000,
        ..BOUNDS
    };
    let world = World::open(folder.path(), bounds, 0);
    for exchange in 0..3000 {
        world.spool.push(record(exchange, Stage::PreCall));
        world.spool.push(record(exchange, Stage::PostCall));
    }
    assert!(world.spool.waiting() < 60, "memory is bounded");
    world.says(200);
    // Some come while the backlog is read.
    for exchange in 3000..4000 {
        world.spool.push(record(exchange, Stage::PreCall));
        world.spool.push(record(exchange, Stage::PostCall));
        tokio::task::yield_now().await;
    }
    world.delivered(8000).await;
    eventually(|| world.spool.waiting() == 0).await;
    world.spool.push(record(4000, Stage::PreCall));
    world.spool.push(record(4000, Stage::PostCall));
    world.delivered(8002).await;
    let taken = world.close().await;
    assert_eq!(taken.len(), 8002);
    assert_in_order(&taken, 4001);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_what_is_on_disk_survives_a_crash_at_any_moment() {
    for round in 0..10_u64 {
        let folder = Folder::unmade();
        let world = World::open(folder.path(), BOUNDS, if round % 2 == 0 { 200 } else { 0 });
        let mut last = None;
        for exchange in 0..100 + u128::from(round) * 37 {
            world.spool.push(record(exchange, Stage::PreCall));
            last = Some((
                exchange,
                world.spool.push(record(exchange, Stage::PostCall)),
            ));
        }
        let (exchange, receipt) = last.unwrap();
        world.spool.wait_durable(receipt).await;
        let left = copy(folder.path());
        // Afterwards: what the copy has as acknowledged was taken before.
        let before = world.backend.taken.lock().unwrap().clone();
        let after = World::open(left.path(), BOUNDS, 200);
        eventually(|| after.spool.waiting() == 0).await;
        let mut taken = before;
        taken.extend(after.close().await);
        for exchange in 0..=exchange {
            for stage in [Stage::PreCall, Stage::PostCall] {
                assert!(
                    taken.contains(&(exchange, stage)),
                    "round {round}: {exchange} {stage:?}"
                );
            }
        }
        drop(world);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_leaves_what_was_not_delivered_to_the_next_start() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 0);
    for exchange in 0..50 {
        world.spool.push(record(exchange, Stage::PreCall));
        world.spool.push(record(exchange, Stage::PostCall));
    }
    world.stop().await;
    let again = World::open(folder.path(), BOUNDS, 200);
    again.delivered(100).await;
    assert_in_order(&again.close().await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_full_spool_drops_the_oldest_and_counts_them() {
    let folder = Folder::unmade();
    let bounds = SpoolBounds {
        bytes: 20_000,
        memory: 4_000,
        ..BOUNDS
    };
    let world = World::open(folder.path(), bounds, 0);
    let mut pushed = 0;
    while world.metric("monitor_spool_lost_total{reason=\"full\"}") == 0.0 {
        world.spool.push(record(pushed, Stage::PreCall));
        pushed += 1;
        assert!(pushed < 10_000);
    }
    world.says(200);
    let lost = world.metric("monitor_spool_lost_total{reason=\"full\"}") as usize;
    let kept = usize::try_from(pushed).unwrap() - lost;
    world.delivered(kept).await;
    eventually(|| world.spool.waiting() == 0).await;
    assert_eq!(world.close().await.len(), kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_refused_record_becomes_a_dead_letter() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 422);
    world.spool.push(record(1, Stage::PreCall));
    world.spool.push(record(1, Stage::PostCall));
    eventually(|| world.spool.waiting() == 0).await;
    assert_eq!(
        world.backend.asked.load(Ordering::Relaxed),
        2,
        "not sent again"
    );
    world.close().await;
    let letters = dead_letters(&folder.path().into()).unwrap();
    let seen: Vec<_> = letters
        .iter()
        .map(|letter| (letter.status, letter.record.stage))
        .collect();
    assert_eq!(seen, [(422, Stage::PreCall), (422, Stage::PostCall)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_has_one_owner() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 200);
    let second = Spool::open(
        &folder.path().into(),
        BOUNDS,
        world.backend.clone(),
        world.metrics.clone(),
    );
    assert!(matches!(second, Err(SpoolError::InUse { .. })));
    world.close().await;
}

mod chain;
mod damage;
mod earlier_version;
mod faults;
mod flood;
mod refusals;
mod unsynced;
