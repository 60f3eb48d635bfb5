//! What the request path, delivery and the writer of one spool share: the state under its lock, what is
//! known of the disk, and the file with the sequence numbers. The rules for a record are
//! [`super::state`]'s.

use super::dead_letter::encoding::EncodedLetter;
use super::dead_letter::letter_room::{LetterLeft, LetterMemory};
use super::eviction::{Dropped, EvictionPolicy};
use super::segment_index::RecordPosition;
use super::sequence::{Hashed, Latest, SequenceFile, SequenceNumber};
use super::state::{Accepted, Figures, LeasedRecord, NotAccepted, State};
use super::system::{calendar_ms, now_ms};
use crate::backend::Record;
use crate::observe::events::{DeadLettersLost, RecordFinished, SpoolDiskFailed, SpoolLost};
use crate::observe::{DropReason, Metrics, TelemetryOutcome};
use monitor_model::Stage;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What a spool may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolBounds {
    /// Bytes of its segments.
    pub bytes: u64,
    /// How long a record is kept for a backend that does not take it.
    pub age: Duration,
    /// Bytes of the records in memory on their way to the backend.
    pub memory: u64,
    /// Calls to the backend at once.
    pub concurrency: usize,
    /// Bytes of the dead letters.
    pub dead: u64,
}

impl SpoolBounds {
    pub(super) fn eviction(&self) -> EvictionPolicy {
        EvictionPolicy::new(self.bytes, self.age)
    }
}

/// The receipt of a record that was accepted: [`super::Spool::wait_durable`] waits until it is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt(pub(crate) u64);

impl Receipt {
    /// The receipt of a record that was dropped and is never on disk.
    pub(super) const NEVER: Self = Self(u64::MAX);
    /// The receipt of a record that was dropped because its access key has more than its share.
    const OVER_SHARE: Self = Self(u64::MAX - 1);

    /// Whether the record was dropped because its access key has more than its share of a spool that is
    /// nearly full; the disk has no part in it.
    pub fn is_over_share(self) -> bool {
        self == Self::OVER_SHARE
    }
}

pub(super) struct SpoolCore {
    bounds: SpoolBounds,
    metrics: Arc<Metrics>,
    sequence_file: SequenceFile,
    state: Mutex<State>,
    writer_wakes: Condvar,
    appender_wakes: Condvar,
    disk: watch::Sender<DiskStatus>,
    letter_memory: LetterMemory,
}

/// How far the disk has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskStatus {
    /// Records on disk so far, in the order they were accepted.
    pub(super) written: u64,
    /// The disk refuses to be written.
    pub(super) is_degraded: bool,
}

impl SpoolCore {
    pub(super) fn new(
        bounds: SpoolBounds,
        state: State,
        sequence_file: SequenceFile,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            bounds,
            metrics,
            sequence_file,
            state: Mutex::new(state),
            writer_wakes: Condvar::new(),
            appender_wakes: Condvar::new(),
            disk: watch::Sender::default(),
            letter_memory: LetterMemory::new(),
        }
    }

    pub(super) fn bounds(&self) -> SpoolBounds {
        self.bounds
    }

    pub(super) fn letter_memory(&self) -> &LetterMemory {
        &self.letter_memory
    }

    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    pub(super) fn sequence_file(&self) -> &SequenceFile {
        &self.sequence_file
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // --- Records ---

    /// Accepts a record for delivery. If nothing more can be kept, the oldest records are dropped, or
    /// this one while the disk refuses; either is counted and logged.
    pub(super) fn push(&self, record: Record) -> Receipt {
        self.push_by(record, State::push)
    }

    /// The same for a record that is promised already (an earlier process had it, or it is what remains of
    /// one that was delivered): no share of its access key refuses it.
    pub(super) fn push_promised(&self, record: Record) -> Receipt {
        self.push_by(record, State::push_promised)
    }

    fn push_by(
        &self,
        record: Record,
        push: fn(&mut State, Hashed, i64) -> Result<Accepted, NotAccepted>,
    ) -> Receipt {
        let stage = record.stage;
        let hashed = Hashed::from(record);
        let mut state = self.lock();
        let pushed = push(&mut state, hashed, now_ms());
        let wake = state.is_writer_idle();
        drop(state);
        if wake {
            self.wake_writer();
        }
        match pushed {
            Ok(accepted) => {
                self.log_dropped(accepted.dropped);
                Receipt(accepted.ticket)
            }
            Err(NotAccepted::OverShare) => {
                self.log_dropped(Dropped::new(DropReason::Share, 1));
                Receipt::OVER_SHARE
            }
            Err(NotAccepted::DiskBehind) => {
                let reason = "the spool's disk is behind or refuses to be written, and memory has no room for it";
                self.log_refused(stage, reason);
                Receipt::NEVER
            }
            Err(NotAccepted::TooLarge) => {
                self.log_refused(
                    stage,
                    "it is larger than 255 MiB, which the spool cannot hold",
                );
                Receipt::NEVER
            }
        }
    }

    /// Accepts a record that the caller delivers itself, and notes its number as sent early.
    pub(super) fn lease(&self, record: Record) -> LeasedRecord {
        let hashed = Hashed::from(record);
        let mut state = self.lock();
        let leased = state.lease(hashed, now_ms());
        let latest = state.sequencer().latest();
        let wake = state.is_writer_idle();
        drop(state);
        if wake {
            self.wake_writer();
        }
        self.log_dropped(leased.dropped);
        if leased.record.position.is_some() {
            self.note_early(latest);
        }
        leased.record
    }

    /// Makes a record that the backend refused with that status a dead letter. It leaves the spool once the letter
    /// is on disk.
    pub(super) fn add_dead_letter(
        &self,
        status: u16,
        record: &Record,
        position: Option<RecordPosition>,
    ) {
        let mut letter = EncodedLetter::new(calendar_ms(), status, record);
        letter.position = position;
        self.keep_letter(letter);
    }

    /// The same, once there is memory for the letter. Gives what tells that it has left the memory, if there was room.
    pub(super) async fn add_dead_letter_in_turn(
        &self,
        status: u16,
        record: &Record,
        position: Option<RecordPosition>,
    ) -> Option<LetterLeft> {
        let taken = self.letter_memory.take(record.weight()).await;
        let (room, left) = taken.unzip();
        let mut letter = EncodedLetter::new(calendar_ms(), status, record);
        (letter.position, letter.room) = (position, room);
        self.keep_letter(letter);
        left
    }

    fn keep_letter(&self, mut letter: EncodedLetter) {
        let position = letter.position;
        let mut state = self.lock();
        // The keys of one application have one share of the dead letters, too.
        letter.key = state
            .known_holders()
            .share_of(letter.key)
            .unwrap_or(letter.key);
        let is_lost = !state.add_dead_letter(letter);
        if is_lost && let Some(position) = position {
            state.finish_leased(position);
        }
        drop(state);
        if is_lost {
            let (count, over_share) = (1, 0);
            DeadLettersLost { count, over_share }.emit(&self.metrics);
        }
    }

    /// Returns once a record may leave the process (CONTRACT 5): when it is on disk, or, while the disk
    /// refuses, when its number is noted as sent early.
    pub(super) async fn wait_to_send(&self, ticket: u64, record: &Record) {
        if !self.wait_written(ticket).await
            && let Some(latest) = Latest::of_record(record)
        {
            self.note_early(latest.number);
        }
    }

    /// Notes a number as sent early. If that fails, the record is sent anyway.
    fn note_early(&self, number: SequenceNumber) {
        if let Err(error) = self.sequence_file.record_early(number) {
            self.log_disk_error(&error);
        }
    }

    // --- The disk ---

    /// True once so many records are on disk; false at once while the disk refuses.
    pub(super) async fn wait_written(&self, ticket: u64) -> bool {
        if self.disk.borrow().written >= ticket {
            return true;
        }
        let mut disk = self.disk.subscribe();
        let known = disk.wait_for(|disk| disk.written >= ticket || disk.is_degraded);
        known.await.is_ok_and(|disk| disk.written >= ticket)
    }

    /// What is known of the disk, and its changes.
    pub(super) fn watch_disk(&self) -> watch::Receiver<DiskStatus> {
        self.disk.subscribe()
    }

    pub(super) fn disk(&self) -> DiskStatus {
        *self.disk.borrow()
    }

    /// Wakes everybody who waits for these records to be on disk.
    pub(super) fn announce_written(&self, records: u64) {
        self.disk
            .send_if_modified(|disk| std::mem::replace(&mut disk.written, records) != records);
    }

    pub(super) fn set_degraded(&self, degraded: bool) {
        let is_news =
            |disk: &mut DiskStatus| std::mem::replace(&mut disk.is_degraded, degraded) != degraded;
        if self.disk.send_if_modified(is_news) {
            self.metrics.spool.degraded.set(i64::from(degraded));
        }
    }

    // --- The writer ---

    pub(super) fn wake_writer(&self) {
        self.writer_wakes.notify_one();
    }

    /// Waits until the writer is woken, at most that long.
    pub(super) fn wait_for_work<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        time: Duration,
    ) -> MutexGuard<'a, State> {
        state.set_writer_idle(true);
        let waited = self.writer_wakes.wait_timeout(state, time);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.set_writer_idle(false);
        self.appender_wakes.notify_one();
        state
    }

    /// Waits until the writer is at work; false once the spool is being closed.
    pub(super) fn wait_for_busy_writer(&self) -> bool {
        let is_idle = |state: &mut State| state.is_writer_idle() && !state.is_closing();
        let waited = self.appender_wakes.wait_while(self.lock(), is_idle);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_closing()
    }

    /// Shows the state's figures as metrics.
    pub(super) fn measure(&self, figures: Figures) {
        let spool = &self.metrics.spool;
        for (metric, value) in [
            (&spool.bytes, figures.bytes),
            (&spool.records, figures.records),
            (&self.metrics.queue_bytes, figures.memory_bytes),
        ] {
            metric.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        spool.age.set(figures.oldest_seconds);
    }

    // --- What is logged and counted ---

    pub(super) fn log_dropped(&self, dropped: Option<Dropped>) {
        if let Some(Dropped { reason, count }) = dropped {
            SpoolLost { reason, count }.emit(&self.metrics);
        }
    }

    pub(super) fn log_disk_error(&self, error: &io::Error) {
        SpoolDiskFailed { error }.emit(&self.metrics);
    }

    fn log_refused(&self, stage: Stage, reason: &str) {
        RecordFinished {
            stage,
            outcome: TelemetryOutcome::Dropped,
            reason,
        }
        .emit(&self.metrics);
    }

    /// Records that the disk did not take before the process ended.
    pub(super) fn log_unwritten(&self, count: u64) {
        self.log_dropped(Dropped::new(DropReason::Disk, count));
    }
}
