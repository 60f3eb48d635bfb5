//! Whether two texts are nearly the same: by the runs of five words that they share.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

const RUN: usize = 5;
/// The share of common runs from which on a text is a copy.
const SHARE: f64 = 0.6;

/// Texts that were seen, and those that must not be learned from.
#[derive(Default)]
pub struct Near {
    out: HashSet<u64>,
    whole: HashSet<String>,
    seen: HashSet<u64>,
}

impl Near {
    pub fn keep_out(&mut self, text: &str) {
        self.out.extend(runs(text));
        self.whole.insert(bare(text));
    }

    /// Whether this very text stands among those to be kept out.
    pub fn is_the_same(&self, text: &str) -> bool {
        self.whole.contains(&bare(text))
    }

    /// Whether it stands among those to be kept out, or nearly.
    pub fn is_out(&self, text: &str) -> bool {
        is_copy(&runs(text), &self.out)
    }

    /// Whether nothing like it was seen before; it is from now on.
    pub fn is_new(&mut self, text: &str) -> bool {
        let runs = runs(text);
        let is_new = !is_copy(&runs, &self.seen);
        self.seen.extend(runs);
        is_new
    }
}

fn is_copy(runs: &[u64], known: &HashSet<u64>) -> bool {
    let common = runs.iter().filter(|run| known.contains(run)).count();
    common as f64 >= runs.len() as f64 * SHARE
}

/// Hashes of the runs; of a shorter text, of the whole.
fn runs(text: &str) -> Vec<u64> {
    let lower = text.to_lowercase();
    let words: Vec<_> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let hash = |words: &[&str]| {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        hasher.finish()
    };
    match words.len() < RUN {
        true => vec![hash(&words)],
        false => words.windows(RUN).map(hash).collect(),
    }
}

fn bare(text: &str) -> String {
    let lower = text.to_lowercase();
    lower.chars().filter(|c| c.is_alphanumeric()).collect()
}
