//! Writes and reads the engine's data files: compressed with Zstandard, and named in `SHA256SUMS`.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The level of compression: files are packed once and unpacked at every start.
const LEVEL: i32 = 19;

/// Writes a file as `NAME.zst` and the sums of all files of the folder.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::create_dir_all(folder).expect("folder");
    let packed = zstd::encode_all(bytes, LEVEL).expect("compressed");
    fs::write(folder.join(format!("{name}.zst")), packed).expect("data file");
    let files = fs::read_dir(folder).expect("folder");
    let names = files.map(|file| {
        file.expect("file")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".zst")).collect();
    names.sort_unstable();
    let mut sums = String::new();
    for name in names {
        for byte in Sha256::digest(fs::read(folder.join(&name)).expect("data file")) {
            let _ = write!(sums, "{byte:02x}");
        }
        let _ = writeln!(sums, "  {name}");
    }
    fs::write(folder.join("SHA256SUMS"), sums).expect("sums");
}

/// Reads `NAME.zst` unpacked.
pub fn read(folder: &Path, name: &str) -> Vec<u8> {
    let path = folder.join(format!("{name}.zst"));
    let packed = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    zstd::decode_all(&*packed).expect("Zstandard")
}
