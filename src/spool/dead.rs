//! Records the backend refuses for good, kept for people to look at and to send again (CONTRACT 23):
//! files of frames, each with the time, the status and the record. What is refused for its access key
//! has files of its own, so that keys somebody made up push out nothing else. This is how letters
//! look and how they are read; [`super::letters`] writes them and keeps them within their bounds.

use super::segment::{Next, Reader};
use super::{entry, inherited};
use crate::backend::Record;
use std::fs::{File, TryLockError};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Bytes of a letter before the record's own.
const LETTER_HEADER: usize = 10;

/// A record that was refused.
pub struct DeadLetter {
    /// When, milliseconds since 1970.
    pub at_ms: i64,
    /// The backend's status; 0 where it never gave one that could be read.
    pub status: u16,
    /// The record.
    pub record: Record,
}

/// Why letters are refused, as far as it decides where they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// For what they are.
    Record,
    /// For their access key (401, 403).
    Key,
}

/// A letter on its way to its file.
pub(super) struct Letter {
    pub(super) class: Class,
    /// Stands for its access key in this process.
    pub(super) key: u64,
    pub(super) bytes: Vec<u8>,
}

impl Class {
    pub(super) const ALL: [Self; 2] = [Self::Record, Self::Key];

    /// Of a letter with that status.
    fn of(status: u16) -> Self {
        match status {
            401 | 403 => Self::Key,
            _ => Self::Record,
        }
    }

    /// The file being written.
    pub(super) fn newer(self) -> &'static str {
        match self {
            Self::Record => "dead.letters",
            Self::Key => "dead.keys",
        }
    }

    /// What it becomes when it is full.
    pub(super) fn older(self) -> &'static str {
        match self {
            Self::Record => "dead.letters.old",
            Self::Key => "dead.keys.old",
        }
    }
}

impl Letter {
    /// One that was read; None where it is no letter.
    pub(super) fn of(content: Vec<u8>) -> Option<Self> {
        let status = content.get(8..LETTER_HEADER)?.try_into().ok()?;
        Some(Self {
            class: Class::of(u16::from_le_bytes(status)),
            key: key_of(&content)?,
            bytes: content,
        })
    }

    pub(super) fn new(at_ms: i64, status: u16, record: &Record) -> Self {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&at_ms.to_le_bytes());
        bytes.extend_from_slice(&status.to_le_bytes());
        entry::encode(record, &mut bytes);
        Self {
            class: Class::of(status),
            key: key(record),
            bytes,
        }
    }
}

/// What stands for the access key of a letter that was read; None where it is no letter.
pub(super) fn key_of(content: &[u8]) -> Option<u64> {
    entry::decode(content.get(LETTER_HEADER..)?).map(|record| key(&record))
}

fn key(record: &Record) -> u64 {
    static KEYS: LazyLock<std::hash::RandomState> = LazyLock::new(Default::default);
    KEYS.hash_one(record.context.access_key.expose())
}

/// Takes one file of letters out of the way of whoever writes them; None where there is none left.
pub(super) fn take_one(folder: &Path) -> io::Result<Option<PathBuf>> {
    for name in names() {
        let (path, taken) = (folder.join(name), taken(folder, name));
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

/// Whether there are files for [`take_one`].
pub(super) fn has_some(folder: &Path) -> bool {
    let paths = |name| [taken(folder, name), folder.join(name)];
    names()
        .into_iter()
        .flat_map(paths)
        .any(|path| path.exists())
}

/// Lease by whoever takes files: two at a time would take each other's.
pub(super) fn alone(arrivals: &Path) -> io::Result<File> {
    let held = File::open(arrivals)?;
    held.lock()?;
    Ok(held)
}

/// The same, without waiting; None where another has it.
pub(super) fn try_alone(arrivals: &Path) -> io::Result<Option<File>> {
    let held = File::open(arrivals)?;
    match held.try_lock() {
        Ok(()) => Ok(Some(held)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The record's bytes in a letter; None where they are no record.
pub(super) fn entry_of(content: &[u8]) -> Option<&[u8]> {
    let entry = content.get(LETTER_HEADER..)?;
    entry::decode(entry).map(|_| entry)
}

/// Bytes of the files, so that a change of others shows.
pub(super) fn size(folder: &Path) -> u64 {
    let sizes = files(folder).map(|path| std::fs::metadata(path).map_or(0, |about| about.len()));
    sizes.sum()
}

/// How many letters there are.
pub(super) fn count(folder: &Path) -> io::Result<u64> {
    let mut count = 0;
    for path in files(folder) {
        count += count_in(&path)?;
    }
    Ok(count)
}

/// How many letters a file holds; none where it is missing.
pub(super) fn count_in(path: &Path) -> io::Result<u64> {
    let mut count = 0;
    each(path, |_, _| count += 1)?;
    Ok(count)
}

/// Every dead letter of a spool's folder, oldest first. What cannot be read is left out.
///
/// # Errors
/// When a file is there and cannot be opened.
pub fn dead_letters(folder: &Path) -> io::Result<Vec<DeadLetter>> {
    let mut letters = Vec::new();
    for path in files(folder) {
        each(&path, |content, _| letters.extend(decode(content)))?;
    }
    letters.sort_by_key(|letter| letter.at_ms);
    Ok(letters)
}

/// Shows each whole letter of a file, and where it ends; what is damaged between them is passed over.
pub(super) fn each(path: &Path, mut see: impl FnMut(&[u8], u64)) -> io::Result<()> {
    let mut reader = match Reader::open(path) {
        Ok(reader) => reader,
        Err(error) => {
            return match error.kind() {
                // Missing, or no file of letters.
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Ok(()),
                _ => Err(error),
            };
        }
    };
    let end = reader.length()?;
    loop {
        match reader.next(end)? {
            Next::Frame(content) => see(&content, reader.offset()),
            Next::End => return Ok(()),
            Next::Broken(_) | Next::Torn(_) => {
                if !reader.resume(end, begins_as_letter)? {
                    return Ok(());
                }
            }
        }
    }
}

/// Whether a frame's content may be a letter, by its first bytes: a time, a status, a record.
pub(super) fn begins_as_letter(content: &[u8]) -> bool {
    const LAST_MS: i64 = 1 << 46;
    let time = content.first_chunk().map(|time| i64::from_le_bytes(*time));
    let status = content.get(8..10);
    time.is_some_and(|time| (0..LAST_MS).contains(&time))
        && status.is_some_and(|status| u16::from_le_bytes([status[0], status[1]]) < 1_000)
        && content.get(LETTER_HEADER) == Some(&entry::VERSION)
}

/// Where a file of letters that cannot be read whole is kept.
pub(super) fn damaged(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    name.into()
}

/// Every file there may be, those that are being put back and those of a process before among them.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let own = names()
        .into_iter()
        .flat_map(move |name| [taken(folder, name), folder.join(name)]);
    own.chain(inherited::files(folder))
}

fn names() -> [&'static str; 4] {
    let [record, key] = Class::ALL;
    [record.older(), record.newer(), key.older(), key.newer()]
}

/// What a file is called while its letters are put back; one that is found was left by a try that did
/// not come to its end.
fn taken(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.taken"))
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
