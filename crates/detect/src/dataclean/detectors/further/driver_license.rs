//! DRIVER_LICENSE, of Russia: two digits of the region, two digits or letters, six digits, beside its word.

use super::nearby::Words;
use crate::chars::{is_blank, is_letter};
use crate::dataclean::text::labels::Label;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};

pub(crate) struct DriverLicense;

const WORDS: Words = Words {
    whole: &["ву", "права", "прав"],
    stems: &["водительск"],
    phrases: &[
        "в/у",
        "вод. уд",
        "вод. удостоверение",
        "driver's license",
        "driver’s license",
        "drivers license",
        "driver license",
        "driving license",
        "driver's licence",
        "driver’s licence",
        "drivers licence",
        "driver licence",
        "driving licence",
        "driving permit",
    ],
};
const NUMBER: usize = 6;
/// What may stand between series and number beside blanks, in small letters.
const SIGNS: &[&str] = &["", "-", "№", "n", "no", "no.", "номер", "number", "ном."];
const LONGEST_GAP: usize = 16;

impl Detector for DriverLicense {
    fn name(&self) -> PatternName {
        PatternName::DriverLicense
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let mut before = None;
        let found = text.numbers_by(|first, run| {
            let last = last_run(text, first)?;
            let place = run.start..text.runs()[last].end;
            let is_license = text.isolated(place.start, place.end, Label::Other)
                && WORDS.name_in_list(text.original(), &place, before);
            before = is_license.then_some(place.end).or(before);
            is_license.then_some(last)
        });
        out.extend(found.map(|place| Span::new(self.name(), place, Strength::Context)));
    }
}

/// The last run of what has the form of a number and begins with run `first`.
fn last_run(text: &Text, first: usize) -> Option<usize> {
    let runs = &text.runs()[first..];
    let is_joined = |left: usize| text.gap(first + left).is_some_and(joins);
    let size = |at: usize| runs.get(at).map_or(0, |run| run.digits());
    let last = match [size(0), size(1), size(2)] {
        [10, ..] => 0,
        [4, NUMBER, _] if is_joined(0) => 1,
        [2, 2, NUMBER] if is_joined(0) && is_joined(1) => 2,
        [2, NUMBER, _] if text.gap(first).is_some_and(has_letters) => 1,
        _ => return None,
    };
    let region = text.values(&runs[..=last]);
    (region[..2] != [0, 0]).then_some(first + last)
}

/// Whether this may stand between the parts of a number.
fn joins(gap: &str) -> bool {
    let sign = gap.trim_matches(is_blank);
    gap.len() <= LONGEST_GAP && !gap.is_empty() && SIGNS.contains(&&*sign.to_lowercase())
}

/// Two letters of an old series: "77 АА 123456".
fn has_letters(gap: &str) -> bool {
    if gap.len() > LONGEST_GAP {
        return false;
    }
    let letters = gap.trim_matches(is_blank);
    let series = letters.trim_end_matches('№').trim_end_matches(is_blank);
    series.chars().count() == 2 && series.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "ВУ 99 12 345678, водительское удостоверение 7712 № 654321; в/у: 77 УА 123456";
        let numbers = ["99 12 345678", "7712 № 654321", "77 УА 123456"];
        assert_eq!(found(&DriverLicense, text), numbers);
        assert_eq!(
            found(&DriverLicense, "My driver's license is 9912345678."),
            ["9912345678"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "паспорт 99 12 345678",
            "9912345678",
            "ВУ 00 12 345678",
            "ВУ 99 12 34567",
            "водительский телефон 9912345678",
            "водительский стаж 10 лет, заказ 9912345678",
        ] {
            assert!(found(&DriverLicense, text).is_empty(), "{text}");
        }
    }
}
