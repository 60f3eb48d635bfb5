//! Files of versions up to 4.1: the header `MONSPL01`, then frames `length, checksum, content`. They are read and
//! never written, except for dead letters, which are appended to the file there is until it is full. Such frames
//! have no marker: behind damage, one is searched by the first bytes that a record or a dead letter begins with. A
//! client's text may look like such a frame, checksum and all, but cannot name the gateway in its record: see
//! [`Origins`].

use super::format::MAX_CONTENT;
use uuid::Uuid;

pub(super) const MAGIC: &[u8; 8] = b"MONSPL01";
/// Bytes before the first frame.
pub(super) const HEADER: u64 = MAGIC.len() as u64;
/// Bytes of a frame before its content: length and checksum.
pub(crate) const FRAME_HEADER: usize = 8;
/// Bytes examined at each offset where a frame may begin: its header and the start of its content.
pub(super) const PROBE: usize = FRAME_HEADER + 11;

/// The versions of entries that these files hold; see [`crate::spool::record_codec`].
const ENTRIES: std::ops::RangeInclusive<u8> = 1..=2;
/// The version of those whose records may have a sequence number.
const NUMBERED: u8 = 2;
/// Bytes of a dead letter before its entry: time and status.
const LETTER: usize = 10;

/// The length and the checksum of a frame's content; None if the bytes are not a frame's header.
pub(super) fn parse(bytes: &[u8]) -> Option<(u32, u32)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (length, checksum) = (u32::from_le_bytes(*length), rest.first_chunk()?);
    (length as usize <= MAX_CONTENT).then_some((length, u32::from_le_bytes(*checksum)))
}

/// CRC-32 of the length and the content. Covering the length makes a run of zeros invalid.
pub(super) fn checksum(length: u32, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}

/// Appends one frame to `out`.
pub(crate) fn frame(out: &mut Vec<u8>, content: &[u8]) {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&checksum(length, content).to_le_bytes());
    out.extend_from_slice(content);
}

/// Whether a frame may begin with these bytes, by its first content: an entry, or a dead letter with one.
pub(super) fn may_begin(probe: &[u8]) -> bool {
    let content = &probe[FRAME_HEADER..];
    let is_entry = ENTRIES.contains(&content[0]) && content[2] <= 1;
    is_entry || is_letter(content)
}

/// The gateway that gave the record in a frame its sequence number, read as a record and as a dead letter; nothing if
/// it has none. The id is random, and no client gets it.
fn origin(content: &[u8]) -> impl Iterator<Item = Uuid> {
    /// Bytes of an entry before the id: version, flags, and the byte that says that a number follows.
    const START: usize = 3;
    [0, LETTER].into_iter().filter_map(move |at| {
        let entry = content.get(at..at + START + 16)?;
        let is_numbered = entry[0] == NUMBERED && entry[2] == 1;
        Uuid::from_slice(entry.get(START..).filter(|_| is_numbered)?).ok()
    })
}

fn is_letter(content: &[u8]) -> bool {
    const LAST_MS: i64 = 1 << 46;
    let time = content.first_chunk().map(|time| i64::from_le_bytes(*time));
    time.is_some_and(|time| (0..LAST_MS).contains(&time))
        && u16::from_le_bytes([content[8], content[9]]) < 1_000
        && ENTRIES.contains(&content[LETTER])
}

/// Gateways whose records a file holds for certain.
#[derive(Debug, Default)]
pub(super) struct Origins(Vec<Uuid>);

impl Origins {
    const MAX: usize = 64;

    pub(super) fn new(known: Vec<Uuid>) -> Self {
        Self(known)
    }

    /// Learns from a frame whose place is certain.
    pub(super) fn learn(&mut self, content: &[u8]) {
        for gateway in origin(content) {
            if self.0.len() < Self::MAX && !self.0.contains(&gateway) {
                self.0.push(gateway);
            }
        }
    }

    /// Whether a frame that was found by its looks alone comes from one of them.
    pub(super) fn include(&self, content: &[u8]) -> bool {
        origin(content).any(|gateway| self.0.contains(&gateway))
    }

    /// Nothing is known, so that nothing can be told from it.
    pub(super) fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }
}
