//! The end of a segment that a write left torn when its process was killed. What the chain file knows to be written is
//! not torn but lost.

use crate::spool::chain_file::WrittenUpTo;
use crate::spool::disk;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::file_format::Format;
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::segment::{self, SegmentId};
use std::cmp::Ordering;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Whether nothing says that the end of a segment was on disk: that of the newest one, and of those from the one on that
/// was last known to be synced. Records go to the next segment while an earlier one is being synced.
pub(super) fn may_be_unsynced(synced: WrittenUpTo, id: SegmentId, ids: &[SegmentId]) -> bool {
    ids.last() == Some(&id) || synced.segment > 0 && id >= synced.segment
}

/// Whether what begins at `torn` at the end of a segment was on disk once, and is lost. When a later segment is synced,
/// so is this one.
fn is_lost(folder: &Path, id: SegmentId, torn: &Range<u64>) -> io::Result<bool> {
    let written = WrittenUpTo::of_folder(folder)?;
    Ok(match written.segment.cmp(&id) {
        Ordering::Less => false,
        Ordering::Equal => torn.start < written.bytes,
        Ordering::Greater => !torn.is_empty(),
    })
}

/// What looks like an interrupted write at the end of a file; empty, at its end, if there is nothing.
pub(super) fn torn_part(path: &Path, keys: &Keyring) -> io::Result<Range<u64>> {
    let mut reader = FrameReader::open(path, keys)?;
    let end = reader.length()?;
    if reader.is_blank()? {
        return Ok(0..end);
    }
    loop {
        match reader.next(end)? {
            NextFrame::Torn(at) => return Ok(at..end),
            NextFrame::End => return Ok(end..end),
            NextFrame::Whole(_) | NextFrame::Damaged(_) => {}
        }
    }
}

/// Cuts off what an interrupted write left behind the last whole frame of a segment: once later ones are synced, it
/// would look like damage. False if the end was on disk, and is lost.
pub(super) fn cut_torn_end(folder: &SpoolFolder, id: SegmentId) -> io::Result<bool> {
    let path = segment::path(folder, id);
    let torn = torn_part(&path, folder.keys())?;
    if is_lost(folder, id, &torn)? {
        return Ok(false);
    }
    // In the first format it cannot be told from damage for certain, and stays as it is.
    if !torn.is_empty() && FrameReader::open(&path, folder.keys())?.format() != Format::First {
        disk::open_append(&path)?.set_length(torn.start)?;
    }
    // Later segments are noted as synced, and then so is this one.
    disk::open(&path)?.sync()?;
    Ok(true)
}

/// Whether the end of a segment may be that of an interrupted write.
pub(super) fn may_be_torn(folder: &SpoolFolder, id: SegmentId) -> io::Result<bool> {
    match torn_part(&segment::path(folder, id), folder.keys()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(true),
        torn => Ok(!is_lost(folder, id, &torn?)?),
    }
}
