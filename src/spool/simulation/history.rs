//! One simulated history: what happens to a spool, and what is left of the promises in the end.

mod restarts;
mod steps;

use super::backend::{Backend, Mood};
use super::losses::{damaged, lost};
use crate::observe::Metrics;
use crate::spool::dead_letter::files;
use crate::spool::disk::simulated::{self, Chance, Faults};
use crate::spool::frames::keyring::Keyring;
use crate::spool::lease::Lease;
use crate::spool::recovery::incoming;
use crate::spool::witness::{self, Key};
use crate::spool::writer::{Round, Writer};
use crate::spool::{Receipt, Spool, SpoolBounds, SpoolFolder};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The folders of the processes: one has the configured one, or another beside it.
pub(super) const FOLDERS: [&str; 2] = ["/simulated/spool", "/simulated/spool/beside-1"];
const DAY_MS: i64 = 86_400_000;
/// Rounds until a spool has to be empty once everything works again. The longest wait is that of a retry: 30 s.
const PATIENCE: u32 = 600;
/// Virtual time between two of them.
const PACE: Duration = Duration::from_millis(50);

thread_local! {
    /// Metrics cost more than a history: all of a thread share one set.
    static METRICS: RefCell<Option<Arc<Metrics>>> = const { RefCell::new(None) };
}

pub(super) struct History {
    chance: Chance,
    pub(super) folder: PathBuf,
    /// The keys of the files; a history without encryption has none.
    keys: Arc<Keyring>,
    is_encrypted: bool,
    /// The folder of a process that ended and is taken over.
    left: Option<PathBuf>,
    bounds: SpoolBounds,
    pub(super) backend: Arc<Backend>,
    pub(super) metrics: Arc<Metrics>,
    /// What was said to be lost before: records by damage, and all.
    pub(super) lost_before: (u64, u64),
    /// Everything that was given to the spool.
    pub(super) given: BTreeMap<Key, String>,
    /// What is promised of it.
    pub(super) promised: BTreeSet<Key>,
    /// Written on the word of a disk that lied, with the files that it lied about.
    doubtful: BTreeMap<Key, BTreeSet<u64>>,
    /// Appended in the round before, and perhaps not written yet.
    unwritten: Vec<Key>,
    /// Written, with no note of it that outlived a power failure.
    pub(super) unnoted: BTreeSet<Key>,
    /// Given to this process and not yet on disk, with the receipts.
    waiting: Vec<(Key, Receipt)>,
    exchange: u128,
    /// Bits that changed by themselves.
    pub(super) rotten: u64,
    /// Sectors that changed by themselves.
    pub(super) sectors: u64,
    /// Bits and sectors of the files of numbers.
    chain_damage: u64,
    /// Sectors of files of dead letters.
    pub(super) letter_sectors: u64,
    pub(super) power_failures: u64,
    /// Files of version 4.1 were there: a wrong bit in one may hide the record behind it, which is counted.
    pub(super) had_version_4_1: bool,
    /// The power failed before the gateway's id was on disk for certain: without it, a file of version 4.1 whose first
    /// bytes are damaged cannot be read.
    pub(super) may_lose_gateway: bool,
    /// Records that a bound of the spool had dropped from the disk, and that a kill found in memory.
    pub(super) unsaid: u64,
    /// Syncs that are to fail.
    pub(super) sync_failures: u64,
    pub(super) told: Vec<String>,
    pub(super) broken: Vec<String>,
}

/// A process with the spool.
struct Process {
    spool: Spool,
    writer: Writer,
    delivery: tokio::task::JoinHandle<()>,
    leases: Vec<Lease>,
}

impl History {
    pub(super) fn run(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let folder = simulated::start(chance.next(), 20_000 * DAY_MS);
        witness::start();
        let metrics = METRICS.with_borrow_mut(|metrics| {
            let shared = metrics.get_or_insert_with(|| Arc::new(Metrics::new().unwrap()));
            shared.clone()
        });
        let mut history = Self {
            bounds: bounds(&mut chance),
            backend: Arc::new(Backend::new(chance.next())),
            lost_before: (damaged(&metrics), lost(&metrics)),
            metrics,
            chance,
            folder,
            keys: Arc::default(),
            is_encrypted: false,
            left: None,
            given: BTreeMap::new(),
            promised: BTreeSet::new(),
            doubtful: BTreeMap::new(),
            unnoted: BTreeSet::new(),
            unwritten: Vec::new(),
            waiting: Vec::new(),
            exchange: 0,
            rotten: 0,
            sectors: 0,
            chain_damage: 0,
            letter_sectors: 0,
            power_failures: 0,
            had_version_4_1: false,
            may_lose_gateway: false,
            unsaid: 0,
            sync_failures: 0,
            told: Vec::new(),
            broken: Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(history.live());
        drop(runtime);
        simulated::stop();
        history
    }

    /// What happened, in order.
    pub(super) fn told(&self) -> &[String] {
        &self.told
    }

    /// What should not have happened.
    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }

    pub(super) fn promised(&self) -> u64 {
        self.promised.len() as u64
    }

    fn tell(&mut self, what: impl Into<String>) {
        self.told.push(what.into());
    }

    async fn live(&mut self) {
        let no_links = self.chance.once_in(4);
        simulated::set_faults(|faults| faults.no_links = no_links);
        if self.chance.once_in(4) {
            self.had_version_4_1 = true;
            self.run_version_4_1().await;
        }
        self.is_encrypted = self.chance.once_in(3);
        let mut process = self.open().await;
        for _ in 0..10 + self.chance.below(30) {
            process = self.step(process).await;
        }
        self.tell("everything works again");
        simulated::set_faults(|faults| {
            let no_links = faults.no_links;
            *faults = Faults {
                no_links,
                ..Faults::default()
            };
        });
        self.backend.set_mood(Mood::Takes);
        process.leases.clear();
        let process = self.drain(process).await;
        // A start looks at every file once more.
        let process = self.restart(process).await;
        let process = self.drain(process).await;
        process.delivery.abort();
        let _ = process.delivery.await;
        self.judge();
    }

    pub(super) fn spool_folder(&self) -> SpoolFolder {
        SpoolFolder::new(&self.folder, self.keys.clone())
    }

    /// Whether files wait in the folder `incoming`, which is looked at now and then.
    fn has_incoming(&self) -> bool {
        let records = incoming::ready_files(&incoming::folder(&self.folder)).unwrap_or_default();
        !records.is_empty() || !files::imported_files(&self.folder).is_empty()
    }

    /// One round of the spool's thread, and what it said to be on disk.
    fn round(&mut self, process: &mut Process) -> Round {
        let lies = simulated::lies_told();
        self.take_over();
        let round = process.writer.round();
        for (key, receipt) in std::mem::take(&mut process.writer.next_sync.came) {
            self.tell(format!("{key:?} was pushed during the sync: {receipt:?}"));
            self.wait_for(key, receipt);
        }
        let written = process.spool.core.disk().written;
        let is_written = |receipt: &Receipt| receipt.0 <= written;
        let now: Vec<_> = self
            .waiting
            .extract_if(.., |(_, receipt)| is_written(receipt))
            .collect();
        self.tell(format!("a round: {round:?}, {written} on disk"));
        let files = simulated::doubtful_files();
        // Whatever was written before a true sync is on disk with it.
        self.doubtful
            .retain(|_, of| of.iter().any(|file| files.contains_key(file)));
        if simulated::lies_told() > lies {
            let of: BTreeSet<u64> = files.into_keys().collect();
            let appended = witness::appended_so_far().into_iter();
            let written = self.unwritten.iter().copied().chain(appended);
            self.doubtful.extend(written.map(|key| (key, of.clone())));
        }
        // A record that is put back is appended in one round and written in the next.
        if round != Round::Refused {
            self.unwritten.clear();
        }
        self.unwritten.extend(witness::take_appended());
        self.promised.extend(now.into_iter().map(|(key, _)| key));
        round
    }

    async fn drain(&mut self, mut process: Process) -> Process {
        for round in 0..PATIENCE {
            self.round(&mut process);
            // Soon after the others only records that are retried are left.
            let pace = if round < 10 { PACE } else { PACE * 10 };
            tokio::time::sleep(pace).await;
            simulated::move_clock(50);
            let figures = process
                .spool
                .core
                .lock()
                .figures(simulated::now_ms().unwrap());
            let owes = figures.records > 0 || figures.in_memory > 0 || figures.has_backlog;
            let is_idle =
                !process.writer.is_accepting() && self.left.is_none() && !self.has_incoming();
            if !owes && is_idle && self.waiting.is_empty() {
                self.round(&mut process);
                return process;
            }
        }
        let figures = process.spool.core.lock().figures(0);
        let broken = format!("the spool does not get empty: {figures:?}");
        self.broken.push(broken);
        process
    }
}

fn bounds(chance: &mut Chance) -> SpoolBounds {
    SpoolBounds {
        bytes: [1 << 30, 1 << 30, 14_000][chosen(chance, 3)],
        age: Duration::from_secs([7 * 86_400, 3_600][chosen(chance, 2)]),
        memory: [1 << 20, 3_000][chosen(chance, 2)],
        concurrency: 1 + chosen(chance, 3),
        dead: 1 << 20,
    }
}

fn chosen(chance: &mut Chance, count: usize) -> usize {
    usize::try_from(chance.below(count as u64)).unwrap_or(0)
}
