//! What follows damage in a segment of the first format (CONTRACT 23). Such frames do not say how many were before
//! them, so that it is not known which are acknowledged. All of them are put back into the spool once. An empty file
//! beside the segment says that this is done, until the segment is removed: whatever other process looks at the
//! segment next, after a crash or an upgrade. A crash before the mark is on disk puts them back a second time, which
//! the backend treats as once.

use super::incoming;
use crate::spool::disk;
use crate::spool::folder::SpoolFolder;
use crate::spool::segment::{self, SegmentId};
use std::io;
use std::path::{Path, PathBuf};

/// The extension of the mark.
pub(crate) const SALVAGED: &str = "salvaged";

fn mark(folder: &Path, id: SegmentId) -> PathBuf {
    segment::path(folder, id).with_extension(SALVAGED)
}

/// Whether what follows the damage in a segment was put back already.
pub(crate) fn is_salvaged(folder: &Path, id: SegmentId) -> bool {
    disk::about(&mark(folder, id)).is_ok()
}

/// Puts the records of a segment from an offset on back into the spool.
///
/// # Errors
/// When they cannot be put back; nothing of them is then in the spool.
pub(crate) fn salvage(folder: &SpoolFolder, id: SegmentId, offset: u64) -> io::Result<u64> {
    incoming::put_back_from(&segment::path(folder, id), offset, folder)
}

/// Notes that a segment was salvaged.
pub(crate) fn note(folder: &Path, id: SegmentId) -> io::Result<()> {
    match disk::create_new(&mark(folder, id)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    disk::sync_folder(folder)
}

/// Forgets a segment that was removed.
pub(crate) fn forget(folder: &Path, id: SegmentId) {
    // One that stays belongs to no segment: numbers are not given again, and the next start removes it.
    let _ = disk::remove(&mark(folder, id));
}
