//! Copies what a spool still owes, for a backup: the records that the backend has not acknowledged, and the dead
//! letters. It takes nothing from the process that owns the folder. The copies have the form of files that one
//! process hands to the next (`incoming`), so that a restored spool delivers them under the numbers they have, and
//! gives its own records numbers of a gateway of its own.

use super::incoming::{self, IncomingFile};
use super::segments;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::{ack_log, dead_letter, segment};
use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedSpool {
    /// Records that the backend has not acknowledged.
    pub records: u64,
    /// Files of dead letters.
    pub letter_files: u64,
    /// Parts of files that cannot be read. The spool keeps them.
    pub unreadable: u64,
}

/// Where the spool in this folder picks up what a restore puts back.
pub fn restored_folder(spool: &Path) -> PathBuf {
    incoming::folder(spool)
}

/// Whether this is the name of a file that [`copy_owed`] makes.
pub fn is_copy(name: &str) -> bool {
    let (id, kind) = name.split_once('.').unwrap_or_default();
    Uuid::parse_str(id).is_ok() && matches!(kind, "seg" | "letters")
}

/// The most rounds of a copy; files that appear in the last one are of records that came meanwhile.
const MAX_ROUNDS: usize = 10;

/// Copies what the spools in some folders owe into the folder `to`, with the same keys. `folders` is asked again in each
/// round: while records move from one folder or file to another, a single look could miss them in both. A record may be
/// copied twice, which the backend treats as once.
///
/// # Errors
/// When a file cannot be read for another reason than damage, or the copy cannot be written.
pub fn copy_owed<F: IntoIterator<Item = SpoolFolder>>(
    folders: impl Fn() -> F,
    to: &Path,
) -> io::Result<CopiedSpool> {
    let mut copy = SpoolCopy::new(to);
    for number in 0..MAX_ROUNDS {
        let mut is_new = false;
        for folder in folders() {
            is_new |= copy.round(&folder)?;
        }
        // After a single round, everything may have moved from what it had not read to what it had.
        if !is_new && number > 0 {
            break;
        }
    }
    Ok(copy.copied)
}

/// A copy that grows round by round.
struct SpoolCopy<'p> {
    to: &'p Path,
    /// The frames of each file that were read.
    frames: HashMap<PathBuf, u64>,
    /// The copies of files of dead letters.
    letters: HashMap<PathBuf, PathBuf>,
    copied: CopiedSpool,
}

impl<'p> SpoolCopy<'p> {
    fn new(to: &'p Path) -> Self {
        Self {
            to,
            frames: HashMap::new(),
            letters: HashMap::new(),
            copied: CopiedSpool::default(),
        }
    }

    /// Copies what was not copied yet of a folder; tells whether there is a file that no round has seen.
    fn round(&mut self, folder: &SpoolFolder) -> io::Result<bool> {
        let known = self.frames.len() + self.letters.len();
        let mut out = IncomingFile::create(&folder.sibling(self.to))?;
        // Records go from here into the segments.
        for path in incoming::ready_files(&incoming::folder(folder))? {
            self.copy_frames(folder, &path, &HashSet::new(), &mut out)?;
        }
        for id in segments(folder)? {
            // The log is removed before its segment: read first, it is never missed where it counts.
            let acked = ack_log::read(folder, id)?.ordinals.into_iter().collect();
            self.copy_frames(folder, &segment::path(folder, id), &acked, &mut out)?;
        }
        self.copied.records += out.publish()?;
        for path in dead_letter::files::all_files(folder) {
            self.copy_letters(path)?;
        }
        self.copied.letter_files = self.letters.len() as u64;
        Ok(self.frames.len() + self.letters.len() > known)
    }

    /// Copies a file that grows, again if it was copied before.
    fn copy_letters(&mut self, path: PathBuf) -> io::Result<()> {
        let name = || self.to.join(format!("{}.letters", Uuid::new_v4()));
        let copy = self.letters.get(&path).cloned().unwrap_or_else(name);
        match std::fs::copy(&path, &copy) {
            Ok(_) => drop(self.letters.insert(path, copy)),
            // Replayed or taken meanwhile: its letters are records that wait, here or at the backend.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Copies the frames that are not acknowledged, and were not read before.
    fn copy_frames(
        &mut self,
        folder: &SpoolFolder,
        path: &Path,
        acked: &HashSet<u32>,
        out: &mut IncomingFile,
    ) -> io::Result<()> {
        let mut reader = match FrameReader::open(path, folder.keys()) {
            // Everything in it was delivered or moved meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                let is_first = self.frames.insert(path.to_owned(), 0).is_none();
                self.copied.unreadable += u64::from(is_first);
                return Ok(());
            }
            opened => opened?,
        };
        let before = self.frames.get(path).copied().unwrap_or(0);
        let (end, mut read) = (reader.length()?, 0);
        loop {
            let frame = reader.next(end)?;
            let is_new = read >= before;
            match frame {
                NextFrame::Whole(frame) => {
                    let is_acked = frame
                        .ordinal
                        .is_some_and(|ordinal| acked.contains(&ordinal));
                    if is_new && !is_acked {
                        out.append(&frame.content)?;
                    }
                }
                NextFrame::Damaged(_) => self.copied.unreadable += u64::from(is_new),
                // A write in progress.
                NextFrame::Torn(_) | NextFrame::End => break,
            }
            read += 1;
        }
        self.frames.insert(path.to_owned(), read);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
