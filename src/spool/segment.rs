//! One segment file of the spool (CONTRACT 23): a header, then frames `length, checksum, content`.
//! Frames are only appended. A reader stops at the first frame that is not whole and reports whether
//! it is the torn end of an interrupted write or damage in the middle of the file.

use super::fault_points::{self, FaultPoint};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(super) const MAGIC: &[u8; 8] = b"MONSPL01";
/// Bytes before the first frame.
pub(super) const HEADER: u64 = MAGIC.len() as u64;
/// Bytes of a frame before its content: length and checksum.
pub(super) const FRAME_HEADER: usize = 8;
/// Longest content of a frame; a greater length is damage.
pub(super) const MAX_FRAME: usize = 256 << 20;

/// Bytes examined at each offset where a frame may begin: its header and the start of its content.
const PROBE: usize = FRAME_HEADER + 11;
/// Bytes searched at once for the next whole frame after damage.
const WINDOW: u64 = 1 << 20;

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

/// Creates a segment's file (0600) and writes its header.
pub(super) fn create(folder: &Path, id: SegmentId) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path(folder, id))?;
    fault_points::reached(FaultPoint::Create);
    let begun = io::Write::write_all(&mut file, MAGIC);
    // The directory entry has to survive a crash too.
    let begun = begun.and_then(|()| File::open(folder)?.sync_all());
    if let Err(error) = begun {
        // The next attempt has to find the name free.
        let _ = std::fs::remove_file(path(folder, id));
        return Err(error);
    }
    Ok(file)
}

/// Appends one frame to `out`; `content` writes the frame's content.
pub(super) fn frame(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER]);
    content(out);
    let bytes = &out[start + FRAME_HEADER..];
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let checksum = checksum(length, bytes);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..start + FRAME_HEADER].copy_from_slice(&checksum.to_le_bytes());
}

/// CRC-32 of the length and the content. Covering the length makes a run of zeros invalid.
fn checksum(length: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// What a reader finds at its offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextFrame {
    /// The content of a whole frame.
    Whole(Vec<u8>),
    /// The end of the readable bytes; more may be appended later.
    End,
    /// A frame at this offset that extends beyond the end: its rest was never written.
    Torn(u64),
    /// Bytes at this offset that are not a frame.
    Broken(u64),
}

/// Reads the frames of one file in order.
pub(super) struct SegmentReader {
    file: BufReader<File>,
    offset: u64,
}

impl SegmentReader {
    /// Opens a segment file; `InvalidData` if it does not begin with a segment's header.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(256 << 10, File::open(path)?);
        let mut magic = [0; MAGIC.len()];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => Ok(Self {
                file,
                offset: HEADER,
            }),
            // The process ended between creating the file and writing its header.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(Self { file, offset: 0 })
            }
            Ok(()) => Err(io::ErrorKind::InvalidData.into()),
            Err(error) => Err(error),
        }
    }

    /// Opens a segment file and continues at the frame that begins at `offset`.
    pub(super) fn open_at(path: &Path, offset: u64) -> io::Result<Self> {
        let mut reader = Self::open(path)?;
        if reader.offset == HEADER {
            reader.file.seek(SeekFrom::Start(offset))?;
            reader.offset = offset;
        }
        Ok(reader)
    }

    /// The offset at which the next frame begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The file's current length in bytes.
    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.file.get_ref().metadata()?.len())
    }

    /// Reads the next frame within the first `end` bytes of the file.
    pub(super) fn next(&mut self, end: u64) -> io::Result<NextFrame> {
        let left = end.saturating_sub(self.offset);
        if left == 0 || self.offset < HEADER {
            return Ok(NextFrame::End);
        }
        let mut header = [0; FRAME_HEADER];
        if left < FRAME_HEADER as u64 {
            return Ok(NextFrame::Torn(self.offset));
        }
        self.file.read_exact(&mut header)?;
        let [a, b, c, d, e, f, g, h] = header;
        let (length, expected) = (
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        );
        let whole = FRAME_HEADER as u64 + u64::from(length);
        if whole > left {
            self.rewind()?;
            return Ok(NextFrame::Torn(self.offset));
        }
        if length as usize > MAX_FRAME {
            return self.broken();
        }
        let mut content = vec![0; length as usize];
        self.file.read_exact(&mut content)?;
        if checksum(length, &content) != expected {
            return self.broken();
        }
        self.offset += whole;
        Ok(NextFrame::Whole(content))
    }

    /// Skips damage: advances to the next whole frame whose first content bytes satisfy `fits`. False if
    /// the first `end` bytes hold none.
    pub(super) fn skip_damage(&mut self, end: u64, fits: fn(&[u8]) -> bool) -> io::Result<bool> {
        let mut from = self.offset.max(HEADER) + 1;
        while from + PROBE as u64 <= end {
            let mut window = Vec::new();
            self.file.seek(SeekFrom::Start(from))?;
            let length = WINDOW.min(end - from);
            Read::take(&mut self.file, length).read_to_end(&mut window)?;
            if window.len() < PROBE {
                return Ok(false);
            }
            let probes = window.windows(PROBE).enumerate();
            let likely = probes.filter(|(_, probe)| fits(&probe[FRAME_HEADER..]));
            for (index, _) in likely {
                self.offset = from + index as u64;
                self.rewind()?;
                if let NextFrame::Whole(_) = self.next(end)? {
                    self.offset = from + index as u64;
                    self.rewind()?;
                    return Ok(true);
                }
            }
            from += (window.len() - PROBE) as u64 + 1;
        }
        Ok(false)
    }

    fn broken(&mut self) -> io::Result<NextFrame> {
        self.rewind()?;
        Ok(NextFrame::Broken(self.offset))
    }

    /// Moves the file back to the current frame.
    fn rewind(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.offset)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write as _;
    use support::stack::Folder;

    fn folder() -> Folder {
        let folder = Folder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        folder
    }

    fn three(folder: &Folder) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in ["one", "", "three"] {
            frame(&mut bytes, |out| out.extend_from_slice(text.as_bytes()));
        }
        let mut file = create(folder.path(), 7).unwrap();
        file.write_all(&bytes).unwrap();
        std::fs::read(path(folder.path(), 7)).unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, NextFrame) {
        let folder = folder();
        let file = folder.path().join("x");
        std::fs::write(&file, bytes).unwrap();
        let mut reader = SegmentReader::open(&file).unwrap();
        let mut found = Vec::new();
        loop {
            match reader.next(bytes.len() as u64).unwrap() {
                NextFrame::Whole(content) => found.push(content),
                last => return (found, last),
            }
        }
    }

    #[test]
    fn frames_come_back_in_order() {
        let (found, last) = read(&three(&folder()));
        assert_eq!(found, [b"one".to_vec(), Vec::new(), b"three".to_vec()]);
        assert_eq!(last, NextFrame::End);
    }

    #[test]
    fn a_torn_end_costs_only_the_frame_it_tore() {
        let whole = three(&folder());
        for length in 0..whole.len() {
            let (found, last) = read(&whole[..length]);
            let ends = [8 + 11, 8 + 11 + 8, whole.len()];
            let expected = ends.iter().filter(|end| length >= **end);
            assert_eq!(found.len(), expected.count(), "{length}");
            let boundaries = [0, 1, 2, 3, 4, 5, 6, 7, 8, 19, 27];
            assert_eq!(
                last == NextFrame::End,
                boundaries.contains(&length),
                "{length} {last:?}"
            );
        }
    }

    #[test]
    fn a_changed_bit_is_never_read_as_a_record() {
        let whole = three(&folder());
        for index in 8..whole.len() {
            let mut bytes = whole.clone();
            bytes[index] ^= 1;
            let (found, last) = read(&bytes);
            assert!(
                found.len() < 3 && matches!(last, NextFrame::Broken(_) | NextFrame::Torn(_)),
                "{index}"
            );
        }
    }

    #[test]
    fn another_file_is_not_a_segment() {
        let folder = folder();
        let file = folder.path().join("x");
        std::fs::write(&file, b"something else").unwrap();
        assert!(SegmentReader::open(&file).is_err());
        assert_eq!(id_of("00000000000000ff.seg"), Some(255));
        assert_eq!(id_of("ff.seg"), None);
        assert_eq!(id_of("00000000000000ff.ack"), None);
    }
}
