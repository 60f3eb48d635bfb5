//! One file of the spool (CONTRACT 23): a header, then frames `length, checksum, bytes`. Frames are
//! only ever appended. A reader stops at the first frame that is not whole and says whether that is
//! the torn end of a write or damage in the middle.

use super::fault::{self, Point};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(super) const MAGIC: &[u8; 8] = b"MONSPL01";
/// Bytes before the first frame.
pub(super) const HEADER: u64 = MAGIC.len() as u64;
/// Bytes before a frame's content.
pub(super) const FRAME_HEADER: usize = 8;
/// Longest content of a frame; a longer length is damage, not a frame.
pub(super) const MAX_FRAME: usize = 256 << 20;

/// Bytes of a frame that are looked at where one may begin: its header and the first of its content.
const PROBE: usize = FRAME_HEADER + 11;
/// Bytes searched at once for the next whole frame behind damage.
const WINDOW: u64 = 1 << 20;

/// The number a segment is named by; they count up and are never used twice in a folder.
pub(super) type SegmentId = u64;

/// The file of a segment.
pub(super) fn path(folder: &Path, id: SegmentId) -> PathBuf {
    folder.join(format!("{id:016x}.seg"))
}

/// The number of a segment's file name.
pub(super) fn id_of(name: &str) -> Option<SegmentId> {
    let digits = name
        .strip_suffix(".seg")
        .filter(|digits| digits.len() == 16)?;
    SegmentId::from_str_radix(digits, 16).ok()
}

/// Makes a segment's file, readable by its owner only, and writes its header.
pub(super) fn create(folder: &Path, id: SegmentId) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path(folder, id))?;
    fault::at(Point::Create);
    let begun = io::Write::write_all(&mut file, MAGIC);
    // The name itself has to survive a crash.
    let begun = begun.and_then(|()| File::open(folder)?.sync_all());
    if let Err(error) = begun {
        // So that the next try finds the name free.
        let _ = std::fs::remove_file(path(folder, id));
        return Err(error);
    }
    Ok(file)
}

/// Adds one frame to `out`; `content` writes what it holds.
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

/// Over the length too, so that a run of zeros is no frame.
fn checksum(length: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// What a reader found next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A whole frame's content.
    Frame(Vec<u8>),
    /// Nothing more, or not yet.
    End,
    /// A frame that goes beyond the end, from this offset on: the rest was never written.
    Torn(u64),
    /// Bytes that are no frame, from this offset on.
    Broken(u64),
}

/// Reads frames in order.
pub(super) struct Reader {
    file: BufReader<File>,
    offset: u64,
}

impl Reader {
    /// Opens a segment. `InvalidData` where the file does not begin as one.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(256 << 10, File::open(path)?);
        let mut magic = [0; MAGIC.len()];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => Ok(Self {
                file,
                offset: HEADER,
            }),
            // The process ended between making the file and its first byte.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(Self { file, offset: 0 })
            }
            Ok(()) => Err(io::ErrorKind::InvalidData.into()),
            Err(error) => Err(error),
        }
    }

    /// As [`Reader::open`], with the frame that begins at `offset` as the next one.
    pub(super) fn open_at(path: &Path, offset: u64) -> io::Result<Self> {
        let mut reader = Self::open(path)?;
        if reader.offset == HEADER {
            reader.file.seek(SeekFrom::Start(offset))?;
            reader.offset = offset;
        }
        Ok(reader)
    }

    /// Where the next frame begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the file, now.
    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.file.get_ref().metadata()?.len())
    }

    /// The next frame among the first `end` bytes of the file.
    pub(super) fn next(&mut self, end: u64) -> io::Result<Next> {
        let left = end.saturating_sub(self.offset);
        if left == 0 || self.offset < HEADER {
            return Ok(Next::End);
        }
        let mut header = [0; FRAME_HEADER];
        if left < FRAME_HEADER as u64 {
            return Ok(Next::Torn(self.offset));
        }
        self.file.read_exact(&mut header)?;
        let [a, b, c, d, e, f, g, h] = header;
        let (length, expected) = (
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        );
        let whole = FRAME_HEADER as u64 + u64::from(length);
        if whole > left {
            self.again()?;
            return Ok(Next::Torn(self.offset));
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
        Ok(Next::Frame(content))
    }

    /// Goes on behind damage: to the next place where a whole frame begins whose content begins as
    /// `fits` wants. False where there is none among the first `end` bytes.
    pub(super) fn resume(&mut self, end: u64, fits: fn(&[u8]) -> bool) -> io::Result<bool> {
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
            for (place, _) in likely {
                self.offset = from + place as u64;
                self.again()?;
                if let Next::Frame(_) = self.next(end)? {
                    self.offset = from + place as u64;
                    self.again()?;
                    return Ok(true);
                }
            }
            from += (window.len() - PROBE) as u64 + 1;
        }
        Ok(false)
    }

    fn broken(&mut self) -> io::Result<Next> {
        self.again()?;
        Ok(Next::Broken(self.offset))
    }

    /// The next read begins with the same frame.
    fn again(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.offset)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::temporary::TemporaryFolder;
    use std::io::Write as _;

    fn folder() -> TemporaryFolder {
        let folder = TemporaryFolder::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        folder
    }

    fn three(folder: &TemporaryFolder) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in ["one", "", "three"] {
            frame(&mut bytes, |out| out.extend_from_slice(text.as_bytes()));
        }
        let mut file = create(folder.path(), 7).unwrap();
        file.write_all(&bytes).unwrap();
        std::fs::read(path(folder.path(), 7)).unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, Next) {
        let folder = folder();
        let file = folder.path().join("x");
        std::fs::write(&file, bytes).unwrap();
        let mut reader = Reader::open(&file).unwrap();
        let mut found = Vec::new();
        loop {
            match reader.next(bytes.len() as u64).unwrap() {
                Next::Frame(content) => found.push(content),
                last => return (found, last),
            }
        }
    }

    #[test]
    fn frames_come_back_in_order() {
        let (found, last) = read(&three(&folder()));
        assert_eq!(found, [b"one".to_vec(), Vec::new(), b"three".to_vec()]);
        assert_eq!(last, Next::End);
    }

    #[test]
    fn a_torn_end_costs_only_the_frame_it_tore() {
        let whole = three(&folder());
        for length in 0..whole.len() {
            let (found, last) = read(&whole[..length]);
            let ends = [8 + 11, 8 + 11 + 8, whole.len()];
            let expected = ends.iter().filter(|end| length >= **end);
            assert_eq!(found.len(), expected.count(), "{length}");
            let borders = [0, 1, 2, 3, 4, 5, 6, 7, 8, 19, 27];
            assert_eq!(
                last == Next::End,
                borders.contains(&length),
                "{length} {last:?}"
            );
        }
    }

    #[test]
    fn a_changed_bit_is_never_read_as_a_record() {
        let whole = three(&folder());
        for place in 8..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            let (found, last) = read(&bytes);
            assert!(
                found.len() < 3 && matches!(last, Next::Broken(_) | Next::Torn(_)),
                "{place}"
            );
        }
    }

    #[test]
    fn another_file_is_no_segment() {
        let folder = folder();
        let file = folder.path().join("x");
        std::fs::write(&file, b"something else").unwrap();
        assert!(Reader::open(&file).is_err());
        assert_eq!(id_of("00000000000000ff.seg"), Some(255));
        assert_eq!(id_of("ff.seg"), None);
        assert_eq!(id_of("00000000000000ff.ack"), None);
    }
}
