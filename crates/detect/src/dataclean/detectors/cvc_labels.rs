//! The labels, before or behind, that make three or four digits a card verification code. `cvc` checks
//! the digits.

use crate::chars::{is_blank, is_dash, is_letter, is_word_char};
use crate::dataclean::text::inline::InlineWord;
use crate::dataclean::text::labels::{Label, label_of};
use std::ops::Range;

/// Digits of an American Express code.
const AMEX_DIGITS: usize = 4;
/// Characters between label and code.
const BETWEEN: usize = 25;
/// What is read before a code and behind it, in bytes.
const REACH_BEFORE: usize = 130;
const REACH_LABEL: usize = 100;
const REACH_AFTER: usize = 80;
const MOST_WORDS: usize = 5;

const NAMES: &[&str] = &[
    "cvc", "cvc2", "cvv", "cvv2", "cvn", "cvn2", "cav2", "csc", "cid", "цвв", "цвц",
];
const CODE: &[&str] = &["код", "code", "цифр", "digit", "трёхзначн", "трехзначн"];
const BACK: &[&str] = &["оборот", "обратн", "тыльн", "сзади", "back"];
const AMEX: &[&str] = &["amex", "american express", "амекс", "американ экспресс"];
/// Parts of words; a text without any of them holds no label.
pub(super) const CUES: &[&str] = &[
    "cv[cvn]",
    "cav2",
    "csc",
    "cid",
    "цвв",
    "цвц",
    "безопасн",
    "security",
    "verification",
    "код",
    "code",
    "цифр",
    "digit",
    "тр[её]хзначн",
];
/// Where "CID" is a card's and not a customer's or a chat's.
const CARDS: &[&str] = &["amex", "express", "card", "карт", "cvv", "cvc", "visa"];
/// Words after which a number is that of something else.
const NOT_A_CODE: &[&str] = &[
    "кабинет",
    "каб",
    "комнат",
    "ошибк",
    "строк",
    "страниц",
    "стр",
    "http",
    "статус",
    "status",
    "error",
    "line",
    "page",
    "порт",
    "port",
    "шаг",
    "step",
    "пункт",
    "глав",
    "chapter",
    "section",
    "дом",
    "кв",
    "квартир",
    "офис",
    "office",
    "сумм",
    "ответ",
    "билет",
    "рейс",
    "flight",
    "слайд",
    "slide",
    "задач",
    "task",
    "issue",
    "case",
    "вопрос",
    "question",
];
/// What is counted by a number before it.
const COUNTED: &[&str] = &[
    "цифр",
    "символ",
    "знак",
    "digit",
    "char",
    "symbol",
    "дн",
    "день",
    "мин",
    "час",
    "раз",
    "day",
    "minute",
    "hour",
    "time",
    "шт",
    "штук",
    "человек",
    "people",
    "card",
    "карт",
];
/// Words between a code and the label behind it: "123 is my CVV".
const LINKING: &[&str] = &["это", "is", "my", "the", "мой", "наш", "here"];

/// Whether the words before digits call them a code.
pub(super) fn named_before(head: &str, digits: usize) -> bool {
    let near = near_before(head, REACH_LABEL);
    let mut end = near.len();
    while let Some(word) = word_before(&near[..end]) {
        // Behind a number, a label before it is that number's.
        if near[word.clone()].starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let label = &near[..word.end];
        let between = &near[word.end..];
        if between.chars().count() > BETWEEN || between.contains(|c: char| c.is_ascii_digit()) {
            return false;
        }
        if is_label(label) {
            let certain = digits == AMEX_DIGITS
                || !InlineWord::lowercase(&near[word]).is("cid")
                || holds(&near_before(head, REACH_BEFORE).to_lowercase(), CARDS);
            return certain && !ends_sentence(between) && !is_denied(between);
        }
        end = word.start;
    }
    false
}

/// Whether what follows calls the digits a code: "123 (CVC)", "123 is my CVV".
pub(super) fn named_after(tail: &str) -> bool {
    if !may_be_named_after(tail) {
        return false;
    }
    let near = &tail[..tail.floor_char_boundary(REACH_AFTER)];
    let stop = near.find(|c: char| matches!(c, '\n' | ';' | '.' | '!' | '?') || c.is_ascii_digit());
    let clause = near[..stop.unwrap_or(near.len())].to_lowercase();
    let digit_next = stop.is_some_and(|at| near[at..].starts_with(|c: char| c.is_ascii_digit()));
    let words = words(&clause);
    let linking = |word: &&(&str, usize)| LINKING.contains(&word.0);
    let skipped = words.iter().take_while(linking).count();
    let opened = clause.trim_start_matches(is_blank).starts_with(opens);
    if skipped == 0 && !opened {
        return false;
    }
    let rest = &words[skipped..];
    let first = rest.first().map_or(0, |word| word.1 - word.0.len());
    let label =
        (1..=rest.len().min(MOST_WORDS)).find(|count| is_label(&clause[first..rest[*count - 1].1]));
    let close = |end: usize| clause[..end].chars().count() <= BETWEEN * 2;
    label.is_some_and(|count| {
        let end = rest[count - 1].1;
        // "123, CVC2" is read whole because the 2 belongs to the label's word.
        let next = digit_next && !clause[end..].contains(is_word_char);
        close(end) && !next
    })
}

/// Whether a word that links, or any word behind a sign that opens, is the next behind digits.
fn may_be_named_after(tail: &str) -> bool {
    let opened = tail.trim_start_matches(is_blank).starts_with(opens);
    let word = tail.find(is_word_char).unwrap_or(tail.len());
    let ended = tail[..word].contains(['\n', ';', '.', '!', '?']);
    let word = &tail[word..];
    let letters = word.starts_with(|c: char| !c.is_ascii_digit());
    let end = word.find(|c| !is_word_char(c)).unwrap_or(word.len());
    !ended && letters && (opened || InlineWord::lowercase(&word[..end]).begins_with(LINKING))
}

/// Whether more text may make [`named_after`] true.
pub(super) fn may_follow(behind: &str) -> bool {
    let rest = behind.trim_start_matches(is_blank);
    let word = &rest[..rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len())];
    let folded = word.to_lowercase();
    let linking = |link: &&str| match word.len() == rest.len() {
        true => link.starts_with(&folded),
        false => **link == folded,
    };
    let over = behind.contains(|c: char| matches!(c, '\n' | ';') || c.is_ascii_digit());
    !over && (rest.is_empty() || rest.starts_with(opens) || LINKING.iter().any(linking))
}

/// A label directly before digits, as in "CVC123".
pub(super) fn is_glued(head: &str) -> bool {
    let near = near_before(head, REACH_LABEL);
    let last = word_before(near).filter(|word| word.end == near.len());
    last.is_some_and(|word| InlineWord::lowercase(&near[word]).is_one_of(NAMES))
}

/// Whether the card is an American Express, whose codes have four digits.
pub(super) fn is_amex(head: &str, tail: &str) -> bool {
    let near = near_before(head, REACH_BEFORE).to_lowercase();
    let behind = &tail[..tail.floor_char_boundary(REACH_AFTER / 2)];
    let behind = behind
        .split(|c: char| c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    let inside = |c: char| c.is_ascii_digit() || is_blank(c) || is_dash(c);
    let number = |part: &str| {
        let digits: String = part.chars().filter(char::is_ascii_digit).collect();
        digits.len() == 15 && (digits.starts_with("34") || digits.starts_with("37"))
    };
    holds(&near, AMEX)
        || holds(&behind.to_lowercase(), AMEX)
        || near.split(|c: char| !inside(c)).any(number)
}

/// Whether the word behind digits is counted by them: "CVC 123 symbols".
pub(super) fn counts(tail: &str) -> bool {
    let near = &tail[..tail.floor_char_boundary(REACH_AFTER / 2)];
    InlineWord::lowercase(near.trim_start_matches(is_blank)).begins_with(COUNTED)
}

/// Whether the last words of a text are a label.
pub(super) fn is_label(text: &str) -> bool {
    let mut end = text.len();
    let mut back = || {
        let word = word_before(&text[..end])?;
        end = word.start;
        Some(InlineWord::lowercase(&text[word]))
    };
    let Some(last) = back() else {
        return false;
    };
    if last.is_one_of(NAMES) {
        return true;
    }
    let mut second = || back().unwrap_or(InlineWord::lowercase(""));
    if last.begins_with(&["безопасн"]) {
        return second().begins_with(&["код"]);
    }
    if last.is_one_of(&["value", "code", "number"]) {
        let second = second();
        return last.is("code") && second.is("security")
            || second.is("verification") && back().is_some_and(|third| third.is("card"));
    }
    last.begins_with(BACK)
        && (2..=MOST_WORDS)
            .map_while(|_| back())
            .any(|word| word.begins_with(CODE))
}

fn is_denied(between: &str) -> bool {
    let words = words(between);
    let other = |word: &str| {
        label_of(&InlineWord::lowercase(word)).is_some_and(|label| label != Label::Card)
    };
    words.last().is_some_and(|(word, _)| {
        other(word) || NOT_A_CODE.iter().any(|stem| word.starts_with(stem))
    })
}

fn ends_sentence(between: &str) -> bool {
    let lines = between.contains('\n') && between.contains(is_letter);
    lines || between.contains(';') || [". ", "! ", "? "].iter().any(|end| between.contains(end))
}

fn near_before(head: &str, reach: usize) -> &str {
    let cut = head.ceil_char_boundary(head.len().saturating_sub(reach));
    let near = &head[cut..];
    // Half a word at the edge says nothing.
    match cut {
        0 => near,
        _ => near.trim_start_matches(is_word_char),
    }
}

/// The last word of a text.
fn word_before(text: &str) -> Option<Range<usize>> {
    let end = text.trim_end_matches(|c| !is_word_char(c)).len();
    let start = text[..end].trim_end_matches(is_word_char).len();
    (start < end).then_some(start..end)
}

/// Words with the byte where each ends.
fn words(text: &str) -> Vec<(&str, usize)> {
    let mut end = 0;
    let mut words = Vec::new();
    for part in text.split_inclusive(|c: char| !is_word_char(c)) {
        let word = part.trim_end_matches(|c: char| !is_word_char(c));
        if !word.is_empty() {
            words.push((word, end + word.len()));
        }
        end += part.len();
    }
    words
}

fn holds(near: &str, words: &[&str]) -> bool {
    words.iter().any(|word| near.contains(word))
}

fn opens(c: char) -> bool {
    c == '(' || c == '\u{2014}' || is_dash(c)
}
