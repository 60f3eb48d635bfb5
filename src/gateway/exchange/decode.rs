//! Compressed answers, decoded for the record alone: bounded in size and in ratio, so that a small
//! body cannot become a large one here (CONTRACT 4).

use std::io::{self, Read};

/// A text compresses less than this; what claims more is no text.
const LARGEST_RATIO: usize = 200;
const SMALLEST_CAP: usize = 64 << 10;

/// The decoded bytes, and whether they are all there.
pub(super) fn decode(encoding: &str, bytes: &[u8], limit: usize) -> (Vec<u8>, bool) {
    let cap = bytes
        .len()
        .saturating_mul(LARGEST_RATIO)
        .max(SMALLEST_CAP)
        .min(limit);
    let read = match encoding {
        "gzip" | "x-gzip" => fill(flate2::read::MultiGzDecoder::new(bytes), cap),
        "deflate" => deflate(bytes, cap),
        "br" => fill(brotli::Decompressor::new(bytes, 4096), cap),
        "zstd" => match zstd::stream::read::Decoder::new(bytes) {
            Ok(decoder) => fill(decoder, cap),
            Err(_) => (Vec::new(), false),
        },
        _ => (Vec::new(), false),
    };
    (read.0, read.1)
}

/// The name means zlib; some servers send it bare.
fn deflate(bytes: &[u8], cap: usize) -> (Vec<u8>, bool) {
    let zlib = fill(flate2::read::ZlibDecoder::new(bytes), cap);
    if zlib.1 || !zlib.0.is_empty() {
        return zlib;
    }
    fill(flate2::read::DeflateDecoder::new(bytes), cap)
}

fn fill(reader: impl Read, cap: usize) -> (Vec<u8>, bool) {
    let mut decoded = Vec::new();
    let result: io::Result<usize> = reader.take(cap as u64 + 1).read_to_end(&mut decoded);
    let over = decoded.len() > cap;
    decoded.truncate(cap);
    (decoded, result.is_ok() && !over)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::decode;
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
            assert_eq!(
                decode(name, &bytes, 1 << 20),
                (text.clone(), true),
                "{name}"
            );
        }
    }

    #[test]
    fn a_bomb_is_cut_and_said_to_be() {
        let (decoded, whole) = decode("gzip", &gzip(&vec![b'a'; 4 << 20]), 1 << 20);
        assert!(!whole && decoded.len() <= 1 << 20);
    }

    #[test]
    fn an_unknown_coding_and_a_broken_body_are_not_whole() {
        assert!(!decode("compress", b"x", 100).1);
        assert!(!decode("gzip", b"not gzip", 100).1);
    }
}
