//! How a request body is compressed, by its `Content-Encoding`, and its bytes decoded within bounds.
//!
//! Two readers of one body must not read two texts, so a coding is read to the letter and to its last byte: nothing
//! may stand behind it, `deflate` is zlib (RFC 9110 8.4.1.2), and no window is larger than the coding's standard says.

use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::{self, Read};

/// The largest compression ratio; text does not compress further.
const LARGEST_RATIO: usize = 200;
/// A body may expand to this size whatever its ratio.
const ALWAYS_ALLOWED: usize = 64 << 10;
/// The standard of zstd over HTTP (RFC 9659) allows a window of 8 MiB.
const ZSTD_WINDOW_BITS: u32 = 23;
/// How a brotli stream begins whose window is larger than the standard allows (RFC 7932 9.1).
const BROTLI_LARGE_WINDOW: u8 = 0x11;

/// Decoded at a time; larger bodies take larger steps.
const SMALLEST_STEP: usize = 256 << 10;
const LARGEST_STEP: usize = 4 << 20;
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
        let malformed = |_: io::Error| Undecodable::Malformed(coding);
        let reader = match coding {
            Coding::Gzip => Reader::Gzip(flate2::bufread::MultiGzDecoder::new(encoded)),
            Coding::Deflate => Reader::Zlib(flate2::bufread::ZlibDecoder::new(encoded)),
            Coding::Brotli => {
                if encoded
                    .first()
                    .is_some_and(|first| first & 0x7f == BROTLI_LARGE_WINDOW)
                {
                    return Err(Undecodable::Malformed(coding));
                }
                Reader::Brotli(Box::new(brotli::Decompressor::new(encoded, 4096)))
            }
            Coding::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(encoded);
                let mut decoder = decoder.map_err(malformed)?;
                decoder
                    .window_log_max(ZSTD_WINDOW_BITS)
                    .map_err(malformed)?;
                Reader::Zstd(decoder)
            }
        };
        let bounds = Bounds::new(encoded.len(), limit);
        let announced = coding.announced(encoded);
        Ok(Self {
            coding,
            bounds,
            announced: announced.filter(|bytes| bounds.check(*bytes).is_ok()),
            reader,
            text: Vec::new(),
        })
    }

    /// How many bytes the next step should decode: larger bodies take larger steps.
    pub(crate) fn next_step(&self) -> usize {
        match self.announced {
            // The end shows where a byte more is asked for.
            Some(bytes) if self.text.is_empty() => bytes + 1,
            _ => (self.text.len() / 4).clamp(SMALLEST_STEP, LARGEST_STEP),
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

impl Reader<'_> {
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::HeaderValue;
    use std::io::Write;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_str(value).unwrap())])
    }

    fn encoded(coding: Coding, text: &[u8]) -> Vec<u8> {
        let best = flate2::Compression::best;
        match coding {
            Coding::Gzip => {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), best());
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
            Coding::Deflate => {
                let mut out = flate2::write::ZlibEncoder::new(Vec::new(), best());
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
            Coding::Brotli => {
                let mut out = Vec::new();
                brotli::CompressorWriter::new(&mut out, 4096, 5, 22)
                    .write_all(text)
                    .unwrap();
                out
            }
            Coding::Zstd => zstd::encode_all(text, 1).unwrap(),
        }
    }

    /// Decodes in small steps.
    fn decode(coding: Coding, encoded: &[u8], limit: u64) -> Result<Vec<u8>, Undecodable> {
        let mut decoding = Decoding::new(coding, encoded, limit)?;
        while !decoding.step(1000)? {}
        Ok(decoding.into_text())
    }

    #[test]
    fn each_coding_gives_the_text_back_whatever_the_steps() {
        for length in [0, 1, 999, 1000, 1001, 30_000] {
            let text: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            for coding in Coding::ALL {
                let decoded = decode(coding, &encoded(coding, &text), 1 << 20);
                assert_eq!(decoded.as_deref(), Ok(&text[..]), "{coding:?} {length}");
            }
        }
    }

    #[test]
    fn what_is_not_whole_or_has_more_behind_it_is_malformed() {
        let text = b"{\"messages\":[]}".repeat(100);
        for coding in Coding::ALL {
            let whole = encoded(coding, &text);
            let malformed = Err(Undecodable::Malformed(coding));
            for at in [0, 1, whole.len() / 2, whole.len() - 1] {
                assert_eq!(
                    decode(coding, &whole[..at], 1 << 20),
                    malformed,
                    "{coding:?} {at}"
                );
            }
            for more in [&b"\0"[..], b"{}", &[b'x'; 10_000]] {
                let behind = [&whole[..], more].concat();
                assert_eq!(decode(coding, &behind, 1 << 20), malformed, "{coding:?}");
            }
            assert_eq!(decode(coding, &text, 1 << 20), malformed, "{coding:?}");
        }
    }

    #[test]
    fn members_behind_each_other_are_one_text() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let both = [encoded(coding, b"{\"a\""), encoded(coding, b":1}")].concat();
            assert_eq!(decode(coding, &both, 1 << 20).unwrap(), b"{\"a\":1}");
        }
    }

    #[test]
    fn deflate_without_its_zlib_frame_is_malformed() {
        let mut out =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(b"{\"messages\":[]}").unwrap();
        let raw = out.finish().unwrap();
        let malformed = Err(Undecodable::Malformed(Coding::Deflate));
        assert_eq!(decode(Coding::Deflate, &raw, 1 << 20), malformed);
    }

    #[test]
    fn a_body_that_expands_too_far_ends_early() {
        let text = vec![b' '; 8 << 20];
        for coding in Coding::ALL {
            let bomb = encoded(coding, &text);
            assert!(bomb.len() * LARGEST_RATIO < text.len(), "{coding:?}");
            assert_eq!(decode(coding, &bomb, 1 << 30), Err(Undecodable::Expands));
            assert_eq!(decode(coding, &bomb, 1 << 10), Err(Undecodable::TooLarge));
        }
        let small = encoded(Coding::Gzip, &text[..ALWAYS_ALLOWED]);
        assert!(decode(Coding::Gzip, &small, 1 << 20).is_ok());
    }

    #[test]
    fn windows_beyond_the_standards_are_malformed() {
        let large = [BROTLI_LARGE_WINDOW, 0x1e, 0x03];
        let malformed = Err(Undecodable::Malformed(Coding::Brotli));
        assert_eq!(decode(Coding::Brotli, &large, 1 << 20), malformed);
        let mut out = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        out.window_log(24).unwrap();
        out.include_contentsize(false).unwrap();
        out.write_all(&vec![b'a'; 20 << 20]).unwrap();
        let malformed = Err(Undecodable::Malformed(Coding::Zstd));
        assert_eq!(
            decode(Coding::Zstd, &out.finish().unwrap(), 1 << 30),
            malformed
        );
    }

    #[test]
    fn one_coding_that_is_known_is_decoded() {
        assert_eq!(Coding::of(&HeaderMap::new()), Ok(None));
        for value in ["", "identity", "Identity, identity"] {
            assert_eq!(Coding::of(&headers(value)), Ok(None), "{value}");
        }
        for (value, expected) in [
            ("gzip", Coding::Gzip),
            ("X-GZip", Coding::Gzip),
            ("identity, br", Coding::Brotli),
            ("deflate", Coding::Deflate),
            ("zstd,", Coding::Zstd),
        ] {
            assert_eq!(Coding::of(&headers(value)), Ok(Some(expected)), "{value}");
        }
        for value in [
            "x",
            "compress",
            "gzip, gzip",
            "gzip, br",
            "gzip;q=1",
            "aes128gcm",
        ] {
            assert_eq!(Coding::of(&headers(value)), Err(UnknownCoding), "{value}");
        }
    }
}
