//! Copies what a spool still owes, for a backup: the records that the backend has not acknowledged, and the dead
//! letters. It takes nothing from the process that owns the folder. The copies have the form of files that one
//! process hands to the next (`incoming`), so that a restored spool delivers them under the numbers they have, and
//! gives its own records numbers of a gateway of its own.

use super::incoming::{self, IncomingFile};
use super::segments;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::{ack_log, dead_letter, segment};
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedSpool {
    /// Records that the backend has not acknowledged.
    pub records: u64,
    /// Files of dead letters.
    pub letter_files: u64,
    /// Parts of files that cannot be read. The spool keeps them.
    pub unreadable: u64,
}

/// Where the spool in this folder picks up what a restore puts back.
pub fn restored_folder(spool: &Path) -> PathBuf {
    incoming::folder(spool)
}

/// Whether this is the name of a file that [`copy_owed`] makes.
pub fn is_copy(name: &str) -> bool {
    let (id, kind) = name.split_once('.').unwrap_or_default();
    Uuid::parse_str(id).is_ok() && matches!(kind, "seg" | "letters")
}

/// Copies what the spool in `folder` owes into the folder `to`, with the same keys.
///
/// # Errors
/// When a file cannot be read for another reason than damage, or the copy cannot be written.
pub fn copy_owed(folder: &SpoolFolder, to: &Path) -> io::Result<CopiedSpool> {
    let mut copied = CopiedSpool::default();
    let mut out = IncomingFile::create(&folder.sibling(to))?;
    for id in segments(folder)? {
        // The log is removed before its segment: read first, it is never missed where it counts.
        let acked = ack_log::read(folder, id)?.ordinals.into_iter().collect();
        copied.unreadable += copy_frames(folder, &segment::path(folder, id), &acked, &mut out)?;
    }
    for path in incoming::ready_files(&incoming::folder(folder))? {
        copied.unreadable += copy_frames(folder, &path, &HashSet::new(), &mut out)?;
    }
    copied.records = out.publish()?;
    for path in dead_letter::files::all_files(folder) {
        let name = format!("{}.letters", Uuid::new_v4());
        match std::fs::copy(&path, to.join(name)) {
            Ok(_) => copied.letter_files += 1,
            // Replayed or taken meanwhile: its letters are records that wait, here or at the backend.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(copied)
}

/// Copies the frames that are not acknowledged; gives the number of unreadable parts.
fn copy_frames(
    folder: &SpoolFolder,
    path: &Path,
    acked: &HashSet<u32>,
    out: &mut IncomingFile,
) -> io::Result<u64> {
    let mut reader = match FrameReader::open(path, folder.keys()) {
        // Everything in it was delivered meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) if error.kind() == ErrorKind::InvalidData => return Ok(1),
        opened => opened?,
    };
    let (end, mut unreadable) = (reader.length()?, 0);
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => {
                let is_acked = frame
                    .ordinal
                    .is_some_and(|ordinal| acked.contains(&ordinal));
                if !is_acked {
                    out.append(&frame.content)?;
                }
            }
            NextFrame::Damaged(_) => unreadable += 1,
            // A write in progress.
            NextFrame::Torn(_) | NextFrame::End => return Ok(unreadable),
        }
    }
}
