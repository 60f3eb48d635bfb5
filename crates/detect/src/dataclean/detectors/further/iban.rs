//! IBAN, the international number of a bank account: a country, two check digits, the account; in one piece or in
//! groups of four. Other groups count behind the word.

use super::nearby::Words;
use crate::chars::{is_blank, is_dash, is_word_char};
use crate::dataclean::checksum::iban;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};
use std::ops::Range;

pub(crate) struct Iban;

const WORDS: Words = Words {
    whole: &["iban", "ибан"],
    stems: &["iban"],
    phrases: &[],
};
const COUNTRY: usize = 2;
const GROUP: usize = 4;

impl Detector for Iban {
    fn name(&self) -> PatternName {
        PatternName::Iban
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let mut taken = 0;
        for run in text.runs() {
            let start = run.start.checked_sub(COUNTRY);
            let start = start.filter(|start| *start >= taken);
            if let Some(place) = start.and_then(|start| number_at(text.original(), start)) {
                taken = place.end;
                out.push(Span::new(self.name(), place, Strength::CheckDigits));
            }
        }
    }
}

/// The number that begins at a byte.
fn number_at(text: &str, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let country = [bytes[start], bytes[start + 1]];
    if !country.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let length = iban::length(&country.map(|letter| letter.to_ascii_uppercase()))?;
    if text[..start].ends_with(|c| is_word_char(c) || c == '_') {
        return None;
    }
    let mut signs = [0; iban::LONGEST];
    let (mut at, mut gaps, mut is_printed) = (start, 0, true);
    for (count, place) in signs.iter_mut().enumerate().take(length) {
        let sign = bytes.get(at).filter(|sign| sign.is_ascii_alphanumeric());
        if sign.is_none() {
            let gap = text[at..].chars().next()?;
            if !(is_blank(gap) || is_dash(gap)) {
                return None;
            }
            is_printed &= count % GROUP == 0;
            gaps += 1;
            at += gap.len_utf8();
        }
        let sign = bytes.get(at).filter(|sign| sign.is_ascii_alphanumeric())?;
        *place = sign.to_ascii_uppercase();
        at += 1;
    }
    let is_alone = !text[at..].starts_with(|c| is_word_char(c) || c == '_');
    is_printed &= gaps == 0 || gaps == (length - 1) / GROUP;
    let is_named = || is_printed || WORDS.stand_before(&text[..start]);
    (is_alone && iban::is_right(&signs[..length]) && is_named()).then_some(start..at)
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "Account DE77718449530967118138, счёт GB30 WEST 0562 1020 2655 17.";
        assert_eq!(
            found(&Iban, text),
            ["DE77718449530967118138", "GB30 WEST 0562 1020 2655 17"]
        );
        assert_eq!(
            found(&Iban, "iban nl36 abna 9140538347"),
            ["nl36 abna 9140538347"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "DE77718449530967118135",
            "XDE77718449530967118138",
            "DE777184495309671181381",
            "DE7771844953096711813",
            "nl36 abna 9140538347",
            "ЖE77718449530967118138",
            "DE77",
        ] {
            assert!(found(&Iban, text).is_empty(), "{text}");
        }
    }
}
