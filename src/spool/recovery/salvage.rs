//! What follows damage in a segment of the first format (CONTRACT 23). Such frames do not say how many were before
//! them, so that it is not known which are acknowledged. All of them are put back into the spool once. A file beside the
//! segment says from which offset on this is done, until the segment is removed: whatever other process looks at the
//! segment next, after a crash or an upgrade. A crash before the mark is on disk puts them back a second time, and so
//! does damage before that offset; the backend treats that as once.

use super::incoming;
use crate::spool::disk;
use crate::spool::folder::SpoolFolder;
use crate::spool::segment::{self, SegmentId};
use std::io;
use std::path::{Path, PathBuf};

/// The extension of the mark.
pub(crate) const SALVAGED: &str = "salvaged";
/// Bytes of the mark: an offset and its checksum.
const CONTENT: usize = 12;

fn mark(folder: &Path, id: SegmentId) -> PathBuf {
    segment::path(folder, id).with_extension(SALVAGED)
}

/// The offset in a segment from which on its records were put back already.
pub(crate) fn salvaged_from(folder: &Path, id: SegmentId) -> Option<u64> {
    let mut content = [0; CONTENT];
    let read = disk::open(&mark(folder, id)).and_then(|file| file.read_at(&mut content, 0));
    let (offset, check) = content.split_first_chunk()?;
    let is_whole = matches!(read, Ok(CONTENT)) && crc32fast::hash(offset).to_le_bytes() == check;
    is_whole.then(|| u64::from_le_bytes(*offset))
}

/// Puts the records of a segment from an offset on back into the spool.
///
/// # Errors
/// When they cannot be put back; nothing of them is then in the spool.
pub(crate) fn salvage(folder: &SpoolFolder, id: SegmentId, offset: u64) -> io::Result<u64> {
    incoming::put_back_from(&segment::path(folder, id), offset, folder)
}

/// Notes that a segment was salvaged from an offset on.
pub(crate) fn note(folder: &Path, id: SegmentId, offset: u64) -> io::Result<()> {
    let mut content = [0; CONTENT];
    content[..8].copy_from_slice(&offset.to_le_bytes());
    let check = crc32fast::hash(&offset.to_le_bytes());
    content[8..].copy_from_slice(&check.to_le_bytes());
    let file = disk::open_update(&mark(folder, id))?;
    file.write_at(&content, 0)?;
    file.sync()?;
    disk::sync_folder(folder)
}

/// Forgets a segment that was removed.
pub(crate) fn forget(folder: &Path, id: SegmentId) {
    // One that stays belongs to no segment: numbers are not given again, and the next start removes it.
    let _ = disk::remove(&mark(folder, id));
}
