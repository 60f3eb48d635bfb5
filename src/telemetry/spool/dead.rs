//! Records the backend refuses for good, kept for people to look at and to send again (CONTRACT 23):
//! one file of frames, each with the time, the status and the record. It never fills a disk: when it
//! is full it becomes the older file of two, and what that held is gone.

use super::entry;
use super::segment::{self, Next, Reader};
use crate::telemetry::Record;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const NAME: &str = "dead.letters";
const OLDER: &str = "dead.letters.old";
/// What those two are called while their letters are put back; one that is found was left by a try
/// that did not come to its end.
const TAKEN: &str = "dead.letters.taken";
const OLDER_TAKEN: &str = "dead.letters.old.taken";
/// Bytes of letters that wait for a disk which refuses; beyond it the oldest are dropped.
const MAX_WAITING: usize = 8 << 20;
/// Bytes of a frame before the record's own.
const LETTER_HEADER: usize = 10;
/// Bytes of one of the two files.
const MAX_BYTES: u64 = 64 << 20;

/// A record that was refused.
pub struct DeadLetter {
    /// When, milliseconds since 1970.
    pub at_ms: i64,
    /// The backend's status; 0 where it never gave one that could be read.
    pub status: u16,
    /// The record.
    pub record: Record,
}

/// What the spool's thread knows of its dead letters.
#[derive(Default)]
pub(super) struct Letters {
    /// Not yet in the file.
    waiting: Vec<Vec<u8>>,
    count: u64,
    /// Bytes of the files when they were counted.
    size: u64,
}

impl Letters {
    /// Writes these and those that a failure left waiting; gives how many had to be dropped.
    pub(super) fn write(&mut self, folder: &Path, new: Vec<Vec<u8>>) -> (io::Result<()>, u64) {
        self.waiting.extend(new);
        let written = append(folder, &self.waiting);
        if written.is_ok() {
            self.waiting.clear();
        }
        let mut held: usize = self.waiting.iter().map(Vec::len).sum();
        let too_many = self.waiting.iter().take_while(|letter| {
            let over = held > MAX_WAITING;
            held -= letter.len();
            over
        });
        let too_many = too_many.count();
        self.waiting.drain(..too_many);
        (written, too_many as u64)
    }

    /// How many there are; looks into the files only where somebody changed them.
    pub(super) fn count(&mut self, folder: &Path) -> u64 {
        let size = size(folder);
        if size != self.size
            && let Ok(count) = count(folder)
        {
            (self.count, self.size) = (count, size);
        }
        self.count + self.waiting.len() as u64
    }
}

/// The bytes of one entry.
pub(super) fn encode(at_ms: i64, status: u16, record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&at_ms.to_le_bytes());
    out.extend_from_slice(&status.to_le_bytes());
    entry::encode(record, &mut out);
    out
}

/// Adds entries. What a failure leaves of them is cut off again.
pub(super) fn append(folder: &Path, entries: &[Vec<u8>]) -> io::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let path = folder.join(NAME);
    if std::fs::metadata(&path).is_ok_and(|about| about.len() > MAX_BYTES) {
        std::fs::rename(&path, folder.join(OLDER))?;
    }
    let mut file = open(&path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length == 0 {
        bytes.extend_from_slice(segment::MAGIC);
    }
    for content in entries {
        segment::frame(&mut bytes, |out| out.extend_from_slice(content));
    }
    file.write_all(&bytes)
        .and_then(|()| file.sync_data())
        .inspect_err(|_| {
            // What fails here too is read as a torn end.
            let _ = file.set_len(length);
        })
}

/// The file, locked, so that nobody takes it away before the letters are in it.
fn open(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        file.lock()?;
        let (opened, named) = (file.metadata()?, std::fs::metadata(path));
        if named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Ok(file);
        }
    }
}

/// Takes one file of letters out of the way of whoever writes them; None where there is none left.
pub(super) fn take_one(folder: &Path) -> io::Result<Option<PathBuf>> {
    for (name, taken) in [(OLDER, OLDER_TAKEN), (NAME, TAKEN)] {
        let (path, taken) = (folder.join(name), folder.join(taken));
        if taken.exists() {
            return Ok(Some(taken));
        }
        match std::fs::rename(&path, &taken) {
            Ok(()) => {
                // Whoever opened it before is done with it once the lock is free.
                File::open(&taken)?.lock()?;
                return Ok(Some(taken));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The record's bytes in a letter; None where they are no record.
pub(super) fn entry_of(content: &[u8]) -> Option<&[u8]> {
    let entry = content.get(LETTER_HEADER..)?;
    entry::decode(entry).map(|_| entry)
}

/// Bytes of the files, so that a change of others shows.
fn size(folder: &Path) -> u64 {
    let sizes = files(folder).map(|path| std::fs::metadata(path).map_or(0, |about| about.len()));
    sizes.iter().sum()
}

/// How many letters there are.
pub(super) fn count(folder: &Path) -> io::Result<u64> {
    let mut count = 0;
    each(folder, |_| count += 1)?;
    Ok(count)
}

/// Every dead letter of a spool's folder, oldest first. What cannot be read is left out.
///
/// # Errors
/// When a file is there and cannot be opened.
pub fn dead_letters(folder: &Path) -> io::Result<Vec<DeadLetter>> {
    let mut letters = Vec::new();
    each(folder, |content| letters.extend(decode(content)))?;
    Ok(letters)
}

fn each(folder: &Path, mut see: impl FnMut(&[u8])) -> io::Result<()> {
    for path in files(folder) {
        let mut reader = match Reader::open(&path) {
            Ok(reader) => reader,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let end = reader.length()?;
        while let Next::Frame(content) = reader.next(end)? {
            see(&content);
        }
    }
    Ok(())
}

fn files(folder: &Path) -> [PathBuf; 4] {
    [OLDER_TAKEN, OLDER, TAKEN, NAME].map(|name| folder.join(name))
}

fn decode(content: &[u8]) -> Option<DeadLetter> {
    let (time, rest) = content.split_first_chunk()?;
    let (status, rest) = rest.split_first_chunk()?;
    Some(DeadLetter {
        at_ms: i64::from_le_bytes(*time),
        status: u16::from_le_bytes(*status),
        record: entry::decode(rest)?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::store::temporary::TemporaryFolder;

    #[test]
    fn dead_letters_come_back_in_order_until_they_are_taken_away() {
        let folder = TemporaryFolder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        assert!(dead_letters(folder.path()).unwrap().is_empty());
        for number in 0..3 {
            let record = entry::tests::record(u64::from(number));
            let bytes = encode(i64::from(number), 400 + number, &record);
            append(folder.path(), &[bytes]).unwrap();
        }
        let letters = dead_letters(folder.path()).unwrap();
        let seen: Vec<_> = letters
            .iter()
            .map(|letter| (letter.at_ms, letter.status))
            .collect();
        assert_eq!(seen, [(0, 400), (1, 401), (2, 402)]);
        assert_eq!(letters[2].record.context.access_key.expose(), "key2");
        assert_eq!(count(folder.path()).unwrap(), 3);
        let taken = take_one(folder.path()).unwrap().unwrap();
        append(folder.path(), &[encode(3, 403, &entry::tests::record(3))]).unwrap();
        assert_eq!(count(folder.path()).unwrap(), 4, "none is out of sight");
        assert_eq!(take_one(folder.path()).unwrap(), Some(taken.clone()));
        std::fs::remove_file(taken).unwrap();
        assert_eq!(count(folder.path()).unwrap(), 1);
    }
}
