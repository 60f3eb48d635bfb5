//! Finds a word's class by a hash of its folded letters. Built once; a text's word costs one look at
//! the table. Two words with one hash would be taken for each other: the test rules it out for ours,
//! and a stranger that meets one by chance still has to fit a grammar.

use super::word::Word;
use super::{lexicon_en, lexicon_ru};
use std::sync::OnceLock;

/// Room for every form four times over, so that most strangers meet an empty place.
const SLOTS: usize = 8192;
const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// The hash of the letters so far. Starts as `Hash::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(SEED)
    }
}

impl Hash {
    /// Takes in one letter, as a byte of its own: ASCII in lower case, Russian from 0x80 up.
    #[inline]
    pub(super) fn letter(self, letter: u8) -> Self {
        Self((self.0 ^ u64::from(letter)).wrapping_mul(PRIME))
    }
}

/// A Russian letter of two bytes as one byte, upper and lower case alike, and "ё" like "е"; zero for
/// any other.
#[inline]
pub(super) fn russian(lead: u8, second: u8) -> u8 {
    match (lead, second) {
        (0xd0, 0x90..=0xaf) => second - 0x10,
        (0xd0, 0xb0..=0xbf) => second - 0x30,
        (0xd1, 0x80..=0x8f) => second + 0x10,
        (0xd0, 0x81) | (0xd1, 0x91) => 0x85,
        _ => 0,
    }
}

/// The table.
pub(super) struct Lexicon {
    slots: Vec<Option<(u64, Word)>>,
}

impl Lexicon {
    /// The one of this process.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Lexicon> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    fn new() -> Self {
        let mut slots = vec![None; SLOTS];
        for (word, form) in forms() {
            let hash = hash_of(form);
            let mut at = place(hash);
            while slots[at].is_some_and(|(other, _)| other != hash) {
                at = (at + 1) % SLOTS;
            }
            slots[at] = Some((hash, word));
        }
        Self { slots }
    }

    /// The class of the word with these letters.
    #[inline]
    pub(super) fn get(&self, hash: Hash) -> Option<Word> {
        let mut at = place(hash.0);
        loop {
            let (other, word) = self.slots[at]?;
            if other == hash.0 {
                return Some(word);
            }
            at = (at + 1) % SLOTS;
        }
    }
}

#[inline]
fn place(hash: u64) -> usize {
    (hash >> 24) as usize % SLOTS
}

fn forms() -> impl Iterator<Item = (Word, &'static str)> {
    let both = lexicon_ru::FORMS.iter().chain(lexicon_en::FORMS);
    both.flat_map(|(word, forms)| forms.split_whitespace().map(|form| (*word, form)))
}

fn hash_of(form: &str) -> u64 {
    let letters = form.chars().map(|c| {
        let mut bytes = [0; 4];
        match c.encode_utf8(&mut bytes).as_bytes() {
            [letter] => *letter,
            [lead, second] => russian(*lead, *second),
            _ => 0,
        }
    });
    letters.fold(Hash::default(), Hash::letter).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn no_form_has_two_classes_and_no_two_forms_one_hash() {
        let mut seen: HashMap<u64, (Word, &str)> = HashMap::new();
        for (word, form) in forms() {
            let (class, other) = *seen.entry(hash_of(form)).or_insert((word, form));
            assert!(class == word && other == form, "{form} and {other}");
        }
        assert!(seen.len() * 4 < SLOTS);
    }
}
