//! Token counts (§2.9 `tokens.count`, CONTRACT 24): the published byte-pair encodings, counting only.
//! Severities belong to the application's thresholds and are set elsewhere.
//!
//! Own code because a count needs only the ranks of the tokens, 2.3 MB of them: crates that also encode
//! carry automata of 47 MB or build them for a second. A text becomes pieces (`split`), and a piece
//! tokens (`vocabulary`).

mod borders;
mod earlier;
mod edges;
mod split;
mod vocabulary;

use crate::unknown_name::UnknownName;
use crate::weights::{CL100K_BASE, O200K_BASE};
use earlier::Earlier;
use serde::{Deserialize, Serialize};
use split::Splitter;
use std::str::FromStr;
use std::sync::LazyLock;
use vocabulary::Vocabulary;

/// Which vocabulary counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    /// The vocabulary of GPT-4o and later models, the default.
    #[default]
    #[serde(rename = "o200k_base")]
    O200kBase,
    /// The vocabulary of GPT-3.5 and GPT-4.
    #[serde(rename = "cl100k_base")]
    Cl100kBase,
}

struct Tokenizer {
    vocabulary: Vocabulary,
    splitter: Option<Splitter>,
}

static O200K: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer {
    vocabulary: Vocabulary::new(&O200K_BASE.unpack()),
    splitter: Splitter::new(split::O200K_BASE),
});
static CL100K: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer {
    vocabulary: Vocabulary::new(&CL100K_BASE.unpack()),
    splitter: Splitter::new(split::CL100K_BASE),
});

impl Encoding {
    /// Every encoding there is.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];

    /// The published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// Counts the tokens of a text, in linear time. The first call also builds the vocabulary (20 ms).
    pub fn count(self, text: &str) -> u64 {
        let Tokenizer {
            vocabulary,
            splitter,
        } = self.tokenizer();
        let mut count = 0;
        if let Some(splitter) = splitter {
            let mut earlier = Earlier::new(text);
            splitter.each_piece(text, |piece| {
                count += vocabulary.count(piece.as_bytes(), &mut earlier) as u64;
            });
        }
        count
    }

    fn tokenizer(self) -> &'static Tokenizer {
        match self {
            Self::O200kBase => &O200K,
            Self::Cl100kBase => &CL100K,
        }
    }
}

impl FromStr for Encoding {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        UnknownName::look_up("encoding", text, Self::ALL, Self::as_str)
    }
}

#[cfg(test)]
mod tests;
