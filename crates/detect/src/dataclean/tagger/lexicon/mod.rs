//! The words that the rules use, in all their forms: one lookup by hash returns the roles a word may play.
//! `words` has the lists.

mod parts;
mod words;

pub use parts::*;

use super::crf::features::{fold, hash};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Endings of Russian nouns.
const NOUN: &[&str] = &[
    "", "а", "я", "у", "ю", "е", "ы", "и", "о", "ь", "й", "ой", "ей", "ом", "ем", "ём", "ов", "ев",
    "ам", "ям", "ами", "ями", "ах", "ях", "ью",
];
/// Endings of Russian adjectives.
const ADJECTIVE: &[&str] = &[
    "ый", "ий", "ой", "ая", "яя", "ое", "ее", "ого", "его", "ому", "ему", "ым", "им", "ом", "ем",
    "ую", "юю", "ей", "ые", "ие", "ых", "их", "ыми", "ими",
];

/// Words by their hash.
pub struct Lexicon(HashMap<u64, u32, RandomState>);

impl Lexicon {
    /// Builds all forms; about two milliseconds.
    pub fn build() -> Self {
        let mut lexicon = Self(HashMap::with_capacity_and_hasher(
            40_000,
            RandomState::default(),
        ));
        for (list, part) in words::NOUNS {
            lexicon.add(list, part, NOUN);
        }
        for (list, part) in words::ADJECTIVES {
            lexicon.add(list, part, ADJECTIVE);
        }
        for (list, part) in words::FIXED {
            lexicon.add(list, part, &[]);
        }
        for (list, part) in words::ENGLISH_NOUNS {
            lexicon.add_english(list, *part);
        }
        lexicon
    }

    /// The parts a word may play.
    pub fn get(&self, hash: u64) -> u32 {
        self.0.get(&hash).copied().unwrap_or_default()
    }

    /// With no endings the words stand as they are; else their last vowel is exchanged for each.
    fn add(&mut self, list: &str, part: &u32, endings: &[&str]) {
        for word in list.split_whitespace() {
            if endings.is_empty() {
                self.insert(word, *part);
                continue;
            }
            let base = match endings == ADJECTIVE {
                true => word
                    .strip_suffix("ый")
                    .or_else(|| word.strip_suffix("ий"))
                    .or_else(|| word.strip_suffix("ой"))
                    .or_else(|| word.strip_suffix("ая"))
                    .unwrap_or(word),
                false => word
                    .strip_suffix(['а', 'я', 'о', 'е', 'ь', 'й', 'и', 'ы'])
                    .unwrap_or(word),
            };
            for ending in endings {
                self.insert(&format!("{base}{ending}"), *part);
            }
            self.insert(word, *part);
        }
    }

    fn add_english(&mut self, list: &str, part: u32) {
        for word in list.split_whitespace() {
            self.insert(word, part);
            let plural = match word.strip_suffix('y') {
                Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
                _ => format!("{word}s"),
            };
            self.insert(&plural, part);
        }
    }

    fn insert(&mut self, word: &str, part: u32) {
        *self.0.entry(hash(word.chars().map(fold))).or_default() |= part;
    }
}
