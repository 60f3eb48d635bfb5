//! The data files of the engine: weights of the models and vocabularies of tokens. Each is a part of the
//! program, compressed, and is unpacked at its first use. `weights/README.md` says how they are made.

/// A compressed data file.
pub struct Packed(&'static [u8]);

macro_rules! file {
    ($name:literal) => {
        Packed(include_bytes!(concat!("../weights/", $name, ".zst")))
    };
}

/// Name lists and classes of words of the tagger.
pub const TAGGER_WORDS: Packed = file!("tagger_words.bin");
/// Weights of the tagger for Russian.
pub const TAGGER_RU: Packed = file!("tagger_ru.bin");
/// Weights of the tagger for English.
pub const TAGGER_EN: Packed = file!("tagger_en.bin");
/// Weights of the linear models of the guardrails.
pub const GUARDRAILS: Packed = file!("guardrails.bin");
/// Tokens of the vocabulary `o200k_base`.
pub const O200K_BASE: Packed = file!("o200k_base.tokens");
/// Tokens of the vocabulary `cl100k_base`.
pub const CL100K_BASE: Packed = file!("cl100k_base.tokens");

impl Packed {
    /// The file's contents; 2 to 10 milliseconds. Empty for a damaged file, which the tests rule out.
    pub fn unpack(&self) -> Vec<u8> {
        zstd::decode_all(self.0).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_files_are_those_that_sha256sums_names() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("weights");
        let mut named = BTreeSet::new();
        for line in fs::read_to_string(folder.join("SHA256SUMS"))
            .unwrap()
            .lines()
        {
            let (expected, name) = line.split_once("  ").unwrap();
            let mut sum = String::new();
            for byte in Sha256::digest(fs::read(folder.join(name)).unwrap()) {
                write!(sum, "{byte:02x}").unwrap();
            }
            assert_eq!(sum, expected, "{name}");
            named.insert(name.to_owned());
        }
        let files = fs::read_dir(&folder).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let packed: BTreeSet<String> = files.filter(|name| name.ends_with(".zst")).collect();
        assert_eq!(named, packed);
    }

    #[test]
    fn every_file_is_unpacked_whole() {
        for (file, bytes) in [
            (TAGGER_WORDS, 3_159_740),
            (TAGGER_RU, 4_194_608),
            (TAGGER_EN, 4_194_608),
            (GUARDRAILS, 8_388_844),
            (O200K_BASE, 1_597_668),
            (CL100K_BASE, 744_086),
        ] {
            assert_eq!(file.unpack().len(), bytes);
        }
    }
}
