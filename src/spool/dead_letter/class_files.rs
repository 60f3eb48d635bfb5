//! The two files of one class of dead letters: what goes into them, and what has to go for it (CONTRACT 23).

use super::encoding::{EncodedLetter, RefusalClass};
use super::letter_file::{FileUsage, KnownFile};
use crate::observe::Metrics;
use crate::spool::disk;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::format;
use std::io;
use std::mem::take;
use std::path::{Path, PathBuf};

/// One access key has this fraction of a file at most if there are others.
pub(super) const SHARE: u64 = 4;

/// The two files of one class of letters.
pub(super) struct ClassFiles {
    pub(super) class: RefusalClass,
    /// Bytes of one file at most.
    limit: u64,
    /// Bytes of a frame around a letter.
    overhead: u64,
    pub(super) newer: FileUsage,
    older: FileUsage,
    /// The newer file as this process found or left it.
    known: Option<KnownFile>,
}

/// The waiting letters that go into a file.
pub(super) struct Selection {
    /// Indices of the letters to write.
    pub(super) chosen: Vec<usize>,
    /// Letters that exceed their key's share and are dropped.
    pub(super) over_share: u64,
    /// So many waiting letters were examined; those of the class among them are done with.
    pub(super) examined: usize,
}

impl ClassFiles {
    /// `limit` bounds the bytes of all files. Refused keys tell less than refused records and get a
    /// quarter of it.
    pub(super) fn new(class: RefusalClass, limit: u64, overhead: u64) -> Self {
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

    fn paths(&self, folder: &Path) -> [PathBuf; 2] {
        [self.class.newer(), self.class.older()].map(|name| folder.join(name))
    }

    pub(super) fn reload(&mut self, folder: &SpoolFolder) {
        let ([newer, older], keys) = (self.paths(folder), folder.keys());
        let before = [take(&mut self.newer), take(&mut self.older)];
        self.newer = FileUsage::read_again(&newer, keys, &before);
        self.known = KnownFile::read(&newer, keys).ok();
        self.older = FileUsage::read_again(&older, keys, &before);
    }

    /// Whether the system did not let one of the files be read.
    pub(super) fn is_refused(&self) -> bool {
        self.newer.is_refused() || self.older.is_refused()
    }

    /// Letters in both files.
    pub(super) fn letters(&self) -> u64 {
        self.newer.letters + self.older.letters
    }

    /// Reads the files that the system refused before.
    ///
    /// # Errors
    /// While it refuses one of them still.
    pub(super) fn read_refused(&mut self, folder: &SpoolFolder) -> io::Result<()> {
        let ([newer, older], keys) = (self.paths(folder), folder.keys());
        self.newer.read_if_refused(&newer, keys)?;
        self.older.read_if_refused(&older, keys)
    }

    /// Counts what is damaged in the files since they were last looked at, and keeps them.
    pub(super) fn keep_damaged(&mut self, folder: &Path, metrics: &Metrics) -> io::Result<()> {
        let [newer, older] = self.paths(folder);
        self.newer.keep_damaged(&newer, metrics)?;
        self.older.keep_damaged(&older, metrics)
    }

    /// Bytes of a letter in a file.
    fn length_in_file(&self, letter: &EncodedLetter) -> u64 {
        letter.bytes.len() as u64 + self.overhead
    }

    /// Makes a full file the older one; gives the number of letters lost with the previous older file.
    pub(super) fn make_room(&mut self, folder: &Path, next: &EncodedLetter) -> io::Result<u64> {
        let length = self.length_in_file(next);
        if self.newer.letters == 0 || self.newer.bytes + length <= self.limit {
            return Ok(0);
        }
        let [newer, older] = self.paths(folder);
        match disk::rename(&newer, &older) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let lost = std::mem::replace(&mut self.older, take(&mut self.newer));
        self.known = None;
        Ok(lost.letters)
    }

    /// Selects the letters that fit into the file and counts them as in it, without those that exceed
    /// the share of a key that is not alone.
    pub(super) fn select(&mut self, waiting: &[EncodedLetter]) -> Selection {
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
    pub(super) fn import(
        &mut self,
        folder: &SpoolFolder,
        letters: &[&EncodedLetter],
    ) -> io::Result<u64> {
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
    pub(super) fn append(
        &mut self,
        folder: &SpoolFolder,
        letters: &[&EncodedLetter],
    ) -> io::Result<()> {
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
