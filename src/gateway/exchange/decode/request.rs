//! Decodes a compressed request body for the checks. The model server gets the bytes as they came, unless the policy
//! changes the text: then it gets the decoded one, without `Content-Encoding`.
//!
//! Two readers of one body must not read two texts, so a coding is read to the letter and to its last byte: nothing
//! may stand behind it, `deflate` is zlib (RFC 9110 8.4.1.2), and no window is larger than the coding's standard says.

use crate::fair_queue::heavy;
use crate::gateway::body_type::{Coding, Undecodable};
use crate::gateway::error::CallError;
use crate::gateway::exchange::body_buffer::{Body, MEMORY_WAIT};
use crate::gateway::limits::MemoryReservation;
use crate::gateway::state::Snapshot;
use bytes::Bytes;
use std::io::{self, Read};

/// The largest compression ratio; text does not compress further.
const LARGEST_RATIO: usize = 200;
/// A body may expand to this size whatever its ratio.
const ALWAYS_ALLOWED: usize = 64 << 10;
/// Decoded at a time; larger bodies take larger steps.
const SMALLEST_STEP: usize = 256 << 10;
const LARGEST_STEP: usize = 4 << 20;
/// The standard of zstd over HTTP (RFC 9659) allows a window of 8 MiB.
const ZSTD_WINDOW_BITS: u32 = 23;
/// How a brotli stream begins whose window is larger than the standard allows (RFC 7932 9.1).
const BROTLI_LARGE_WINDOW: u8 = 0x11;

/// What one body may become.
#[derive(Clone, Copy)]
struct Bounds {
    /// The size that `limits.decoded_bytes` allows.
    bytes: usize,
    of_ratio: usize,
}

impl Bounds {
    fn new(encoded: usize, limit: u64) -> Self {
        Self {
            bytes: usize::try_from(limit).unwrap_or(usize::MAX),
            of_ratio: encoded.saturating_mul(LARGEST_RATIO).max(ALWAYS_ALLOWED),
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

/// The body with the decoded bytes in place of the encoded ones, which it keeps. All memory that decoding takes is
/// reserved, also what it gives back at its end.
pub(crate) async fn decoded(
    snapshot: &Snapshot,
    mut body: Body,
    coding: Coding,
) -> Result<Body, CallError> {
    let encoded = std::mem::take(&mut body.bytes);
    let bounds = Bounds::new(encoded.len(), snapshot.settings.limits.decoded_bytes);
    let holder = body.reservation.holder();
    let mut window = MemoryReservation::new(&snapshot.memory, holder);
    reserve(&mut window, largest_window(coding).min(bounds.of_ratio)).await?;
    let mut decoding = Decoding::new(coding, &encoded).map_err(CallError::Undecodable)?;
    let announced = announced(coding, &encoded).filter(|bytes| bounds.check(*bytes).is_ok());
    let mut text = Vec::new();
    loop {
        let step = match announced {
            // The end shows where a byte more is asked for.
            Some(bytes) if text.is_empty() => bytes + 1,
            _ => (text.len() / 4).clamp(SMALLEST_STEP, LARGEST_STEP),
        };
        reserve(&mut body.reservation, step).await?;
        // The text is in memory twice while its buffer grows.
        let mut moved = MemoryReservation::new(&snapshot.memory, holder);
        reserve(&mut moved, text.len()).await?;
        let done = heavy(step, || decoding.step(&mut text, step));
        bounds.check(text.len()).map_err(CallError::Undecodable)?;
        if done.map_err(CallError::Undecodable)? {
            break;
        }
    }
    drop(decoding);
    body.bytes = Bytes::from(text);
    body.encoded = Some(encoded);
    Ok(body)
}

/// Reserves memory, waiting for other calls to release some.
async fn reserve(reservation: &mut MemoryReservation, bytes: usize) -> Result<(), CallError> {
    if reservation.grow(bytes).is_ok() {
        return Ok(());
    }
    let grown = reservation.grow_within(bytes, MEMORY_WAIT).await;
    grown.map_err(|full| CallError::Overloaded(full.0))
}

/// What a decoder keeps of the text behind it, at most.
fn largest_window(coding: Coding) -> usize {
    match coding {
        Coding::Gzip | Coding::Deflate => 64 << 10,
        Coding::Brotli => 16 << 20,
        Coding::Zstd => 1 << ZSTD_WINDOW_BITS,
    }
}

/// The decoded size that a body names, with which its buffer need not grow. A body that names more than it has is
/// malformed; one that names less, because it has several members, is decoded all the same.
fn announced(coding: Coding, encoded: &[u8]) -> Option<usize> {
    match coding {
        Coding::Gzip => {
            let size = encoded.last_chunk::<4>()?;
            usize::try_from(u32::from_le_bytes(*size)).ok()
        }
        Coding::Zstd => {
            let size = zstd::zstd_safe::get_frame_content_size(encoded).ok()??;
            usize::try_from(size).ok()
        }
        Coding::Deflate | Coding::Brotli => None,
    }
}

/// A body that is being decoded.
struct Decoding<'a> {
    coding: Coding,
    reader: Reader<'a>,
}

type Input<'a> = &'a [u8];

enum Reader<'a> {
    Gzip(flate2::bufread::MultiGzDecoder<Input<'a>>),
    Zlib(flate2::bufread::ZlibDecoder<Input<'a>>),
    Brotli(Box<brotli::Decompressor<Input<'a>>>),
    Zstd(zstd::stream::read::Decoder<'static, Input<'a>>),
}

impl<'a> Decoding<'a> {
    fn new(coding: Coding, encoded: &'a [u8]) -> Result<Self, Undecodable> {
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
        Ok(Self { coding, reader })
    }

    /// Appends `bytes` more, or what is left; true at the end.
    fn step(&mut self, text: &mut Vec<u8>, bytes: usize) -> Result<bool, Undecodable> {
        let before = text.len();
        text.reserve_exact(bytes);
        let read = self.reader().take(bytes as u64).read_to_end(text);
        let is_at_end = read.is_ok() && text.len() - before < bytes;
        match read {
            Ok(_) if !is_at_end => Ok(false),
            Ok(_) if self.confirm_end() => Ok(true),
            _ => Err(Undecodable::Malformed(self.coding)),
        }
    }

    fn reader(&mut self) -> &mut dyn Read {
        match &mut self.reader {
            Reader::Gzip(reader) => reader,
            Reader::Zlib(reader) => reader,
            Reader::Brotli(reader) => reader,
            Reader::Zstd(reader) => reader,
        }
    }

    /// Whether nothing stands behind the end. The reader of brotli tells only when it is asked again there.
    fn confirm_end(&mut self) -> bool {
        matches!(self.reader().read(&mut [0]), Ok(0)) && self.unread().is_empty()
    }

    /// What the reader has not taken.
    fn unread(&self) -> &[u8] {
        match &self.reader {
            Reader::Gzip(reader) => reader.get_ref(),
            Reader::Zlib(reader) => reader.get_ref(),
            Reader::Brotli(reader) => reader.get_ref(),
            Reader::Zstd(reader) => reader.get_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

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
        let bounds = Bounds::new(encoded.len(), limit);
        let mut decoding = Decoding::new(coding, encoded)?;
        let mut text = Vec::new();
        loop {
            let done = decoding.step(&mut text, 1000);
            bounds.check(text.len())?;
            if done? {
                return Ok(text);
            }
        }
    }

    #[test]
    fn each_coding_gives_the_text_back_whatever_the_steps() {
        for length in [0, 1, 999, 1000, 1001, 30_000] {
            let text: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            for coding in ALL {
                let decoded = decode(coding, &encoded(coding, &text), 1 << 20);
                assert_eq!(decoded.as_deref(), Ok(&text[..]), "{coding:?} {length}");
            }
        }
    }

    #[test]
    fn what_is_not_whole_or_has_more_behind_it_is_malformed() {
        let text = b"{\"messages\":[]}".repeat(100);
        for coding in ALL {
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
        for coding in ALL {
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
}
