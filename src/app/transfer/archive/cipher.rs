//! Encrypts an archive in pieces, so that neither side holds it in memory (AES-256-GCM, the construction STREAM):
//!
//! ```text
//! header:  MONBAK01  id of the key[8]  salt[32]
//! key:     HKDF-SHA256(salt, the key of the file, info: "monitor backup 1")
//! piece:   encrypted[≤ 64 KiB]  tag[16]; nonce: the piece's number[11], 1 for the last piece and else 0
//! authenticated with each piece: the header
//! ```
//!
//! No piece can be changed, moved, left out or cut off at the end: an archive that was cut ends with a piece that was
//! not sealed as the last one.

use crate::config::key_file::{FileKey, KeyId};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use std::io::{self, ErrorKind, Read, Write};

pub(in crate::app::transfer) const MAGIC: &[u8; 8] = b"MONBAK01";
const ID: usize = 8;
const SALT: usize = 32;
const HEADER: usize = MAGIC.len() + ID + SALT;
/// Bytes of a piece before its tag.
const PIECE: usize = 64 * 1024;
const TAG: usize = 16;

type Header = [u8; HEADER];

/// The id of the key in a header.
pub(in crate::app::transfer) fn key_id(header: &[u8]) -> Option<KeyId> {
    let rest = header.strip_prefix(MAGIC)?;
    rest.first_chunk().copied().map(KeyId)
}

/// Seals and opens the pieces of one archive in order.
struct Pieces {
    key: LessSafeKey,
    header: Header,
    number: u64,
}

impl Pieces {
    fn new(key: &FileKey, header: Header) -> io::Result<Self> {
        let salt = &header[MAGIC.len() + ID..];
        let extracted = Salt::new(HKDF_SHA256, salt).extract(key.expose());
        let expanded = extracted.expand(&[b"monitor backup 1"], &AES_256_GCM);
        let derived = expanded.map_err(|_| io::Error::other("the key cannot be derived"))?;
        Ok(Self {
            key: LessSafeKey::new(UnboundKey::from(derived)),
            header,
            number: 0,
        })
    }

    /// The nonce of the next piece. Each number is used once with the archive's own key.
    fn nonce(&self, is_last: bool) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce[3..11].copy_from_slice(&self.number.to_be_bytes());
        nonce[11] = u8::from(is_last);
        Nonce::assume_unique_for_key(nonce)
    }

    fn seal(&mut self, piece: &mut Vec<u8>, is_last: bool) -> io::Result<()> {
        let nonce = self.nonce(is_last);
        let sealed = self
            .key
            .seal_in_place_append_tag(nonce, Aad::from(self.header), piece);
        self.number += 1;
        sealed.map_err(|_| io::Error::other("a piece cannot be encrypted"))
    }

    fn open(&mut self, piece: &mut Vec<u8>, is_last: bool) -> io::Result<()> {
        let nonce = self.nonce(is_last);
        let opened = self.key.open_in_place(nonce, Aad::from(self.header), piece);
        let length = opened.map(|text| text.len()).map_err(|_| {
            let text = "it is damaged or was cut off: it does not decrypt";
            io::Error::new(ErrorKind::InvalidData, text)
        })?;
        piece.truncate(length);
        self.number += 1;
        Ok(())
    }
}

/// Encrypts what is written.
pub(super) struct Sealing<W> {
    out: W,
    pieces: Pieces,
    piece: Vec<u8>,
}

impl<W: Write> Sealing<W> {
    /// Begins an archive.
    pub(super) fn begin(mut out: W, key: &FileKey) -> io::Result<Self> {
        let mut header: Header = [0; HEADER];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        header[MAGIC.len()..][..ID].copy_from_slice(&key.id().0);
        getrandom::fill(&mut header[MAGIC.len() + ID..])
            .map_err(|error| io::Error::other(error.to_string()))?;
        out.write_all(&header)?;
        Ok(Self {
            out,
            pieces: Pieces::new(key, header)?,
            piece: Vec::with_capacity(PIECE + TAG),
        })
    }

    /// Writes the last piece.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.pieces.seal(&mut self.piece, true)?;
        self.out.write_all(&self.piece)?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() == PIECE {
            self.pieces.seal(&mut self.piece, false)?;
            self.out.write_all(&self.piece)?;
            self.piece.clear();
        }
        let room = PIECE - self.piece.len();
        let taken = bytes.len().min(room);
        self.piece.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// A piece is written when it is full: its length is part of the format.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decrypts what is read.
pub(super) struct Opening<R> {
    source: R,
    pieces: Pieces,
    /// The piece that was opened, and how much of it was read.
    piece: Vec<u8>,
    read: usize,
    /// The next sealed piece: whether there is one tells whether the one before is the last.
    next: Vec<u8>,
    is_done: bool,
}

impl<R: Read> Opening<R> {
    /// Begins to read an archive, whose header the key has to fit.
    pub(super) fn begin(mut source: R, key: &FileKey) -> io::Result<Self> {
        let mut header: Header = [0; HEADER];
        source.read_exact(&mut header)?;
        let mut opening = Self {
            source,
            pieces: Pieces::new(key, header)?,
            piece: Vec::new(),
            read: 0,
            next: Vec::new(),
            is_done: false,
        };
        opening.next = opening.sealed()?;
        Ok(opening)
    }

    fn sealed(&mut self) -> io::Result<Vec<u8>> {
        let mut piece = Vec::with_capacity(PIECE + TAG);
        let limit = (PIECE + TAG) as u64;
        (&mut self.source).take(limit).read_to_end(&mut piece)?;
        Ok(piece)
    }

    fn advance(&mut self) -> io::Result<()> {
        let next = match self.next.len() {
            full if full == PIECE + TAG => self.sealed()?,
            _ => Vec::new(),
        };
        self.piece = std::mem::replace(&mut self.next, next);
        self.read = 0;
        self.is_done = self.next.is_empty();
        self.pieces.open(&mut self.piece, self.is_done)
    }
}

impl<R: Read> Read for Opening<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.piece.len() {
            if self.is_done {
                return Ok(0);
            }
            self.advance()?;
        }
        let rest = &self.piece[self.read..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}
