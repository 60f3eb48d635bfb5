//! Looks up the class of a word by a hash of its letters, in a table built once. Two words with the same
//! hash would be confused: a test excludes that for the words of the table, and an unknown word that
//! collides still has to fit a grammar.

use super::letters::{Hash, letters};
use super::word::Word;
use super::{lexicon_en, lexicon_ru};
use std::sync::OnceLock;

/// Room for every form four times over, so that most strangers meet an empty place.
const SLOTS: usize = 8192;
/// Bits of the filter: a stranger passes it once in forty times.
const FILTER_BITS: usize = 1 << 16;
/// All forms of both languages, with their class.
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
        let (place_of_bit, bit) = bit(hash.value());
        if self.filter[place_of_bit] & bit == 0 {
            return None;
        }
        let mut at = place(hash.value());
        loop {
            let (other, word) = self.slots[at]?;
            if other == hash.value() {
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
    letters(form.as_bytes(), 0).1.value()
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
