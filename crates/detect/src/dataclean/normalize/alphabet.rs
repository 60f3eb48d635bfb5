//! Rewrites a word with letters of two alphabets in one of them. `confusables` says which letters look
//! alike.

use super::item::Item;
use crate::confusables::{as_cyrillic, as_latin};

/// Writes a word of two alphabets in one, where all letters of the other look like letters of it. A letter
/// with a mark looks like none, so that what is no mixture of plain letters stays as it is.
pub(super) fn one_alphabet(word: &mut [Item]) {
    let is_latin = |c: char| c.is_ascii_alphabetic();
    let latin = word.iter().filter(|item| is_latin(item.c)).count();
    if latin == 0 || latin == word.len() {
        return;
    }
    let to = |read: fn(char) -> Option<char>, own: fn(char) -> bool| {
        let letter = move |item: &Item| {
            if own(item.c) {
                Some(item.c)
            } else {
                read(item.c)
            }
        };
        word.iter().map(letter).collect::<Option<Vec<char>>>()
    };
    let as_one = to(as_latin, is_latin);
    let as_other = to(as_cyrillic, |c| ('\u{400}'..='\u{52f}').contains(&c));
    let read = match (as_one, as_other) {
        (Some(one), Some(_)) if latin * 2 > word.len() => Some(one),
        (one, other) => other.or(one),
    };
    for (item, c) in word.iter_mut().zip(read.into_iter().flatten()) {
        item.c = c;
    }
}
