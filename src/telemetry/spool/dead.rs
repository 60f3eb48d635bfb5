//! Records the backend refuses for good, kept for people to look at and to send again (CONTRACT 23):
//! one file of frames, each with the time, the status and the record. It never fills a disk: when it
//! is full it becomes the older file of two, and what that held is gone.

use super::entry;
use super::segment::{self, Next, Reader};
use crate::telemetry::Record;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const NAME: &str = "dead.letters";
const OLDER: &str = "dead.letters.old";
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

/// The bytes of one entry.
pub(super) fn encode(at_ms: i64, status: u16, record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&at_ms.to_le_bytes());
    out.extend_from_slice(&status.to_le_bytes());
    entry::encode(record, &mut out);
    out
}

/// Adds entries.
pub(super) fn append(folder: &Path, entries: &[Vec<u8>]) -> io::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let path = folder.join(NAME);
    let length = std::fs::metadata(&path).map_or(0, |about| about.len());
    if length > MAX_BYTES {
        std::fs::rename(&path, folder.join(OLDER))?;
    }
    let mut bytes = Vec::new();
    if length == 0 || length > MAX_BYTES {
        bytes.extend_from_slice(segment::MAGIC);
    }
    for content in entries {
        segment::frame(&mut bytes, |out| out.extend_from_slice(content));
    }
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(&bytes)?;
    file.sync_data()
}

/// Every dead letter of a spool's folder, oldest first. What cannot be read is left out.
///
/// # Errors
/// When a file is there and cannot be opened.
pub fn dead_letters(folder: &Path) -> io::Result<Vec<DeadLetter>> {
    let mut letters = Vec::new();
    for path in files(folder) {
        let mut reader = match Reader::open(&path) {
            Ok(reader) => reader,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let end = std::fs::metadata(&path)?.len();
        while let Next::Frame(content) = reader.next(end)? {
            letters.extend(decode(&content));
        }
    }
    Ok(letters)
}

/// Takes the dead letters away.
///
/// # Errors
/// When a file cannot be removed.
pub fn remove_dead_letters(folder: &Path) -> io::Result<()> {
    for path in files(folder) {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn files(folder: &Path) -> [PathBuf; 2] {
    [folder.join(OLDER), folder.join(NAME)]
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
        remove_dead_letters(folder.path()).unwrap();
        assert!(dead_letters(folder.path()).unwrap().is_empty());
    }
}
