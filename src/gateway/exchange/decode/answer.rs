//! Decodes compressed answers for the record (CONTRACT 4). Size and ratio are bounded, so that a small body
//! cannot expand into a large one.

use std::io::{self, Read};

/// The largest compression ratio; text does not compress further.
const LARGEST_RATIO: usize = 200;
const SMALLEST_CAP: usize = 64 << 10;

/// The result of decoding.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_whole: bool,
}

/// Decodes a body up to `limit` bytes; an unknown coding gives nothing.
pub(crate) fn decode(encoding: &str, bytes: &[u8], limit: usize) -> Decoded {
    let cap = bytes
        .len()
        .saturating_mul(LARGEST_RATIO)
        .max(SMALLEST_CAP)
        .min(limit);
    match encoding {
        "gzip" | "x-gzip" => fill(flate2::read::MultiGzDecoder::new(bytes), cap),
        "deflate" => deflate(bytes, cap),
        "br" => fill(brotli::Decompressor::new(bytes, 4096), cap),
        "zstd" => match zstd::stream::read::Decoder::new(bytes) {
            Ok(decoder) => fill(decoder, cap),
            Err(_) => Decoded::default(),
        },
        _ => Decoded::default(),
    }
}

/// The coding `deflate` is zlib (RFC 9110 §8.4.1.2), but some servers send raw deflate.
fn deflate(bytes: &[u8], cap: usize) -> Decoded {
    let zlib = fill(flate2::read::ZlibDecoder::new(bytes), cap);
    if zlib.is_whole || !zlib.bytes.is_empty() {
        return zlib;
    }
    fill(flate2::read::DeflateDecoder::new(bytes), cap)
}

fn fill(reader: impl Read, cap: usize) -> Decoded {
    let mut bytes = Vec::new();
    let result: io::Result<usize> = reader.take(cap as u64 + 1).read_to_end(&mut bytes);
    let is_over = bytes.len() > cap;
    bytes.truncate(cap);
    Decoded {
        bytes,
        is_whole: result.is_ok() && !is_over,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{Decoded, decode};
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn each_coding_gives_the_text_back() {
        let text = b"{\"answer\":\"forty-two\"}".repeat(20);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&text).unwrap();
        let mut br = Vec::new();
        brotli::CompressorWriter::new(&mut br, 4096, 5, 20)
            .write_all(&text)
            .unwrap();
        let coded = [
            ("gzip", gzip(&text)),
            ("deflate", zlib.finish().unwrap()),
            ("br", br),
            ("zstd", zstd::encode_all(&text[..], 1).unwrap()),
        ];
        for (name, bytes) in coded {
            let whole = Decoded {
                bytes: text.clone(),
                is_whole: true,
            };
            assert_eq!(decode(name, &bytes, 1 << 20), whole, "{name}");
        }
    }

    #[test]
    fn a_compression_bomb_is_cut_and_reported() {
        let decoded = decode("gzip", &gzip(&vec![b'a'; 4 << 20]), 1 << 20);
        assert!(!decoded.is_whole && decoded.bytes.len() <= 1 << 20);
    }

    #[test]
    fn an_unknown_coding_and_a_broken_body_are_not_whole() {
        assert!(!decode("compress", b"x", 100).is_whole);
        assert!(!decode("gzip", b"not gzip", 100).is_whole);
    }
}
