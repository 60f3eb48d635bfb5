//! Replays dead letters (CONTRACT 23): their records become a file in the folder `incoming`, which the
//! spool's own thread accepts, so that the process that owns the spool need not be stopped. A file of dead
//! letters is removed only once that file is on disk; an interrupted replay sends some records twice.

use super::encoding::record_bytes;
use super::files;
use crate::spool::disk;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::recovery::incoming::{self, IncomingFile};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

/// Replays every dead letter and gives their number. What cannot be read is kept beside the spool with
/// the extension `damaged`.
///
/// # Errors
/// When a file cannot be read or written; what was not replayed by then is still a dead letter.
pub fn replay_dead_letters(folder: &SpoolFolder) -> io::Result<u64> {
    let incoming = folder.sibling(&incoming::create_folder(folder)?);
    copy_owner(folder, &incoming)?;
    let _lock = files::lock(&incoming)?;
    remove_unfinished(&incoming)?;
    let mut count = 0;
    while let Some(taken) = files::take_one(folder)? {
        count += replay_file(&taken, &incoming)?;
    }
    // Those of a process before that this spool's process has not imported yet.
    for path in files::imported_files(folder) {
        count += replay_file(&path, &incoming)?;
    }
    Ok(count)
}

/// What was copied of a file of dead letters.
struct Copied {
    records: u64,
    is_whole: bool,
}

fn replay_file(path: &Path, incoming: &SpoolFolder) -> io::Result<u64> {
    let copied = copy_records(path, incoming)?;
    match copied.is_whole {
        true => disk::remove(path)?,
        false => damage::rename(path)?,
    }
    Ok(copied.records)
}

/// Writes the records of a file of dead letters to a file in the folder `incoming`.
fn copy_records(path: &Path, incoming: &SpoolFolder) -> io::Result<Copied> {
    let mut copied = Copied {
        records: 0,
        is_whole: true,
    };
    let mut reader = match FrameReader::open(path, incoming.keys()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            copied.is_whole = false;
            return Ok(copied);
        }
        opened => opened?,
    };
    let mut out = IncomingFile::create(incoming)?;
    let end = reader.length()?;
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => match record_bytes(&frame.content) {
                Some(record) => out.append(record)?,
                None => copied.is_whole = false,
            },
            NextFrame::Damaged(_) => copied.is_whole = false,
            // It may be damage that looks like a torn end.
            NextFrame::Torn(at)
                if !reader.format().has_ordinals() || reader.check_blank(at, end)? =>
            {
                copied.is_whole = false;
            }
            // The record of a torn letter is still in its segment.
            NextFrame::Torn(_) | NextFrame::End => break,
        }
    }
    copy_owner(incoming, out.path())?;
    copied.records = out.publish()?;
    Ok(copied)
}

/// Lets the spool's process read what another user, such as root, creates.
pub(crate) fn copy_owner(from: &Path, to: &Path) -> io::Result<()> {
    let (wanted, is) = (std::fs::metadata(from)?, std::fs::metadata(to)?);
    if (is.uid(), is.gid()) == (wanted.uid(), wanted.gid()) {
        return Ok(());
    }
    chown(to, Some(wanted.uid()), Some(wanted.gid()))
}

pub(crate) fn remove_unfinished(incoming: &Path) -> io::Result<()> {
    for path in disk::list(incoming)? {
        if path
            .extension()
            .is_some_and(|kind| kind == incoming::UNFINISHED)
        {
            disk::remove(&path)?;
        }
    }
    Ok(())
}
