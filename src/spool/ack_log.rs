//! The acknowledgement log of one segment: a file beside it that lists the ordinals of the frames the
//! backend has acknowledged, each with a checksum. It is written without a sync: losing an
//! acknowledgement means that a record is sent twice, which the backend treats as one (CONTRACT 23).

use super::disk;
use super::fault_points::{self, FaultPoint};
use super::frames::damage;
use super::segment::SegmentId;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of an entry: ordinal and checksum.
const ENTRY: usize = 8;
/// Bytes that are read at most: many times what a full segment has frames for.
const MAX_BYTES: u64 = 64 << 20;

/// What a log says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) ordinals: Vec<u32>,
    /// Bytes of entries that are not whole; their records are sent again.
    pub(super) damaged: u64,
}

/// The path of a segment's acknowledgement log.
pub(super) fn path(folder: &Path, id: SegmentId) -> PathBuf {
    folder.join(format!("{id:016x}.ack"))
}

/// The path of the log of a segment that is kept because it is damaged.
pub(super) fn kept_path(kept_segment: &Path) -> PathBuf {
    let mut name = kept_segment.as_os_str().to_owned();
    name.push(".acks");
    name.into()
}

/// Appends acknowledgements; creates the file if it is missing.
pub(super) fn append(folder: &Path, id: SegmentId, ordinals: &[u32]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(ordinals.len() * ENTRY);
    for ordinal in ordinals {
        bytes.extend_from_slice(&ordinal.to_le_bytes());
        bytes.extend_from_slice(&check(*ordinal).to_le_bytes());
    }
    let mut file = disk::open_append(&path(folder, id))?;
    // Half an entry, left by a full disk or a crash, would make every later entry unreadable.
    let length = file.about()?.bytes;
    let odd = length % ENTRY as u64;
    if odd > 0 {
        file.set_length(length - odd)?;
    }
    fault_points::write(FaultPoint::Ledger, &mut file, &bytes)
}

/// Removes the log of a segment whose file is about to be removed. If the segment is kept because it is damaged, so
/// is its log.
pub(super) fn remove(folder: &Path, id: SegmentId, segment: &Path) {
    let kept = damage::kept_path(segment);
    let log = path(folder, id);
    // A log left behind would acknowledge records of another segment of that number.
    let _ = match disk::about(&kept) {
        Ok(_) => disk::rename(&log, &kept_path(&kept)),
        Err(_) => disk::remove(&log),
    };
}

/// The acknowledged ordinals of a segment; none if the file is missing or not a regular one.
pub(super) fn read(folder: &Path, id: SegmentId) -> io::Result<Acknowledged> {
    read_if_there(&path(folder, id))
}

/// The entries of a log; none if the file is missing or not a regular one.
pub(super) fn read_if_there(path: &Path) -> io::Result<Acknowledged> {
    match read_file(path) {
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Ok(Acknowledged::default()),
            kind => Err(io::Error::new(kind, format!("{}: {error}", path.display()))),
        },
        read => read,
    }
}

/// The entries of a log; damaged ones are counted.
pub(super) fn read_file(path: &Path) -> io::Result<Acknowledged> {
    let file = disk::open(path)?;
    let length = file.about()?.bytes.min(MAX_BYTES);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let read = file.read_at(&mut bytes, 0)?;
    let (entries, _) = bytes[..read].as_chunks::<ENTRY>();
    let mut log = Acknowledged::default();
    for entry in entries {
        let number = |at: usize| {
            let four = entry[at..].first_chunk().copied();
            u32::from_le_bytes(four.unwrap_or_default())
        };
        match check(number(0)) == number(4) {
            true => log.ordinals.push(number(0)),
            false => log.damaged += ENTRY as u64,
        }
    }
    Ok(log)
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
    fn contract_23_a_wrong_bit_costs_the_acknowledgement_it_is_in() {
        let folder = Folder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        append(folder.path(), 1, &[0, 1, 2]).unwrap();
        let whole = std::fs::read(path(folder.path(), 1)).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(path(folder.path(), 1), bytes).unwrap();
            let mut expected = vec![0, 1, 2];
            expected.remove(bit / 64);
            let found = read(folder.path(), 1).unwrap();
            assert_eq!((found.ordinals, found.damaged), (expected, 8), "{bit}");
        }
    }

    #[test]
    fn what_was_written_whole_is_read_and_nothing_else() {
        let folder = Folder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        assert_eq!(read(folder.path(), 1).unwrap(), Acknowledged::default());
        append(folder.path(), 1, &[0, 7]).unwrap();
        append(folder.path(), 1, &[3]).unwrap();
        assert_eq!(read(folder.path(), 1).unwrap().ordinals, [0, 7, 3]);
        let mut bytes = std::fs::read(path(folder.path(), 1)).unwrap();
        bytes[9] ^= 1;
        bytes.extend_from_slice(&[0; 11]);
        std::fs::write(path(folder.path(), 1), bytes).unwrap();
        // An entry with a wrong bit, and one of zeros; half an entry is what an interrupted write leaves.
        let found = read(folder.path(), 1).unwrap();
        assert_eq!((found.ordinals, found.damaged), (vec![0, 3], 16));
        append(folder.path(), 1, &[5]).unwrap();
        assert_eq!(read(folder.path(), 1).unwrap().ordinals, [0, 3, 5]);
    }
}
