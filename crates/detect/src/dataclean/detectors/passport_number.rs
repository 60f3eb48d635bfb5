//! PASSPORT_NUMBER (§2.8): series and number of a Russian passport: two digits for the region, two for the
//! year of the form, and six more, together or apart. A foreign passport needs its label. There is no
//! check digit, so form, region, year and label decide.

use super::passport_forms::{self as forms, Bridge};
use super::phone_forms::is_amount;
use crate::chars::separator;
use crate::dataclean::text::cue::{Cue, Label};
use crate::dataclean::text::number_chain::{numbers, open_chain};
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text, checksum};

pub(crate) struct PassportNumber;

/// Words that may stand between the label and a Russian or a foreign number.
const WORDS_BETWEEN: usize = 4;
const WORDS_BEFORE_FOREIGN: usize = 3;

impl Detector for PassportNumber {
    fn name(&self) -> PatternName {
        PatternName::PassportNumber
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let mut next = 0;
        while next < text.runs().len() {
            let find = russian(text, next).or_else(|| foreign(text, next));
            let Some((start, last, strength)) = find else {
                next += 1;
                continue;
            };
            let place = start..text.runs()[last].end;
            out.push(Span::new(self.name(), place, strength));
            next = last + 1;
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        let whole = text.original();
        let chain = open_chain(text, &forms::LINKS).unwrap_or(whole.len());
        let open = numbers(text).min(chain).min(forms::open_letters(whole));
        Some(forms::with_letters(whole, open))
    }
}

/// Start, last run and strength of a Russian number whose series begins with run `first`.
fn russian(text: &Text, first: usize) -> Option<(usize, usize, Strength)> {
    let (last, bridge) = forms::parts(text, first)?;
    let runs = &text.runs()[first..=last];
    let (start, end) = (runs[0].start, runs[runs.len() - 1].end);
    let values = text.values(runs);
    if !forms::is_series(&values) || !text.isolated(start, end, Label::Passport) {
        return None;
    }
    let cue = text.cue_before(start);
    let is_inn = cue.is_some_and(|cue| cue.has(Label::Inn)) && checksum::inn(&values);
    let named = near(cue, WORDS_BETWEEN) || text.labelled_after(end, Label::Passport);
    if named {
        return (!is_inn).then_some((start, last, Strength::Context));
    }
    let denied = cue.is_some_and(|cue| cue.denies(Label::Passport)) || is_amount(text, end);
    let apart = match bridge {
        Bridge::Blank => !forms::is_calendar_year(runs[0], &values),
        Bridge::Sign => true,
        Bridge::Loose | Bridge::None => false,
    };
    let alone = !(continues(text, last) || first > 0 && continues(text, first - 1));
    let fits = apart && alone && !denied && forms::is_known_region(&values);
    fits.then_some((start, last, Strength::Form))
}

/// A number of another country, or of a Russian passport for travel: only under its label.
fn foreign(text: &Text, first: usize) -> Option<(usize, usize, Strength)> {
    let (start, last) = forms::foreign(text, first)?;
    let end = text.runs()[last].end;
    let fits = text.isolated(start, end, Label::Passport)
        && near(text.cue_before(start), WORDS_BEFORE_FOREIGN);
    fits.then_some((start, last, Strength::Context))
}

fn near(cue: Option<Cue>, words: usize) -> bool {
    cue.is_some_and(|cue| cue.within(words, &[Label::Passport]))
}

fn continues(text: &Text, at: usize) -> bool {
    text.gap(at).and_then(separator).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text =
            "Паспорт 45 08 123456, серия 4508 № 123456; 4508 123456 выдан, паспорт 4508123456";
        let numbers = ["45 08 123456", "4508 № 123456", "4508 123456", "4508123456"];
        assert_eq!(found(&PassportNumber, text), numbers);
        let text = "Загранпаспорт 70 1234567, passport no. K1234567, серия 4508 номер 123456";
        let numbers = ["70 1234567", "K1234567", "4508 номер 123456"];
        assert_eq!(found(&PassportNumber, text), numbers);
    }

    #[test]
    fn near_misses() {
        for text in [
            "паспорт 4508 12345",
            "паспорт 45081234567",
            "паспорт 4555 123456",
            "паспорт 0008 123456",
            "45-08-1234-56",
            "4508123456",
            "70 1234567",
            "заказ 4508 123456",
        ] {
            assert!(found(&PassportNumber, text).is_empty(), "{text}");
        }
    }
}
