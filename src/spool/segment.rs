//! The segment files of the spool (CONTRACT 23): their names, and how one begins. Frames are only appended to them
//! ([`super::frames`]).

use super::disk::{self, File};
use super::fault_points::{self, FaultPoint};
use super::frames::writer::FrameWriter;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A segment's number, which is also its file name. Numbers count up; a folder never reuses one.
pub(super) type SegmentId = u64;

/// The path of a segment's file.
pub(super) fn path(folder: &Path, id: SegmentId) -> PathBuf {
    folder.join(format!("{id:016x}.seg"))
}

/// The segment number in a file name; None for any other file.
pub(super) fn id_of(name: &str) -> Option<SegmentId> {
    let digits = name
        .strip_suffix(".seg")
        .filter(|digits| digits.len() == 16)?;
    SegmentId::from_str_radix(digits, 16).ok()
}

/// Creates a segment's file (0600) and writes its header. Neither is synced, nor is the file's name.
pub(super) fn create(folder: &Path, id: SegmentId, frames: &FrameWriter) -> io::Result<File> {
    let mut file = disk::create_new(&path(folder, id))?;
    fault_points::reached(FaultPoint::Create);
    let begun = file.write_all(&frames.header());
    if let Err(error) = begun {
        // The next attempt has to find the name free.
        let _ = disk::remove(&path(folder, id));
        return Err(error);
    }
    Ok(file)
}
