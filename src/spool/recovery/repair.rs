//! Reads the files again that were kept because they could not be read whole (`monitor spool repair`, CONTRACT 23):
//! another version of this program may have written them, a disk may have been mended, or a file was restored from
//! a copy. Records that can be read and were not acknowledged are put back into the spool; the backend recognizes
//! those it has already.

use super::incoming::{self, IncomingFile};
use crate::spool::dead_letter::encoding::record_bytes;
use crate::spool::dead_letter::{files, replay};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage::{self, kept_files};
use crate::spool::frames::keyring::MissingKey;
use crate::spool::frames::reader::{self, FrameReader, NextFrame};
use crate::spool::{ack_log, disk, record_codec};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// The extension of a file once everything readable in it was put back.
const REPAIRED: &str = "repaired";
/// The extension of a file in which nothing can be read.
const UNREADABLE: &str = "unreadable";

/// The outcome of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Files that were read to their end and are done with; they are kept with the suffix `.repaired`.
    pub files: u64,
    /// Files in which nothing can be read; they are kept with the suffix `.unreadable`.
    pub unreadable: u64,
    /// Files that hold what this version cannot read and a later one may; they stay as they are.
    pub left: u64,
    /// Files that a process is still reading.
    pub in_use: u64,
    /// Records that were put back.
    pub put_back: u64,
    /// Bytes that cannot be read.
    pub unreadable_bytes: u64,
    /// Files whose key is missing, in words; they stay as they are.
    pub without_key: Vec<String>,
}

impl Repaired {
    /// The sum of two folders.
    pub fn and(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            unreadable: self.unreadable + other.unreadable,
            left: self.left + other.left,
            in_use: self.in_use + other.in_use,
            put_back: self.put_back + other.put_back,
            unreadable_bytes: self.unreadable_bytes + other.unreadable_bytes,
            without_key: [self.without_key, other.without_key].concat(),
        }
    }
}

/// Puts back what can be read of the damaged files in a spool's folder. A process may be at work there.
///
/// # Errors
/// When a file cannot be read or written; what was not put back by then is still in its file.
pub fn repair(folder: &SpoolFolder) -> io::Result<Repaired> {
    let incoming = incoming::create_folder(folder)?;
    replay::copy_owner(folder, &incoming)?;
    let _lock = files::lock(&incoming)?;
    replay::remove_unfinished(&incoming)?;
    let mut repaired = Repaired::default();
    for path in [kept_files(folder)?, kept_files(&incoming)?].concat() {
        repaired = repaired.and(repair_file(&path, &folder.sibling(&incoming))?);
    }
    Ok(repaired)
}

fn repair_file(path: &Path, incoming: &SpoolFolder) -> io::Result<Repaired> {
    let mut repaired = Repaired::default();
    if is_in_use(path)? {
        repaired.in_use = 1;
        return Ok(repaired);
    }
    match FrameReader::open(path, incoming.keys()) {
        Ok(reader) if reader.is_blank()? => leave_unreadable(path),
        Ok(reader) => put_back(path, reader, incoming),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => leave_unreadable(path),
        Err(error) if MissingKey::is_in(&error) => {
            repaired.without_key.push(error.to_string());
            Ok(repaired)
        }
        Err(error) => Err(error),
    }
}

/// Renames a file that has no frames, unless a later version may have written it, and read it again.
fn leave_unreadable(path: &Path) -> io::Result<Repaired> {
    let mut repaired = Repaired {
        unreadable_bytes: disk::about(path)?.bytes,
        ..Repaired::default()
    };
    if reader::names_a_format(path)? {
        repaired.left = 1;
    } else {
        disk::rename(path, &damage::done_name(path, UNREADABLE)?)?;
        let _ = disk::remove(&ack_log::kept_path(path));
        repaired.unreadable = 1;
    }
    Ok(repaired)
}

/// Puts back the records of a file that are whole and not acknowledged.
fn put_back(path: &Path, mut reader: FrameReader, incoming: &SpoolFolder) -> io::Result<Repaired> {
    let mut repaired = Repaired::default();
    let acks = ack_log::kept_path(path);
    let acked = ack_log::read_if_there(&acks)?;
    let acked: HashSet<u32> = acked.ordinals.into_iter().collect();
    let mut out = IncomingFile::create(incoming)?;
    let end = reader.length()?;
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) if frame.ordinal.is_some_and(|it| acked.contains(&it)) => {}
            NextFrame::Whole(frame) => match record_in(&frame.content) {
                Some(record) => out.append(record)?,
                None => {
                    repaired.left = 1;
                    repaired.unreadable_bytes += frame.place.end - frame.place.start;
                }
            },
            NextFrame::Damaged(place) => repaired.unreadable_bytes += place.end - place.start,
            NextFrame::Torn(at) => repaired.unreadable_bytes += end - at,
            NextFrame::End => break,
        }
    }
    replay::copy_owner(incoming, out.path())?;
    repaired.put_back = out.publish()?;
    if repaired.left == 0 {
        disk::rename(path, &damage::done_name(path, REPAIRED)?)?;
        // A file without one is not a segment.
        let _ = disk::remove(&acks);
        repaired.files = 1;
    }
    Ok(repaired)
}

/// Whether the file still has a name under which a process reads it.
fn is_in_use(kept: &Path) -> io::Result<bool> {
    let identity = disk::about(kept)?.identity;
    // Where there are no second names it is a copy, and no other segment has its number.
    let is_segment = disk::about(&kept.with_extension("seg")).is_ok();
    let is_other_name = |path: &PathBuf| {
        let is_same = || disk::about(path).is_ok_and(|about| about.identity == identity);
        !damage::is_kept_name(path) && is_same()
    };
    let others = disk::list(kept.parent().unwrap_or(kept))?;
    Ok(is_segment || others.iter().any(is_other_name))
}

/// The encoded record in a frame of a segment, or in a dead letter.
fn record_in(content: &[u8]) -> Option<&[u8]> {
    let is_record = record_codec::decode(content).is_some();
    is_record
        .then_some(content)
        .or_else(|| record_bytes(content))
}
