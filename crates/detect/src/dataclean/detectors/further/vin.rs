//! VIN, the number of a vehicle: seventeen signs with a right check digit, or beside the word, since makers outside
//! North America put any sign in its place.

use super::nearby::{Words, stands_alone};
use crate::chars::is_word_char;
use crate::dataclean::checksum::vin;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};
use std::ops::Range;

pub(crate) struct Vin;

const WORDS: Words = Words {
    whole: &["vin", "вин", "винкод", "vincode"],
    stems: &["шасси", "chassis", "кузов", "идентификационн"],
    phrases: &[],
};
/// Digits at its end.
const SERIAL: usize = 4;
const FEWEST_LETTERS: usize = 3;

impl Detector for Vin {
    fn name(&self) -> PatternName {
        PatternName::Vin
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        // Where the last one that a word names ends.
        let mut named = None;
        let whole = text.original();
        for run in text.runs().iter().filter(|run| run.digits() >= SERIAL) {
            let Some(place) = word_of(whole, run.end) else {
                continue;
            };
            let signs = whole[place.clone()].to_ascii_uppercase();
            if !vin::has_form(signs.as_bytes()) {
                continue;
            }
            let is_named = WORDS.name_in_list(whole, &place, named);
            let is_right = vin::is_right(signs.as_bytes());
            let is_usual = signs == whole[place.clone()]
                && signs.bytes().filter(u8::is_ascii_uppercase).count() >= FEWEST_LETTERS;
            let strength = match (is_right, is_named) {
                (true, true) => Strength::Proven,
                (true, false) if is_usual => Strength::CheckDigits,
                (false, true) => Strength::Context,
                _ => continue,
            };
            named = is_named.then_some(place.end).or(named);
            out.push(Span::new(self.name(), place, strength));
        }
    }
}

/// The word of ASCII letters and digits that ends at a byte, if it has the length of a number.
fn word_of(text: &str, end: usize) -> Option<Range<usize>> {
    let start = end.checked_sub(vin::LENGTH)?;
    let is_word = text.as_bytes()[start..end]
        .iter()
        .all(u8::is_ascii_alphanumeric);
    let goes_on = |c| is_word_char(c) || matches!(c, '_' | '-');
    (is_word && stands_alone(text, &(start..end), goes_on)).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        assert_eq!(
            found(
                &Vin,
                "Sold 1M8GDM9AXKP042788; VIN XTA21099043576182, XTA21099043576183"
            ),
            [
                "1M8GDM9AXKP042788",
                "XTA21099043576182",
                "XTA21099043576183"
            ]
        );
        assert_eq!(found(&Vin, "вин xta21099043576182"), ["xta21099043576182"]);
    }

    #[test]
    fn near_misses() {
        for text in [
            "Part XTA21099043576182",
            "VIN XTA2109904357618",
            "VIN XTA210990435761820",
            "VIN XTO21099043576182",
            "VIN XTA2109904357618A",
            "заказ 12345678901234567",
        ] {
            assert!(found(&Vin, text).is_empty(), "{text}");
        }
    }
}
