//! Digits that are written as tags (U+E0030 to U+E0039), which no font shows and models read: a number by themselves, and
//! nothing within another one, which they would hide.

use super::DIGITS;
use super::item::Item;

/// The digit that a tag stands for.
pub(super) fn tag_digit(c: char) -> Option<char> {
    match c {
        '\u{e0030}'..='\u{e0039}' => char::from_u32(u32::from(c) - 0xe0000),
        _ => None,
    }
}

/// Such digits, with nothing between them that is seen.
#[derive(Default)]
pub(super) struct TagDigits {
    digits: Vec<Item>,
    /// They are read as nothing.
    is_nothing: bool,
}

impl TagDigits {
    pub(super) fn is_empty(&self) -> bool {
        self.digits.is_empty()
    }

    /// Takes one more. The first one may stand behind a word or a number.
    pub(super) fn push(&mut self, digit: Item, is_behind_number: bool) {
        self.is_nothing |= is_behind_number;
        if self.digits.len() <= *DIGITS.end() {
            self.digits.push(digit);
        }
    }

    /// The number that ends before what is read as `next`, if it is one.
    pub(super) fn end(&mut self, next: Option<char>) -> Vec<Item> {
        let Self { digits, is_nothing } = std::mem::take(self);
        let goes_on = next.is_some_and(char::is_alphanumeric);
        match DIGITS.contains(&digits.len()) && !is_nothing && !goes_on {
            true => digits,
            false => Vec::new(),
        }
    }
}
