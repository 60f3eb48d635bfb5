//! Appends accepted records to the files of their segments. What the system has outlives the process; what is synced
//! outlives the machine too.
//!
//! The spool's thread appends before it syncs. While it syncs, or does anything else that waits for the disk, a second
//! thread appends what comes, so that a process that is killed loses no record that is older than a few milliseconds,
//! however long the disk takes for a sync.

use super::open_segment::{OpenSegment, UnsyncedFile};
use crate::observe::events::SpoolThreadPanicked;
use crate::spool::chain_file::WrittenUpTo;
use crate::spool::core::SpoolCore;
use crate::spool::disk;
use crate::spool::fault_points::{self, FaultPoint};
use crate::spool::folder::SpoolFolder;
use crate::spool::segment::{self, SegmentId};
use crate::spool::state::{Appended, Chunk, TakenChunks, length_of};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time between two times that the second thread appends.
const PACE: Duration = Duration::from_millis(10);
/// Bytes that a chunk may have allocated beyond its own while it waits.
const SLACK: usize = 64 << 10;
/// Time until it tries a disk again that refused.
const RETRY: Duration = Duration::from_millis(250);

/// Its lock is taken before that of the state.
pub(crate) struct Appender {
    core: Arc<SpoolCore>,
    folder: SpoolFolder,
    unsynced: Mutex<Unsynced>,
}

/// What is not on disk yet.
#[derive(Default)]
struct Unsynced {
    /// The files of these chunks, in the order of the segments, and the file that takes new records.
    files: VecDeque<OpenSegment>,
    chunks: VecDeque<TakenChunk>,
    /// How far the newest segment is synced of which anything is; its file may be closed since.
    synced_up_to: Option<WrittenUpTo>,
    /// What had been accepted when chunks were last taken, when all of them were last written, and when all were synced.
    taken: Appended,
    written: Appended,
    synced: Appended,
}

/// A chunk that was taken from the request path.
struct TakenChunk {
    chunk: Chunk,
    /// Where it ends in its file, once it is written.
    end: Option<u64>,
}

/// One sync, which covers what was written when it began.
pub(super) struct Sync {
    files: Vec<UnsyncedFile>,
    /// What had been accepted of which everything is on disk afterwards.
    pub(super) appended: Appended,
}

impl Appender {
    pub(super) fn new(core: Arc<SpoolCore>, folder: SpoolFolder) -> Self {
        Self {
            core,
            folder,
            unsynced: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Unsynced> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends while the spool's thread is busy, until the spool is closed.
    pub(crate) fn run(&self) {
        while self.core.wait_for_busy_writer() {
            std::thread::sleep(PACE);
            match catch_unwind(AssertUnwindSafe(|| self.append())) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    self.core.set_degraded(true);
                    self.core.log_disk_error(&error);
                    std::thread::sleep(RETRY);
                }
                Err(_) => {
                    self.core.set_degraded(true);
                    SpoolThreadPanicked.emit(self.core.metrics());
                    std::thread::sleep(RETRY);
                }
            }
        }
    }

    /// Writes all that was accepted, without a sync. If the disk refuses, no chunk is half done.
    pub(crate) fn append(&self) -> io::Result<()> {
        let mut unsynced = self.lock();
        let taken = self.core.lock().take_appended();
        unsynced.take(taken);
        unsynced.write(&self.core, &self.folder)
    }

    /// What is to be synced.
    pub(super) fn begin_sync(&self) -> Sync {
        self.lock().begin_sync()
    }

    /// Syncs what is written, with no lock held.
    pub(super) fn sync(&self, sync: &Sync) -> io::Result<()> {
        if sync.files.is_empty() {
            return Ok(());
        }
        fault_points::reached(FaultPoint::Sync);
        // The order in which they were written.
        sync.files.iter().try_for_each(UnsyncedFile::sync)?;
        if sync.files.iter().any(|file| file.is_new) {
            // The directory entries have to survive a crash too.
            disk::sync_folder(&self.folder)?;
        }
        fault_points::reached(FaultPoint::Synced);
        Ok(())
    }

    /// Everything that a sync covers is on disk.
    pub(super) fn end_sync(&self, sync: &Sync) {
        let mut unsynced = self.lock();
        let released = unsynced.end_sync(sync);
        self.core.lock().released(released);
    }

    /// A sync failed: everything behind the last synced byte is written again. A sync is never just repeated, since the
    /// system may have dropped the bytes and report success the second time. For the same reason a file of which
    /// nothing is synced begins again with its header.
    pub(super) fn rewind(&self) {
        let mut unsynced = self.lock();
        unsynced.files.iter_mut().for_each(OpenSegment::rewind);
        for taken in &mut unsynced.chunks {
            taken.end = None;
        }
        unsynced.written = unsynced.synced;
    }

    /// Whether everything that was taken is on disk.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().chunks.is_empty()
    }

    /// How far the newest segment is synced; None until anything is.
    pub(super) fn synced_up_to(&self) -> Option<WrittenUpTo> {
        self.lock().synced_up_to
    }

    /// Bytes of a segment that are on disk.
    pub(super) fn readable_bytes(&self, segment: SegmentId) -> u64 {
        let unsynced = self.lock();
        let held_back = unsynced.length_of(segment);
        self.core.lock().readable_bytes(segment, held_back)
    }

    /// Forgets a segment whose file is about to be removed.
    pub(super) fn forget(&self, segment: SegmentId) {
        let mut unsynced = self.lock();
        self.core.lock().released(unsynced.length_of(segment));
        unsynced
            .chunks
            .retain(|taken| taken.chunk.segment != segment);
        unsynced.files.retain(|file| file.id != segment);
    }
}

impl Unsynced {
    fn take(&mut self, taken: TakenChunks) {
        let chunks = taken.chunks.into_iter();
        self.chunks
            .extend(chunks.map(|chunk| TakenChunk { chunk, end: None }));
        self.taken = taken.appended;
    }

    fn write(&mut self, core: &SpoolCore, folder: &Path) -> io::Result<()> {
        self.remove_blank(folder)?;
        let unwritten = self.chunks.iter_mut().filter(|taken| taken.end.is_none());
        for taken in unwritten {
            let chunk = &mut taken.chunk;
            let finished = chunk.finish();
            finished.unwrap_or_else(|error| core.log_disk_error(&error));
            if chunk.bytes.capacity() - chunk.bytes.len() > SLACK {
                // It waits for the sync, and what it has grown ahead counts in no bound.
                chunk.bytes.shrink_to_fit();
            }
            let is_own = |file: &OpenSegment| file.id == chunk.segment;
            if !self.files.iter().any(is_own) {
                self.files.push_back(OpenSegment::create(folder, chunk)?);
            }
            if let Some(file) = self.files.iter_mut().find(|file| is_own(file)) {
                taken.end = Some(file.append(&chunk.bytes)?);
            }
        }
        self.written = self.taken;
        Ok(())
    }

    /// Removes the files that are to begin again.
    fn remove_blank(&mut self, folder: &Path) -> io::Result<()> {
        while let Some(at) = self.files.iter().position(OpenSegment::is_blank) {
            disk::remove(&segment::path(folder, self.files[at].id))?;
            self.files.remove(at);
        }
        Ok(())
    }

    fn begin_sync(&self) -> Sync {
        let unsynced = self.files.iter().filter(|file| !file.is_synced());
        Sync {
            files: unsynced.map(OpenSegment::unsynced).collect(),
            appended: self.written,
        }
    }

    /// Gives the bytes of the chunks that are on disk now.
    fn end_sync(&mut self, sync: &Sync) -> u64 {
        for file in &mut self.files {
            let synced = sync.files.iter().find(|synced| synced.id == file.id);
            synced
                .into_iter()
                .for_each(|synced| file.set_synced(synced.bytes));
        }
        let mut newest = self.files.iter().rev();
        if let Some(newest) = newest.find(|file| file.synced() > 0) {
            self.synced_up_to = Some(WrittenUpTo {
                segment: newest.id,
                bytes: newest.synced(),
            });
        }
        let mut released = 0;
        while self.chunks.front().is_some_and(|taken| sync.covers(taken))
            && let Some(taken) = self.chunks.pop_front()
        {
            released += taken.chunk.bytes.len() as u64;
        }
        self.synced = sync.appended;
        self.close_files();
        released
    }

    /// Closes the files that get nothing more.
    fn close_files(&mut self) {
        let Self { files, chunks, .. } = self;
        let newest = files.back().map(|file| file.id);
        files.retain(|file| {
            let is_own = |taken: &TakenChunk| taken.chunk.segment == file.id;
            Some(file.id) == newest || !file.is_synced() || chunks.iter().any(is_own)
        });
    }

    fn length_of(&self, segment: SegmentId) -> u64 {
        length_of(self.chunks.iter().map(|taken| &taken.chunk), segment)
    }
}

impl Sync {
    fn covers(&self, taken: &TakenChunk) -> bool {
        let own = self.files.iter();
        let mut own = own.filter(|file| file.id == taken.chunk.segment);
        own.any(|file| taken.end.is_some_and(|end| end <= file.bytes))
    }
}
