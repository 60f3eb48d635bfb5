//! How a request body is compressed, by its `Content-Encoding`, and its bytes decoded within bounds.
//!
//! Two readers of one body must not read two texts, so a coding is read to the letter and to its last byte: nothing
//! may stand behind it, `deflate` is zlib (RFC 9110 8.4.1.2), and no window is larger than the coding's standard says.

use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::{self, Read};

/// The largest compression ratio; text does not compress further.
const LARGEST_RATIO: usize = 200;
/// How well JSON compresses, as a rule.
const TYPICAL_RATIO: usize = 8;
/// A body may expand to this size whatever its ratio.
const ALWAYS_ALLOWED: usize = 64 << 10;
/// The standard of zstd over HTTP (RFC 9659) allows a window of 8 MiB.
const ZSTD_WINDOW_BITS: u32 = 23;
/// How a brotli stream begins whose window is larger than the standard allows (RFC 7932 9.1).
const BROTLI_LARGE_WINDOW: u8 = 0x11;

/// Decoded at a time where only the size is of interest.
const SCRATCH: usize = 64 << 10;

/// A coding of request bodies that is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// A coding that is not decoded, or several on top of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownCoding;

/// Why a compressed body is not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undecodable {
    /// It is not what `Content-Encoding` says, or not all of it.
    Malformed(Coding),
    /// It is larger than the limit once it is decoded.
    TooLarge,
    /// It expands further than any text does.
    Expands,
}

impl Coding {
    const ALL: [Self; 4] = [Self::Gzip, Self::Deflate, Self::Brotli, Self::Zstd];

    /// The coding of a body, None for none.
    ///
    /// # Errors
    /// [`UnknownCoding`] for one that is not decoded, and for several.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, UnknownCoding> {
        let values = headers.get_all(CONTENT_ENCODING).iter();
        let names = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        let mut found = None;
        for name in names.map(<[u8]>::trim_ascii) {
            if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
                continue;
            }
            let coding = Self::named(name).ok_or(UnknownCoding)?;
            if found.replace(coding).is_some() {
                return Err(UnknownCoding);
            }
        }
        Ok(found)
    }

    /// As `Content-Encoding` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// What a decoder keeps of the text behind it, at most, for a body of this encoded size.
    pub(crate) fn window(self, encoded: usize) -> usize {
        let largest = match self {
            Self::Gzip | Self::Deflate => 64 << 10,
            Self::Brotli => 16 << 20,
            Self::Zstd => 1 << ZSTD_WINDOW_BITS,
        };
        largest.min(largest_text(encoded))
    }

    /// The decoded size that a body names, with which its buffer need not grow. A body that names more than it has is
    /// malformed; one that names less, because it has several members, is decoded all the same.
    fn announced(self, encoded: &[u8]) -> Option<usize> {
        match self {
            Self::Gzip => {
                let size = encoded.last_chunk::<4>()?;
                usize::try_from(u32::from_le_bytes(*size)).ok()
            }
            Self::Zstd => {
                let size = zstd::zstd_safe::get_frame_content_size(encoded).ok()??;
                usize::try_from(size).ok()
            }
            Self::Deflate | Self::Brotli => None,
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"x-gzip") {
            return Some(Self::Gzip);
        }
        let is = |coding: &Self| name.eq_ignore_ascii_case(coding.name().as_bytes());
        Self::ALL.into_iter().find(is)
    }
}

/// What one body may become.
#[derive(Clone, Copy)]
struct Bounds {
    /// The largest size, whatever its ratio.
    bytes: usize,
    of_ratio: usize,
}

impl Bounds {
    fn new(encoded: usize, limit: u64) -> Self {
        Self {
            bytes: usize::try_from(limit).unwrap_or(usize::MAX),
            of_ratio: largest_text(encoded),
        }
    }

    fn check(self, decoded: usize) -> Result<(), Undecodable> {
        match decoded {
            _ if decoded > self.bytes => Err(Undecodable::TooLarge),
            _ if decoded > self.of_ratio => Err(Undecodable::Expands),
            _ => Ok(()),
        }
    }
}

/// The largest size that a body of this encoded size may have once it is decoded.
fn largest_text(encoded: usize) -> usize {
    encoded.saturating_mul(LARGEST_RATIO).max(ALWAYS_ALLOWED)
}

/// A body that is being decoded.
pub(crate) struct Decoding<'a> {
    coding: Coding,
    encoded: Input<'a>,
    bounds: Bounds,
    /// The size that it names, if it may have it.
    announced: Option<usize>,
    reader: Reader<'a>,
    text: Vec<u8>,
}

type Input<'a> = &'a [u8];

enum Reader<'a> {
    Gzip(flate2::bufread::MultiGzDecoder<Input<'a>>),
    Zlib(flate2::bufread::ZlibDecoder<Input<'a>>),
    Brotli(Box<brotli::Decompressor<Input<'a>>>),
    Zstd(zstd::stream::read::Decoder<'static, Input<'a>>),
}

impl<'a> Decoding<'a> {
    /// Of a body that may have `limit` bytes once it is decoded.
    ///
    /// # Errors
    /// [`Undecodable::Malformed`] where its beginning shows it.
    pub(crate) fn new(coding: Coding, encoded: &'a [u8], limit: u64) -> Result<Self, Undecodable> {
        let bounds = Bounds::new(encoded.len(), limit);
        let announced = coding.announced(encoded);
        Ok(Self {
            coding,
            encoded,
            bounds,
            announced: announced.filter(|bytes| bounds.check(*bytes).is_ok()),
            reader: Reader::new(coding, encoded)?,
            text: Vec::new(),
        })
    }

    /// How many bytes the next step should decode: all, so that the buffer has its size from the beginning. Whoever
    /// lets it grow leaves behind many buffers, which the allocator keeps for a while. A body that does not name its
    /// size is decoded once before, to learn it.
    ///
    /// # Errors
    /// When it is not a whole body of this coding, or larger than it may be.
    pub(crate) fn next_step(&self) -> Result<usize, Undecodable> {
        let bytes = match self.announced {
            Some(bytes) if self.text.is_empty() => bytes,
            // It names none or too large a one, or has several members.
            _ => self.measure()?,
        };
        // The end shows where a byte more is asked for.
        Ok(bytes.saturating_sub(self.text.len()) + 1)
    }

    /// About what a text of JSON has that is compressed like this: the work of a step whose size is not known.
    pub(crate) fn typical_text(&self) -> usize {
        self.encoded.len().saturating_mul(TYPICAL_RATIO)
    }

    fn measure(&self) -> Result<usize, Undecodable> {
        let mut reader = Reader::new(self.coding, self.encoded)?;
        let (mut scratch, mut bytes) = (vec![0; SCRATCH], 0);
        loop {
            let read = reader.read().read(&mut scratch);
            match read.map_err(|_| Undecodable::Malformed(self.coding))? {
                0 => return Ok(bytes),
                read => bytes += read,
            }
            self.bounds.check(bytes)?;
        }
    }

    /// How many bytes are decoded.
    pub(crate) fn decoded(&self) -> usize {
        self.text.len()
    }

    /// Decodes `bytes` more, or what is left; true at the end.
    ///
    /// # Errors
    /// When it is not a whole body of this coding, or larger than it may be.
    pub(crate) fn step(&mut self, bytes: usize) -> Result<bool, Undecodable> {
        let before = self.text.len();
        self.text.reserve_exact(bytes);
        let reader = self.reader.read();
        let read = reader.take(bytes as u64).read_to_end(&mut self.text);
        let is_at_end = read.is_ok() && self.text.len() - before < bytes;
        self.bounds.check(self.text.len())?;
        match read {
            Ok(_) if !is_at_end => Ok(false),
            Ok(_) if self.confirm_end() => Ok(true),
            _ => Err(Undecodable::Malformed(self.coding)),
        }
    }

    /// What was decoded.
    pub(crate) fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// Whether nothing stands behind the end. The reader of brotli tells only when it is asked again there.
    fn confirm_end(&mut self) -> bool {
        matches!(self.reader.read().read(&mut [0]), Ok(0)) && self.reader.unread().is_empty()
    }
}

impl<'a> Reader<'a> {
    fn new(coding: Coding, encoded: Input<'a>) -> Result<Self, Undecodable> {
        let malformed = |_: io::Error| Undecodable::Malformed(coding);
        Ok(match coding {
            Coding::Gzip => Self::Gzip(flate2::bufread::MultiGzDecoder::new(encoded)),
            Coding::Deflate => Self::Zlib(flate2::bufread::ZlibDecoder::new(encoded)),
            Coding::Brotli => {
                if encoded
                    .first()
                    .is_some_and(|first| first & 0x7f == BROTLI_LARGE_WINDOW)
                {
                    return Err(Undecodable::Malformed(coding));
                }
                Self::Brotli(Box::new(brotli::Decompressor::new(encoded, 4096)))
            }
            Coding::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(encoded);
                let mut decoder = decoder.map_err(malformed)?;
                decoder
                    .window_log_max(ZSTD_WINDOW_BITS)
                    .map_err(malformed)?;
                Self::Zstd(decoder)
            }
        })
    }

    fn read(&mut self) -> &mut dyn Read {
        match self {
            Self::Gzip(reader) => reader,
            Self::Zlib(reader) => reader,
            Self::Brotli(reader) => reader,
            Self::Zstd(reader) => reader,
        }
    }

    /// What was not read.
    fn unread(&self) -> &[u8] {
        match self {
            Self::Gzip(reader) => reader.get_ref(),
            Self::Zlib(reader) => reader.get_ref(),
            Self::Brotli(reader) => reader.get_ref(),
            Self::Zstd(reader) => reader.get_ref(),
        }
    }
}

#[cfg(test)]
mod tests;
