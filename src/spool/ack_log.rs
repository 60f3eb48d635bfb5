//! The acknowledgement log of one segment: a file beside it that lists the ordinals of the frames the
//! backend has acknowledged, each with a checksum. It is written without a sync: losing an
//! acknowledgement means that a record is sent twice, which the backend treats as one (CONTRACT 23).

use super::fault_points::{self, FaultPoint};
use super::segment::SegmentId;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of an entry: ordinal and checksum.
const ENTRY: usize = 8;

/// The path of a segment's acknowledgement log.
pub(super) fn path(folder: &Path, id: SegmentId) -> PathBuf {
    folder.join(format!("{id:016x}.ack"))
}

/// Appends acknowledgements; creates the file if it is missing.
pub(super) fn append(folder: &Path, id: SegmentId, ordinals: &[u32]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(ordinals.len() * ENTRY);
    for ordinal in ordinals {
        bytes.extend_from_slice(&ordinal.to_le_bytes());
        bytes.extend_from_slice(&check(*ordinal).to_le_bytes());
    }
    let mut file = open(&path(folder, id))?;
    // Half an entry, left by a full disk or a crash, would make every later entry unreadable.
    let length = file.metadata()?.len();
    let odd = length % ENTRY as u64;
    if odd > 0 {
        file.set_len(length - odd)?;
    }
    fault_points::write(FaultPoint::Ledger, &mut file, &bytes)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// The acknowledged ordinals of a segment; none if the file is missing. Damaged entries are skipped.
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
    // A plain copy of the ordinal would make a run of zeros valid.
    crc32fast::hash(&ordinal.to_le_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use support::stack::Folder;

    #[test]
    fn what_was_written_whole_is_read_and_nothing_else() {
        let folder = Folder::unmade();
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
