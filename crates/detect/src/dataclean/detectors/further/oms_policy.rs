//! OMS_POLICY, the number of a Russian health insurance policy (ENP): sixteen digits, of which the last is Luhn's check
//! digit, beside its word. A card may have the same digits; the word decides.

use super::nearby::Words;
use crate::chars::separator;
use crate::dataclean::checksum::luhn;
use crate::dataclean::text::inline::is_repeated;
use crate::dataclean::text::labels::Label;
use crate::dataclean::{Detector, Needs, PatternName, Run, Span, Strength, Text};

pub(crate) struct OmsPolicy;

const WORDS: Words = Words {
    whole: &["омс", "енп", "oms", "enp"],
    stems: &["полис"],
    phrases: &[
        "oms policy",
        "health policy",
        "medical policy",
        "insurance policy",
        "health insurance",
        "medical insurance",
    ],
};
const DIGITS: usize = 16;
const GROUP: usize = 4;

impl Detector for OmsPolicy {
    fn name(&self) -> PatternName {
        PatternName::OmsPolicy
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let mut before = None;
        let found = text.numbers_by(|first, run| {
            let last = match run.digits() {
                DIGITS => first,
                GROUP => grouped(text, first)?,
                _ => return None,
            };
            let runs = &text.runs()[first..=last];
            let is_policy = is_policy(text, runs, before);
            before = is_policy.then_some(text.runs()[last].end).or(before);
            is_policy.then_some(last)
        });
        out.extend(found.map(|place| Span::new(self.name(), place, Strength::Proven)));
    }
}

/// Four groups of four with the same blank or dash between them.
fn grouped(text: &Text, first: usize) -> Option<usize> {
    let between = separator(text.gap(first)?)?;
    let last = first + DIGITS / GROUP - 1;
    let fits = |at: usize| {
        let run = text.runs().get(at);
        let joined = text.gap(at - 1).and_then(separator) == Some(between);
        joined && run.is_some_and(|run| run.digits() == GROUP)
    };
    (first + 1..=last).all(fits).then_some(last)
}

/// `before` is where the last policy ends, whose word may be said of this one too.
fn is_policy(text: &Text, runs: &[Run], before: Option<usize>) -> bool {
    let place = runs[0].start..runs[runs.len() - 1].end;
    let values = text.values(runs);
    let is_given = luhn(&values) && !is_repeated(&values);
    is_given
        && text.isolated(place.start, place.end, Label::Other)
        && WORDS.name_in_list(text.original(), &place, before)
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "Полис ОМС 7751230845001238, ЕНП: 7751 2308 4500 1238";
        let numbers = ["7751230845001238", "7751 2308 4500 1238"];
        assert_eq!(found(&OmsPolicy, text), numbers);
        assert_eq!(
            found(&OmsPolicy, "7751230845001238 (полис ОМС)"),
            ["7751230845001238"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "Полис ОМС 7751230845001234",
            "Карта 7751230845001238",
            "полис на карту 7751230845001238",
            "Полис ОМС 77512308450012",
            "Полис ОМС 0000000000000000",
            "7751230845001238",
        ] {
            assert!(found(&OmsPolicy, text).is_empty(), "{text}");
        }
    }
}
