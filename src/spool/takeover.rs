//! Takes over what an ended process left in a folder of its own (CONTRACT 23). While one process hands
//! over to the next, each has a spool in a folder of its own. Once the older process has ended, the one
//! that runs gets the records the backend has not acknowledged, in their order, and the dead letters,
//! through its folder `incoming`.

use super::incoming::{self, IncomingFile};
use super::recovery::{SpoolError, lock, segments};
use super::segment::{self, NextFrame, SegmentId, SegmentReader};
use super::{ack_log, dead_letter};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that the spools of one configuration may have: one for each process handing over at once.
const MAX_SIBLINGS: usize = 32;

/// The folders that the spools of one configuration may have, the configured one first.
pub fn sibling_folders(base: &Path) -> Vec<PathBuf> {
    let beside = (1..MAX_SIBLINGS).map(|number| base.join(format!("beside-{number}")));
    std::iter::once(base.to_owned()).chain(beside).collect()
}

/// Those of [`sibling_folders`] that exist.
pub fn existing_folders(base: &Path) -> Vec<PathBuf> {
    let all = sibling_folders(base).into_iter();
    all.filter(|folder| folder.is_dir()).collect()
}

/// Moves what is left in the folder `from` to the spool in the folder `to`. Gives the number of records,
/// or None while another process uses `from`.
///
/// # Errors
/// When a file cannot be read or written; everything that was not moved by then is still in `from`.
pub fn take_over(from: &Path, to: &Path) -> io::Result<Option<u64>> {
    let _lock = match lock(from) {
        Ok(lock) => lock,
        Err(SpoolError::InUse { .. }) => return Ok(None),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let incoming = incoming::create_folder(to)?;
    dead_letter::files::move_all(from, &incoming)?;
    // No process accepts the replayed records there any more.
    for path in incoming::ready_files(&incoming::folder(from))? {
        incoming::move_in(&path, &incoming)?;
    }
    let ids = segments(from)?;
    if ids.is_empty() {
        return Ok(Some(0));
    }
    // One file for all segments keeps their order.
    let mut file = IncomingFile::create(&incoming)?;
    for id in &ids {
        copy_unacked(from, *id, &mut file)?;
    }
    let count = file.publish()?;
    for id in ids {
        // The log first: left behind, it would acknowledge records of another segment of that number.
        let _ = std::fs::remove_file(ack_log::path(from, id));
        std::fs::remove_file(segment::path(from, id))?;
    }
    Ok(Some(count))
}

/// Copies the unacknowledged frames of a segment. A copy of a segment that cannot be read
/// whole stays beside it.
fn copy_unacked(from: &Path, id: SegmentId, out: &mut IncomingFile) -> io::Result<()> {
    let path = segment::path(from, id);
    let keep_damaged = || std::fs::copy(&path, path.with_extension("damaged")).map(drop);
    let mut reader = match SegmentReader::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return keep_damaged(),
        opened => opened?,
    };
    let acked: HashSet<u32> = ack_log::read(from, id).into_iter().collect();
    let end = reader.length()?;
    for ordinal in 0.. {
        match reader.next(end)? {
            NextFrame::Whole(content) if !acked.contains(&ordinal) => out.append(&content)?,
            NextFrame::Whole(_) => {}
            // The last write of a process that was killed is not damage.
            NextFrame::End | NextFrame::Torn(_) => break,
            NextFrame::Broken(_) => return keep_damaged(),
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use support::stack::Folder;

    fn segment_of(folder: &Path, id: SegmentId, contents: &[&[u8]]) {
        let mut bytes = Vec::new();
        for content in contents {
            segment::frame(&mut bytes, |out| out.extend_from_slice(content));
        }
        let mut file = segment::create(folder, id).unwrap();
        file.write_all(&bytes).unwrap();
    }

    fn contents(path: &Path) -> Vec<Vec<u8>> {
        let mut reader = SegmentReader::open(path).unwrap();
        let end = reader.length().unwrap();
        let mut found = Vec::new();
        while let NextFrame::Whole(content) = reader.next(end).unwrap() {
            found.push(content);
        }
        found
    }

    #[test]
    fn what_nobody_has_acknowledged_goes_over_once_and_in_order() {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        segment_of(&from, 1, &[b"one", b"two", b"three"]);
        segment_of(&from, 2, &[b"four"]);
        ack_log::append(&from, 1, &[1]).unwrap();
        assert_eq!(take_over(&from, &to).unwrap(), Some(3));
        let files = incoming::ready_files(&incoming::folder(&to)).unwrap();
        assert_eq!(files.len(), 1);
        let expected: [&[u8]; 3] = [b"one", b"three", b"four"];
        assert_eq!(contents(&files[0]), expected);
        assert_eq!(take_over(&from, &to).unwrap(), Some(0), "a second time");
        assert_eq!(
            incoming::ready_files(&incoming::folder(&to)).unwrap().len(),
            1
        );
    }

    #[test]
    fn a_folder_that_another_has_is_left_alone() {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        let _lock = lock(&from).unwrap();
        segment_of(&from, 1, &[b"one"]);
        assert_eq!(take_over(&from, &to).unwrap(), None);
        assert_eq!(segments(&from).unwrap(), [1]);
    }
}
