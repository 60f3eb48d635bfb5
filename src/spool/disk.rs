//! The thread of a spool that owns its folder: writes and syncs what was taken, notes what was
//! acknowledged, removes what is delivered (CONTRACT 23), and has [`super::back`] read back.
//! A disk that refuses keeps nothing from the clients: bytes wait in memory and are tried again.

use super::back::Back;
use super::dead::Letter;
use super::fault::{self, Point};
use super::gone::{Gone, Loss};
use super::incoming::Incoming;
use super::inherited::Inherited;
use super::item::Chunk;
use super::letters::Letters;
use super::numbers::Numbered;
use super::segment::{self, SegmentId};
use super::state::State;
use super::{Shared, ledger, now_ms};
use crate::observe::events::{DeadLettersLost, SpoolDiskFailed, SpoolLost, SpoolThreadPanicked};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// Records that come within this time share one sync.
const GATHER: Duration = Duration::from_millis(5);
/// How often the thread looks when nothing happens.
const TICK: Duration = Duration::from_millis(200);
/// Between two tries of a disk that refuses.
const RETRY: Duration = Duration::from_millis(250);

pub(super) struct Disk {
    shared: Arc<Shared>,
    folder: PathBuf,
    /// Lease for as long as the folder is used.
    _lock: File,
    open: Option<Open>,
    waiting: VecDeque<Chunk>,
    back: Back,
    letters: Letters,
    notes: Notes,
    incoming: Incoming,
    inherited: Inherited,
    /// The latest number that the file beside the segments knows.
    marked: Numbered,
}

/// The segment being written.
struct Open {
    segment: SegmentId,
    file: File,
    /// Bytes that are synced; what stands behind them is cut off before the next write.
    length: u64,
}

/// What is to be noted. It outlives a step, so that a panic in one loses nothing of it.
#[derive(Default)]
struct Notes {
    acks: BTreeMap<SegmentId, Vec<u32>>,
    dead: Vec<Letter>,
    gone: VecDeque<Gone>,
}

/// What one step knows of the shared state.
struct Work {
    /// Records taken so far.
    pushed: u64,
    /// The latest number of the records that were taken.
    latest: Numbered,
    /// None of them has said yet that the process before was cut off.
    owes_cut: bool,
    last: bool,
}

impl Disk {
    pub(super) fn new(
        shared: Arc<Shared>,
        folder: PathBuf,
        lock: File,
        newest_found: Option<SegmentId>,
    ) -> Self {
        let dead_bytes = shared.lock().bounds().dead;
        let back = Back::new(shared.clone(), folder.clone(), newest_found);
        let incoming = Incoming::new(&folder);
        let inherited = Inherited::new(&folder);
        let letters = Letters::new(&folder, dead_bytes);
        Self {
            shared,
            folder,
            _lock: lock,
            open: None,
            waiting: VecDeque::new(),
            back,
            letters,
            notes: Notes::default(),
            incoming,
            inherited,
            marked: Numbered::default(),
        }
    }

    /// Runs until the spool is closed and everything is written. A panic is a disk that refuses: it
    /// is said, and the thread goes on where it stood. What it costs is a record sent twice.
    pub(super) fn run(mut self) {
        loop {
            match catch_unwind(AssertUnwindSafe(|| self.step())) {
                Ok(true) => return,
                Ok(false) => {}
                Err(_) => {
                    self.shared.set_degraded(true);
                    SpoolThreadPanicked.emit(&self.shared.metrics);
                    std::thread::sleep(RETRY);
                }
            }
        }
    }

    /// One round; true for the last one.
    fn step(&mut self) -> bool {
        let work = self.take();
        let written = self.write_all();
        if written {
            self.is_written(&work);
        }
        self.note(&work);
        let read = self.back.read_back(&self.waiting);
        if work.last {
            self.leave(&work);
            return true;
        }
        if written {
            self.incoming.step(&self.shared);
            self.shared.set_degraded(false);
        }
        if !written || !read {
            std::thread::sleep(RETRY);
        }
        false
    }

    /// Waits for something to do.
    fn take(&mut self) -> Work {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        if !self.has_work(&state) {
            state.idle = true;
            state = shared.wait(state, TICK);
            state.idle = false;
        }
        if !state.pending.is_empty() && !state.urgent && !state.closing {
            drop(state);
            std::thread::sleep(GATHER);
            state = shared.lock();
        }
        let lost = state.tick(now_ms());
        self.report(lost);
        shared.measure(&state);
        state.urgent = false;
        self.waiting.extend(state.pending.drain(..));
        let notes = &mut self.notes;
        for place in state.acks.drain(..) {
            let acks = notes.acks.entry(place.segment).or_default();
            acks.push(place.ordinal);
        }
        notes.dead.extend(state.take_dead());
        notes.gone.extend(state.gone.drain(..));
        Work {
            pushed: state.pushed,
            latest: state.numbers.latest(),
            owes_cut: state.numbers.owes_cut(),
            last: state.closing,
        }
    }

    fn has_work(&self, state: &MutexGuard<'_, State>) -> bool {
        !state.pending.is_empty()
            || !self.waiting.is_empty()
            || state.closing
            || self.incoming.is_under_way()
            || self.inherited.is_under_way()
            || !state.dead.is_empty()
            || state.wants_more()
    }

    /// Writes and syncs; false where the disk refused, and then nothing is half done.
    fn write_all(&mut self) -> bool {
        let Err(error) = self.try_write() else {
            return true;
        };
        self.shared.set_degraded(true);
        SpoolDiskFailed { error: &error }.emit(&self.shared.metrics);
        false
    }

    fn try_write(&mut self) -> io::Result<()> {
        while let Some(chunk) = self.waiting.front() {
            append(&mut self.open, &self.folder, chunk)?;
            self.shared.lock().unwritten -= chunk.bytes.len() as u64;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Lets those go on who waited for these records.
    fn is_written(&mut self, work: &Work) {
        if work.latest != self.marked {
            self.mark(work.latest);
        }
        self.shared.durable.send_if_modified(|disk| {
            let more = disk.count != work.pushed;
            disk.count = work.pushed;
            more
        });
    }

    fn mark(&mut self, latest: Numbered) {
        match self.shared.marks.written(latest) {
            Ok(()) => self.marked = latest,
            Err(error) => SpoolDiskFailed { error: &error }.emit(&self.shared.metrics),
        }
    }

    /// Says what goes with the process because the disk did not take it.
    fn leave(&self, work: &Work) {
        if self.waiting.is_empty() {
            // What fails here makes the next start more careful than it had to be.
            let _ = self.shared.marks.end(work.owes_cut);
        } else {
            let taken = work.pushed - self.shared.durable.borrow().count;
            let count = taken.min(self.shared.lock().book.owed());
            self.report((count > 0).then_some((Loss::Disk, count)));
        }
    }

    /// Acknowledgements, dead letters and files that may go. What fails here costs a record sent
    /// twice or a file that stays, never a record.
    fn note(&mut self, work: &Work) {
        self.note_letters();
        while let Some((segment, ordinals)) = self.notes.acks.pop_first() {
            if let Err(error) = ledger::append(&self.folder, segment, &ordinals) {
                SpoolDiskFailed { error: &error }.emit(&self.shared.metrics);
            }
        }
        self.outlive(work);
        while let Some(Gone { segment, unread }) = self.notes.gone.pop_front() {
            if let Some(unread) = unread {
                let lost = unread.lost(&segment::path(&self.folder, segment));
                self.report(lost);
            }
            self.remove(segment);
        }
    }

    fn remove(&mut self, segment: SegmentId) {
        let unwritten = self.waiting.iter().filter(|chunk| chunk.segment == segment);
        let unwritten: u64 = unwritten.map(|chunk| chunk.bytes.len() as u64).sum();
        self.shared.lock().unwritten -= unwritten;
        self.waiting.retain(|chunk| chunk.segment != segment);
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.segment == segment)
        {
            self.open = None;
        }
        self.back.forget(segment);
        // The ledger first: left behind, it would vouch for another segment of that number.
        let _ = std::fs::remove_file(ledger::path(&self.folder, segment));
        fault::at(Point::Delete);
        let _ = std::fs::remove_file(segment::path(&self.folder, segment));
        fault::at(Point::Deleted);
    }

    /// The numbers that go with a file are remembered without it.
    fn outlive(&mut self, work: &Work) {
        if self.notes.gone.is_empty() {
            return;
        }
        self.mark(work.latest);
        if let Err(error) = self.shared.marks.sync() {
            SpoolDiskFailed { error: &error }.emit(&self.shared.metrics);
        }
    }

    fn note_letters(&mut self) {
        let step = self.letters.write(std::mem::take(&mut self.notes.dead));
        if let Some(error) = step.error {
            SpoolDiskFailed { error: &error }.emit(&self.shared.metrics);
        }
        self.report((step.refused > 0).then_some((Loss::Disk, step.refused)));
        if step.over > 0 {
            DeadLettersLost { count: step.over }.emit(&self.shared.metrics);
        }
        let metrics = &self.shared.metrics;
        if let Err(error) = self.inherited.step(&mut self.letters, metrics) {
            SpoolDiskFailed { error: &error }.emit(metrics);
        }
        let (count, bytes) = self.letters.extent();
        for (metric, value) in [
            (&metrics.spool.dead_letters, count),
            (&metrics.spool.dead_letter_bytes, bytes),
        ] {
            metric.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    fn report(&self, lost: Option<(Loss, u64)>) {
        if let Some((loss, count)) = lost {
            SpoolLost {
                reason: loss.reason(),
                count,
            }
            .emit(&self.shared.metrics);
        }
    }
}

/// Adds a chunk to its segment's file and syncs it. What a failure leaves behind the last whole chunk
/// is cut off by the next try, and read as a torn end until then. A sync that failed is never just
/// repeated: the system may have given up the bytes and say nothing the second time.
fn append(open: &mut Option<Open>, folder: &Path, chunk: &Chunk) -> io::Result<()> {
    let fits = open
        .as_ref()
        .is_some_and(|open| open.segment == chunk.segment);
    if !fits {
        let file = segment::create(folder, chunk.segment)?;
        *open = Some(Open {
            segment: chunk.segment,
            file,
            length: segment::HEADER,
        });
    }
    let Some(open) = open else {
        return Ok(());
    };
    if open.file.metadata()?.len() != open.length {
        open.file.set_len(open.length)?;
    }
    fault::write(Point::Write, &mut open.file, &chunk.bytes)?;
    fault::at(Point::Sync);
    open.file.sync_data()?;
    fault::at(Point::Synced);
    open.length += chunk.bytes.len() as u64;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn contract_23_what_a_failed_sync_leaves_does_not_count_as_written() {
        // Takes every byte and cannot be synced.
        let file = File::options().append(true).open("/dev/null").unwrap();
        let mut open = Some(Open {
            segment: 1,
            file,
            length: 0,
        });
        let chunk = Chunk {
            segment: 1,
            bytes: b"bytes".to_vec(),
        };
        assert!(append(&mut open, Path::new("/nowhere"), &chunk).is_err());
        assert_eq!(open.unwrap().length, 0);
    }
}
