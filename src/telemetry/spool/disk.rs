//! The thread of a spool that owns its folder: writes and syncs what was taken, notes what was
//! acknowledged, removes what is delivered (CONTRACT 23), and has [`super::back`] read back.
//! A disk that refuses keeps nothing from the clients: bytes wait in memory and are tried again.

use super::back::Back;
use super::dead::Letters;
use super::gone::Gone;
use super::incoming::Incoming;
use super::numbers::Numbered;
use super::segment::{self, SegmentId};
use super::state::{Chunk, Loss, State};
use super::{Shared, ledger, now_ms};
use crate::observe::events::{SpoolDisk, SpoolLost};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
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
    /// Held for as long as the folder is used.
    _lock: File,
    open: Option<Open>,
    waiting: VecDeque<Chunk>,
    back: Back,
    refuses: bool,
    letters: Letters,
    incoming: Incoming,
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

/// What one step takes from the shared state.
struct Work {
    pushed: u64,
    /// The latest number of the records that were taken.
    latest: Numbered,
    acks: BTreeMap<SegmentId, Vec<u32>>,
    dead: Vec<Vec<u8>>,
    gone: Vec<Gone>,
    last: bool,
}

impl Disk {
    pub(super) fn new(
        shared: Arc<Shared>,
        folder: PathBuf,
        lock: File,
        newest_found: Option<SegmentId>,
    ) -> Self {
        let back = Back::new(shared.clone(), folder.clone(), newest_found);
        let incoming = Incoming::new(&folder);
        Self {
            shared,
            folder,
            _lock: lock,
            open: None,
            waiting: VecDeque::new(),
            back,
            refuses: false,
            letters: Letters::default(),
            incoming,
            marked: Numbered::default(),
        }
    }

    /// Runs until the spool is closed and everything is written.
    pub(super) fn run(mut self) {
        loop {
            let mut work = self.take();
            let written = self.write_all();
            if written {
                self.is_written(&work);
            }
            self.note(&mut work);
            let read = self.back.read_back(&self.waiting);
            if work.last {
                return self.leave(&work);
            }
            if written {
                self.incoming.step(&self.shared);
            }
            if !written || !read {
                std::thread::sleep(RETRY);
            }
        }
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
        let mut acks = BTreeMap::<_, Vec<_>>::new();
        for place in state.acks.drain(..) {
            acks.entry(place.segment).or_default().push(place.ordinal);
        }
        Work {
            pushed: state.pushed,
            latest: state.numbers.latest(),
            acks,
            dead: std::mem::take(&mut state.dead),
            gone: std::mem::take(&mut state.gone),
            last: state.closing,
        }
    }

    fn has_work(&self, state: &MutexGuard<'_, State>) -> bool {
        !state.pending.is_empty()
            || !self.waiting.is_empty()
            || state.closing
            || self.incoming.is_under_way()
            || !state.dead.is_empty()
            || state.wants_more()
    }

    /// Writes and syncs; false where the disk refused, and then nothing is half done.
    fn write_all(&mut self) -> bool {
        let refused = self.try_write().err();
        self.say(refused.as_ref());
        refused.is_none()
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
            Err(error) => SpoolDisk { error: &error }.emit(&self.shared.metrics),
        }
    }

    /// Says what goes with the process because the disk did not take it.
    fn leave(&self, work: &Work) {
        if self.waiting.is_empty() {
            // What fails here makes the next start more careful than it had to be.
            let _ = self.shared.marks.end();
        } else {
            let taken = work.pushed - self.shared.durable.borrow().count;
            let count = taken.min(self.shared.lock().book.owed());
            self.report((count > 0).then_some((Loss::Disk, count)));
        }
    }

    fn say(&mut self, refused: Option<&io::Error>) {
        if refused.is_some() != self.refuses {
            self.refuses = refused.is_some();
            self.shared.set_degraded(self.refuses);
        }
        if let Some(error) = refused {
            SpoolDisk { error }.emit(&self.shared.metrics);
        }
    }

    /// Acknowledgements, dead letters and files that may go. What fails here costs a record sent
    /// twice or a file that stays, never a record.
    fn note(&mut self, work: &mut Work) {
        self.note_letters(std::mem::take(&mut work.dead));
        for (segment, ordinals) in &work.acks {
            if let Err(error) = ledger::append(&self.folder, *segment, ordinals) {
                SpoolDisk { error: &error }.emit(&self.shared.metrics);
            }
        }
        self.outlive(work);
        for Gone { segment, unread } in &work.gone {
            if let Some(unread) = unread {
                let lost = unread.lost(&segment::path(&self.folder, *segment));
                self.report(lost);
            }
            let unwritten = self
                .waiting
                .iter()
                .filter(|chunk| chunk.segment == *segment);
            let unwritten: u64 = unwritten.map(|chunk| chunk.bytes.len() as u64).sum();
            self.shared.lock().unwritten -= unwritten;
            self.waiting.retain(|chunk| chunk.segment != *segment);
            if self
                .open
                .as_ref()
                .is_some_and(|open| open.segment == *segment)
            {
                self.open = None;
            }
            self.back.forget(*segment);
            // The ledger first: left behind, it would vouch for another segment of that number.
            let _ = std::fs::remove_file(ledger::path(&self.folder, *segment));
            let _ = std::fs::remove_file(segment::path(&self.folder, *segment));
        }
    }

    /// The numbers that go with a file are remembered without it.
    fn outlive(&mut self, work: &Work) {
        if work.gone.is_empty() {
            return;
        }
        self.mark(work.latest);
        if let Err(error) = self.shared.marks.sync() {
            SpoolDisk { error: &error }.emit(&self.shared.metrics);
        }
    }

    fn note_letters(&mut self, letters: Vec<Vec<u8>>) {
        let (written, dropped) = self.letters.write(&self.folder, letters);
        if let Err(error) = written {
            SpoolDisk { error: &error }.emit(&self.shared.metrics);
        }
        self.report((dropped > 0).then_some((Loss::Disk, dropped)));
        let count = self.letters.count(&self.folder);
        let metric = &self.shared.metrics.spool_dead_letters;
        metric.set(i64::try_from(count).unwrap_or(i64::MAX));
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
    open.file.write_all(&chunk.bytes)?;
    open.file.sync_data()?;
    open.length += chunk.bytes.len() as u64;
    Ok(())
}

impl Loss {
    fn reason(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Old => "old",
            Self::Disk => "disk",
        }
    }
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
