//! The bytes of a file of frames (integers are little-endian):
//!
//! ```text
//! file header:         "MONSPL02"  marker[8]  cipher[1]  0[3]  key id[8]  checksum of the 28 bytes before
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
//! client knows ([`crate::spool::chain_file::known_gateways`]), or which one of the keys decrypts.
//!
//! The cipher is 0, without a key id, in a file that is not encrypted, and 1 where [`super::cipher`] encrypts the
//! contents. The length of an encrypted content has its highest bit set. Versions that know no cipher take neither
//! the header nor the frames for valid: they set the file aside and keep it.

use super::cipher::{Identity, OVERHEAD};
use super::keyring::KeyId;
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
pub(crate) const MAX_CONTENT: usize = 256 << 20;
/// The bit of a length that says that the content is encrypted.
const SEALED: u32 = 1 << 31;
/// The cipher of [`super::cipher`].
const AES_256_GCM: u8 = 1;

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

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub(super) marker: Marker,
    /// None if the contents are not encrypted.
    pub(super) key: Option<KeyId>,
}

/// The header of a file of frames.
pub(super) fn file_header(marker: Marker, key: Option<KeyId>) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    let (start, other) = header.split_at_mut(SECOND_COPY);
    let one = &mut start[..HEADER_COPY];
    one[..8].copy_from_slice(MAGIC);
    one[8..16].copy_from_slice(&marker.0);
    if let Some(key) = key {
        one[16] = AES_256_GCM;
        one[20..28].copy_from_slice(&key.0);
    }
    let checksum = crc32fast::hash(&one[..HEADER_COPY - 4]);
    one[HEADER_COPY - 4..].copy_from_slice(&checksum.to_le_bytes());
    other.copy_from_slice(one);
    header
}

/// What the first bytes of a file say; None if neither copy of its header is whole.
pub(super) fn header_of(start: &[u8]) -> Option<FileHeader> {
    let copies = [0, SECOND_COPY].into_iter();
    let copies = copies.filter_map(|at| start.get(at..at + HEADER_COPY));
    copies.filter_map(read_header).next()
}

/// What a copy of the file header says; None if the copy is not whole.
fn read_header(copy: &[u8]) -> Option<FileHeader> {
    let (content, checksum) = copy.split_last_chunk()?;
    let is_whole =
        content.starts_with(MAGIC) && crc32fast::hash(content) == u32::from_le_bytes(*checksum);
    let key = match content.get(16..20)? {
        _ if !is_whole => return None,
        [0, 0, 0, 0] if content[20..].iter().all(|byte| *byte == 0) => None,
        [AES_256_GCM, 0, 0, 0] => Some(KeyId(*content[20..].first_chunk()?)),
        // A later version's.
        _ => return None,
    };
    let marker = Marker(*content[8..].first_chunk()?);
    Some(FileHeader { marker, key })
}

/// Appends one frame to `out`; `content` writes the frame's content.
pub(super) fn frame(
    out: &mut Vec<u8>,
    marker: Marker,
    ordinal: u32,
    content: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER]);
    content(out);
    let (place, bytes) = out[start..].split_at_mut(FRAME_HEADER);
    let header = FrameHeader {
        marker,
        ordinal,
        length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        is_sealed: false,
        checksum: crc32fast::hash(bytes),
    };
    place.copy_from_slice(&header.bytes());
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) marker: Marker,
    pub(super) ordinal: u32,
    /// Bytes of the content, as it is on disk.
    pub(super) length: u32,
    pub(super) is_sealed: bool,
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
            length: number(12) & !SEALED,
            is_sealed: number(12) & SEALED != 0,
            checksum: number(16),
        };
        let most = MAX_CONTENT + if header.is_sealed { OVERHEAD } else { 0 };
        let is_whole =
            crc32fast::hash(&bytes[..20]) == number(20) && header.length as usize <= most;
        is_whole.then_some(header)
    }

    pub(super) fn bytes(&self) -> [u8; FRAME_HEADER] {
        let mut bytes = [0; FRAME_HEADER];
        bytes[..16].copy_from_slice(&self.identity());
        bytes[16..20].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// What an encrypted content is bound to.
    pub(super) fn identity(&self) -> Identity {
        let mut identity = [0; 16];
        identity[..8].copy_from_slice(&self.marker.0);
        identity[8..12].copy_from_slice(&self.ordinal.to_le_bytes());
        let sealed = if self.is_sealed { SEALED } else { 0 };
        identity[12..].copy_from_slice(&(self.length | sealed).to_le_bytes());
        identity
    }
}
