//! CVC (§2.8): the three digits on the back of a card, or four on the front of an American Express. Three
//! digits prove nothing alone: a label must be near, or a card number with month and year before them.

use super::cvc_labels as labels;
use super::phone_forms::is_amount;
use crate::chars::{is_blank, is_dash, is_word_char, separator};
use crate::dataclean::text::number_chain::is_read;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};
use regex::Regex;
use std::cell::OnceCell;

pub(crate) struct Cvc {
    /// A part of every label; None where it did not compile, and then every text may hold one.
    cues: Option<Regex>,
}

impl Cvc {
    /// Compiles what every label has a part of.
    pub(crate) fn new() -> Self {
        Self {
            cues: Regex::new(&format!("(?i){}", labels::CUES.join("|"))).ok(),
        }
    }
}

const DIGITS: usize = 3;
const AMEX_DIGITS: usize = 4;
/// Groups that a card's number is written in.
const MOST_GROUPS: usize = 6;
/// What stands between a card's number and its date, in bytes.
const BEFORE_DATE: usize = 24;
/// How far behind a code anything is read that bears on it, in bytes.
const REACH: usize = 96;

impl Detector for Cvc {
    fn name(&self) -> PatternName {
        PatternName::Cvc
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let labelled = OnceCell::new();
        let is_match = || {
            self.cues
                .as_ref()
                .is_none_or(|cues| cues.is_match(text.original()))
        };
        for (at, run) in text.runs().iter().enumerate() {
            if !matches!(run.digits(), DIGITS | AMEX_DIGITS) {
                continue;
            }
            let named =
                *labelled.get_or_init(is_match) && (is_named(text, at) || is_in_column(text, at));
            if (named || behind_card(text, at)) && stands_alone(text, run.start, run.end) {
                let place = run.start..run.end;
                out.push(Span::new(self.name(), place, Strength::Context));
            }
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        let whole = text.original();
        let runs = text.runs();
        let near = runs.partition_point(|run| run.end + REACH < whole.len());
        let open = (near..runs.len()).find(|at| is_open(text, *at));
        Some(open.map_or(whole.len(), |at| runs[at].start))
    }
}

fn is_named(text: &Text, at: usize) -> bool {
    let run = text.runs()[at];
    let (head, tail) = (&text.original()[..run.start], &text.original()[run.end..]);
    let named = labels::named_before(head, run.digits());
    if run.digits() == AMEX_DIGITS {
        return named && labels::is_amex(head, tail);
    }
    named && !labels::counts(tail) && !is_amount(text, run.end) || labels::named_after(tail)
}

/// Under a header that is a label. Four digits need one that names the card's system.
fn is_in_column(text: &Text, at: usize) -> bool {
    let run = text.runs()[at];
    text.table_cell(run.start).is_some_and(|cell| {
        let is_long = run.digits() == AMEX_DIGITS;
        labels::is_label(cell.header) && (!is_long || labels::is_amex(cell.header, ""))
    })
}

/// A label may be glued to the front; nothing else may.
fn stands_alone(text: &Text, start: usize, end: usize) -> bool {
    let head = &text.original()[..start];
    let decimal = head.strip_suffix(['.', ',']);
    let glued = |c: char| is_word_char(c) || matches!(c, '+' | '$' | '€' | '_' | '№' | '#');
    let bound = head.ends_with(glued)
        || goes_back(head)
        || decimal.is_some_and(|head| head.ends_with(|c: char| c.is_ascii_digit()));
    text.free_after(end) && (!bound || labels::is_glued(head))
}

/// "12-123": a dash between digits or letters makes them one thing.
fn goes_back(head: &str) -> bool {
    let before = head.strip_suffix(is_dash);
    before.is_some_and(|head| head.ends_with(is_word_char) && !labels::is_glued(head))
}

/// "4276 5493 6034 4563 12/26 123": a right card number, month and year, and then the code.
fn behind_card(text: &Text, at: usize) -> bool {
    let runs = text.runs();
    let Some(card) = at.checked_sub(3).filter(|_| runs[at].digits() == DIGITS) else {
        return false;
    };
    if text.gap(at - 2).map(str::trim) != Some("/") {
        return false;
    }
    let month = text.values(&runs[at - 2..at - 1]);
    let year = matches!(runs[at - 1].digits(), 2 | 4);
    let is_month = matches!(month[..], [0, 1..=9] | [1, 0..=2]);
    let close = |gap: &str| {
        gap.chars()
            .all(|c| is_blank(c) || matches!(c, ',' | '/' | '|' | ':'))
            && gap.len() <= 4
    };
    let near = text.gap(at - 1).is_some_and(close);
    let dated = text
        .gap(card)
        .is_some_and(|gap| gap.len() <= BEFORE_DATE && !gap.contains('\n'));
    is_month && year && near && dated && ends_card(text, card)
}

fn ends_card(text: &Text, last: usize) -> bool {
    let mut digits = 0;
    let first = |count: usize| (last + 1).checked_sub(count);
    for first in (1..=MOST_GROUPS).map_while(first) {
        if first < last && text.gap(first).and_then(separator).is_none() {
            return false;
        }
        digits += text.runs()[first].digits();
        if (13..=19).contains(&digits) {
            let values = text.values(&text.runs()[first..=last]);
            if super::card_systems::is_card_number(&values) {
                return true;
            }
        }
    }
    false
}

/// Whether what follows can still make a code of a run, or no code of it.
fn is_open(text: &Text, at: usize) -> bool {
    let run = text.runs()[at];
    let behind = &text.original()[run.end..];
    // Digits that may go on, and the characters that say whether they stand alone.
    if run.digits() <= AMEX_DIGITS && text.is_edge(run.end) {
        return true;
    }
    let head = &text.original()[..run.start];
    match run.digits() {
        DIGITS if labels::may_follow(behind) => behind.len() < REACH,
        DIGITS | AMEX_DIGITS => {
            labels::named_before(head, run.digits()) && !is_read_on(text, run.end)
        }
        _ => false,
    }
}

fn is_read_on(text: &Text, end: usize) -> bool {
    let digits = text.original()[end..].contains(|c: char| c.is_ascii_digit());
    digits || is_read(text, end)
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "CVC 123, cvv: 047; CVV2=901, код безопасности 555. Ещё 321 (CVC)";
        assert_eq!(
            found(&Cvc::new(), text),
            ["123", "047", "901", "555", "321"]
        );
        for table in [
            "card;cvc\n4276549360344563;124\n4276549360344563;125",
            "name\tCVV2\nAnn\t124\nBob\t125",
            "| Имя | Код безопасности |\n|---|---|\n| Я | 124 |\n| Ты | 125 |",
        ] {
            assert_eq!(found(&Cvc::new(), table), ["124", "125"], "{table}");
        }
        let text = "CID 1234 (Amex), карта 4276 5493 6034 4563 12/26 124";
        assert_eq!(found(&Cvc::new(), text), ["1234", "124"]);
    }

    #[test]
    fn near_misses() {
        for text in [
            "кабинет 123",
            "HTTP 404",
            "CVC 12",
            "cvv 12345",
            "123",
            "CVC не помню, кабинет 123",
            "CVV 1234",
            "name;room\nAnn;124",
            "cvc;room\nn/a;124",
            "CID 123",
        ] {
            assert!(found(&Cvc::new(), text).is_empty(), "{text}");
        }
    }
}
