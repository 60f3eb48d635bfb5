//! The words that make three or four digits a card's verification code, before and behind them. The
//! digits themselves are judged in `cvc`.

use crate::detect::dataclean::labels::{Label, label_of};
use crate::detect::dataclean::text::{is_blank, is_dash};

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
    let words = words(&near);
    for at in (0..words.len()).rev() {
        let between = &near[words[at].1..];
        if between.chars().count() > BETWEEN || between.contains(|c: char| c.is_ascii_digit()) {
            return false;
        }
        if is_label(&words[..=at]) {
            let certain = words[at].0 != "cid"
                || digits == 4
                || holds(&near_before(head, REACH_BEFORE), CARDS);
            return certain && !ends_sentence(between) && !is_denied(between);
        }
    }
    false
}

/// Whether what follows calls the digits a code: "123 (CVC)", "123 is my CVV".
pub(super) fn named_after(tail: &str) -> bool {
    let near = &tail[..tail.floor_char_boundary(REACH_AFTER)];
    let stop = near.find(|c: char| matches!(c, '\n' | ';' | '.' | '!' | '?') || c.is_ascii_digit());
    let clause = near[..stop.unwrap_or(near.len())].to_lowercase();
    let digit_next = stop.is_some_and(|at| near[at..].starts_with(|c: char| c.is_ascii_digit()));
    let words = words(&clause);
    let skipped = words
        .iter()
        .take_while(|word| LINKING.contains(&word.0))
        .count();
    let opened = clause.trim_start_matches(is_blank).starts_with(opens);
    if skipped == 0 && !opened {
        return false;
    }
    let rest = &words[skipped..];
    let label = (1..=rest.len().min(MOST_WORDS)).find(|count| is_label(&rest[..*count]));
    let close = |end: usize| clause[..end].chars().count() <= BETWEEN * 2;
    label.is_some_and(|count| {
        let end = rest[count - 1].1;
        // "123, CVC2" is read whole because the 2 belongs to the label's word.
        let next = digit_next && !clause[end..].contains(char::is_alphanumeric);
        close(end) && !next
    })
}

/// Whether more text may make [`named_after`] true.
pub(super) fn may_follow(behind: &str) -> bool {
    let rest = behind.trim_start_matches(is_blank);
    let word = &rest[..rest
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(rest.len())];
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
    words(&near)
        .last()
        .is_some_and(|word| word.1 == near.len() && NAMES.contains(&word.0))
}

/// Whether the card is an American Express, whose codes have four digits.
pub(super) fn is_amex(head: &str, tail: &str) -> bool {
    let near = near_before(head, REACH_BEFORE);
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
    let rest = near.trim_start_matches(is_blank).to_lowercase();
    COUNTED.iter().any(|unit| rest.starts_with(unit))
}

fn is_label(words: &[(&str, usize)]) -> bool {
    let back = |count: usize| words.len().checked_sub(count).map_or("", |at| words[at].0);
    let begins = |word: &str, stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem));
    let last = back(1);
    NAMES.contains(&last)
        || last.starts_with("безопасн") && back(2).starts_with("код")
        || last == "code" && back(2) == "security"
        || matches!(last, "value" | "code" | "number")
            && back(2) == "verification"
            && back(3) == "card"
        || begins(last, BACK) && (2..=MOST_WORDS).any(|count| begins(back(count), CODE))
}

fn is_denied(between: &str) -> bool {
    let words = words(between);
    let other = |word: &str| label_of(word).is_some_and(|label| label != Label::Card);
    words.last().is_some_and(|(word, _)| {
        other(word) || NOT_A_CODE.iter().any(|stem| word.starts_with(stem))
    })
}

fn ends_sentence(between: &str) -> bool {
    let lines = between.contains('\n') && between.contains(char::is_alphabetic);
    lines || between.contains(';') || [". ", "! ", "? "].iter().any(|end| between.contains(end))
}

fn near_before(head: &str, reach: usize) -> String {
    let cut = head.ceil_char_boundary(head.len().saturating_sub(reach));
    let near = &head[cut..];
    // Half a word at the edge says nothing.
    let whole = match cut {
        0 => near,
        _ => near.trim_start_matches(char::is_alphanumeric),
    };
    whole.to_lowercase()
}

/// Words with the byte where each ends.
fn words(text: &str) -> Vec<(&str, usize)> {
    let mut end = 0;
    let mut words = Vec::new();
    for part in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
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
