//! VEHICLE_NUMBER, the plate of a Russian car: one of twelve letters, three digits, two letters, the code of a region.
//! Latin letters, small ones that are not in one piece, and the plates of motorcycles need the word.

use super::nearby::Words;
use crate::chars::{is_blank, is_word_char};
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};
use std::ops::Range;

pub(crate) struct VehicleNumber;

const WORDS: Words = Words {
    whole: &[
        "авто",
        "гос",
        "грз",
        "мото",
        "номера",
        "птс",
        "стс",
        "car",
        "plate",
        "plates",
        "truck",
        "vehicle",
    ],
    stems: &[
        "автобус",
        "автомашин",
        "автомобил",
        "госномер",
        "машин",
        "мотоцикл",
        "номерн",
        "регистрационн",
        "тачк",
        "motorcycle",
    ],
    phrases: &["license plate", "licence plate", "registration number"],
};
/// The twelve letters of plates, which look alike in both alphabets.
const CYRILLIC: &str = "АВЕКМНОРСТУХ";
const CYRILLIC_SMALL: &str = "авекмнорстух";
const LATIN: &str = "ABEKMHOPCTYX";
const DIGITS: usize = 3;
const MOTORCYCLE_DIGITS: usize = 4;

/// The alphabet that all letters of a plate are of; small Cyrillic ones are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Cyrillic,
    CyrillicSmall,
    Latin,
}

impl Detector for VehicleNumber {
    fn name(&self) -> PatternName {
        PatternName::VehicleNumber
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        for at in 0..text.runs().len() {
            let Some(plate) = plate_at(text, at) else {
                continue;
            };
            let is_named = WORDS.name(text.original(), &plate.place);
            let strength = match is_named {
                true => Strength::Context,
                false if plate.is_certain => Strength::Form,
                false => continue,
            };
            out.push(Span::new(self.name(), plate.place, strength));
        }
    }
}

struct Plate {
    place: Range<usize>,
    /// Nothing else looks so.
    is_certain: bool,
}

/// The plate whose number is a run.
fn plate_at(text: &Text, at: usize) -> Option<Plate> {
    let (number, region) = (text.runs()[at], text.runs().get(at + 1)?);
    let whole = text.original();
    let is_number = matches!(number.digits(), DIGITS | MOTORCYCLE_DIGITS);
    if !is_number || text.values(&[number]).iter().all(|digit| *digit == 0) {
        return None;
    }
    let series = whole[number.end..region.start].trim_matches(is_blank);
    let gap = region.start - number.end - series.len();
    let mut signs = series.chars();
    let (second, third) = (signs.next()?, signs.next()?);
    let letters = alphabet(second).filter(|letters| alphabet(third) == Some(*letters))?;
    let is_series = signs.as_str().is_empty() && gap <= 2 * '\u{202f}'.len_utf8();
    let is_region = is_region(&text.values(&[*region]));
    if !(is_series && is_region && text.free_after(region.end)) {
        return None;
    }
    let first = match number.digits() {
        DIGITS => Some(first_letter(whole, number.start, letters)?),
        _ => None,
    };
    let start = first.unwrap_or(number.start);
    let is_glued = first.is_some_and(|first| first + second.len_utf8() == number.start);
    let goes_on = |c: char| is_word_char(c) || matches!(c, '_' | '-' | '.' | '/');
    (!whole[..start].ends_with(goes_on)).then_some(Plate {
        place: start..region.end,
        is_certain: match letters {
            Alphabet::Cyrillic => is_glued,
            Alphabet::CyrillicSmall => is_glued && gap == 0,
            Alphabet::Latin => false,
        },
    })
}

/// Where the letter before the digits stands, which may be a blank away.
fn first_letter(text: &str, digits: usize, letters: Alphabet) -> Option<usize> {
    let head = &text[..digits];
    let head = head.strip_suffix(is_blank).unwrap_or(head);
    let letter = head.chars().next_back()?;
    (alphabet(letter) == Some(letters)).then(|| head.len() - letter.len_utf8())
}

fn alphabet(letter: char) -> Option<Alphabet> {
    match letter {
        _ if CYRILLIC.contains(letter) => Some(Alphabet::Cyrillic),
        _ if CYRILLIC_SMALL.contains(letter) => Some(Alphabet::CyrillicSmall),
        _ if LATIN.contains(letter.to_ascii_uppercase()) => Some(Alphabet::Latin),
        _ => None,
    }
}

/// Two digits, or three of which the first counts further series of a region.
fn is_region(code: &[u8]) -> bool {
    match code {
        [0, 0] | [_, 0, 0] => false,
        [_, _] | [1 | 2 | 3 | 5 | 7 | 9, _, _] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "Въезд: А123ВС77, машина К 456 ОР 199; ждёт х777ам99, plate A123BC777.";
        let plates = ["А123ВС77", "К 456 ОР 199", "х777ам99", "A123BC777"];
        assert_eq!(found(&VehicleNumber, text), plates);
        assert_eq!(found(&VehicleNumber, "мотоцикл 1234 АВ 77"), ["1234 АВ 77"]);
    }

    #[test]
    fn near_misses() {
        for text in [
            "модель A123BC77",
            "А123ВЖ77",
            "А000ВС77",
            "А123ВС00",
            "А123ВС4777",
            "XА123ВС77",
            "В 250 КМ 30 мин",
            "1234 АВ 77",
            "дом в 123 ам 77",
        ] {
            assert!(found(&VehicleNumber, text).is_empty(), "{text}");
        }
    }
}
