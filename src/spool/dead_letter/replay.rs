//! Replays dead letters (CONTRACT 23): their records become a file in the folder `incoming`, which the
//! spool's own thread accepts, so that the process that owns the spool need not be stopped. A file of dead
//! letters is removed only once that file is on disk; an interrupted replay sends some records twice.

use super::encoding::{looks_like_letter, record_bytes};
use super::files;
use crate::spool::incoming::{self, IncomingFile};
use crate::spool::segment::{NextFrame, SegmentReader};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

/// Replays every dead letter and gives their number. What cannot be read is kept beside the spool with
/// the extension `damaged`.
///
/// # Errors
/// When a file cannot be read or written; what was not replayed by then is still a dead letter.
pub fn replay_dead_letters(folder: &Path) -> io::Result<u64> {
    let incoming = incoming::create_folder(folder)?;
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

fn replay_file(path: &Path, incoming: &Path) -> io::Result<u64> {
    let copied = copy_records(path, incoming)?;
    match copied.is_whole {
        true => std::fs::remove_file(path)?,
        false => std::fs::rename(path, files::damaged_path(path))?,
    }
    Ok(copied.records)
}

/// Writes the records of a file of dead letters to a file in the folder `incoming`.
fn copy_records(path: &Path, incoming: &Path) -> io::Result<Copied> {
    let mut copied = Copied {
        records: 0,
        is_whole: true,
    };
    let mut reader = match SegmentReader::open(path) {
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
            NextFrame::Whole(content) => match record_bytes(&content) {
                Some(record) => out.append(record)?,
                None => copied.is_whole = false,
            },
            NextFrame::End => break,
            NextFrame::Broken(_) | NextFrame::Torn(_) => {
                copied.is_whole = false;
                if !reader.skip_damage(end, looks_like_letter)? {
                    break;
                }
            }
        }
    }
    copy_owner(incoming, out.path())?;
    copied.records = out.publish()?;
    Ok(copied)
}

/// Lets the spool's process read what another user, such as root, creates.
fn copy_owner(from: &Path, to: &Path) -> io::Result<()> {
    let (wanted, is) = (std::fs::metadata(from)?, std::fs::metadata(to)?);
    if (is.uid(), is.gid()) == (wanted.uid(), wanted.gid()) {
        return Ok(());
    }
    chown(to, Some(wanted.uid()), Some(wanted.gid()))
}

fn remove_unfinished(incoming: &Path) -> io::Result<()> {
    for file in std::fs::read_dir(incoming)? {
        let path = file?.path();
        if path
            .extension()
            .is_some_and(|kind| kind == incoming::UNFINISHED)
        {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
