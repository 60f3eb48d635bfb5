//! The durable way from the request path to the backend (CONTRACT 11 and 23). A record that is accepted
//! is on disk within 10 ms, or when [`Spool::wait_durable`] returns, and leaves the spool only with the
//! backend's answer. A crash, a stop or an outage delays records; it loses none that were on disk.
//!
//! The request path appends a record's bytes to a buffer and goes on. One thread, [`writer`], writes and
//! syncs the buffer to segment files. [`delivery`] sends records from memory while it keeps up, and reads
//! them back from disk when it does not, so that no backlog grows in memory. The files are bounded by
//! bytes and by age; beyond either bound the oldest records are dropped, counted and logged.
//!
//! | | |
//! |---|---|
//! | what is on disk | [`segment`], [`frames`], [`record_codec`], [`ack_log`], [`sequence`] with [`chain_file`], [`dead_letter`] |
//! | what is known of it | [`state`] with [`segment_index`] and [`eviction`] |
//! | who changes it | the request path here and in [`lease`], [`writer`], [`delivery`] |
//! | what others left | [`recovery`] |

mod ack_log;
mod chain_file;
mod core;
mod dead_letter;
mod delivery;
mod disk;
mod eviction;
mod fault_points;
mod folder;
mod frames;
mod lease;
mod record_codec;
mod recovery;
mod room;
mod segment;
mod segment_index;
mod sequence;
mod state;
mod system;
mod writer;

pub use self::core::{Receipt, SpoolBounds};
pub use dead_letter::{DeadLetter, dead_letters, replay_dead_letters};
pub use delivery::{Delivery, PendingAttachments};
pub use folder::SpoolFolder;
#[cfg(any(test, fuzzing))]
pub use frames::fuzzing;
pub use frames::keyring::{KeyId, Keyring, MissingKey, SpoolKey};
pub use lease::Lease;
pub use recovery::SpoolError;
pub use recovery::keys::{FilesByKey, NeededKey, check_keys};
pub use recovery::owed::{CopiedSpool, copy_owed, is_copy, restored_folder};
pub use recovery::repair::{Repaired, repair};
pub use recovery::summary::{FolderSummary, summarize};
pub use recovery::takeover::{MovedSegments, existing_folders, sibling_folders, take_over};
pub(crate) use room::Room;

use self::core::SpoolCore;
use self::system::now_ms;
use crate::backend::{Analyzer, Record};
use crate::fair_queue::{KnownHolders, Tenant};
use crate::observe::Metrics;
use delivery::breaker::DeliveryBreaker;
use monitor_model::{GATEWAY_VERSION, GatewayReport};
use room::RoomQueue;
use state::{Initial, State};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::Notify;
use writer::Writer;

/// The request path's end of a spool.
#[derive(Clone)]
pub struct Spool {
    core: Arc<SpoolCore>,
    breaker: Arc<DeliveryBreaker>,
    room: Arc<RoomQueue>,
}

/// The three ends of a spool that was opened.
pub struct Opened {
    /// For the request path.
    pub spool: Spool,
    /// Has to run for records to reach the backend.
    pub delivery: Delivery,
    /// Ends the spool in order.
    pub closer: Closer,
}

/// Ends a spool in order.
pub struct Closer {
    core: Arc<SpoolCore>,
    thread: JoinHandle<()>,
}

/// The status of a spool, as its process knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpoolStatus {
    /// Bytes of its segments.
    pub bytes: u64,
    /// Records that the backend has not acknowledged, as far as their segments have been read.
    pub records: u64,
    /// Age in seconds of the oldest unacknowledged record; 0 if there is none.
    pub oldest_seconds: f64,
    /// Its disk refuses to be written.
    pub degraded: bool,
    /// Records that the backend refused for good.
    pub dead_letters: i64,
    /// Bytes of their files.
    pub dead_letter_bytes: i64,
    /// Dead letters that this process lost to `spool.max_dead_bytes`.
    pub dead_letters_dropped: u64,
    /// Those of them whose access key had more than its share of a file.
    pub dead_letters_over_share: u64,
    /// Records that the backend fails on while it takes others; they are retried by themselves.
    pub retried_apart: u64,
    /// Records in memory on their way to the backend.
    pub in_memory: u64,
    /// Whether the backend answered when it was last asked.
    pub backend_answers: bool,
}

impl Spool {
    /// Opens the folder, creating it if it is missing (0700, files 0600), recovers what an earlier process
    /// left, and starts the thread that writes.
    ///
    /// # Errors
    /// [`SpoolError`], also where the key of a file is missing. A segment that cannot be read is set aside and logged,
    /// never an error.
    pub fn open(
        folder: &SpoolFolder,
        bounds: SpoolBounds,
        analyzer: Arc<dyn Analyzer>,
        metrics: Arc<Metrics>,
    ) -> Result<Opened, SpoolError> {
        let (spool, delivery, writer) = Self::assemble(folder, bounds, analyzer, metrics)?;
        let refused = |error| SpoolError::folder(folder, &error);
        let appender = writer.appender().clone();
        let appending = std::thread::Builder::new()
            .name("spool-append".into())
            .spawn(move || appender.run())
            .map_err(refused)?;
        let thread = std::thread::Builder::new()
            .name("spool".into())
            .spawn(move || writer.run(appending))
            .map_err(refused)?;
        Ok(Opened {
            closer: Closer {
                core: spool.core.clone(),
                thread,
            },
            spool,
            delivery,
        })
    }

    /// The access keys that the backend has accepted.
    pub(crate) fn known_holders(&self) -> Arc<KnownHolders> {
        self.core.lock().known_holders()
    }

    /// The parts of a spool, of which none runs yet.
    fn assemble(
        folder: &SpoolFolder,
        bounds: SpoolBounds,
        analyzer: Arc<dyn Analyzer>,
        metrics: Arc<Metrics>,
    ) -> Result<(Self, Delivery, Writer), SpoolError> {
        let refused = |error| SpoolError::folder(folder, &error);
        let lock = recovery::lock(folder)?;
        recovery::keys::check_keys(folder).map_err(refused)?;
        let found = recovery::recover(folder, &metrics).map_err(refused)?;
        let dispatcher = Arc::new(Notify::new());
        let initial = Initial {
            index: found.index,
            current: found.next,
            sequencer: found.sequencer,
            keys: folder.keys().clone(),
        };
        let wakes = Some(dispatcher.clone());
        let state = State::new(initial, bounds.eviction(), bounds.memory, wakes);
        let room = Arc::new(RoomQueue::new(state.watch_unsynced()));
        let core = Arc::new(SpoolCore::new(bounds, state, found.sequence_file, metrics));
        let writer = Writer::new(core.clone(), folder.clone(), lock);
        let breaker = Arc::new(DeliveryBreaker::new());
        let delivery = Delivery::new(core.clone(), dispatcher, analyzer, breaker.clone());
        let spool = Self {
            core,
            breaker,
            room,
        };
        Ok((spool, delivery, writer))
    }

    /// Whether the disk keeps up, so that a call of so many bytes need not wait for it.
    pub(crate) fn has_room(&self, tenant: Tenant, bytes: u64) -> bool {
        self.room.has_room(tenant, bytes)
    }

    /// Waits until a disk that is behind has room for the record of a call of so many bytes, for some seconds at most;
    /// not for one that refuses.
    pub(crate) async fn wait_for_room(&self, tenant: Tenant, bytes: u64) -> Room {
        self.room.wait(&self.core, tenant, bytes).await
    }

    /// Accepts a record and returns at once. If nothing more can be kept, the oldest records are dropped,
    /// or this one while the disk refuses; that is counted and logged, and no client notices.
    pub fn push(&self, record: Record) -> Receipt {
        self.core.push(record)
    }

    /// Accepts a record that a call of its own is about to deliver.
    pub fn lease(&self, record: Record) -> Lease {
        Lease::new(self.core.clone(), record)
    }

    /// Resolves when the record is on disk; pending while the disk refuses, and for ever if the record was
    /// dropped, so the caller has to bound the wait.
    pub async fn wait_durable(&self, receipt: Receipt) {
        let mut disk = self.core.watch_disk();
        if self.core.lock().hurry() {
            self.core.wake_writer();
        }
        // The sender lives as long as this spool.
        let _ = disk.wait_for(|disk| disk.written >= receipt.0).await;
    }

    /// Resolves once the spool's disk is known to refuse.
    pub async fn wait_degraded(&self) {
        let mut disk = self.core.watch_disk();
        let _ = disk.wait_for(|disk| disk.is_degraded).await;
    }

    /// Tells the spool that a call gave up waiting for the disk. A disk that hangs is treated like one
    /// that refuses: until it takes something, no other call waits for it.
    pub fn mark_degraded(&self) {
        self.core.set_degraded(true);
    }

    /// Records in memory on their way to the backend, without those being retried; 1 more while there are
    /// others on disk.
    pub fn waiting(&self) -> u64 {
        let figures = self.core.lock().figures(now_ms());
        figures.in_memory - figures.retrying + u64::from(figures.has_backlog)
    }

    /// Whether the spool's disk refuses to be written.
    pub fn is_degraded(&self) -> bool {
        self.core.disk().is_degraded
    }

    /// The spool's status, for operators.
    pub fn status(&self) -> SpoolStatus {
        let figures = self.core.lock().figures(now_ms());
        let metrics = &self.core.metrics().spool;
        SpoolStatus {
            bytes: figures.bytes,
            records: figures.records,
            oldest_seconds: figures.oldest_seconds,
            degraded: self.is_degraded(),
            dead_letters: metrics.dead_letters.get(),
            dead_letter_bytes: metrics.dead_letter_bytes.get(),
            dead_letters_dropped: metrics.letters_lost.get(),
            dead_letters_over_share: metrics.letters_over_share.get(),
            retried_apart: figures.retrying,
            in_memory: figures.in_memory,
            backend_answers: self.backend_answers(),
        }
    }

    /// The spool's status, for the backend.
    pub fn report(&self) -> GatewayReport {
        let gateway = self.core.lock().sequencer().gateway();
        let status = self.status();
        GatewayReport {
            gateway,
            version: GATEWAY_VERSION.to_owned(),
            records: status.records,
            bytes: status.bytes,
            oldest_seconds: status.oldest_seconds as u64,
            dead_letters: status.dead_letters.unsigned_abs(),
            degraded: status.degraded,
            overhead: self.core.metrics().own_overhead(),
        }
    }

    /// Whether new files are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.core.lock().is_encrypted()
    }

    /// Whether the backend answered when it was last asked.
    pub fn backend_answers(&self) -> bool {
        self.breaker.is_closed()
    }
}

impl Closer {
    /// Writes what is left and ends the thread and the delivery workers. Records that are not delivered
    /// stay on disk for the next start.
    pub fn close(self) {
        self.core.lock().close();
        self.core.wake_writer();
        if self.thread.join().is_err() {
            log::error!("the spool's thread panicked while it was being closed");
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod witness;
