//! The durable way from the request path to the backend (CONTRACT 11 and 23): what is taken is on
//! disk within 10 ms, or when [`Spool::durable`] says so, and leaves it only with the backend's answer. A crash, a stop or
//! an outage delays records; it loses none that were on disk.
//!
//! The request path adds a record's bytes to a buffer and goes on. One thread writes and syncs the
//! buffer to segment files, [`Worker`]'s lanes deliver, from memory while they keep up and from disk
//! when they do not, so that no backlog grows in memory. Bounded by bytes and by age; over either the
//! oldest records go, counted and said.

mod adopt;
mod back;
mod batch;
mod book;
mod dead;
mod disk;
mod entry;
mod fault;
mod files;
mod found;
mod gate;
mod gone;
mod incoming;
mod item;
mod lanes;
mod ledger;
mod letters;
mod outlet;
mod owed;
mod parked;
mod replay;
mod segment;
mod state;
mod survey;

pub use adopt::{adopt, folders, used_folders};
pub use dead::{DeadLetter, dead_letters};
pub use lanes::Worker;
pub use replay::put_back;
pub use survey::{Survey, survey};

use super::{Analyzer, Kept, Record};
use crate::model::RecordId;
use crate::observe::Metrics;
use crate::observe::TelemetryOutcome;
use crate::observe::events::{RecordLeft, SpoolLost};
use disk::Disk;
use found::Found;
use gate::Gate;
use gone::Loss;
use owed::Owing;
use state::State;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use tokio::sync::{Notify, watch};

/// What a spool may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolBounds {
    /// Bytes of its files.
    pub bytes: u64,
    /// How long a record is kept for a backend that does not take it.
    pub age: Duration,
    /// Bytes of the records in memory on their way.
    pub memory: u64,
    /// Calls to the backend at once.
    pub lanes: usize,
    /// Bytes of the dead letters.
    pub dead: u64,
}

/// Why a spool cannot be opened.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// Its folder cannot be made, read or locked.
    #[error("the spool's folder {folder} cannot be used: {reason}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Another process uses it.
    #[error(
        "the spool's folder {folder} is in use by another process: stop it, or give this one a folder of its own (spool.dir)"
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
}

/// The request path's end of a spool.
#[derive(Clone)]
pub struct Spool {
    shared: Arc<Shared>,
}

/// A spool as its process knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpoolStatus {
    /// Bytes of its files.
    pub bytes: u64,
    /// Records the backend has not taken, as far as their segments have been read.
    pub records: u64,
    /// Age in seconds of the oldest record that the backend has not taken; 0 where there is none.
    pub oldest_seconds: f64,
    /// Its disk refuses to be written.
    pub degraded: bool,
    /// Records the backend refused for good.
    pub dead_letters: i64,
    /// Bytes of their files.
    pub dead_letter_bytes: i64,
    /// Those of this process's time that `spool.max_dead_bytes` left no room for.
    pub dead_letters_dropped: u64,
    /// Records that the backend fails on while it takes others; they are tried again by themselves.
    pub retried_apart: u64,
    /// Records in memory on their way.
    pub in_memory: u64,
    /// Whether the backend answered when it was last asked.
    pub backend_answers: bool,
}

/// Ends a spool in order.
pub struct Closer {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

/// A record that was taken; [`Spool::durable`] waits until it is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt(pub(crate) u64);

impl Receipt {
    /// Of a record that was not taken: never on disk.
    const NEVER: Self = Self(u64::MAX);
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// Records on disk so far.
    durable: watch::Sender<u64>,
    /// The disk refuses, hangs, or its thread broke.
    degraded: watch::Sender<bool>,
    metrics: Arc<Metrics>,
    gate: Gate,
    files: Owing,
}

impl Spool {
    /// Opens the folder, making it where it is missing (0700, files 0600), takes up what an earlier
    /// process left, and starts the thread that writes.
    ///
    /// # Errors
    /// [`SpoolError`]. A segment that cannot be read is set aside and said, never an error.
    pub fn open(
        folder: &Path,
        bounds: SpoolBounds,
        analyzer: Arc<dyn Analyzer>,
        metrics: Arc<Metrics>,
    ) -> Result<(Self, Worker, Closer), SpoolError> {
        let lock = lock(folder)?;
        let found = Found::look(folder, &metrics).map_err(|error| refused(folder, &error))?;
        let outlet = Arc::new(Notify::new());
        let newest = found.newest;
        let (files, owed) = Owing::new(bounds.memory / 2);
        let state = State::new(found.book, found.next, bounds, Some(outlet.clone()));
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Condvar::new(),
            durable: watch::Sender::new(0),
            degraded: watch::Sender::new(false),
            metrics,
            gate: Gate::default(),
            files,
        });
        let disk = Disk::new(shared.clone(), folder.into(), lock, newest);
        let thread = std::thread::Builder::new()
            .name("spool".into())
            .spawn(move || disk.run())
            .map_err(|error| refused(folder, &error))?;
        let worker = Worker {
            outlet,
            analyzer,
            shared: shared.clone(),
            owed: Some(owed),
        };
        let spool = Self {
            shared: shared.clone(),
        };
        Ok((spool, worker, Closer { shared, thread }))
    }

    /// Takes a record and returns at once. Where nothing more can be kept, the oldest records go, or
    /// this one when the disk takes none; that is counted and said, and no client notices.
    pub fn push(&self, record: Record) -> Receipt {
        self.shared.push(record)
    }

    /// Sees to it that a record whose verdict is known is kept under that id: when `kept` fails, it is
    /// taken like any other.
    pub fn follow(&self, record: Record, kept: (RecordId, Kept)) {
        self.shared.lock().follow(record, kept);
    }

    /// Resolves when the record is on disk; pends while the disk refuses, for good where the record
    /// was not taken, so that the caller has to bound it.
    pub async fn durable(&self, receipt: Receipt) {
        let mut written = self.shared.durable.subscribe();
        {
            let mut state = self.shared.lock();
            state.urgent = true;
            if state.idle {
                self.shared.wake.notify_one();
            }
        }
        // The sender lives as long as this end does.
        let _ = written.wait_for(|count| *count >= receipt.0).await;
    }

    /// Resolves as soon as the spool's disk is known to refuse.
    pub async fn refused(&self) {
        let mut degraded = self.shared.degraded.subscribe();
        let _ = degraded.wait_for(|degraded| *degraded).await;
    }

    /// Says that a call gave up its wait for the disk. One that hangs is as good as one that refuses:
    /// until it takes something, no other call waits for it.
    pub fn gave_up(&self) {
        self.shared.set_degraded(true);
    }

    /// Records in memory on their way, but for those that are retried apart; 1 more while there are
    /// others on disk.
    pub fn waiting(&self) -> u64 {
        let state = self.shared.lock();
        state.in_lanes - state.parked + u64::from(state.behind.is_some())
    }

    /// Whether the spool's disk refuses to be written.
    pub fn is_degraded(&self) -> bool {
        *self.shared.degraded.borrow()
    }

    /// What an operator wants to know.
    pub fn status(&self) -> SpoolStatus {
        let (state, metrics) = (self.shared.lock(), &self.shared.metrics);
        SpoolStatus {
            bytes: state.book.bytes(),
            records: state.book.owed(),
            oldest_seconds: state.age_seconds(now_ms()),
            degraded: self.is_degraded(),
            dead_letters: metrics.spool_dead_letters.get(),
            dead_letter_bytes: metrics.spool_dead_letter_bytes.get(),
            dead_letters_dropped: metrics.spool_letters_lost.get(),
            retried_apart: state.parked,
            in_memory: state.in_lanes,
            backend_answers: self.backend_answers(),
        }
    }

    /// Whether the backend answered when it was last asked.
    pub fn backend_answers(&self) -> bool {
        self.shared.gate.is_open()
    }
}

impl Closer {
    /// Writes what is left and ends the thread and the lanes. Records not delivered stay on disk for
    /// the next start.
    pub fn close(self) {
        {
            let mut state = self.shared.lock();
            state.closing = true;
            state.close_lanes();
        }
        self.shared.wake.notify_one();
        if self.thread.join().is_err() {
            log::error!("the spool's thread ended before its time");
        }
    }
}

impl Shared {
    fn push(&self, record: Record) -> Receipt {
        let stage = record.stage;
        let mut state = self.lock();
        let lost = state.push(record, now_ms());
        let receipt = match lost {
            Some((Loss::Disk, _)) => Receipt::NEVER,
            _ => Receipt(state.pushed),
        };
        let wake = state.idle;
        drop(state);
        if wake {
            self.wake.notify_one();
        }
        match lost {
            None => {}
            Some((Loss::Disk, _)) => RecordLeft {
                stage,
                outcome: TelemetryOutcome::Dropped,
                reason: "the spool's disk takes no more and memory is full",
            }
            .emit(&self.metrics),
            Some((_, count)) => SpoolLost {
                reason: "full",
                count,
            }
            .emit(&self.metrics),
        }
        receipt
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        let (state, _) = self
            .wake
            .wait_timeout(state, time)
            .unwrap_or_else(PoisonError::into_inner);
        state
    }

    fn set_degraded(&self, degraded: bool) {
        let changed = |was: &mut bool| std::mem::replace(was, degraded) != degraded;
        if self.degraded.send_if_modified(changed) {
            self.metrics.spool_degraded.set(i64::from(degraded));
        }
    }

    fn measure(&self, state: &State) {
        self.metrics
            .spool_bytes
            .set(i64::try_from(state.book.bytes()).unwrap_or(i64::MAX));
        self.metrics
            .spool_records
            .set(i64::try_from(state.book.owed()).unwrap_or(i64::MAX));
        self.metrics
            .queue_bytes
            .set(i64::try_from(state.held).unwrap_or(i64::MAX));
        self.metrics.spool_age.set(state.age_seconds(now_ms()));
    }
}

fn lock(folder: &Path) -> Result<File, SpoolError> {
    let file = private_folder(folder)
        .and_then(|()| {
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(folder.join("lock"))
        })
        .map_err(|error| refused(folder, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(SpoolError::InUse {
            folder: folder.into(),
        }),
        Err(std::fs::TryLockError::Error(error)) => Err(refused(folder, &error)),
    }
}

fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn refused(folder: &Path, error: &io::Error) -> SpoolError {
    SpoolError::Folder {
        folder: folder.into(),
        reason: error.to_string(),
    }
}

/// Milliseconds since 1970 (UTC); 0 on a machine whose clock stands before it.
fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
