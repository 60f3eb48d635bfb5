//! Reads a file of frames in order and goes on behind damage: whatever is wrong with some bytes costs the frames
//! that they are part of, and no other. A sector that the disk cannot read any more counts as such bytes.

use super::cipher::FileCipher;
use super::file_format::Format;
use super::first_format::{self, Origins};
use super::format::{FRAME_HEADER, FrameHeader, HEADER, Marker, header_of};
use super::keyring::{Keyring, MissingKey};
use super::window::{WINDOW, Window};
use crate::spool::chain_file::known_gateways;
use crate::spool::disk;
use memchr::memmem;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes that are checked for each byte searched in a file of the first format, whose frames cannot be told from
/// their content for certain.
pub(super) const MAX_CHECKED: u64 = 16;

/// A whole frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The number of frames before it; None behind damage in a file of the first format.
    pub(crate) ordinal: Option<u32>,
    pub(crate) content: Vec<u8>,
    /// Its place in the file.
    pub(crate) place: Range<u64>,
}

/// The header of a frame of either format.
enum AnyHeader {
    First { length: u32, checksum: u32 },
    Marked(FrameHeader),
}

/// What a reader finds next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextFrame {
    Whole(Frame),
    /// Bytes that are no frame; the next whole frame begins behind them, or the end is there.
    Damaged(Range<u64>),
    /// The beginning of a frame whose rest was never written, at this offset. Nothing follows.
    Torn(u64),
    /// The end of the readable bytes; more may be appended later.
    End,
}

/// Whether a file begins as the spool's files of any version do.
pub(crate) fn names_a_format(path: &Path) -> io::Result<bool> {
    let mut source = Window::new(disk::open(path)?);
    let end = source.file_length()?;
    let start = source.bytes(0, HEADER as usize, end)?;
    Ok(memmem::find(start, b"MONSPL").is_some())
}

/// Reads the frames of one file in order.
pub(crate) struct FrameReader {
    path: PathBuf,
    pub(super) source: Window,
    pub(super) format: Format,
    /// Decrypts the contents; without it they are given as they are on disk.
    pub(super) cipher: Option<FileCipher>,
    offset: u64,
    /// Behind the header of the frame before. In a sector that lies in a wrong place a frame may have an end by chance.
    may_overlap: u64,
    /// Counts the frames of a file that does not number them; None behind damage.
    count: Option<u32>,
    /// For frames without a marker; what the folder tells is read at the first damage.
    origins: Option<Origins>,
}

impl FrameReader {
    /// Opens a file of frames; `InvalidData` if it is none, [`MissingKey`] if its key is not there.
    pub(crate) fn open(path: &Path, keys: &Keyring) -> io::Result<Self> {
        let mut reader = Self::open_with(path, keys)?;
        if let Format::Marked { marker, key } = reader.format
            && let Some(id) = key
        {
            let cipher = keys.find(id).and_then(|key| FileCipher::new(key, marker.0));
            reader.cipher = Some(cipher.ok_or_else(|| MissingKey::error(path, id))?);
        }
        Ok(reader)
    }

    /// Opens a file of frames to count them: contents that are encrypted are not decrypted.
    pub(crate) fn open_sealed(path: &Path) -> io::Result<Self> {
        Self::open_with(path, &Keyring::default())
    }

    /// Opens a file of frames and continues behind the first `ordinal` frames, at `offset`; 0 is the beginning.
    pub(crate) fn open_at(
        path: &Path,
        keys: &Keyring,
        offset: u64,
        ordinal: u32,
    ) -> io::Result<Self> {
        let mut reader = Self::open(path, keys)?;
        if offset > reader.offset {
            reader.offset = offset;
            reader.count = Some(ordinal);
        }
        Ok(reader)
    }

    fn open_with(path: &Path, keys: &Keyring) -> io::Result<Self> {
        let mut reader = Self {
            path: path.into(),
            source: Window::new(disk::open(path)?),
            format: Format::Empty,
            cipher: None,
            offset: 0,
            may_overlap: u64::MAX,
            count: Some(0),
            origins: None,
        };
        let end = reader.length()?;
        let format = reader.detect(keys, end)?;
        reader.format = format.ok_or(io::ErrorKind::InvalidData)?;
        reader.offset = reader.format.header();
        Ok(reader)
    }

    /// Whether a file that is longer than its header holds nothing but zeros: it had grown before its bytes came, or
    /// they are lost.
    pub(crate) fn is_blank(&self) -> io::Result<bool> {
        Ok(self.format == Format::Empty && self.length()? > HEADER)
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// The offset at which the next frame begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The file's current length in bytes.
    pub(crate) fn length(&self) -> io::Result<u64> {
        self.source.file_length()
    }

    /// Whether nothing but zeros is there: a write that never came, or a lost sector.
    pub(crate) fn check_blank(&mut self, at: u64, end: u64) -> io::Result<bool> {
        Ok(!self.source.find_content(at, end)?)
    }

    /// Whether no later frame tells how many were in these damaged bytes: it was one at least.
    pub(crate) fn is_uncounted(&self, damaged: &Range<u64>, end: u64) -> bool {
        damaged.end == end || !self.format.has_ordinals()
    }

    /// Reads on within the first `end` bytes of the file.
    pub(crate) fn next(&mut self, end: u64) -> io::Result<NextFrame> {
        if self.offset >= end {
            return Ok(NextFrame::End);
        }
        let Some(frame) = self.frame_at(self.offset, end)? else {
            return self.skip(end);
        };
        if self.format == Format::First && self.count.is_some() {
            self.origins()?.learn(&frame.content);
        }
        self.offset = frame.place.end;
        self.may_overlap = frame.place.start + FRAME_HEADER as u64;
        self.count = self.count.map(|count| count.saturating_add(1));
        Ok(NextFrame::Whole(frame))
    }

    /// The gateways whose frames are certain.
    pub(super) fn origins(&mut self) -> io::Result<&mut Origins> {
        let origins = match self.origins.take() {
            Some(origins) => origins,
            None => Origins::new(known_gateways(&self.path)?),
        };
        Ok(self.origins.insert(origins))
    }

    /// Moves behind bytes that are no frame.
    fn skip(&mut self, end: u64) -> io::Result<NextFrame> {
        let start = self.offset;
        let overlapped = std::mem::replace(&mut self.may_overlap, u64::MAX);
        let found = match self.format {
            Format::Empty => None,
            Format::First => self.find_likely(start + 1, end)?,
            Format::Marked { marker, .. } => {
                self.find_marked(marker, overlapped.min(start + 1), end)?
            }
        };
        self.count = None;
        self.offset = found.unwrap_or(end);
        if self.offset < start {
            return self.next(end);
        }
        match found.is_none() && self.check_torn(start, end)? {
            true => Ok(NextFrame::Torn(start)),
            false => Ok(NextFrame::Damaged(start..self.offset)),
        }
    }

    // --- Frames ---

    /// The whole frame at an offset, if there is one: its content has the checksum of its header and can be decrypted.
    pub(super) fn frame_at(&mut self, at: u64, end: u64) -> io::Result<Option<Frame>> {
        let Some(header) = self.header_at(at, end)? else {
            return Ok(None);
        };
        let (start, length) = match &header {
            AnyHeader::First { length, .. } => (first_format::FRAME_HEADER, *length),
            AnyHeader::Marked(header) => (FRAME_HEADER, header.length),
        };
        let start = at + start as u64;
        let place = at..start + u64::from(length);
        if place.end > end {
            return Ok(None);
        }
        let content = self.source.read(start, length as usize, end)?;
        Ok(self.frame_of(header, content, place))
    }

    /// The header at an offset, if it is one of this file's.
    fn header_at(&mut self, at: u64, end: u64) -> io::Result<Option<AnyHeader>> {
        Ok(match self.format {
            Format::Empty => None,
            Format::First => self
                .first_header(at, end)?
                .map(|(length, checksum)| AnyHeader::First { length, checksum }),
            Format::Marked { marker, key } => self
                .header(at, end)?
                .filter(|header| header.marker == marker && header.is_sealed == key.is_some())
                .map(AnyHeader::Marked),
        })
    }

    fn frame_of(&self, header: AnyHeader, content: Vec<u8>, place: Range<u64>) -> Option<Frame> {
        let (is_whole, ordinal) = match &header {
            AnyHeader::First { length, checksum } => (
                *checksum == first_format::checksum(*length, &content),
                self.count,
            ),
            AnyHeader::Marked(header) => (
                header.checksum == crc32fast::hash(&content),
                Some(header.ordinal),
            ),
        };
        let content = match header {
            _ if !is_whole => return None,
            AnyHeader::First { .. } => content,
            AnyHeader::Marked(header) => self.decrypted(header, content)?,
        };
        Some(Frame {
            ordinal,
            content,
            place,
        })
    }

    /// The content of a frame; None if it is not what was encrypted for this frame.
    fn decrypted(&self, header: FrameHeader, content: Vec<u8>) -> Option<Vec<u8>> {
        match &self.cipher {
            Some(cipher) => cipher.open(header.identity(), content),
            None => Some(content),
        }
    }

    pub(super) fn header(&mut self, at: u64, end: u64) -> io::Result<Option<FrameHeader>> {
        Ok(FrameHeader::parse(self.source.bytes(
            at,
            FRAME_HEADER,
            end,
        )?))
    }

    fn first_header(&mut self, at: u64, end: u64) -> io::Result<Option<(u32, u32)>> {
        let bytes = self.source.bytes(at, first_format::FRAME_HEADER, end)?;
        Ok(first_format::parse(bytes))
    }

    // --- Behind damage ---

    /// The first whole frame with this marker from `from` on.
    fn find_marked(&mut self, marker: Marker, from: u64, end: u64) -> io::Result<Option<u64>> {
        let mut from = from;
        while from + FRAME_HEADER as u64 <= end {
            let searched = self.source.bytes(from, WINDOW, end)?;
            let length = searched.len();
            let found: Vec<usize> = memmem::find_iter(searched, &marker.0).collect();
            for index in found {
                let at = from + index as u64;
                if self.frame_at(at, end)?.is_some() {
                    return Ok(Some(at));
                }
            }
            if length < FRAME_HEADER {
                break;
            }
            // A marker may begin in the last bytes.
            from += (length - FRAME_HEADER) as u64 + 1;
        }
        Ok(None)
    }

    /// The first whole frame of the first format from `from` on, as far as one can tell.
    pub(super) fn find_likely(&mut self, from: u64, end: u64) -> io::Result<Option<u64>> {
        let mut budget = MAX_CHECKED * (end - from.min(end)) + WINDOW as u64;
        let mut from = from;
        while from + first_format::PROBE as u64 <= end {
            let searched = self.source.bytes(from, WINDOW, end)?;
            let length = searched.len();
            let probes = searched.windows(first_format::PROBE).enumerate();
            let likely = probes.filter(|(_, probe)| first_format::may_begin(probe));
            let found: Vec<usize> = likely.map(|(index, _)| index).collect();
            for index in found {
                let at = from + index as u64;
                let header = self.first_header(at, end)?;
                let cost = header.map_or(0, |(length, _)| u64::from(length));
                if at + cost <= end {
                    let Some(left) = budget.checked_sub(cost) else {
                        return Ok(None);
                    };
                    budget = left;
                    if let Some(frame) = self.frame_at(at, end)? {
                        let origins = self.origins()?;
                        if origins.is_unknown() || origins.include(&frame.content) {
                            return Ok(Some(at));
                        }
                    }
                }
            }
            if length < first_format::PROBE {
                break;
            }
            from += (length - first_format::PROBE) as u64 + 1;
        }
        Ok(None)
    }

    /// Reads the bytes at the end again; whether an interrupted write may have left them: the beginning of a frame,
    /// or zeros where the file had grown already.
    fn check_torn(&mut self, start: u64, end: u64) -> io::Result<bool> {
        let is_beginning = match self.format {
            Format::Empty => true,
            Format::First => match self.first_header(start, end)? {
                Some((length, _)) => {
                    start + first_format::FRAME_HEADER as u64 + u64::from(length) > end
                        && !self.check_without_length(start, end)?
                }
                None => end - start < first_format::FRAME_HEADER as u64,
            },
            Format::Marked { marker, .. } => match self.header(start, end)? {
                Some(header) => {
                    let length = FRAME_HEADER as u64 + u64::from(header.length);
                    header.marker == marker && start + length > end
                }
                None if end - start < FRAME_HEADER as u64 => {
                    let bytes = self.source.bytes(start, marker.0.len(), end)?;
                    marker.0.starts_with(bytes)
                }
                None => false,
            },
        };
        Ok(is_beginning || !self.source.find_content(start, end)?)
    }

    /// Whether the rest of a file of the first format is a whole frame but for its length.
    fn check_without_length(&mut self, start: u64, end: u64) -> io::Result<bool> {
        let from = start + first_format::FRAME_HEADER as u64;
        let length = u32::try_from(end.saturating_sub(from)).unwrap_or(u32::MAX);
        let content = self.source.read(from, length as usize, end)?;
        let header = self.first_header(start, end)?;
        let expected = first_format::checksum(length, &content);
        Ok(header.is_some_and(|(_, checksum)| checksum == expected))
    }

    // --- The beginning ---

    /// The format of the file; None if it is not a file of frames.
    fn detect(&mut self, keys: &Keyring, end: u64) -> io::Result<Option<Format>> {
        let start = self.source.bytes(0, HEADER as usize, end)?.to_vec();
        if start.starts_with(first_format::MAGIC) {
            return Ok(Some(Format::First));
        }
        if let Some(header) = header_of(&start) {
            return Ok(Some(match start.len() < HEADER as usize {
                true => Format::Empty,
                false => header.into(),
            }));
        }
        let magic = &start[..start.len().min(super::format::MAGIC.len())];
        let known = [super::format::MAGIC, first_format::MAGIC];
        let is_beginning = known.iter().any(|known| known.starts_with(magic));
        let is_short = start.len() < HEADER as usize;
        // Where the file had grown before its bytes came, they are zeros.
        if is_short && is_beginning || !self.source.find_content(0, end)? {
            return Ok(Some(Format::Empty));
        }
        self.detect_by_frames(keys, end)
    }
}
