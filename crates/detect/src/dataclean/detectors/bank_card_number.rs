//! BANK_CARD_NUMBER (§2.8): 13 to 19 digits with a correct Luhn digit and the prefix and length of a known
//! payment system, bare or in groups. Luhn alone accepts one number in ten and never decides alone.

use super::card_groups::{Separator, open_groups};
use super::card_systems::{
    is_barcode, is_card_number, printed_groups, unusual_groups, usual_groups,
};
use crate::chars::is_word_char;
use crate::dataclean::text::cue::Label;
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Run, Span, Strength, Text};

pub(crate) struct BankCardNumber;

const MOST_DIGITS: usize = 19;
const MOST_GROUPS: usize = 8;
/// Beside a number of so many digits a sign or a letter is no part of it: no phone number is as long.
const LONG: usize = 16;
/// Groups of four in front of a card that has more of them behind it.
const MOST_BEFORE: usize = 2;

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
        // A card as it is printed lends no group to another.
        let mut cards = Vec::new();
        self.find(text, &mut cards);
        let printed = cards.iter().rev().find(|card| is_printed(text, card));
        let open = open_groups(text, printed.map_or(0, |card| card.end));
        Some(numbers(text).min(open.unwrap_or(usize::MAX)))
    }
}

fn is_printed(text: &Text, card: &Span) -> bool {
    let first = text.runs().partition_point(|run| run.start < card.start);
    let separator = text.gap(first).and_then(Separator::of);
    text.runs()[first].end == card.end || separator.is_some_and(Separator::is_usual)
}

fn bare(text: &Text, at: usize) -> bool {
    let run = text.runs()[at];
    if !(is_free_before(text, run.start, run.digits())
        && is_free_after(text, run.end, run.digits()))
    {
        return false;
    }
    let values = text.values(&[run]);
    if !is_card_number(&values) {
        return false;
    }
    let cue = text.cue_before(run.start);
    if cue.is_some_and(|cue| cue.has(Label::Card)) {
        return true;
    }
    let key = text.is_key(run.start) && !is_behind_hash(text, run.start);
    !key && !cue.is_some_and(|cue| cue.denies(Label::Card)) && !is_barcode(&values)
}

/// Also behind a plus sign or a single letter.
fn is_free_before(text: &Text, start: usize, digits: usize) -> bool {
    let Some(c) = text.before(start) else {
        return true;
    };
    let is_alone = || text.before(start - c.len_utf8()).is_none_or(is_open);
    let is_hidden = digits >= LONG && (c == '+' || c.is_alphabetic());
    text.free_before(start, Label::Card) || is_number_sign(c) || is_hidden && is_alone()
}

/// Also before an underscore or a single letter.
fn is_free_after(text: &Text, end: usize, digits: usize) -> bool {
    let Some(c) = text.at(end) else {
        return true;
    };
    let is_alone = || text.at(end + c.len_utf8()).is_none_or(is_open);
    let is_hidden = digits >= LONG && (c == '_' || c.is_alphabetic());
    let is_fraction = digits >= LONG && has_fraction(text, end);
    text.free_after(end) || is_number_sign(c) || is_fraction || is_hidden && is_alone()
}

/// A raised digit, as of a footnote, or a number in one sign, as of a list.
fn is_number_sign(c: char) -> bool {
    !c.is_ascii() && c.is_numeric()
}

/// A point and digits behind which nothing goes on.
fn has_fraction(text: &Text, end: usize) -> bool {
    let next = text.runs().partition_point(|run| run.end <= end);
    let fraction = text.runs().get(next);
    let fraction = fraction.filter(|run| run.digits() <= MOST_DIGITS);
    text.at(end) == Some('.')
        && fraction.is_some_and(|run| run.start == end + 1 && text.free_after(run.end))
}

/// A hash sign at the beginning of a word.
fn is_behind_hash(text: &Text, start: usize) -> bool {
    text.before(start) == Some('#') && text.before(start - 1).is_none_or(char::is_whitespace)
}

/// Nothing goes on with it.
fn is_open(c: char) -> bool {
    !is_word_char(c) && !"-_/\\.@#=&+:%".contains(c)
}

/// Groups joined by one blank or one dash each, always the same, or by another separator where they are those of
/// a printed card; the longest reading wins.
fn grouped(text: &Text, first: usize, taken: Option<usize>) -> Option<usize> {
    let between = Separator::of(text.gap(first)?)?;
    let runs = &text.runs()[first..];
    let mut digits = runs[0].digits();
    if !between.is_usual() && digits != 4 {
        return None;
    }
    let joined = |left: usize| text.gap(left).and_then(Separator::of) == Some(between);
    let (mut ends, mut count) = ([first; MOST_GROUPS], 0);
    for last in first + 1..first + MOST_GROUPS {
        if !joined(last - 1) {
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
    let groups = Groups {
        text,
        first,
        between,
        goes_on_before: first > 0 && joined(first - 1) && taken != Some(first - 1),
    };
    let mut ends = ends[..count].iter().rev().copied();
    ends.find(|last| groups.are_a_card(*last))
}

/// Numbers with the same separator between them.
struct Groups<'a> {
    text: &'a Text<'a>,
    first: usize,
    between: Separator,
    /// The number before them is separated so too.
    goes_on_before: bool,
}

impl Groups<'_> {
    fn are_a_card(&self, last: usize) -> bool {
        let (text, first) = (self.text, self.first);
        let runs = &text.runs()[first..=last];
        let (start, end) = (runs[0].start, runs[runs.len() - 1].end);
        let values = text.values(runs);
        if !(is_card_number(&values)
            && self.is_free_before(start, values.len())
            && self.is_free_after(end, values.len()))
        {
            return false;
        }
        let cue = text.cue_before(start);
        let named = cue.is_some_and(|cue| cue.has(Label::Card));
        let denied = cue.is_some_and(|cue| cue.denies(Label::Card));
        let sizes = Sizes::of(runs);
        if !self.between.is_usual() {
            let is_list =
                self.goes_on_before || self.goes_on_behind(last) || self.are_amounts(runs);
            return printed_groups(sizes.all()) && (named || !is_list && !denied);
        }
        if named || (usual_groups(sizes.all()) && !denied && !self.is_within_a_list(last)) {
            return true;
        }
        let is_list = self.goes_on_before || self.goes_on_behind(last);
        // Pairs of dates begin with a three, pairs of phone numbers of eight digits with a six.
        unusual_groups(sizes.all()) && !denied && !is_list && !matches!(values[0], 3 | 6)
    }

    /// More groups of four stand on both sides: a row of numbers, in which some four look like a card by chance. A
    /// year or an id in front of a card is none.
    fn is_within_a_list(&self, last: usize) -> bool {
        let is_four = |at: usize| {
            self.text
                .runs()
                .get(at)
                .is_some_and(|run| run.digits() == 4)
        };
        let is_joined =
            |left: usize| self.text.gap(left).and_then(Separator::of) == Some(self.between);
        let earlier = (0..self.first).rev().take(MOST_BEFORE + 1);
        let before = earlier
            .take_while(|at| is_four(*at) && is_joined(*at))
            .count();
        self.goes_on_before
            && before > MOST_BEFORE
            && self.goes_on_behind(last)
            && is_four(last + 1)
    }

    /// Also behind a group of four that is free itself: `2024-4111-1111-1111-1111`.
    fn is_free_before(&self, start: usize, digits: usize) -> bool {
        let text = self.text;
        let is_free = |start: usize| match self.between.is_usual() {
            true => is_free_before(text, start, digits),
            false => text.free_before(start, Label::Card),
        };
        let group = text.runs()[..self.first].last();
        let group = group.filter(|run| self.goes_on_before && run.digits() == 4);
        is_free(start) || group.is_some_and(|run| is_free(run.start))
    }

    fn is_free_after(&self, end: usize, digits: usize) -> bool {
        match self.between.is_usual() {
            true => is_free_after(self.text, end, digits),
            false => self.text.free_after(end),
        }
    }

    fn goes_on_behind(&self, last: usize) -> bool {
        self.text.gap(last).and_then(Separator::of) == Some(self.between)
    }

    /// A list of round numbers.
    fn are_amounts(&self, runs: &[Run]) -> bool {
        let mut last_digits = runs
            .iter()
            .map(|run| self.text.original().as_bytes()[run.end - 1]);
        self.between.is_of_lists() && last_digits.all(|digit| digit == b'0')
    }
}

struct Sizes {
    sizes: [usize; MOST_GROUPS],
    count: usize,
}

impl Sizes {
    fn of(runs: &[Run]) -> Self {
        let mut sizes = [0; MOST_GROUPS];
        for (size, run) in sizes.iter_mut().zip(runs) {
            *size = run.digits();
        }
        let count = runs.len();
        Self { sizes, count }
    }

    fn all(&self) -> &[usize] {
        &self.sizes[..self.count]
    }
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
    fn groups_of_four_beside_a_card_do_not_hide_it() {
        for text in [
            "2024 4111 1111 1111 1111",
            "2024-4111-1111-1111-1111",
            "a1b2-18fe1b8a2399 4111 1111 1111 1111",
            "18fe1b8a 2399 4111 1111 1111 1111 2026",
            "1000 2000 4111 1111 1111 1111 3000",
            "1000 2000 3000 5000 6000 4111 1111 1111 1111",
        ] {
            let card = if text.contains("4111-") {
                "4111-1111-1111-1111"
            } else {
                "4111 1111 1111 1111"
            };
            assert_eq!(found(&BankCardNumber, text), [card], "{text:?}");
        }
        let list = "1000 2000 1500 4111 1111 1111 1111 5000";
        assert!(found(&BankCardNumber, list).is_empty());
    }

    #[test]
    fn groups_of_a_printed_card_are_one_whatever_separates_them() {
        for between in [
            "\t", "\n", "\r\n", "  ", "   ", ".", "_", "/", ", ", ",", " / ",
        ] {
            for groups in [
                "4111 1111 1111 1111",
                "3714 496353 98431",
                "2202 7626 7918 8976 186",
            ] {
                let card = groups.replace(' ', between);
                for text in [
                    card.clone(),
                    format!("it is {card} and more"),
                    format!("Карта: {card}."),
                ] {
                    assert_eq!(found(&BankCardNumber, &text), [card.as_str()], "{text:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_of_a_list_are_no_card() {
        for text in [
            // More or fewer of them, of other sizes, separated otherwise.
            "4111, 1111, 1111, 1111, 2222",
            "2222\n4111\n1111\n1111\n1111",
            "4111\t1111\t1111\n1111",
            "41, 11, 11, 11, 11, 11, 11, 11",
            "41111 111 1111 1111".replace(' ', ".").as_str(),
            "411111, 11111, 11111",
            // A wrong check digit, an unknown prefix.
            "4111, 1111, 1111, 1112",
            "1111/1111/1111/1117",
            "6010\n5000\n4000\n3000",
            "заказ 4111/1111/1111/1111",
            "v4111.1111.1111.1111.2",
        ] {
            assert!(found(&BankCardNumber, text).is_empty(), "{text:?}");
        }
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
