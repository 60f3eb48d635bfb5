//! The bytes of a file of frames (integers are little-endian):
//!
//! ```text
//! file header:         "MONSPL02"  marker[8]  reserved[12]  checksum of the 28 bytes before
//! zeros up to the next sector, which begins with a copy of the file header
//! frame:               marker[8]  ordinal[4]  length[4]  checksum of the content[4]  checksum of the 20 before
//!                      content[length]
//! ```
//!
//! The marker is random, differs from file to file and never leaves the disk. So no content can hold a frame of
//! its own file, whoever wrote it, and behind damage the next marker with a right checksum is a frame for certain.
//! A block that a disk writes to the wrong file has another marker. The ordinal says how many frames were before
//! this one, so that damage does not move the acknowledgements of later records. One copy of the header suffices,
//! and no lost sector takes both with it. Without either, a frame names the marker whose record has an id that no
//! client knows ([`crate::spool::chain_file::known_gateways`]).

use uuid::Uuid;

pub(super) const MAGIC: &[u8; 8] = b"MONSPL02";
/// Bytes of one copy of the file header.
const HEADER_COPY: usize = 32;
/// Offset of its second copy: another sector, whatever the size of the disk's.
const SECOND_COPY: usize = 4096;
/// Bytes before the first frame.
pub(crate) const HEADER: u64 = (SECOND_COPY + HEADER_COPY) as u64;
/// Bytes of a frame before its content.
pub(crate) const FRAME_HEADER: usize = 24;
/// Longest content of a frame; a greater length is damage.
pub(super) const MAX_CONTENT: usize = 256 << 20;

/// What the frames of one file begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker(pub(super) [u8; 8]);

impl Marker {
    /// A marker for one file.
    pub(crate) fn random() -> Self {
        Self::of(Uuid::new_v4())
    }

    fn of(random: Uuid) -> Self {
        let (one, other) = random.as_u64_pair();
        // A version 4 id has its fixed bits in the middle.
        Self((one.rotate_left(32) ^ other).to_le_bytes())
    }
}

/// The header of a file of frames.
pub(crate) fn file_header(marker: Marker) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    let (start, other) = header.split_at_mut(SECOND_COPY);
    let one = &mut start[..HEADER_COPY];
    one[..8].copy_from_slice(MAGIC);
    one[8..16].copy_from_slice(&marker.0);
    let checksum = crc32fast::hash(&one[..HEADER_COPY - 4]);
    one[HEADER_COPY - 4..].copy_from_slice(&checksum.to_le_bytes());
    other.copy_from_slice(one);
    header
}

/// The marker in the first bytes of a file; None if neither copy of its header is whole.
pub(super) fn marker_of(start: &[u8]) -> Option<Marker> {
    let copies = [0, SECOND_COPY].into_iter();
    let copies = copies.filter_map(|at| start.get(at..at + HEADER_COPY));
    copies.filter_map(marker_in).next()
}

/// The marker in a copy of the file header; None if the copy is not whole.
fn marker_in(copy: &[u8]) -> Option<Marker> {
    let (content, checksum) = copy.split_last_chunk()?;
    let is_whole = content.starts_with(MAGIC)
        && content[16..].iter().all(|byte| *byte == 0)
        && crc32fast::hash(content) == u32::from_le_bytes(*checksum);
    is_whole.then(|| content[8..].first_chunk().map(|marker| Marker(*marker)))?
}

/// Appends one frame to `out`; `content` writes the frame's content.
pub(crate) fn frame(
    out: &mut Vec<u8>,
    marker: Marker,
    ordinal: u32,
    content: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER]);
    content(out);
    let (header, bytes) = out[start..].split_at_mut(FRAME_HEADER);
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    header[..8].copy_from_slice(&marker.0);
    header[8..12].copy_from_slice(&ordinal.to_le_bytes());
    header[12..16].copy_from_slice(&length.to_le_bytes());
    header[16..20].copy_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    let checksum = crc32fast::hash(&header[..20]);
    header[20..].copy_from_slice(&checksum.to_le_bytes());
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) marker: Marker,
    pub(super) ordinal: u32,
    pub(super) length: u32,
    pub(super) checksum: u32,
}

impl FrameHeader {
    /// None if the bytes are not the whole header of a frame.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; FRAME_HEADER] = bytes.first_chunk()?;
        let number = |at: usize| {
            let four = bytes[at..].first_chunk().copied();
            u32::from_le_bytes(four.unwrap_or_default())
        };
        let header = Self {
            marker: Marker(*bytes.first_chunk()?),
            ordinal: number(8),
            length: number(12),
            checksum: number(16),
        };
        let is_whole =
            crc32fast::hash(&bytes[..20]) == number(20) && header.length as usize <= MAX_CONTENT;
        is_whole.then_some(header)
    }
}
