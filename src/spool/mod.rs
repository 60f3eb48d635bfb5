//! The durable way from the request path to the backend (CONTRACT 11 and 23): what is taken is on
//! disk within 10 ms, or when [`Spool::wait_durable`] says so, and leaves it only with the backend's answer. A crash, a stop or
//! an outage delays records; it loses none that were on disk.
//!
//! The request path adds a record's bytes to a buffer and goes on. One thread writes and syncs the
//! buffer to segment files, [`Delivery`]'s lanes deliver, from memory while they keep up and from disk
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
mod folder;
mod found;
mod gate;
mod gone;
mod held;
mod incoming;
mod inherited;
mod item;
mod lanes;
mod ledger;
mod letters;
mod marks;
mod numbers;
mod outlet;
mod owed;
mod parked;
mod replay;
mod segment;
mod shared;
mod state;
mod survey;

pub use adopt::{existing_folders, sibling_folders, take_over};
pub use dead::{DeadLetter, dead_letters};
pub use held::Lease;
pub use lanes::Delivery;
pub use owed::PendingAttachments;
pub use replay::replay_dead_letters;
pub use survey::{FolderSummary, summarize};

use crate::backend::{Analyzer, Record};
use crate::observe::Metrics;
use disk::Disk;
use folder::{lock, refused};
use found::Found;
use gate::Gate;
use monitor_model::{GATEWAY_VERSION, GatewayReport};
use owed::Owing;
use shared::{Shared, now_ms};
use state::State;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
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
    pub concurrency: usize,
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

/// A record that was taken; [`Spool::wait_durable`] waits until it is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt(pub(crate) u64);

impl Receipt {
    /// Of a record that was not taken: never on disk.
    const NEVER: Self = Self(u64::MAX);
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
    ) -> Result<(Self, Delivery, Closer), SpoolError> {
        let lock = lock(folder)?;
        let found = Found::look(folder, &metrics).map_err(|error| refused(folder, &error))?;
        let outlet = Arc::new(Notify::new());
        let newest = found.newest;
        let (files, owed) = Owing::new(bounds.memory / 2);
        let mut state = State::new(found.book, found.next, bounds, Some(outlet.clone()));
        state.numbers = found.numbers;
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Condvar::new(),
            durable: watch::Sender::default(),
            metrics,
            gate: Gate::default(),
            marks: found.marks,
            files,
        });
        let disk = Disk::new(shared.clone(), folder.into(), lock, newest);
        let thread = std::thread::Builder::new()
            .name("spool".into())
            .spawn(move || disk.run())
            .map_err(|error| refused(folder, &error))?;
        let worker = Delivery {
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

    /// Resolves when the record is on disk; pends while the disk refuses, for good where the record
    /// was not taken, so that the caller has to bound it.
    pub async fn wait_durable(&self, receipt: Receipt) {
        let mut written = self.shared.durable.subscribe();
        {
            let mut state = self.shared.lock();
            state.urgent = true;
            if state.idle {
                self.shared.wake.notify_one();
            }
        }
        // The sender lives as long as this end does.
        let _ = written.wait_for(|disk| disk.count >= receipt.0).await;
    }

    /// Resolves as soon as the spool's disk is known to refuse.
    pub async fn wait_degraded(&self) {
        let mut disk = self.shared.durable.subscribe();
        let _ = disk.wait_for(|disk| disk.refuses).await;
    }

    /// Says that a call gave up its wait for the disk. One that hangs is as good as one that refuses:
    /// until it takes something, no other call waits for it.
    pub fn mark_degraded(&self) {
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
        self.shared.durable.borrow().refuses
    }

    /// What an operator wants to know.
    pub fn status(&self) -> SpoolStatus {
        let (state, metrics) = (self.shared.lock(), &self.shared.metrics);
        SpoolStatus {
            bytes: state.book.bytes(),
            records: state.book.owed(),
            oldest_seconds: state.age_seconds(now_ms()),
            degraded: self.is_degraded(),
            dead_letters: metrics.spool.dead_letters.get(),
            dead_letter_bytes: metrics.spool.dead_letter_bytes.get(),
            dead_letters_dropped: metrics.spool.letters_lost.get(),
            retried_apart: state.parked,
            in_memory: state.in_lanes,
            backend_answers: self.backend_answers(),
        }
    }

    /// What the backend is told of it.
    pub fn report(&self) -> GatewayReport {
        // The lock is given back before the status takes it.
        let gateway = self.shared.lock().numbers.gateway();
        let status = self.status();
        GatewayReport {
            gateway,
            version: GATEWAY_VERSION.to_owned(),
            records: status.records,
            bytes: status.bytes,
            oldest_seconds: status.oldest_seconds as u64,
            dead_letters: status.dead_letters.unsigned_abs(),
            degraded: status.degraded,
            overhead: self.shared.metrics.own_overhead(),
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

#[cfg(test)]
mod tests;
