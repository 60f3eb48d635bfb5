//! Copies what a spool still owes, for a backup: the records that the backend has not acknowledged, and the dead
//! letters. It takes nothing from the process that owns the folder. The copies have the form of files that one
//! process hands to the next (`incoming`), so that a restored spool delivers them under the numbers they have, and
//! gives its own records numbers of a gateway of its own.

use super::incoming;
use super::segments;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::frames::writer::FrameWriter;
use crate::spool::{ack_log, dead_letter, segment};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// What was copied, in one file after another.
#[derive(Debug)]
pub struct CopiedSpool {
    /// Records that the backend has not acknowledged.
    pub records: u64,
    /// Files of dead letters.
    pub letter_files: u64,
    /// Parts of files that cannot be read. The spool keeps them.
    pub unreadable: u64,
    copies: Copies,
}

impl CopiedSpool {
    /// The names of the copied files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.copies.places.keys().map(String::as_str)
    }

    /// Reads the copied file of this name from its beginning, one at a time.
    ///
    /// # Errors
    /// When there is none, or the copies cannot be read.
    pub fn open(&self, name: &str) -> io::Result<impl Read> {
        let place = self.copies.places.get(name).ok_or(ErrorKind::NotFound)?;
        let mut file = self.copies.file.get_ref();
        file.seek(SeekFrom::Start(place.start))?;
        Ok(file.take(place.end - place.start))
    }
}

/// Files that are written one behind another into a file of their own.
#[derive(Debug)]
struct Copies {
    file: BufWriter<File>,
    end: u64,
    places: BTreeMap<String, Range<u64>>,
}

impl Copies {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// What was written since `start` is a file of this name. It takes the place of an earlier one.
    fn name(&mut self, name: String, start: u64) {
        self.places.insert(name, start..self.end);
    }
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

/// Copies what the spools in some folders owe into the empty file `to`, with the same keys. `folders` is asked again in
/// each round: while records move from one folder or file to another, a single look could miss them in both. A record
/// may be copied twice, which the backend treats as once.
///
/// # Errors
/// When a file cannot be read for another reason than damage, or the copy cannot be written.
pub fn copy_owed<F: IntoIterator<Item = SpoolFolder>>(
    folders: impl Fn() -> F,
    to: File,
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
struct SpoolCopy {
    /// The frames of each file that were read.
    frames: HashMap<PathBuf, u64>,
    /// The names of the copies of files of dead letters.
    letters: HashMap<PathBuf, String>,
    copied: CopiedSpool,
}

/// The file of records of one round.
struct Records {
    writer: FrameWriter,
    count: u32,
}

impl Records {
    /// Adds a record; the first one comes behind the file's header.
    fn append(&mut self, content: &[u8], copies: &mut Copies) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(content.len() + self.writer.overhead());
        if self.count == 0 {
            bytes.extend_from_slice(&self.writer.header());
        }
        self.writer.frame(&mut bytes, self.count, |out| {
            out.extend_from_slice(content);
        })?;
        copies.write(&bytes)?;
        self.count += 1;
        Ok(())
    }
}

impl SpoolCopy {
    fn new(to: File) -> Self {
        let copies = Copies {
            file: BufWriter::new(to),
            end: 0,
            places: BTreeMap::new(),
        };
        Self {
            frames: HashMap::new(),
            letters: HashMap::new(),
            copied: CopiedSpool {
                records: 0,
                letter_files: 0,
                unreadable: 0,
                copies,
            },
        }
    }

    /// Copies what was not copied yet of a folder; tells whether there is a file that no round has seen.
    fn round(&mut self, folder: &SpoolFolder) -> io::Result<bool> {
        let known = self.frames.len() + self.letters.len();
        let start = self.copied.copies.end;
        let writer = FrameWriter::new(folder.keys());
        let mut records = Records { writer, count: 0 };
        // Records go from here into the segments.
        for path in incoming::ready_files(&incoming::folder(folder))? {
            self.copy_frames(folder, &path, &HashSet::new(), &mut records)?;
        }
        for id in segments(folder)? {
            // The log is removed before its segment: read first, it is never missed where it counts.
            let acked = ack_log::read(folder, id)?.ordinals.into_iter().collect();
            self.copy_frames(folder, &segment::path(folder, id), &acked, &mut records)?;
        }
        if records.count > 0 {
            let name = format!("{}.seg", Uuid::new_v4());
            self.copied.copies.name(name, start);
            self.copied.records += u64::from(records.count);
        }
        for path in dead_letter::files::all_files(folder) {
            self.copy_letters(path)?;
        }
        self.copied.letter_files = self.letters.len() as u64;
        self.copied.copies.file.flush()?;
        Ok(self.frames.len() + self.letters.len() > known)
    }

    /// Copies a file that grows, again if it was copied before.
    fn copy_letters(&mut self, path: PathBuf) -> io::Result<()> {
        let mut letters = match File::open(&path) {
            // Replayed or taken meanwhile: its letters are records that wait, here or at the backend.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            letters => letters?,
        };
        let name = || format!("{}.letters", Uuid::new_v4());
        let name = self.letters.get(&path).cloned().unwrap_or_else(name);
        let copies = &mut self.copied.copies;
        let start = copies.end;
        copies.end += io::copy(&mut letters, &mut copies.file)?;
        copies.name(name.clone(), start);
        self.letters.insert(path, name);
        Ok(())
    }

    /// Copies the frames that are not acknowledged, and were not read before.
    fn copy_frames(
        &mut self,
        folder: &SpoolFolder,
        path: &Path,
        acked: &HashSet<u32>,
        out: &mut Records,
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
                        out.append(&frame.content, &mut self.copied.copies)?;
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
