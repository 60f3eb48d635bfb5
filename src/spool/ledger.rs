//! The acknowledgements of one segment, beside it in a file of its own: numbers of frames, each with
//! a check of itself. Written without waiting for the disk: an acknowledgement that is lost means a
//! record sent twice, which the backend takes for one (CONTRACT 23).

use super::fault::{self, Point};
use super::segment::SegmentId;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const ENTRY: usize = 8;

/// The file.
pub(super) fn path(folder: &Path, id: SegmentId) -> PathBuf {
    folder.join(format!("{id:016x}.ack"))
}

/// Adds acknowledgements, making the file where it is missing.
pub(super) fn append(folder: &Path, id: SegmentId, ordinals: &[u32]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(ordinals.len() * ENTRY);
    for ordinal in ordinals {
        bytes.extend_from_slice(&ordinal.to_le_bytes());
        bytes.extend_from_slice(&check(*ordinal).to_le_bytes());
    }
    let mut file = open(&path(folder, id))?;
    // Half an entry, left by a full disk or a crash, would make all behind it unreadable.
    let length = file.metadata()?.len();
    let odd = length % ENTRY as u64;
    if odd > 0 {
        file.set_len(length - odd)?;
    }
    fault::write(Point::Ledger, &mut file, &bytes)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// The acknowledgements of a segment; none where there is no file. What is not whole is left out.
pub(super) fn read(folder: &Path, id: SegmentId) -> Vec<u32> {
    let bytes = std::fs::read(path(folder, id)).unwrap_or_default();
    let (entries, _) = bytes.as_chunks::<ENTRY>();
    let number = |bytes: &[u8]| {
        let mut four = [0; 4];
        four.copy_from_slice(bytes);
        u32::from_le_bytes(four)
    };
    entries
        .iter()
        .map(|entry| (number(&entry[..4]), number(&entry[4..])))
        .filter(|(ordinal, sum)| check(*ordinal) == *sum)
        .map(|(ordinal, _)| ordinal)
        .collect()
}

fn check(ordinal: u32) -> u32 {
    // Not the number itself, so that a run of zeros is no acknowledgement.
    crc32fast::hash(&ordinal.to_le_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::temporary::TemporaryFolder;

    #[test]
    fn what_was_written_whole_is_read_and_nothing_else() {
        let folder = TemporaryFolder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        assert!(read(folder.path(), 1).is_empty());
        append(folder.path(), 1, &[0, 7]).unwrap();
        append(folder.path(), 1, &[3]).unwrap();
        assert_eq!(read(folder.path(), 1), [0, 7, 3]);
        let mut bytes = std::fs::read(path(folder.path(), 1)).unwrap();
        bytes[9] ^= 1;
        bytes.extend_from_slice(&[0; 11]);
        std::fs::write(path(folder.path(), 1), bytes).unwrap();
        assert_eq!(read(folder.path(), 1), [0, 3]);
        append(folder.path(), 1, &[5]).unwrap();
        assert_eq!(read(folder.path(), 1), [0, 3, 5]);
    }
}
