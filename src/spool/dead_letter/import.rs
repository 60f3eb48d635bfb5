//! Imports the dead letters of a process before (CONTRACT 23). The spool's thread reads the files that a
//! takeover put into the folder `incoming`, some letters at a time, and removes a file once its letters are
//! in this spool's own files. A crash in between keeps some twice, which the backend treats as once.

use super::encoding::EncodedLetter;
use super::files;
use super::store::DeadLetterStore;
use crate::observe::Metrics;
use crate::observe::events::{DeadLettersLost, SpoolRecordsDamaged};
use crate::spool::disk::{self, File};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::recovery::incoming;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// How often the folder is scanned, and a disk that refuses is tried again.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of letters that are read between two writes of the spool's thread.
const STEP: usize = 1 << 20;

pub(crate) struct DeadLetterImport {
    /// The spool's folder.
    folder: SpoolFolder,
    open: Option<OpenFile>,
    next_step: Instant,
}

struct OpenFile {
    path: PathBuf,
    reader: FrameReader,
    end: u64,
    /// Letters that were read and are not yet in this spool's files.
    letters: Vec<EncodedLetter>,
    is_read: bool,
    /// The number of the next letter.
    expected: u32,
    damaged_bytes: u64,
    /// Letters that were there, as far as it is known.
    damaged_letters: u64,
    /// Keeps a replay from taking the file.
    _lock: File,
}

/// Whether an import goes on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    More,
    Idle,
}

impl DeadLetterImport {
    pub(crate) fn new(folder: &SpoolFolder) -> Self {
        Self {
            folder: folder.clone(),
            open: None,
            next_step: Instant::now(),
        }
    }

    /// Whether a file is being imported and it is time to go on.
    pub(crate) fn is_due(&self) -> bool {
        self.open.is_some() && self.next_step <= Instant::now()
    }

    /// Imports some letters.
    ///
    /// # Errors
    /// When a file cannot be read or written; the step is tried again a little later.
    pub(crate) fn step(
        &mut self,
        store: &mut DeadLetterStore,
        metrics: &Metrics,
    ) -> io::Result<()> {
        if self.next_step > Instant::now() {
            return Ok(());
        }
        let progress = self.try_step(store, metrics);
        if !matches!(progress, Ok(Progress::More)) {
            self.next_step = Instant::now() + SCAN_INTERVAL;
        }
        progress.map(drop)
    }

    fn try_step(&mut self, store: &mut DeadLetterStore, metrics: &Metrics) -> io::Result<Progress> {
        if self.open.is_none() {
            self.open = self.find(metrics)?;
        }
        let Some(open) = &mut self.open else {
            return Ok(Progress::Idle);
        };
        if open.letters.is_empty() {
            open.read()?;
        }
        let count = store.import(&open.letters)?;
        open.letters.clear();
        if count > 0 {
            let over_share = 0;
            DeadLettersLost { count, over_share }.emit(metrics);
        }
        if open.is_read {
            open.finish(metrics)?;
            self.open = None;
        }
        Ok(Progress::More)
    }

    /// Opens the first file that can be opened: others do not wait for one whose key is missing.
    fn find(&self, metrics: &Metrics) -> io::Result<Option<OpenFile>> {
        let paths = files::imported_files(&self.folder);
        if paths.is_empty() {
            return Ok(None);
        }
        let Some(lock) = files::try_lock(&incoming::folder(&self.folder))? else {
            return Ok(None);
        };
        let mut waits = None;
        for path in paths {
            match FrameReader::open(&path, self.folder.keys()) {
                Ok(reader) => return OpenFile::new(path, reader, lock).map(Some),
                Err(error) if is_of_no_use(&error) => set_aside(&path, metrics)?,
                Err(error) => waits = Some(error),
            }
        }
        waits.map_or(Ok(None), Err)
    }
}

/// Whether a file cannot be read later either, without somebody's help.
fn is_of_no_use(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::PermissionDenied
    )
}

fn set_aside(file: &Path, metrics: &Metrics) -> io::Result<()> {
    damage::set_aside(file, disk::about(file)?.bytes, metrics)?;
    // It is not known how many it had: it was one at least.
    SpoolRecordsDamaged { file, count: 1 }.emit(metrics);
    Ok(())
}

impl OpenFile {
    fn new(path: PathBuf, reader: FrameReader, lock: File) -> io::Result<Self> {
        Ok(Self {
            _lock: lock,
            end: reader.length()?,
            path,
            reader,
            letters: Vec::new(),
            is_read: false,
            expected: 0,
            damaged_bytes: 0,
            damaged_letters: 0,
        })
    }

    fn read(&mut self) -> io::Result<()> {
        let mut bytes = 0;
        while bytes < STEP && !self.is_read {
            match self.reader.next(self.end)? {
                NextFrame::Whole(frame) => {
                    bytes += frame.content.len();
                    let ordinal = frame.ordinal.unwrap_or(self.expected);
                    self.damaged_letters += u64::from(ordinal.saturating_sub(self.expected));
                    self.expected = ordinal.saturating_add(1);
                    match EncodedLetter::from_frame(frame.content) {
                        Some(letter) => self.letters.push(letter),
                        None => self.damaged_bytes += frame.place.end - frame.place.start,
                    }
                }
                NextFrame::Damaged(place) => {
                    self.damaged_bytes += place.end - place.start;
                    self.damaged_letters += u64::from(self.reader.is_uncounted(&place, self.end));
                }
                // A torn end, or damage that looks like one.
                NextFrame::Torn(at) if !self.reader.format().has_ordinals() => {
                    self.damaged_bytes += self.end - at;
                }
                NextFrame::Torn(at) if self.reader.check_blank(at, self.end)? => {
                    self.damaged_bytes += self.end - at;
                    self.damaged_letters += 1;
                }
                NextFrame::Torn(_) | NextFrame::End => self.is_read = true,
            }
        }
        Ok(())
    }

    fn finish(&mut self, metrics: &Metrics) -> io::Result<()> {
        // Once, however often this is tried.
        let (file, count) = (&self.path, std::mem::take(&mut self.damaged_letters));
        if count > 0 {
            SpoolRecordsDamaged { file, count }.emit(metrics);
        }
        let finished = match self.damaged_bytes {
            0 => disk::remove(&self.path),
            bytes => damage::set_aside(&self.path, bytes, metrics),
        };
        match finished {
            // Another process has removed the file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            finished => finished,
        }
    }
}
