//! PHONE_NUMBER (§2.8): Russian numbers, E.164 with `+`, North American groups, and numbers behind a label
//! such as "тел." or "call". `phone_forms` joins the digits, the numbering plans of libphonenumber check
//! them.

use super::phone_forms::{self as forms, Groups, Home};
use crate::dataclean::numbering::Plans;
use crate::dataclean::text::cue::{Cue, Label};
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};

pub(crate) struct PhoneNumber {
    plans: Plans,
}

impl PhoneNumber {
    /// The numbering plans are unpacked at the first number that needs one.
    pub(crate) fn new() -> Self {
        Self {
            plans: Plans::new(),
        }
    }
}

/// Digits of a number with its country's code.
const FOREIGN: std::ops::RangeInclusive<usize> = 10..=13;

impl Detector for PhoneNumber {
    fn name(&self) -> PatternName {
        PatternName::PhoneNumber
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let (mut next, mut groups) = (0, Groups::room());
        while next < text.runs().len() {
            let whole = groups.read(text, next);
            let find = whole.then(|| phone_at(&self.plans, text, next, &groups));
            let Some((last, strength)) = find.flatten() else {
                next += 1;
                continue;
            };
            let (start, end) = forms::borders(text, next, last);
            out.push(Span::new(self.name(), start..end, strength));
            next = last + 1;
            while text.runs().get(next).is_some_and(|run| run.start < end) {
                next += 1;
            }
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        Some(numbers(text))
    }
}

/// The last run of the phone number that begins with run `first`.
fn phone_at(
    plans: &Plans,
    text: &Text,
    first: usize,
    groups: &Groups,
) -> Option<(usize, Strength)> {
    let alone = |last: &usize| {
        let (start, end) = forms::borders(text, first, *last);
        let free = text.before(start) == Some('/') || text.free_before(start, Label::Phone);
        free && text.free_after(end)
    };
    let plus = forms::has_plus(text, first);
    let certain = if plus {
        international(plans, text, first, groups)
    } else {
        national(plans, text, first, groups)
    };
    if let Some(last) = certain.filter(alone) {
        let (start, end) = forms::borders(text, first, last);
        let cue = text.cue_before(start);
        let denied = !plus
            && (cue.is_some_and(|cue| cue.denies(Label::Phone)) || forms::is_amount(text, end));
        let strength = if near(cue) {
            Strength::Context
        } else {
            Strength::Form
        };
        return (!denied).then_some((last, strength));
    }
    let last = forms::labelled(text, first, groups).filter(alone)?;
    let (start, end) = forms::borders(text, first, last);
    // Groups speak for themselves a little; digits in a row need the label right beside them.
    let cue = text
        .cue_before(start)
        .filter(|cue| last > first || cue.direct());
    let named = near(cue) || text.labelled_after(end, Label::Phone);
    (named && !forms::is_amount(text, end)).then_some((last, Strength::Context))
}

/// The label is close enough to vouch for a number that only looks like a phone.
fn near(cue: Option<Cue>) -> bool {
    const WORDS_BETWEEN: usize = 4;
    cue.is_some_and(|cue| cue.within(WORDS_BETWEEN, &[Label::Phone]))
}

/// `+` and 7 to 15 digits; the longest reading that the numbering plan of its country knows. A single zero in brackets
/// stands in no other number, so that its form is enough.
fn international(plans: &Plans, text: &Text, first: usize, groups: &Groups) -> Option<usize> {
    let is_known = |values: &[u8]| (7..=15).contains(&values.len()) && plans.know_whole(values);
    let without_zero = |last: usize| {
        let mut values = text.values(&text.runs()[first..=last]);
        let has_zero = last > first && forms::opens_with_zero(groups);
        has_zero.then(|| {
            values.remove(groups[0].digits);
            values
        })
    };
    let reading = |last: &usize| {
        let values = text.values(&text.runs()[first..=*last]);
        is_known(&values) || without_zero(*last).is_some_and(|values| is_known(&values))
    };
    let form = |last: &usize| {
        let values = without_zero(*last).filter(|_| forms::trunk_zero(groups));
        values.is_some_and(|values| FOREIGN.contains(&values.len()) && values[0] != 7)
    };
    let mut ends = (first..first + groups.len()).rev();
    ends.clone().find(reading).or_else(|| ends.find(form))
}

/// Russian numbers with 8 or 7 before them or written 3-3-2-2, North American ones written 3-3-4.
fn national(plans: &Plans, text: &Text, first: usize, groups: &Groups) -> Option<usize> {
    let (count, home) = forms::national(text, first, groups)?;
    let last = first + count - 1;
    let values = text.values(&text.runs()[first..=last]);
    let national = &values[values.len() - 10..];
    let known = match home {
        // 7 belongs to Kazakhstan, whose numbers are written with +7.
        Home::Russia => matches!(national[0], 3 | 4 | 8 | 9) && plans.know(7, national),
        Home::NorthAmerica => plans.know(1, national),
    };
    known.then_some(last)
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "Тел. +7 912 345-67-89, 8 (495) 123-45-67; 89161234567 или +44 20 7946 0958.";
        let phones = [
            "+7 912 345-67-89",
            "8 (495) 123-45-67",
            "89161234567",
            "+44 20 7946 0958",
        ];
        assert_eq!(found(&PhoneNumber::new(), text), phones);
        assert_eq!(
            found(&PhoneNumber::new(), "Звоните: 123-45-67"),
            ["123-45-67"]
        );
        for (text, phone) in [
            ("+44 (0)1632 960 555", "+44 (0)1632 960 555"),
            ("+44 (020) 7946 0958", "+44 (020) 7946 0958"),
            ("phone 612345678", "612345678"),
            ("тел. 21234567", "21234567"),
            ("phone 0044 20 7946 0958", "0044 20 7946 0958"),
            ("call 00442079460958", "00442079460958"),
            ("phone: 0 800 123 456", "0 800 123 456"),
        ] {
            assert_eq!(found(&PhoneNumber::new(), text), [phone], "{text}");
        }
    }

    #[test]
    fn near_misses() {
        for text in [
            "тел. +7 012 345-67-89",
            "тел. 8 (495) 123-45-6",
            "строки 123-45-67",
            "звонок 2024-01-15",
            "10.0.0.255",
            "заказ 89161234567",
            "звонок 20240115",
            "созвон 15012024",
            "код +44 (0) впереди",
            "612345678",
            "телефон заказа 12345678901234",
            "call 00401136",
            "reach 100000000 people",
        ] {
            assert!(found(&PhoneNumber::new(), text).is_empty(), "{text}");
        }
    }
}
