//! Reading of the files that the data come in: plain, gzip, tar, JSON lines.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;

pub fn bytes(path: &Path) -> Vec<u8> {
    let raw = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if raw.starts_with(&[0x1f, 0x8b]) {
        gunzip(&raw)
    } else {
        raw
    }
}

pub fn gunzip(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzDecoder::new(raw).read_to_end(&mut out).expect("gzip");
    out
}

pub fn text(path: &Path) -> String {
    String::from_utf8(bytes(path)).expect("UTF-8")
}

pub fn json_lines(path: &Path) -> Vec<Value> {
    let text = text(path);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Name and content of every file of a tar archive.
pub fn tar(path: &Path) -> Vec<(String, Vec<u8>)> {
    let bytes = bytes(path);
    let mut out = Vec::new();
    let mut at = 0;
    while at + 512 <= bytes.len() && bytes[at] != 0 {
        let header = &bytes[at..at + 512];
        let field = |from: usize, to: usize| {
            let field = &header[from..to];
            let end = field
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(field.len());
            String::from_utf8_lossy(&field[..end]).trim().to_owned()
        };
        let size = usize::from_str_radix(&field(124, 136), 8).expect("tar size");
        if matches!(header[156], b'0' | 0) {
            out.push((field(0, 100), bytes[at + 512..at + 512 + size].to_vec()));
        }
        at += 512 + size.div_ceil(512) * 512;
    }
    out
}

/// Byte offsets of all code points, and the end.
pub fn code_points(text: &str) -> Vec<usize> {
    let mut out: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    out.push(text.len());
    out
}
