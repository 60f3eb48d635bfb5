//! Writes the frames of one file, encrypted if the spool has a key.

use super::cipher::{FileCipher, OVERHEAD};
use super::format::{self, FRAME_HEADER, FrameHeader, HEADER, Marker};
use super::keyring::{KeyId, Keyring};
use std::io;
use std::sync::Arc;

/// Bytes before an encrypted text, and behind it.
const BEFORE: usize = 12;
const BEHIND: usize = OVERHEAD - BEFORE;

/// Writes the frames of one file.
#[derive(Clone)]
pub(crate) struct FrameWriter {
    marker: Marker,
    seal: Option<Arc<Seal>>,
}

struct Seal {
    key: KeyId,
    cipher: FileCipher,
}

impl FrameWriter {
    /// For a new file.
    pub(crate) fn new(keys: &Keyring) -> Self {
        Self::resume(Marker::random(), keys)
    }

    /// For the file with this marker, which was begun with the current key.
    pub(crate) fn resume(marker: Marker, keys: &Keyring) -> Self {
        let seal = keys.current().and_then(|key| {
            let cipher = FileCipher::new(key, marker.0)?;
            Some(Arc::new(Seal {
                key: key.id(),
                cipher,
            }))
        });
        Self { marker, seal }
    }

    /// The header of the file.
    pub(crate) fn header(&self) -> [u8; HEADER as usize] {
        format::file_header(self.marker, self.seal.as_ref().map(|seal| seal.key))
    }

    /// Bytes of a frame around its content.
    pub(crate) fn overhead(&self) -> usize {
        FRAME_HEADER + self.seal.as_ref().map_or(0, |_| OVERHEAD)
    }

    /// Appends a frame; `content` writes what is in it.
    pub(crate) fn frame(
        &self,
        out: &mut Vec<u8>,
        ordinal: u32,
        content: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let start = out.len();
        self.draft(out, ordinal, content);
        self.finish(&mut out[start..]).map(drop)
    }

    /// The header of a frame that is not encrypted, to be written before its content; None if frames are encrypted.
    pub(crate) fn plain_header(&self, ordinal: u32, content: &[u8]) -> Option<[u8; FRAME_HEADER]> {
        if self.seal.is_some() {
            return None;
        }
        let header = FrameHeader {
            marker: self.marker,
            ordinal,
            length: u32::try_from(content.len()).unwrap_or(u32::MAX),
            is_sealed: false,
            checksum: crc32fast::hash(content),
        };
        Some(header.bytes())
    }

    /// Appends a frame of its final length. An encrypted file needs [`FrameWriter::finish`] before it is written, so
    /// that the request path neither encrypts nor computes checksums.
    pub(crate) fn draft(
        &self,
        out: &mut Vec<u8>,
        ordinal: u32,
        content: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.seal.is_none() {
            return format::frame(out, self.marker, ordinal, content);
        }
        let start = out.len();
        out.extend_from_slice(&[0; FRAME_HEADER + BEFORE]);
        content(out);
        out.extend_from_slice(&[0; BEHIND]);
        let length = out.len() - start - FRAME_HEADER;
        let header = FrameHeader {
            marker: self.marker,
            ordinal,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            is_sealed: true,
            checksum: 0,
        };
        out[start..start + FRAME_HEADER].copy_from_slice(&header.bytes());
    }

    /// Encrypts the draft at the beginning of these bytes and gives its length. Drafts of a file that is not encrypted
    /// are frames already.
    pub(crate) fn finish(&self, draft: &mut [u8]) -> io::Result<usize> {
        let Some(seal) = &self.seal else {
            return Ok(draft.len());
        };
        let wrong = || io::Error::other("a record cannot be encrypted");
        let (bytes, rest) = draft.split_at_mut_checked(FRAME_HEADER).ok_or_else(wrong)?;
        let mut header = FrameHeader::parse(bytes).ok_or_else(wrong)?;
        let content = rest.get_mut(..header.length as usize).ok_or_else(wrong)?;
        let sealed = seal.cipher.seal(header.identity(), content);
        sealed.map_err(|_| wrong())?;
        header.checksum = crc32fast::hash(content);
        bytes.copy_from_slice(&header.bytes());
        Ok(FRAME_HEADER + content.len())
    }
}
