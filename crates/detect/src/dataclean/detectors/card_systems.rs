//! How bank cards are numbered and printed: prefixes and lengths of the payment systems, groups of digits,
//! and barcodes that look alike. `checksum` has the Luhn check.

use crate::dataclean::checksum::luhn;
use crate::dataclean::text::inline::{is_repeated, is_year, number};

/// Digits of a card of any system.
pub(super) const LENGTHS: std::ops::RangeInclusive<usize> = 12..=19;

/// Whether digits are those of a card: the prefix and the length of a payment system, and the right check digit.
pub(crate) fn is_card_number(values: &[u8]) -> bool {
    known_system(values) && luhn(values)
}

/// Whether digits may be those of a card of an unknown system: behind the word for one, the check digit is enough,
/// unless they are a time or the number of a SIM card.
pub(super) fn is_unknown_card(values: &[u8]) -> bool {
    let is_other = is_repeated(values) || is_time(values) || is_sim(values);
    LENGTHS.contains(&values.len()) && !is_other && luhn(values)
}

/// Milliseconds since 1970, or a day with a time: "202401151230", "20240115123045".
fn is_time(values: &[u8]) -> bool {
    let is_day = || is_year(number(&values[..4])) && (1..=12).contains(&number(&values[4..6]));
    match values.len() {
        13 => values[0] == 1,
        12 | 14 => is_day(),
        _ => false,
    }
}

/// The number of a SIM card has a check digit of the same kind.
fn is_sim(values: &[u8]) -> bool {
    values.starts_with(&[8, 9]) && values.len() >= 18
}

/// As cards are printed: fours, with a shorter last group; 4-6-5 (Amex) or 4-6-4 (Diners).
pub(super) fn usual_groups(sizes: &[usize]) -> bool {
    match sizes {
        [4, 6, 4 | 5] => true,
        [fours @ .., last] => fours.iter().all(|size| *size == 4) && *last <= 4,
        [] => false,
    }
}

/// The same without shorter ones: what is read as a card however the groups are separated.
pub(super) fn printed_groups(sizes: &[usize]) -> bool {
    matches!(sizes, [4, 6, 4 | 5] | [4, 4, 4, 4] | [4, 4, 4, 4, 3])
}

/// Eight and eight: as nobody prints a card, and some write one.
pub(super) fn unusual_groups(sizes: &[usize]) -> bool {
    matches!(sizes, [8, 8])
}

/// Prefix and length as the payment systems issue them.
fn known_system(values: &[u8]) -> bool {
    let Some(head) = values.get(..4) else {
        return false;
    };
    let length = values.len();
    match number(head) {
        2200..=2204 => (16..=19).contains(&length),
        4000..=4999 => matches!(length, 13 | 16 | 19),
        5100..=5599 | 2221..=2720 => length == 16,
        3400..=3499 | 3700..=3799 => length == 15,
        3528..=3589 | 6200..=6299 => (16..=19).contains(&length),
        3000..=3059 | 3600..=3699 | 3800..=3899 => matches!(length, 14 | 16),
        5000..=5099 | 5600..=5899 | 6000..=6999 => (13..=19).contains(&length),
        _ => false,
    }
}

/// Thirteen digits that are also a right EAN-13 are a barcode or an ISBN.
pub(super) fn is_barcode(values: &[u8]) -> bool {
    let weighed = |(at, digit): (usize, &u8)| u32::from(*digit) * if at % 2 == 1 { 3 } else { 1 };
    values.len() == 13
        && values
            .iter()
            .enumerate()
            .map(weighed)
            .sum::<u32>()
            .is_multiple_of(10)
}
