//! SNILS, the Russian insurance number (§2.8): XXX-XXX-XXX YY with correct check digits. Eleven bare digits
//! that begin with 7 or 8 look like a phone number and need the label.

use crate::chars::separator;
use crate::dataclean::checksum::{self, SnilsCheck};
use crate::dataclean::text::cue::{Cue, Label};
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};

pub(crate) struct Snils;

impl Detector for Snils {
    fn name(&self) -> PatternName {
        PatternName::Snils
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let found = text.numbers_by(|first, run| match run.digits() {
            11 => bare(text, first).then_some(first),
            3 => grouped(text, first),
            _ => None,
        });
        out.extend(found.map(|place| Span::new(self.name(), place, Strength::CheckDigits)));
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        Some(numbers(text))
    }
}

fn bare(text: &Text, at: usize) -> bool {
    let run = text.runs()[at];
    let values = text.values(&[run]);
    let check = checksum::snils(&values);
    if check == SnilsCheck::Wrong || !text.isolated(run.start, run.end, Label::Snils) {
        return false;
    }
    let cue = text.cue_before(run.start);
    if named(cue) || text.labelled_after(run.end, Label::Snils) {
        return true;
    }
    let denied = cue.is_some_and(|cue| cue.denies(Label::Snils));
    let key = text.is_key(run.start);
    check == SnilsCheck::Right && !matches!(values[0], 7 | 8) && !denied && !key
}

/// 3-3-3-2 digits with blanks or dashes between; the last two may also be glued to the third group. Dots, as in an IP
/// address, need the label.
fn grouped(text: &Text, first: usize) -> Option<usize> {
    const SHAPES: [&[usize]; 2] = [&[3, 3, 3, 2], &[3, 3, 5]];
    let fits = |shape: &&&[usize]| {
        let runs = text.runs().get(first..first + shape.len());
        runs.is_some_and(|runs| {
            runs.iter()
                .map(|run| run.digits())
                .eq(shape.iter().copied())
        })
    };
    let last = first + SHAPES.iter().find(fits)?.len() - 1;
    let separators: Option<Vec<char>> = (first..last)
        .map(|at| text.gap(at).and_then(separator_or_dot))
        .collect();
    let separators = separators?;
    let dashed = separators.starts_with(&['-', '-']);
    let dotted = separators.contains(&'.');
    let (start, end) = (text.runs()[first].start, text.runs()[last].end);
    if !text.isolated(start, end, Label::Snils) {
        return None;
    }
    let check = checksum::snils(&text.values(&text.runs()[first..=last]));
    // Groups with blanks alone are also how sums are written; then nothing may go on around them.
    let alone = dashed || !(continues(text, last) || first > 0 && continues(text, first - 1));
    let accepted = match check {
        SnilsCheck::Right if dotted => {
            named(text.cue_before(start)) || text.labelled_after(end, Label::Snils)
        }
        SnilsCheck::Right => alone || named(text.cue_before(start)),
        SnilsCheck::Unchecked => named(text.cue_before(start)),
        SnilsCheck::Wrong => false,
    };
    accepted.then_some(last)
}

fn separator_or_dot(gap: &str) -> Option<char> {
    separator(gap).or((gap == ".").then_some('.'))
}

fn continues(text: &Text, at: usize) -> bool {
    text.gap(at).and_then(separator).is_some()
}

fn named(cue: Option<Cue>) -> bool {
    cue.is_some_and(|cue| cue.has(Label::Snils))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        assert_eq!(
            found(&Snils, "Мой СНИЛС 777-741-215 45."),
            ["777-741-215 45"]
        );
        assert_eq!(
            found(&Snils, "53888539361, SNILS: 80841485207"),
            ["53888539361", "80841485207"]
        );
        assert_eq!(found(&Snils, "472 803 852 00"), ["472 803 852 00"]);
        for dotted in ["472.803.852.00", "472.803.852 00", "472.803.852-00"] {
            let behind = format!("{dotted} (СНИЛС)");
            assert_eq!(found(&Snils, &format!("СНИЛС {dotted}")), [dotted]);
            assert_eq!(found(&Snils, &behind), [dotted]);
        }
    }

    #[test]
    fn near_misses() {
        for text in [
            "СНИЛС 777-741-215 40",
            "80841485207",
            "1777-741-215 45",
            "СНИЛС 000-000-000 00",
            "итого 472 803 852 00 11",
            "472.803.852.00",
            "СНИЛС 472.803.852.01",
        ] {
            assert!(found(&Snils, text).is_empty(), "{text}");
        }
    }
}
