//! Numbers with one blank or dash between each two, in a reading that is being written: whether a card number ends there,
//! so that a circled digit or a note right beside it is none of its digits.

use super::item::Item;
use crate::chars::{is_blank, is_dash};
use crate::dataclean::detectors::is_card_number;

/// Signs for digits right beside a card number that are a mark or a note.
const MOST_NOTES: usize = 2;
/// Digits of the longest card number.
const MOST_DIGITS: usize = 19;
/// Characters that may stand between a number and what hides it.
const NEAR: usize = 3;

/// Whether a word or a number goes on here, or a number is near; the text is given backwards.
pub(super) fn is_behind_number(before: impl Iterator<Item = char>) -> bool {
    let mut near = before.take(NEAR);
    let is_word = near.next().is_some_and(char::is_alphanumeric);
    is_word || near.any(|c| c.is_ascii_digit())
}

/// Whether a text that is given backwards ends with a card number.
pub(super) fn ends_with_card(before: impl Iterator<Item = char>) -> bool {
    let mut digits = Vec::new();
    let mut before = before.peekable();
    while let Some(digit) = before.next().and_then(digit_of) {
        digits.insert(0, digit);
        let goes_on = before.peek().is_some_and(char::is_ascii_digit);
        if !goes_on && is_card_number(&digits) {
            return true;
        }
        before.next_if(|c| is_separator(*c));
        if digits.len() == MOST_DIGITS {
            return false;
        }
    }
    false
}

/// Reads the signs that a number begins and ends with as blanks, where only the digits without them are a card number.
pub(super) fn set_notes_apart(items: &mut [Item]) {
    let goes_on = items.last().is_some_and(|item| is_separator(item.c));
    let end = items.len() - usize::from(goes_on);
    let items = &mut items[..end];
    let is_sign = |item: &&Item| item.is_sign;
    let notes = items.iter().take_while(is_sign).count();
    let behind = items.iter().rev().take_while(is_sign).count();
    if notes > MOST_NOTES || begins_with_card(items) {
        return;
    }
    let (notes, number) = items.split_at_mut(notes);
    if begins_with_card(number) {
        blank(notes);
    } else if (1..=MOST_NOTES).contains(&behind) && behind < number.len() {
        let (number, behind) = number.split_at_mut(number.len() - behind);
        if begins_with_card(number) {
            blank(notes);
            blank(behind);
        }
    }
}

fn blank(notes: &mut [Item]) {
    notes.iter_mut().for_each(|note| note.c = ' ');
}

fn begins_with_card(items: &[Item]) -> bool {
    let (mut digits, mut items) = (Vec::new(), items.iter().peekable());
    while let Some(item) = items.next() {
        digits.extend(digit_of(item.c));
        let goes_on = items.peek().is_some_and(|next| next.c.is_ascii_digit());
        if !goes_on && is_card_number(&digits) {
            return true;
        }
    }
    false
}

fn digit_of(c: char) -> Option<u8> {
    c.to_digit(10).and_then(|digit| u8::try_from(digit).ok())
}

fn is_separator(c: char) -> bool {
    is_blank(c) || is_dash(c)
}
