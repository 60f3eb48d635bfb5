//! Writes dead letters and keeps them within their bounds (CONTRACT 23), on the spool's thread. Each
//! class has a part of `spool.max_dead_bytes` in two files: a full file replaces the older one, whose
//! letters are lost and counted. If letters of several access keys are kept, no key has more than its
//! share of a file, so that a flood of one key pushes out no letter of another.

use super::encoding::{EncodedLetter, MAX_WAITING, RefusalClass};
use super::files::{self, LetterDamage};
use super::letter_file::{self, FileUsage, KnownFile};
use crate::observe::Metrics;
use crate::observe::events::SpoolRecordsDamaged;
use crate::spool::disk;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::writer::FrameWriter;
use crate::spool::frames::{damage, format};
use crate::spool::segment_index::RecordPosition;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// One access key has this fraction of a file at most if there are others.
const SHARE: u64 = 4;
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
    /// Damaged bytes of the files, as far as they are counted and kept.
    damage_kept: HashMap<PathBuf, LetterDamage>,
}

/// The outcome of a write.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) error: Option<io::Error>,
    /// Letters that were dropped because the disk refused and too many waited.
    pub(crate) refused: u64,
    /// Letters that were dropped to keep the bounds.
    pub(crate) evicted: u64,
    /// Positions of the records whose letters do not wait any more.
    pub(crate) settled: Vec<RecordPosition>,
}

/// What all letters of a store take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) letters: u64,
    pub(crate) bytes: u64,
}

/// The two files of one class.
struct ClassFiles {
    class: RefusalClass,
    /// Bytes of one file at most.
    limit: u64,
    /// Bytes of a frame around a letter.
    overhead: u64,
    newer: FileUsage,
    older: FileUsage,
    /// The newer file as this process found or left it.
    known: Option<KnownFile>,
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
            damage_kept: HashMap::new(),
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
        if rewritten.as_ref().is_err_and(|error| !is_soon(error)) {
            self.next_rewrite = Instant::now() + REWRITE_INTERVAL;
            for class in RefusalClass::ALL {
                letter_file::leave_to_import(&self.folder.join(class.newer()), &self.folder)?;
            }
            self.reload();
        }
        rewritten
    }

    fn rewrite(&mut self, metrics: &Metrics) -> io::Result<()> {
        // Damage is counted, and the file kept, before it is written again without it.
        self.keep_damaged(metrics)?;
        for class in RefusalClass::ALL {
            for name in [class.older(), class.newer()] {
                letter_file::use_current_key(&self.folder.join(name), &self.folder)?;
            }
        }
        self.has_current_key = true;
        self.damage_kept.clear();
        self.reload();
        Ok(())
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
        }
        Extent {
            letters: self.count + self.waiting.len() as u64,
            bytes: self.size,
        }
    }

    /// Counts what is damaged in the files since they were last looked at, and keeps them.
    pub(crate) fn keep_damaged(&mut self, metrics: &Metrics) -> io::Result<()> {
        for files in &self.classes {
            let names = [files.class.newer(), files.class.older()];
            for (name, usage) in names.into_iter().zip([&files.newer, &files.older]) {
                let path = self.folder.join(name);
                let (now, kept) = (usage.damage, self.damage_kept.get(&path).copied());
                let kept = kept.unwrap_or_default();
                if now.bytes > kept.bytes {
                    // Said once, whether or not it can be kept.
                    self.damage_kept.insert(path.clone(), now);
                    let count = now.letters.saturating_sub(kept.letters);
                    if count > 0 {
                        SpoolRecordsDamaged { file: &path, count }.emit(metrics);
                    }
                    damage::keep(&path, now.bytes - kept.bytes, metrics)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the waiting letters of the first one's class up to a full file; counts the letters
    /// that were dropped to keep the bounds, also if the write fails.
    fn write_some(&mut self, written: &mut Written) -> io::Result<()> {
        let Some(first) = self.waiting.first() else {
            return Ok(());
        };
        let class = first.class;
        let files = &mut self.classes[class as usize];
        written.evicted += files.make_room(&self.folder, first)?;
        let selection = files.select(&self.waiting);
        let chosen = selection.chosen.iter().map(|index| &self.waiting[*index]);
        let chosen: Vec<_> = chosen.collect();
        files.append(&self.folder, &chosen)?;
        written.evicted += selection.over_share;
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
        self.count = classes
            .map(|files| files.newer.letters + files.older.letters)
            .sum();
    }

    /// Reads all files again.
    fn reload(&mut self) {
        let keys = self.folder.keys();
        for files in &mut self.classes {
            let newer = self.folder.join(files.class.newer());
            files.newer = FileUsage::read(&newer, keys);
            files.known = KnownFile::read(&newer, keys).ok();
            files.older = FileUsage::read(&self.folder.join(files.class.older()), keys);
        }
        self.size = files::size(&self.folder);
        self.recount();
        // Letters that are just being replayed still count.
        if let Ok(count) = files::count(&self.folder) {
            self.count = count;
        }
    }
}

/// The waiting letters that go into a file.
struct Selection {
    /// Indices of the letters to write.
    chosen: Vec<usize>,
    /// Letters that exceed their key's share and are dropped.
    over_share: u64,
    /// So many waiting letters were examined; those of the class among them are done with.
    examined: usize,
}

impl ClassFiles {
    /// `limit` bounds the bytes of all files. Refused keys tell less than refused records and get a
    /// quarter of it.
    fn new(class: RefusalClass, limit: u64, overhead: u64) -> Self {
        let part = match class {
            RefusalClass::Record => limit / 4 * 3,
            RefusalClass::Key => limit / 4,
        };
        Self {
            class,
            limit: (part / 2).saturating_sub(format::HEADER),
            overhead,
            newer: FileUsage::default(),
            older: FileUsage::default(),
            known: None,
        }
    }

    /// Bytes of a letter in a file.
    fn length_in_file(&self, letter: &EncodedLetter) -> u64 {
        letter.bytes.len() as u64 + self.overhead
    }

    /// Makes a full file the older one; gives the number of letters lost with the previous older file.
    fn make_room(&mut self, folder: &Path, next: &EncodedLetter) -> io::Result<u64> {
        let length = self.length_in_file(next);
        if self.newer.letters == 0 || self.newer.bytes + length <= self.limit {
            return Ok(0);
        }
        let (newer, older) = (self.class.newer(), self.class.older());
        match disk::rename(&folder.join(newer), &folder.join(older)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let lost = std::mem::replace(&mut self.older, std::mem::take(&mut self.newer));
        self.known = None;
        Ok(lost.letters)
    }

    /// Selects the letters that fit into the file and counts them as in it, without those that exceed
    /// the share of a key that is not alone.
    fn select(&mut self, waiting: &[EncodedLetter]) -> Selection {
        let mut selection = Selection {
            chosen: Vec::new(),
            over_share: 0,
            examined: waiting.len(),
        };
        for (index, letter) in waiting.iter().enumerate() {
            let bytes = self.length_in_file(letter);
            if letter.class != self.class {
                continue;
            }
            if self.newer.letters > 0 && self.newer.bytes + bytes > self.limit {
                selection.examined = index;
                break;
            }
            if self.is_over_share(letter.key, bytes) {
                selection.over_share += 1;
                continue;
            }
            self.newer.add(letter.key, bytes);
            selection.chosen.push(index);
        }
        selection
    }

    /// Adds the letters that fit without dropping others; gives the number of those that do not.
    fn import(&mut self, folder: &SpoolFolder, letters: &[&EncodedLetter]) -> io::Result<u64> {
        let mut rest = letters;
        while let Some(first) = rest.first() {
            if self.older.letters == 0 {
                self.make_room(folder, first)?;
            }
            let before = self.newer.letters;
            for letter in rest {
                let bytes = self.length_in_file(letter);
                if self.newer.letters > 0 && self.newer.bytes + bytes > self.limit {
                    break;
                }
                self.newer.add(letter.key, bytes);
            }
            let added = usize::try_from(self.newer.letters - before).unwrap_or(usize::MAX);
            if added == 0 {
                break;
            }
            let (now, later) = rest.split_at(added);
            self.append(folder, now)?;
            rest = later;
        }
        Ok(rest.len() as u64)
    }

    fn is_over_share(&self, key: u64, bytes: u64) -> bool {
        let has = self.newer.keys.get(&key).copied().unwrap_or(0);
        let others = |usage: &FileUsage| usage.keys.keys().any(|other| *other != key);
        has > 0 && has + bytes > self.limit / SHARE && (others(&self.newer) || others(&self.older))
    }

    /// Appends letters that are already counted. What a failed write leaves of them is cut off again.
    fn append(&mut self, folder: &SpoolFolder, letters: &[&EncodedLetter]) -> io::Result<()> {
        if letters.is_empty() {
            return Ok(());
        }
        let path = folder.join(self.class.newer());
        let appended = KnownFile::append(self.known.clone(), &path, folder.keys(), letters);
        match appended {
            Ok(known) => {
                self.known = Some(known);
                Ok(())
            }
            Err(error) => {
                for letter in letters {
                    let bytes = self.length_in_file(letter);
                    self.newer.remove(letter, bytes);
                }
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests;
