//! Texts in the codings of `Content-Encoding`; `zstd` has a function of its own.

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

/// `deflate` of HTTP.
pub fn zlib(text: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

pub fn brotli(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::CompressorWriter::new(&mut out, 4096, 5, 22)
        .write_all(text)
        .unwrap();
    out
}
