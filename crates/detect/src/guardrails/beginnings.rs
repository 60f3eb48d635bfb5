//! A table of words and stems by how they begin, so that a word of a message is compared with the few that begin
//! as it does, not with all.

use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Bytes of a beginning by which it is looked up.
const KEY: usize = 4;

/// Values by the beginning of their word.
pub(crate) struct Beginnings<T>(HashMap<u32, Vec<T>, RandomState>);

impl<T> Default for Beginnings<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T: PartialEq> Beginnings<T> {
    /// Adds a value under a word or a stem; the same one side by side once.
    pub(crate) fn add(&mut self, word: &str, value: T) {
        let key = &word.as_bytes()[..word.floor_char_boundary(KEY)];
        let values = self.0.entry(number(key)).or_default();
        if values.last() != Some(&value) {
            values.push(value);
        }
    }

    /// The values of all words and stems that may stand at the beginning of this word, those of the shortest
    /// first; whether they do is for the caller to see.
    pub(crate) fn of<'t>(&'t self, word: &'t str) -> impl Iterator<Item = &'t T> {
        let ends = (1..=word.len().min(KEY)).filter(|end| word.is_char_boundary(*end));
        ends.filter_map(|end| self.0.get(&number(&word.as_bytes()[..end])))
            .flatten()
    }
}

/// Up to [`KEY`] bytes as a number.
#[inline]
fn number(key: &[u8]) -> u32 {
    key.iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gets_what_may_begin_it_the_shortest_first() {
        let mut table = Beginnings::default();
        for (number, word) in ["ignor", "i", "ig", "igno", "il", "иг", "и", "игнор"]
            .into_iter()
            .enumerate()
        {
            table.add(word, number);
        }
        table.add("ignored", 3);
        table.add("ignores", 3);
        let of = |word| table.of(word).copied().collect::<Vec<_>>();
        assert_eq!(of("ignore"), [1, 2, 0, 3]);
        assert_eq!(of("ig"), [1, 2]);
        assert_eq!(of("ill"), [1, 4]);
        assert_eq!(of("игла"), [6, 5, 7]);
        assert_eq!((of(""), of("xi")), (vec![], vec![]));
    }
}
