//! Finds a word's class by a hash of its folded letters. Built once; a text's word costs one look at
//! the table. Two words with one hash would be taken for each other: the test rules it out for ours,
//! and a stranger that meets one by chance still has to fit a grammar.

use super::word::Word;
use super::{lexicon_en, lexicon_ru};
use std::sync::OnceLock;

/// Room for every form four times over, so that most strangers meet an empty place.
const SLOTS: usize = 8192;
/// Bits of the filter: a stranger passes it once in forty times.
const FILTER_BITS: usize = 1 << 16;
const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of the letters so far. Starts as `Hash::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(SEED)
    }
}

impl Hash {
    /// Takes in one letter beyond ASCII as a byte of its own, or up to eight of ASCII in small letters.
    #[inline]
    pub(super) fn with(self, letters: u64) -> Self {
        Self((self.0 ^ letters).wrapping_mul(FACTOR))
    }
}

/// A Russian letter of two bytes, led by 0xd0 or 0xd1, as one byte: upper and lower case alike, "ё"
/// like "е". Zero for any other.
#[inline]
pub(super) fn russian(lead: u8, second: u8) -> u8 {
    RUSSIAN[usize::from(lead & 1) << 6 | usize::from(second & 0x3f)]
}

const RUSSIAN: [u8; 128] = {
    let mut letters = [0; 128];
    let mut at = 0;
    while at < 32 {
        let letter = 0x80 + at as u8;
        // Capitals follow each other under 0xd0; the small ones begin there and go on under 0xd1.
        letters[0x10 + at] = letter;
        letters[0x30 + at] = letter;
        at += 1;
    }
    letters[0x01] = 0x85;
    letters[0x51] = 0x85;
    letters
};

/// The table.
pub(super) struct Lexicon {
    /// One bit for each hash that may be there: small enough to stay near the processor.
    filter: Vec<u64>,
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
        let mut filter = vec![0; FILTER_BITS / 64];
        for (word, form) in forms() {
            let hash = hash_of(form);
            let (place_of_bit, bit) = bit(hash);
            filter[place_of_bit] |= bit;
            let mut at = place(hash);
            while slots[at].is_some_and(|(other, _)| other != hash) {
                at = (at + 1) % SLOTS;
            }
            slots[at] = Some((hash, word));
        }
        Self { filter, slots }
    }

    /// The class of the word with these letters.
    #[inline]
    pub(super) fn get(&self, hash: Hash) -> Option<Word> {
        let (place_of_bit, bit) = bit(hash.0);
        if self.filter[place_of_bit] & bit == 0 {
            return None;
        }
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
fn bit(hash: u64) -> (usize, u64) {
    let at = (hash >> 48) as usize % FILTER_BITS;
    (at / 64, 1 << (at % 64))
}

#[inline]
fn place(hash: u64) -> usize {
    (hash >> 51) as usize % SLOTS
}

fn forms() -> impl Iterator<Item = (Word, &'static str)> {
    let both = lexicon_ru::FORMS.iter().chain(lexicon_en::FORMS);
    both.flat_map(|(word, forms)| forms.split_whitespace().map(|form| (*word, form)))
}

fn hash_of(form: &str) -> u64 {
    super::scan::letters(form.as_bytes(), 0).1.0
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
