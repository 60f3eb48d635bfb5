//! BANK_CARD_NUMBER (§2.8): 13 to 19 digits with a correct Luhn digit and the prefix and length of a known
//! payment system, bare or in groups. Luhn alone accepts one number in ten and never decides alone.

use super::card_systems::{is_barcode, known_system, usual_groups};
use crate::chars::separator;
use crate::dataclean::text::cue::Label;
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Run, Span, Strength, Text, checksum};

pub(crate) struct BankCardNumber;

const MOST_DIGITS: usize = 19;
const MOST_GROUPS: usize = 6;

impl Detector for BankCardNumber {
    fn name(&self) -> PatternName {
        PatternName::BankCardNumber
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let (mut next, mut taken) = (0, None);
        while let Some(run) = text.runs().get(next) {
            let last = match run.digits() {
                13..=MOST_DIGITS => Some(next).filter(|_| bare(text, next)),
                2..=8 => grouped(text, next, taken),
                _ => None,
            };
            if let Some(last) = last {
                let (start, end) = (run.start, text.runs()[last].end);
                out.push(Span {
                    kind: self.name(),
                    start,
                    end,
                    strength: Strength::CheckDigits,
                });
                taken = Some(last);
            }
            next = last.unwrap_or(next) + 1;
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        Some(numbers(text))
    }
}

fn bare(text: &Text, at: usize) -> bool {
    let run = text.runs()[at];
    if !text.isolated(run.start, run.end, Label::Card) {
        return false;
    }
    let values = text.values(&[run]);
    if !(known_system(&values) && checksum::luhn(&values)) {
        return false;
    }
    let cue = text.cue_before(run.start);
    if cue.is_some_and(|cue| cue.has(Label::Card)) {
        return true;
    }
    let key = text.is_key(run.start);
    !key && !cue.is_some_and(|cue| cue.denies(Label::Card)) && !is_barcode(&values)
}

/// Groups joined by one blank or one dash each, always the same; the longest reading wins.
fn grouped(text: &Text, first: usize, taken: Option<usize>) -> Option<usize> {
    let between = separator(text.gap(first)?)?;
    let runs = &text.runs()[first..];
    let mut digits = runs[0].digits();
    let (mut ends, mut count) = ([first; MOST_GROUPS], 0);
    for last in first + 1..first + MOST_GROUPS {
        if text.gap(last - 1).and_then(separator) != Some(between) {
            break;
        }
        digits += text.runs()[last].digits();
        match digits {
            0..13 => {}
            13..=MOST_DIGITS => {
                ends[count] = last;
                count += 1;
            }
            _ => break,
        }
    }
    let joined = |left: usize| text.gap(left).and_then(separator) == Some(between);
    let four = |at: usize| text.runs().get(at).is_some_and(|run| run.digits() == 4);
    let goes_on_before =
        || first > 0 && joined(first - 1) && four(first - 1) && taken != Some(first - 1);
    ends[..count].iter().rev().copied().find(|last| {
        let runs = &text.runs()[first..=*last];
        let (start, end) = (runs[0].start, runs[runs.len() - 1].end);
        let values = text.values(runs);
        if !(known_system(&values)
            && checksum::luhn(&values)
            && text.isolated(start, end, Label::Card))
        {
            return false;
        }
        let cue = text.cue_before(start);
        let named = cue.is_some_and(|cue| cue.has(Label::Card));
        let denied = cue.is_some_and(|cue| cue.denies(Label::Card));
        named || (has_usual_groups(runs) && !goes_on_before() && !denied)
    })
}

fn has_usual_groups(runs: &[Run]) -> bool {
    let mut sizes = [0; MOST_GROUPS];
    for (size, run) in sizes.iter_mut().zip(runs) {
        *size = run.digits();
    }
    usual_groups(&sizes[..runs.len()])
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "Карта 2200 1244 6450 7773 12/26, ещё 4276-5493-6034-4563 и 371432466573959.";
        assert_eq!(
            found(&BankCardNumber, text),
            [
                "2200 1244 6450 7773",
                "4276-5493-6034-4563",
                "371432466573959"
            ]
        );
        assert_eq!(
            found(&BankCardNumber, "2202 7626 7918 8976 186"),
            ["2202 7626 7918 8976 186"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "карта 2200124464507774",
            "заказ 4276549360344563",
            "ORD-4276549360344563",
            "40702810500000012344",
            "1722251651000000",
        ] {
            assert!(found(&BankCardNumber, text).is_empty(), "{text}");
        }
    }
}
