//! Token counts (§2.9 `tokens.count`, CONTRACT 24). Counting only; severities belong to the
//! application's thresholds and are set elsewhere.

use super::unknown_name::UnknownName;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Which vocabulary counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    /// `o200k_base`, the default.
    #[default]
    #[serde(rename = "o200k_base")]
    O200kBase,
    /// `cl100k_base`.
    #[serde(rename = "cl100k_base")]
    Cl100kBase,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];

    /// The published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// Tokens of a text. Linear in its length. The vocabulary is unpacked at its first use
    /// (tens of milliseconds).
    pub fn count(self, text: &str) -> u64 {
        let tokenizer = match self {
            Self::O200kBase => bpe_openai::o200k_base(),
            Self::Cl100kBase => bpe_openai::cl100k_base(),
        };
        tokenizer.count(text) as u64
    }
}

impl FromStr for Encoding {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        UnknownName::look_up("encoding", text, Self::ALL, Self::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Encoding;

    #[test]
    fn counts_are_those_of_the_published_vocabularies() {
        assert_eq!(Encoding::O200kBase.count(""), 0);
        assert_eq!(Encoding::O200kBase.count("hello world"), 2);
        assert_eq!(Encoding::Cl100kBase.count("hello world"), 2);
        assert!(
            Encoding::O200kBase.count("Привет, мир") < Encoding::Cl100kBase.count("Привет, мир")
        );
    }

    #[test]
    fn names_parse_back() {
        for encoding in Encoding::ALL {
            assert_eq!(encoding.as_str().parse(), Ok(encoding));
        }
        assert!("p50k_base".parse::<Encoding>().is_err());
    }
}
