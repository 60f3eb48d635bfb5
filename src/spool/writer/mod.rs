//! The spool's thread, which owns the folder: it writes and syncs the records that were accepted, notes
//! acknowledgements, keeps the dead letters and removes the files of delivered segments (CONTRACT 23), and has the
//! backlog read back. A disk that refuses costs no client anything: bytes wait in memory and are written again later.
//! While it waits for the disk, the [`appender`]'s thread writes what comes.

mod appender;
#[cfg(test)]
pub(super) mod during_sync;
mod open_segment;

use super::ack_log;
use super::chain_file::WrittenUpTo;
use super::core::SpoolCore;
use super::dead_letter::encoding::EncodedLetter;
use super::dead_letter::import::DeadLetterImport;
use super::dead_letter::store::DeadLetterStore;
use super::delivery::backlog_reader::{BacklogReader, BacklogStatus};
use super::disk::{self, File};
use super::eviction::{Dropped, Evicted};
use super::fault_points::{self, FaultPoint};
use super::folder::SpoolFolder;
use super::recovery::incoming::IncomingReader;
use super::recovery::salvage;
use super::segment::{self, SegmentId};
use super::segment_index::RecordPosition;
use super::sequence::SequenceNumber;
use super::state::{Appended, Progress, State};
use super::system::{aging_ms, now_ms};
use crate::observe::DropReason;
use crate::observe::clock::watch_clock;
use crate::observe::events::{
    DeadLettersLost, SpoolThreadPanicked, log_last_spool_losses, log_spool_losses,
};
use appender::Appender;
#[cfg(test)]
use during_sync::DuringSync;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Records that come within this time share one sync.
const GATHER: Duration = Duration::from_millis(5);
/// How often the thread checks for work if it is not woken.
const TICK: Duration = Duration::from_millis(200);
/// Time between two attempts on a disk that refuses.
const RETRY: Duration = Duration::from_millis(250);
/// A note of what is written is synced after this time, or as soon as there is nothing to write.
const NOTE_AGE: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    core: Arc<SpoolCore>,
    folder: SpoolFolder,
    /// Held for as long as the folder is used.
    _lock: File,
    appender: Arc<Appender>,
    upkeep: Upkeep,
    backlog: BacklogReader,
    dead_letters: DeadLetterStore,
    import: DeadLetterImport,
    incoming: IncomingReader,
    /// What the sequence file says.
    noted: Noted,
    /// When the oldest note was written there that is not synced.
    unsynced_note: Option<Instant>,
    #[cfg(test)]
    pub(super) next_sync: DuringSync,
}

/// What the sequence file says of the records on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Noted {
    latest: SequenceNumber,
    written: Option<WrittenUpTo>,
}

/// What is left to do apart from writing records. It outlives a round, so that a panic loses none of it.
#[derive(Default)]
struct Upkeep {
    acks: BTreeMap<SegmentId, Vec<u32>>,
    dead_letters: Vec<EncodedLetter>,
    evicted: VecDeque<Evicted>,
}

/// Whether the thread goes on after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    More,
    /// The disk refused; it is tried again a little later.
    Refused,
    Last,
}

impl Writer {
    pub(super) fn new(core: Arc<SpoolCore>, folder: SpoolFolder, lock: File) -> Self {
        Self {
            backlog: BacklogReader::new(core.clone(), folder.clone()),
            dead_letters: DeadLetterStore::open(&folder, core.bounds().dead),
            import: DeadLetterImport::new(&folder),
            incoming: IncomingReader::new(&folder),
            appender: Arc::new(Appender::new(core.clone(), folder.clone())),
            core,
            folder,
            _lock: lock,
            upkeep: Upkeep::default(),
            noted: Noted::default(),
            unsynced_note: None,
            #[cfg(test)]
            next_sync: DuringSync::default(),
        }
    }

    /// Runs until the spool is closed and everything is written. A panic is treated as a disk that
    /// refuses: it is logged, and the thread goes on where it was. At worst a record is sent twice.
    pub(super) fn run(mut self, appending: JoinHandle<()>) {
        loop {
            match catch_unwind(AssertUnwindSafe(|| {
                self.wait();
                log_spool_losses();
                self.round()
            })) {
                Ok(Round::Last) => break,
                Ok(Round::More) => {}
                Ok(Round::Refused) => std::thread::sleep(RETRY),
                Err(_) => {
                    self.core.set_degraded(true);
                    SpoolThreadPanicked.emit(self.core.metrics());
                    std::thread::sleep(RETRY);
                }
            }
        }
        // It ends by itself, and writes nothing once another process may have the folder.
        let _ = appending.join();
    }

    /// What appends records, to be run on a thread of its own.
    pub(super) fn appender(&self) -> &Arc<Appender> {
        &self.appender
    }

    /// Does everything there is to do, without waiting.
    pub(super) fn round(&mut self) -> Round {
        let progress = self.collect();
        let is_idle = !self.core.lock().has_unsynced();
        let is_written = self.write();
        if is_written {
            self.sync_note(is_idle);
        }
        self.write_dead_letters();
        self.write_acks();
        self.remove_evicted(progress.appended.latest);
        let readable = |segment| self.appender.readable_bytes(segment);
        let backlog = self.backlog.read_back(readable);
        if progress.closing {
            self.end(progress);
            return Round::Last;
        }
        if is_written {
            let core = &self.core;
            let mut accept = |record| {
                core.push_promised(record);
            };
            self.incoming.step(&mut accept, core.metrics());
            self.core.set_degraded(false);
        }
        match !is_written || backlog == BacklogStatus::Refused {
            true => Round::Refused,
            false => Round::More,
        }
    }

    /// Waits for something to do, and a moment more for further records to come.
    fn wait(&self) {
        let mut state = self.core.lock();
        if !self.has_work(&state) {
            state = self.core.wait_for_work(state, TICK);
        }
        let may_gather = state.may_gather();
        drop(state);
        if may_gather {
            std::thread::sleep(GATHER);
        }
    }

    /// Takes over what there is to do from the shared state.
    fn collect(&mut self) -> Progress {
        let core = self.core.clone();
        watch_clock(core.metrics());
        let mut state = core.lock();
        let round = state.begin_round(now_ms(), aging_ms());
        let figures = state.figures(now_ms());
        drop(state);
        core.measure(figures);
        self.upkeep.add_acks(round.acks);
        self.upkeep.dead_letters.extend(round.dead_letters);
        self.upkeep.evicted.extend(round.evicted);
        core.log_dropped(round.dropped);
        round.progress
    }

    /// Whether a file of the folder `incoming` is being accepted.
    #[cfg(test)]
    pub(super) fn is_accepting(&self) -> bool {
        self.incoming.is_busy()
    }

    fn has_work(&self, state: &State) -> bool {
        state.has_work() || self.incoming.is_busy() || self.import.is_due()
    }

    // --- Records ---

    /// Writes and syncs all that was accepted; false if the disk refused.
    fn write(&mut self) -> bool {
        let appended = self.appender.append();
        // What is written is synced also if more could not be written.
        let synced = self.sync();
        match appended.and(synced) {
            Ok(synced) => self.announce(synced),
            Err(error) => {
                self.core.set_degraded(true);
                self.core.log_disk_error(&error);
                return false;
            }
        }
        true
    }

    fn sync(&mut self) -> io::Result<Appended> {
        let sync = self.appender.begin_sync();
        let synced = self.appender.sync(&sync);
        #[cfg(test)]
        self.next_sync.happen(&self.core, &self.appender);
        match &synced {
            Ok(()) => self.appender.end_sync(&sync),
            Err(_) => self.appender.rewind(),
        }
        synced.map(|()| sync.appended)
    }

    /// Wakes those who wait for these records to be on disk.
    fn announce(&mut self, synced: Appended) {
        // Records that were put back grow a segment and have their numbers already.
        if self.to_note(synced.latest) != self.noted {
            self.note_sequence(synced.latest);
        }
        self.core.announce_written(synced.accepted);
    }

    fn to_note(&self, latest: SequenceNumber) -> Noted {
        let written = self.appender.synced_up_to();
        Noted { latest, written }
    }

    fn note_sequence(&mut self, latest: SequenceNumber) {
        let note = self.to_note(latest);
        let file = self.core.sequence_file();
        match file.record_on_disk(note.latest, note.written) {
            Ok(()) => {
                self.noted = note;
                self.unsynced_note.get_or_insert_with(Instant::now);
            }
            Err(error) => self.core.log_disk_error(&error),
        }
    }

    /// Has the note outlive the machine, so that the end of the newest segment is missed if a sector of it is lost.
    fn sync_note(&mut self, is_idle: bool) {
        let is_due = |since: Instant| is_idle || since.elapsed() >= NOTE_AGE;
        if !self.unsynced_note.is_some_and(is_due) {
            return;
        }
        self.unsynced_note = None;
        if let Err(error) = self.core.sequence_file().sync() {
            self.core.log_disk_error(&error);
            // Written once more with the next round: what a failed sync leaves is not known.
            self.noted = Noted::default();
        }
    }

    /// Ends the thread; logs the records that are lost because the disk did not take them.
    fn end(&self, progress: Progress) {
        self.core.letter_memory().close();
        let left = self.core.lock().figures(now_ms()).only_in_memory;
        self.core.log_dropped(Dropped::new(DropReason::Full, left));
        if self.appender.is_empty() {
            // If this fails, the next start is more careful than it had to be.
            let _ = self.core.sequence_file().close(progress.cut_unreported);
        } else {
            let unwritten = progress.appended.accepted - self.core.disk().written;
            let unacked = self.core.lock().figures(now_ms()).records;
            self.core.log_unwritten(unwritten.min(unacked));
        }
        log_last_spool_losses();
    }

    // --- Upkeep: a failure costs a record sent twice or a file that stays, never a record ---

    fn write_acks(&mut self) {
        while let Some((segment, ordinals)) = self.upkeep.acks.pop_first() {
            if let Err(error) = ack_log::append(&self.folder, segment, &ordinals) {
                self.core.log_disk_error(&error);
            }
        }
    }

    fn write_dead_letters(&mut self) {
        let letters = std::mem::take(&mut self.upkeep.dead_letters);
        let rewritten = self.dead_letters.use_current_key(self.core.metrics());
        rewritten.unwrap_or_else(|error| self.core.log_disk_error(&error));
        let written = self.dead_letters.write(letters);
        self.core.letter_memory().set_stuck(written.error.is_some());
        if let Some(error) = written.error {
            self.core.log_disk_error(&error);
        }
        self.core.log_unwritten(written.refused);
        if !written.settled.is_empty() {
            let mut state = self.core.lock();
            for position in written.settled {
                state.finish_leased(position);
            }
            self.upkeep.add_acks(state.take_acks());
        }
        let metrics = self.core.metrics();
        if written.evicted > 0 {
            DeadLettersLost {
                count: written.evicted,
                over_share: written.over_share,
            }
            .emit(metrics);
        }
        if let Err(error) = self.import.step(&mut self.dead_letters, metrics) {
            self.core.log_disk_error(&error);
        }
        let extent = self.dead_letters.measure();
        let kept = self.dead_letters.keep_damaged(metrics);
        kept.unwrap_or_else(|error| self.core.log_disk_error(&error));
        for (metric, value) in [
            (&metrics.spool.dead_letters, extent.letters),
            (&metrics.spool.dead_letter_bytes, extent.bytes),
        ] {
            metric.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    fn remove_evicted(&mut self, latest: SequenceNumber) {
        if self.upkeep.evicted.is_empty() {
            return;
        }
        // The numbers in a removed file are remembered without it.
        self.note_sequence(latest);
        match self.core.sequence_file().sync() {
            Ok(()) => self.unsynced_note = None,
            Err(error) => self.core.log_disk_error(&error),
        }
        while let Some(evicted) = self.upkeep.evicted.front() {
            match evicted.count_lost(&self.folder) {
                Ok(lost) => self.core.log_dropped(lost),
                // Later: the next process reads what is still there when this one ends.
                Err(error) => return self.core.log_disk_error(&error),
            }
            let segment = evicted.segment;
            self.upkeep.evicted.pop_front();
            self.remove(segment);
        }
    }

    fn remove(&mut self, id: SegmentId) {
        self.appender.forget(id);
        self.backlog.close(id);
        // The log first: left behind, it would seem to be another segment's.
        let path = segment::path(&self.folder, id);
        ack_log::remove(&self.folder, id, &path);
        fault_points::reached(FaultPoint::Delete);
        let _ = disk::remove(&path);
        salvage::forget(&self.folder, id);
        fault_points::reached(FaultPoint::Deleted);
    }
}

impl Upkeep {
    fn add_acks(&mut self, positions: Vec<RecordPosition>) {
        for position in positions {
            let acks = self.acks.entry(position.segment).or_default();
            acks.push(position.ordinal);
        }
    }
}
