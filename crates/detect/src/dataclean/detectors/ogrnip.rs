//! OGRNIP, the Russian register of sole traders (§2.8): 15 digits; the check digit is the last digit
//! of the remainder by 13. Without its label only a number with a register's year counts.

use super::register::{Register, is_register_year};
use crate::dataclean::context::Label;
use crate::dataclean::settled::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Span, Text, checksum};

/// See the file's head.
pub(crate) struct Ogrnip;

const REGISTER: Register = Register {
    name: PatternName::Ogrnip,
    digits: 15,
    // "ОГРН ИП" and "ОГРН" alone are said of it too.
    labels: &[Label::Ogrnip, Label::Ogrn],
    is_right: checksum::ogrnip,
    is_usual,
};

impl Detector for Ogrnip {
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
    matches!(values, [3, tens, units, region @ ..]
        if is_register_year(*tens, *units) && !region.starts_with(&[0, 0]))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "ОГРНИП 322772440268590, ИП (ОГРН ИП 316776176031372); 322775289078668";
        let numbers = ["322772440268590", "316776176031372", "322775289078668"];
        assert_eq!(found(&Ogrnip, text), numbers);
        assert_eq!(
            found(&Ogrnip, "огрнип: 3 09 77 1590109280"),
            ["3 09 77 1590109280"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "ОГРНИП 322772440268596",
            "IMEI 322772440268590",
            "ОГРНИП 32277244026859",
            "392772440268598",
            "id=322772440268590",
        ] {
            assert!(found(&Ogrnip, text).is_empty(), "{text}");
        }
    }
}
