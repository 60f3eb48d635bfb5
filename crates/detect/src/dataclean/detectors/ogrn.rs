//! OGRN, the Russian register of companies (§2.8): 13 digits, the last of which is a check digit.
//! Without its label only a number of a company counts: first digit 1 or 5, a year, a region.

use super::register::{Register, is_register_year};
use crate::dataclean::context::Label;
use crate::dataclean::settled::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Span, Text, checksum};

/// See the file's head.
pub(crate) struct Ogrn;

const REGISTER: Register = Register {
    name: PatternName::Ogrn,
    digits: 13,
    labels: &[Label::Ogrn],
    is_right: checksum::ogrn,
    is_usual,
};

impl Detector for Ogrn {
    fn name(&self) -> PatternName {
        REGISTER.name
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        REGISTER.find(text, out);
    }

    fn settled(&self, text: &Text) -> Option<usize> {
        Some(numbers(text))
    }
}

fn is_usual(values: &[u8]) -> bool {
    matches!(values, [1 | 5, tens, units, region @ ..]
        if is_register_year(*tens, *units) && !region.starts_with(&[0, 0]))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "ОГРН 1037749746506, второй 1167752917034; огрн: 1 11 77 23667126";
        let numbers = ["1037749746506", "1167752917034", "1 11 77 23667126"];
        assert_eq!(found(&Ogrn, text), numbers);
        assert_eq!(found(&Ogrn, "ОГРН1247765632124"), ["1247765632124"]);
    }

    #[test]
    fn near_misses() {
        for text in [
            "ОГРН 1037749746509",
            "заказ 1167752917034",
            "1 11 77 23667126",
            "1722251651009",
            "A1037749746506",
        ] {
            assert!(found(&Ogrn, text).is_empty(), "{text}");
        }
    }
}
