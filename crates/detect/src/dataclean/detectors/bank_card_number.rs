//! BANK_CARD_NUMBER (§2.8): 13 to 19 digits with a correct Luhn digit and the prefix and length of a known
//! payment system, bare or in groups; beside the word for a card any prefix, and 12 digits too. Luhn alone accepts
//! one number in ten and never decides alone.

use super::card_groups::{MOST_SIZES, Separator, Sizes, open_groups};
use super::card_systems::{
    LENGTHS, is_barcode, is_card_number, is_unknown_card, printed_groups, unusual_groups,
    usual_groups,
};
use crate::chars::is_word_char;
use crate::dataclean::text::cue::{self, Label};
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Run, Span, Strength, Text};

pub(crate) struct BankCardNumber;

const MOST_DIGITS: usize = *LENGTHS.end();
const FEWEST_DIGITS: usize = *LENGTHS.start();
/// Words between the word for a card and a number of an unknown system.
const WORDS_BETWEEN: usize = 3;
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
        let mut taken = None;
        let found = text.numbers_by(|first, run| {
            let last = match run.digits() {
                FEWEST_DIGITS..=MOST_DIGITS => bare(text, first).then_some(first),
                2..=8 => grouped(text, first, taken),
                _ => None,
            };
            taken = last.or(taken);
            last
        });
        out.extend(found.map(|place| Span::new(self.name(), place, Strength::CheckDigits)));
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
        return is_unknown_card(&values) && is_called_card(text, run.start, run.end);
    }
    let cue = text.cue_before(run.start);
    if cue.is_some_and(|cue| cue.has(Label::Card)) {
        return true;
    }
    let key = text.is_key(run.start) && !is_behind_hash(text, run.start);
    !key && !cue.is_some_and(|cue| cue.denies(Label::Card)) && !is_barcode(&values)
}

/// Whether the word for a card stands close before a number, or right behind one that no other word names, unlike the
/// number in "заказ … оплачен картой".
fn is_called_card(text: &Text, start: usize, end: usize) -> bool {
    let before = text.cue_before(start);
    if before.is_some_and(|cue| cue.within(WORDS_BETWEEN, &[Label::Card])) {
        return true;
    }
    let is_denied = before.is_some_and(|cue| cue.denies(Label::Card));
    let behind = cue::after(text.original(), end);
    !is_denied && behind.is_some_and(|cue| cue.direct() && cue.has(Label::Card))
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
    let (mut ends, mut count) = ([first; MOST_SIZES], 0);
    for last in first + 1..first + MOST_SIZES {
        if !joined(last - 1) {
            break;
        }
        digits += text.runs()[last].digits();
        match digits {
            0..FEWEST_DIGITS => {}
            FEWEST_DIGITS..=MOST_DIGITS => {
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
        let is_known = is_card_number(&values);
        if !((is_known || is_unknown_card(&values))
            && self.is_free_before(start, values.len())
            && self.is_free_after(end, values.len()))
        {
            return false;
        }
        if !is_known {
            let sizes = Sizes::of(runs);
            let is_printed = usual_groups(sizes.all()) && !self.between.is_of_lists();
            let is_whole = !self.goes_on_before && !self.goes_on_behind(last);
            return is_printed && is_whole && is_called_card(text, start, end);
        }
        let cue = text.cue_before(start);
        let named = cue.is_some_and(|cue| cue.has(Label::Card));
        let denied = cue.is_some_and(|cue| cue.denies(Label::Card));
        let sizes = Sizes::of(runs);
        if !self.between.is_usual() {
            let is_list =
                self.goes_on_before || self.goes_on_behind(last) || self.are_amounts(runs);
            let is_spread = named && self.between == Separator::Blanks;
            return is_spread && usual_groups(sizes.all())
                || printed_groups(sizes.all()) && (named || !is_list && !denied);
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

#[cfg(test)]
mod tests;
