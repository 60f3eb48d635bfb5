//! A file of frames both copies of whose header are lost: more of it is gone than any one sector. Its frames tell how
//! to read it, as far as one of them is certain: a text may hold whole frames with a marker of its own.

use super::cipher::FileCipher;
use super::file_format::Format;
use super::format::{FRAME_HEADER, FrameHeader, HEADER, Marker};
use super::keyring::Keyring;
use super::reader::{FrameReader, MAX_CHECKED};
use super::window::WINDOW;
use std::io;

impl FrameReader {
    /// The format of the file by its frames; None if none of them is certain.
    pub(super) fn detect_by_frames(
        &mut self,
        keys: &Keyring,
        end: u64,
    ) -> io::Result<Option<Format>> {
        // No text begins where the first frame does.
        let marked = match self.header(HEADER, end)? {
            Some(header) if header.is_sealed => {
                let format = self.decrypting(header.marker, HEADER, keys, end)?;
                if format.is_some() {
                    return Ok(format);
                }
                None
            }
            header => header.map(|header| clear(header.marker)),
        };
        for format in marked.into_iter().chain([Format::First]) {
            self.format = format;
            if self.frame_at(format.header(), end)?.is_some() {
                return Ok(Some(format));
            }
        }
        if let Some(format) = self.find_marked_format(keys, end)? {
            return Ok(Some(format));
        }
        if self.origins()?.is_unknown() {
            return Ok(None);
        }
        self.format = Format::First;
        let found = self.find_likely(0, end)?;
        Ok(found.map(|_| Format::First))
    }

    /// The format by the first whole frame that a key decrypts, or whose record names a gateway of this spool.
    fn find_marked_format(&mut self, keys: &Keyring, end: u64) -> io::Result<Option<Format>> {
        let mut budget = MAX_CHECKED * end + WINDOW as u64;
        let mut from = 0;
        while from + FRAME_HEADER as u64 <= end {
            let searched = self.source.bytes(from, WINDOW, end)?;
            let length = searched.len();
            let headers = searched.windows(FRAME_HEADER).enumerate();
            let found: Vec<_> = headers
                .filter_map(|(index, bytes)| Some((index, FrameHeader::parse(bytes)?)))
                .collect();
            for (index, header) in found {
                let Some(left) = budget.checked_sub(header.length.into()) else {
                    return Ok(None);
                };
                budget = left;
                let (at, marker) = (from + index as u64, header.marker);
                let found = match header.is_sealed {
                    true => self.decrypting(marker, at, keys, end)?,
                    false => self.naming_a_gateway(marker, at, end)?,
                };
                if found.is_some() {
                    return Ok(found);
                }
            }
            if length < FRAME_HEADER {
                break;
            }
            from += (length - FRAME_HEADER) as u64 + 1;
        }
        Ok(None)
    }

    /// The format with this marker if the record of the frame at an offset names a gateway of this spool.
    fn naming_a_gateway(
        &mut self,
        marker: Marker,
        at: u64,
        end: u64,
    ) -> io::Result<Option<Format>> {
        self.format = clear(marker);
        let frame = self.frame_at(at, end)?;
        let origins = self.origins()?;
        let is_certain = frame.is_some_and(|frame| origins.include(&frame.content));
        Ok(is_certain.then_some(self.format))
    }

    /// The format with this marker and the key that decrypts the frame at an offset: nobody else made that frame.
    fn decrypting(
        &mut self,
        marker: Marker,
        at: u64,
        keys: &Keyring,
        end: u64,
    ) -> io::Result<Option<Format>> {
        let mut found = None;
        for key in keys.all() {
            let id = Some(key.id());
            self.format = Format::Marked { marker, key: id };
            self.cipher = FileCipher::new(key, marker.0);
            if self.frame_at(at, end)?.is_some() {
                found = Some(self.format);
                break;
            }
        }
        self.cipher = None;
        Ok(found)
    }
}

fn clear(marker: Marker) -> Format {
    Format::Marked { marker, key: None }
}
