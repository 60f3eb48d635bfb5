//! One simulated history: what happens to a spool, and what is left of the promises in the end.
//!
//! Long because: each kind of step is a few lines, and all of them change the same history.

use super::backend::{Backend, Mood};
use super::losses::{damaged, lost};

use crate::backend::{Record, RecordContext};
use crate::config::key_file::FileKey;
use crate::observe::Metrics;
use crate::spool::chain_file;
use crate::spool::dead_letter::files;
use crate::spool::disk::simulated::{self, Chance, Faults, Rot};
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::frames::tests::in_first_format;
use crate::spool::lease::Lease;
use crate::spool::recovery::{self, incoming, takeover};
use crate::spool::tests::record;
use crate::spool::witness::{self, Key, key};
use crate::spool::writer::{Round, Writer};
use crate::spool::{Receipt, Spool, SpoolBounds, SpoolFolder, disk, segment};
use monitor_model::{RecordId, Secret, Stage};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
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
    /// Records that a bound of the spool had dropped from the disk, and that were in memory when the process was
    /// killed.
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

    /// A process of version 4.1 is killed with records on disk.
    async fn run_version_4_1(&mut self) {
        let mut process = self.open().await;
        self.push(&process);
        self.push(&process);
        self.round(&mut process);
        process.delivery.abort();
        let _ = process.delivery.await;
        self.waiting.clear();
        for id in recovery::segments(&self.folder).unwrap() {
            let path = segment::path(&self.folder, id);
            let bytes = in_first_format(contents(&path));
            disk::remove(&path).unwrap();
            let mut file = disk::create_new(&path).unwrap();
            file.write_all(&bytes).unwrap();
            file.sync().unwrap();
        }
        disk::sync_folder(&self.folder).unwrap();
        self.tell("version 4.1 was killed");
    }

    /// The next process gets a folder of its own, now and then, and takes over what is left in this one.
    fn may_hand_over(&mut self) {
        if self.chance.once_in(4) && self.left.is_none() {
            let mut others = FOLDERS.map(PathBuf::from).into_iter();
            let next = others.find(|other| *other != self.folder).unwrap();
            self.tell(format!("the next process is in {}", next.display()));
            self.folder = next;
        }
    }

    /// A start looks for what is left in the folders beside its own: the power may have brought files back.
    fn find_left(&mut self) {
        let other = FOLDERS.map(Path::new).into_iter();
        let other = other.filter(|other| *other != self.folder);
        self.left = other
            .filter(|other| simulated::has_files(other))
            .map(Path::to_owned)
            .next();
    }

    /// The next process has another key, or none, and knows those before.
    fn may_change_key(&mut self) {
        if !self.is_encrypted || self.chance.once_in(2) {
            return;
        }
        let older: Vec<_> = self.keys.all().cloned().collect();
        let byte = u8::try_from(older.len() + 1).unwrap_or(u8::MAX);
        let current = (!self.chance.once_in(5)).then(|| FileKey::of(byte).into());
        let name = if current.is_some() { "another" } else { "no" };
        self.tell(format!("{name} key is used"));
        self.keys = Arc::new(Keyring::new(current, older));
    }

    pub(super) fn spool_folder(&self) -> SpoolFolder {
        SpoolFolder::new(&self.folder, self.keys.clone())
    }

    /// Whether files wait in the folder `incoming`, which is looked at now and then.
    fn has_incoming(&self) -> bool {
        let records = incoming::ready_files(&incoming::folder(&self.folder)).unwrap_or_default();
        !records.is_empty() || !files::imported_files(&self.folder).is_empty()
    }

    fn take_over(&mut self) {
        let Some(left) = &self.left else {
            return;
        };
        witness::enter(left);
        let taken = takeover::take_over(
            left,
            &self.spool_folder(),
            &mut takeover::MovedSegments::default(),
            &self.metrics,
        );
        witness::enter(&self.folder);
        self.told.push(format!("taken over: {taken:?}"));
        if taken.is_ok() {
            self.left = None;
        }
    }

    // --- What happens ---

    async fn step(&mut self, mut process: Process) -> Process {
        match self.chance.below(24) {
            0..=5 => self.push(&process),
            6 => self.lease(&mut process),
            7 => self.end_lease(&mut process),
            8..=13 => {
                self.round(&mut process);
            }
            14..=16 => {
                let ms = 1 + self.chance.below(3_000);
                self.tell(format!("{ms} ms pass"));
                tokio::time::sleep(Duration::from_millis(ms)).await;
                simulated::move_clock(i64::try_from(ms).unwrap_or(0));
            }
            17 | 18 => {
                let mood = Mood::ALL[chosen(&mut self.chance, Mood::ALL.len())];
                self.tell(format!("the backend: {mood:?}"));
                self.backend.set_mood(mood);
            }
            19 => self.fault(),
            20 => self.rot(),
            21 => {
                let minutes = i64::try_from(self.chance.below(20)).unwrap_or(0) - 10;
                self.tell(format!("the clock jumps by {minutes} minutes"));
                simulated::move_clock(minutes * 60_000);
            }
            22 => return self.crash(process).await,
            _ => return self.restart(process).await,
        }
        process
    }

    fn record(&mut self, stage: Stage) -> Record {
        let length = chosen(&mut self.chance, 200);
        let plain = record(self.exchange, stage);
        let access_key = format!("key-{}", self.exchange % 3);
        let context = RecordContext {
            exchange: plain.context.exchange,
            access_key: Secret::new(access_key),
            application_id: None,
            user_id: None,
            session_id: None,
            trace: None,
        };
        Record {
            message: format!("{}-{}", self.exchange, "x".repeat(length)).into(),
            context: Arc::new(context),
            ..plain
        }
    }

    fn push(&mut self, process: &Process) {
        for _ in 0..=self.chance.below(3) {
            self.exchange += 1;
            for stage in [Stage::PreCall, Stage::PostCall] {
                let record = self.record(stage);
                let key = key(&record);
                self.given.insert(key, record.message.to_string());
                let receipt = process.spool.push(record);
                self.tell(format!("{key:?} is pushed: {receipt:?}"));
                self.wait_for(key, receipt);
            }
        }
    }

    fn wait_for(&mut self, key: Key, receipt: Receipt) {
        // Nothing is promised of a record that is not accepted.
        if receipt != Receipt::NEVER && !receipt.is_over_share() {
            self.waiting.push((key, receipt));
        }
    }

    fn lease(&mut self, process: &mut Process) {
        self.exchange += 1;
        let record = self.record(Stage::PreCall);
        let key = key(&record);
        self.given.insert(key, record.message.to_string());
        self.tell(format!("{key:?} is leased"));
        process.leases.push(process.spool.lease(record));
    }

    fn end_lease(&mut self, process: &mut Process) {
        let Some(lease) = process.leases.pop() else {
            return;
        };
        let key = lease.record().map(key);
        match self.chance.below(3) {
            0 => {
                let receipt = lease.release();
                self.tell(format!("{key:?} is released: {receipt:?}"));
                if let Some(key) = key {
                    self.wait_for(key, receipt);
                }
            }
            1 => {
                self.tell(format!("{key:?} was stored by its call"));
                if let Some(record) = lease.record() {
                    self.backend.store(record);
                }
                lease.delivered(RecordId::random());
            }
            _ => {
                self.tell(format!("{key:?} is dropped"));
                drop(lease);
            }
        }
    }

    fn fault(&mut self) {
        let mut chance = self.chance.clone();
        let what = match chance.below(5) {
            0 => {
                self.sync_failures += 1;
                simulated::set_faults(|faults| faults.fails_sync = true);
                "the next sync fails"
            }
            1 => {
                simulated::set_faults(|faults| faults.lies = true);
                "the next sync lies"
            }
            2 => {
                let count = 1 + chance.below(4);
                simulated::set_faults(|faults| faults.refused_opens = count);
                "too many files are open"
            }
            3 => {
                simulated::set_faults(|faults| faults.full = true);
                "the disk is full"
            }
            _ => {
                simulated::set_faults(|faults| faults.full = false);
                "the disk has room"
            }
        };
        self.chance = chance;
        self.tell(what);
    }

    fn rot(&mut self) {
        let what = match self.chance.below(4) {
            0 => Rot::Sector(512),
            1 => Rot::Sector(4_096),
            _ => Rot::Bit,
        };
        if let Some(path) = simulated::rot(what) {
            match what {
                Rot::Bit => self.rotten += 1,
                Rot::Sector(_) => self.sectors += 1,
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
            if path.ends_with(chain_file::FILE_NAME) {
                self.chain_damage += 1;
                // Both copies of the note may be lost.
                if self.chain_damage > 1 {
                    self.unnoted.extend(witness::in_newest_segments());
                }
            }
            self.letter_sectors += u64::from(kind == "letters" && !matches!(what, Rot::Bit));
            self.tell(format!("{what:?} of a file {kind} rots"));
        }
    }

    /// One round of the spool's thread, and what it said to be on disk.
    fn round(&mut self, process: &mut Process) -> Round {
        let lies = simulated::lies_told();
        self.take_over();
        let round = process.writer.round();
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

    async fn crash(&mut self, process: Process) -> Process {
        let Process {
            spool,
            writer,
            delivery,
            leases,
        } = process;
        delivery.abort();
        let _ = delivery.await;
        // Nobody is left to say that these are lost; `GET /chain` shows their numbers.
        self.unsaid += spool.core.lock().figures(0).only_in_memory;
        // Nothing of them reaches the disk or the backend any more.
        drop((leases, spool, writer));
        self.waiting.clear();
        match self.chance.once_in(2) {
            true => {
                self.tell("the power fails");
                self.power_failures += 1;
                self.forget_doubtful();
                self.forget_unnoted();
                simulated::fail_power();
            }
            false => self.tell("the process is killed"),
        }
        self.may_hand_over();
        self.open().await
    }

    /// What only a lie had put on disk may be gone with the power, and is not promised any more.
    fn forget_doubtful(&mut self) {
        let files = simulated::doubtful_files();
        for (key, of) in std::mem::take(&mut self.doubtful) {
            if of.iter().any(|file| files.contains_key(file)) {
                self.promised.remove(&key);
            }
        }
        let is_letters = |path: &PathBuf| path.to_string_lossy().contains("dead.");
        if files.values().any(is_letters) {
            let backend = &self.backend;
            self.promised.retain(|key| !backend.refuses(key.0));
        }
        let is_incoming = |path: &PathBuf| path.to_string_lossy().contains("incoming");
        if files.values().any(is_incoming) {
            let put_back = witness::put_back();
            self.promised.retain(|key| !put_back.contains(key));
        }
    }

    /// How far the newest segment was written is noted without a sync, which follows within a second. If the power
    /// fails before, a sector that is lost at the end of the segment looks like an interrupted write.
    fn forget_unnoted(&mut self) {
        if !simulated::is_synced(&self.folder.join(chain_file::FILE_NAME)) {
            self.unnoted.extend(witness::in_newest_segments());
        }
    }

    async fn restart(&mut self, mut process: Process) -> Process {
        self.tell("the process ends in order");
        process.leases.clear();
        process.spool.core.lock().close();
        loop {
            tokio::time::sleep(PACE).await;
            if self.round(&mut process) == Round::Last {
                break;
            }
        }
        // A stop waits for the workers only so long.
        let delivery = &mut process.delivery;
        if tokio::time::timeout(Duration::from_secs(30), &mut *delivery)
            .await
            .is_err()
        {
            delivery.abort();
            let _ = delivery.await;
        }
        drop(process);
        self.waiting.clear();
        self.may_hand_over();
        self.open().await
    }

    async fn open(&mut self) -> Process {
        self.may_change_key();
        self.find_left();
        witness::enter(&self.folder);
        loop {
            let backend = self.backend.clone();
            let metrics = self.metrics.clone();
            match Spool::assemble(&self.spool_folder(), self.bounds, backend, metrics) {
                Ok((spool, delivery, writer)) => {
                    return Process {
                        spool,
                        writer,
                        delivery: tokio::spawn(delivery.run()),
                        leases: Vec::new(),
                    };
                }
                // It is started again, as a service manager does, until the disk has room.
                Err(error) => {
                    self.tell(format!("it does not start: {error}"));
                    simulated::set_faults(|faults| faults.full = false);
                    tokio::time::sleep(PACE).await;
                }
            }
        }
    }

    // --- The end ---

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

/// The contents of the frames of a segment.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = FrameReader::open_sealed(path).unwrap();
    let (end, mut contents) = (reader.length().unwrap(), Vec::new());
    while let NextFrame::Whole(frame) = reader.next(end).unwrap() {
        contents.push(frame.content);
    }
    contents
}
