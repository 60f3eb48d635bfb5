//! INN, the Russian taxpayer number (§2.8): 10 digits (company) or 12 (person) with correct check digits.
//! One 10-digit number in ten passes its check by chance, so ten digits also need the label, or a KPP
//! behind them.

use crate::chars::separator;
use crate::dataclean::text::cue::Label;
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Run, Span, Strength, Text, checksum};

pub(crate) struct Inn;

impl Detector for Inn {
    fn name(&self) -> PatternName {
        PatternName::Inn
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let found = text.numbers_by(|first, run| match run.digits() {
            10 | 12 => single(text, first).then_some(first),
            2..=6 => grouped(text, first),
            _ => None,
        });
        out.extend(found.map(|place| Span::new(self.name(), place, Strength::CheckDigits)));
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        Some(numbers(text))
    }
}

fn single(text: &Text, at: usize) -> bool {
    let run = text.runs()[at];
    if !text.isolated(run.start, run.end, Label::Inn) || !valid(text, at, at) {
        return false;
    }
    let cue = text.cue_before(run.start);
    if cue.is_some_and(|cue| cue.has(Label::Inn)) || text.labelled_after(run.end, Label::Inn) {
        return true;
    }
    let denied = cue.is_some_and(|cue| cue.denies(Label::Inn));
    kpp_behind(text, run) || (run.digits() == 12 && !denied && !text.is_key(run.start))
}

/// "77 52 601811": digits in groups are an INN only right behind the word.
fn grouped(text: &Text, first: usize) -> Option<usize> {
    let runs = &text.runs()[first..];
    let mut digits = runs[0].digits();
    for last in first + 1..first + 5 {
        separator(text.gap(last - 1)?).filter(|separator| *separator == ' ')?;
        digits += text.runs()[last].digits();
        if matches!(digits, 10 | 12) && valid(text, first, last) {
            let start = runs[0].start;
            let named = text
                .cue_before(start)
                .is_some_and(|cue| cue.has(Label::Inn) && cue.direct());
            let alone = text.isolated(start, text.runs()[last].end, Label::Inn);
            return (named && alone).then_some(last);
        }
    }
    None
}

fn valid(text: &Text, first: usize, last: usize) -> bool {
    checksum::inn(&text.values(&text.runs()[first..=last]))
}

/// A bare pair "7752601811/770701001": tax office, two digits or letters, serial number.
fn kpp_behind(text: &Text, run: Run) -> bool {
    let Some(rest) = text.original()[run.end..].strip_prefix('/') else {
        return false;
    };
    let rest = rest.trim_start_matches(' ').as_bytes();
    let kpp = rest.len() >= 9
        && rest[..4].iter().chain(&rest[6..9]).all(u8::is_ascii_digit)
        && rest[4..6]
            .iter()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    kpp && !rest.get(9).is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text =
            "Реквизиты: ИНН 7752601811, руководитель 778190937816; ещё пара 7759083012/770701001";
        assert_eq!(
            found(&Inn, text),
            ["7752601811", "778190937816", "7759083012"]
        );
        assert_eq!(found(&Inn, "ИНН: 77 52 601811"), ["77 52 601811"]);
    }

    #[test]
    fn near_misses() {
        for text in [
            "ИНН 7752601816",
            "позиция 7752601811 на складе",
            "трек-номер 778190937816",
            "ИНН 0000000000",
            "ИНН A7752601811",
        ] {
            assert!(found(&Inn, text).is_empty(), "{text}");
        }
    }
}
