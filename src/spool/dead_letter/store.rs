//! Writes dead letters and keeps them within their bounds (CONTRACT 23), on the spool's thread. Each
//! class has a part of `spool.max_dead_bytes` in two files: a full file replaces the older one, whose
//! letters are lost and counted. If letters of several access keys are kept, no key has more than its
//! share of a file, so that a flood of one key pushes out no letter of another.

use super::class_files::ClassFiles;
use super::encoding::{EncodedLetter, MAX_WAITING, RefusalClass};
use super::files;
use super::letter_keys;
use crate::observe::Metrics;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::writer::FrameWriter;
use crate::spool::segment_index::RecordPosition;
use std::io;
use std::time::Duration;
use tokio::time::Instant;

/// How often the store checks whether another process changed the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two attempts to write files of another key again.
const REWRITE_INTERVAL: Duration = Duration::from_secs(60);

/// The dead letters of one spool.
pub(crate) struct DeadLetterStore {
    folder: SpoolFolder,
    /// Every file has the current key.
    has_current_key: bool,
    next_rewrite: Instant,
    classes: [ClassFiles; 2],
    /// Letters that are not in a file yet.
    waiting: Vec<EncodedLetter>,
    count: u64,
    /// Bytes of the files after this store's latest write.
    size: u64,
    next_check: Instant,
}

/// The outcome of a write.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) error: Option<io::Error>,
    /// Letters that were dropped because the disk refused and too many waited.
    pub(crate) refused: u64,
    /// Letters that were dropped to keep the bounds.
    pub(crate) evicted: u64,
    /// Those of them that exceeded the share of their access key.
    pub(crate) over_share: u64,
    /// Positions of the records whose letters do not wait any more.
    pub(crate) settled: Vec<RecordPosition>,
}

/// What all letters of a store take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) letters: u64,
    pub(crate) bytes: u64,
}

impl DeadLetterStore {
    /// Reads the existing files. `limit` bounds the bytes of all files.
    pub(crate) fn open(folder: &SpoolFolder, limit: u64) -> Self {
        let overhead = FrameWriter::new(folder.keys()).overhead() as u64;
        let mut store = Self {
            folder: folder.clone(),
            has_current_key: false,
            next_rewrite: Instant::now(),
            classes: RefusalClass::ALL.map(|class| ClassFiles::new(class, limit, overhead)),
            waiting: Vec::new(),
            count: 0,
            size: 0,
            next_check: Instant::now() + CHECK_INTERVAL,
        };
        store.reload();
        store
    }

    /// Writes the files of another key again with the current one, so that no further letter is written with that
    /// key, or unencrypted. Where the disk does not let it be done, the files that further letters go to are left to
    /// the import, and the others are tried again later.
    pub(crate) fn use_current_key(&mut self, metrics: &Metrics) -> io::Result<()> {
        if self.has_current_key || self.next_rewrite > Instant::now() {
            return Ok(());
        }
        let rewritten = self.rewrite(metrics);
        // A replay that is at work has soon ended.
        let is_soon = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        if rewritten.as_ref().is_err_and(is_soon) {
            self.next_rewrite = Instant::now() + CHECK_INTERVAL;
        } else if rewritten.is_err() {
            self.next_rewrite = Instant::now() + REWRITE_INTERVAL;
            for class in RefusalClass::ALL {
                letter_keys::leave_to_import(&self.folder.join(class.newer()), &self.folder)?;
            }
            self.reload();
            // Before a file with damage makes room for another.
            self.keep_damaged(metrics)?;
        }
        rewritten
    }

    fn rewrite(&mut self, metrics: &Metrics) -> io::Result<()> {
        if self.is_current()? {
            self.has_current_key = true;
            return Ok(());
        }
        // Damage is counted, and the file kept, before it is written again without it.
        self.reload();
        for files in &mut self.classes {
            files.read_refused(&self.folder)?;
        }
        self.keep_damaged(metrics)?;
        for class in RefusalClass::ALL {
            for name in [class.older(), class.newer()] {
                letter_keys::use_current_key(&self.folder.join(name), &self.folder)?;
            }
        }
        self.has_current_key = true;
        self.reload();
        Ok(())
    }

    /// Whether no file has another key.
    fn is_current(&self) -> io::Result<bool> {
        for class in RefusalClass::ALL {
            for name in [class.older(), class.newer()] {
                if !letter_keys::has_current_key(&self.folder.join(name), &self.folder)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Writes these letters and those that a failure left waiting.
    pub(crate) fn write(&mut self, new: Vec<EncodedLetter>) -> Written {
        self.waiting.extend(new);
        let mut written = Written::default();
        while !self.waiting.is_empty() && written.error.is_none() {
            written.error = self.write_some(&mut written).err();
        }
        let mut bytes: usize = self.waiting.iter().map(|letter| letter.bytes.len()).sum();
        let too_many = self.waiting.iter().take_while(|letter| {
            let is_over = bytes > MAX_WAITING;
            bytes -= letter.bytes.len();
            is_over
        });
        let too_many = too_many.count();
        let refused = self.waiting.drain(..too_many);
        written
            .settled
            .extend(refused.filter_map(|letter| letter.position));
        written.refused = too_many as u64;
        written
    }

    /// Adds letters of a process before. They are older than those in the store: none of these is dropped
    /// for them, and those that find no room are lost. Gives the number of lost ones.
    ///
    /// # Errors
    /// When the disk refuses; the same letters are to be given again.
    pub(crate) fn import(&mut self, letters: &[EncodedLetter]) -> io::Result<u64> {
        let mut lost = 0;
        for files in &mut self.classes {
            files.read_refused(&self.folder)?;
            let class = files.class;
            let of_class = letters.iter().filter(|letter| letter.class == class);
            let of_class: Vec<&EncodedLetter> = of_class.collect();
            lost += files.import(&self.folder, &of_class)?;
        }
        self.size = files::size(&self.folder);
        self.recount();
        Ok(lost)
    }

    /// Counts the letters; reads the files only if another process changed them.
    pub(crate) fn measure(&mut self) -> Extent {
        if self.next_check <= Instant::now() {
            self.next_check = Instant::now() + CHECK_INTERVAL;
            if files::size(&self.folder) != self.size {
                self.reload();
            }
            self.read_refused();
        }
        Extent {
            letters: self.count + self.waiting.len() as u64,
            bytes: self.size,
        }
    }

    /// Counts what is damaged in the files since they were last looked at, and keeps them.
    pub(crate) fn keep_damaged(&mut self, metrics: &Metrics) -> io::Result<()> {
        let mut classes = self.classes.iter_mut();
        classes.try_for_each(|files| files.keep_damaged(&self.folder, metrics))
    }

    /// Writes the waiting letters of the first one's class up to a full file; counts the letters
    /// that were dropped to keep the bounds, also if the write fails.
    fn write_some(&mut self, written: &mut Written) -> io::Result<()> {
        let Some(first) = self.waiting.first() else {
            return Ok(());
        };
        let class = first.class;
        let files = &mut self.classes[class as usize];
        files.read_refused(&self.folder)?;
        written.evicted += files.make_room(&self.folder, first)?;
        let selection = files.select(&self.waiting);
        let chosen = selection.chosen.iter().map(|index| &self.waiting[*index]);
        let chosen: Vec<_> = chosen.collect();
        files.append(&self.folder, &chosen)?;
        written.evicted += selection.over_share;
        written.over_share += selection.over_share;
        let mut index = 0;
        self.waiting.retain(|letter| {
            index += 1;
            let waits = letter.class != class || index > selection.examined;
            if !waits {
                written.settled.extend(letter.position);
            }
            waits
        });
        self.size = files::size(&self.folder);
        self.recount();
        Ok(())
    }

    fn recount(&mut self) {
        let classes = self.classes.iter();
        self.count = classes.map(ClassFiles::letters).sum();
    }

    /// Reads all files again.
    fn reload(&mut self) {
        for files in &mut self.classes {
            files.reload(&self.folder);
        }
        self.size = files::size(&self.folder);
        self.count_all();
    }

    /// Reads the files that the system refused before; that it did was said then.
    fn read_refused(&mut self) {
        let mut is_read = false;
        for files in &mut self.classes {
            is_read |= files.is_refused() && files.read_refused(&self.folder).is_ok();
        }
        if is_read {
            self.count_all();
        }
    }

    fn count_all(&mut self) {
        self.recount();
        // Letters that are just being replayed still count.
        if let Ok(count) = files::count(&self.folder) {
            self.count = count;
        }
    }
}

#[cfg(test)]
mod tests;
