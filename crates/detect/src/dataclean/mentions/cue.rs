//! Decides whether a date is a deadline, by the words before it ("до", "не позднее", "срок оплаты —",
//! "by", "deadline is") or right behind it. The cue is not part of the find.

use super::chain::{Chain, dash};
use super::date::{Date, Weight};
use super::duration::last_word;
use super::word::Word;
use super::{Mention, MentionKind};
use crate::chars::is_word_char;
use crate::dataclean::text::inline::InlineWord;

/// Years before it are history, not a deadline, where only a small word stands before them: nobody
/// talked to a model then.
const FIRST_YEAR: u64 = 2020;
/// How far before a date its cue may begin, in bytes.
const REACH: usize = 120;
/// The most that stands between the ends of a range, in bytes.
const LONGEST_JOINT: usize = 16;
/// Words between a noun such as "срок" and its date.
const WORDS_BETWEEN: usize = 5;

/// Small words that make the date right behind them a deadline.
const SMALL: &[&str] = &["до", "к", "ко", "by", "until", "till", "before"];
/// What something is ahead of a date by: "за неделю до 5 мая" is no deadline.
const AHEAD: &[&str] = &[
    "день",
    "дня",
    "дней",
    "сутки",
    "неделю",
    "недели",
    "недель",
    "месяц",
    "месяца",
    "месяцев",
    "год",
    "года",
    "лет",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
];
/// Words that say it by themselves, with other words between or not.
const NOUNS: &[&str] = &[
    "срок",
    "срока",
    "сроком",
    "сроки",
    "сроку",
    "дедлайн",
    "дедлайна",
    "дедлайном",
    "дедлайны",
    "deadline",
    "deadlines",
    "due",
    "cutoff",
    "дэдлайн",
];
/// Words before a date that say it is a beginning or a past, whatever stands before them.
const OTHERWISE: &[&str] = &[
    "с",
    "со",
    "от",
    "from",
    "since",
    "после",
    "after",
    "in",
    "starting",
    "начиная",
];
/// Words that stand between a cue and its date.
const FILLERS: &[&str] = &[
    "the",
    "on",
    "this",
    "this",
    "числа",
    "это",
    "is",
    "at",
    "дата",
    "date",
    "на",
    "около",
    "approximately",
    "about",
    "утра",
    "вечера",
    "часов",
    "ч",
    "am",
    "pm",
    "of",
    "мск",
    "обеда",
    "noon",
    "midnight",
    "end",
    "конца",
];

/// What a date is where it stands; None for one that is no date without a cue. `last` is what was
/// found before it.
pub(super) fn kind(chain: &Chain, date: &Date, last: Option<&Mention>) -> Option<MentionKind> {
    let plain = (date.weight != Weight::Near).then_some(MentionKind::Date);
    if continues(chain, date, last) {
        return plain;
    }
    let head = &chain.text[chain
        .text
        .floor_char_boundary(date.start.saturating_sub(REACH))
        ..date.start];
    let under = match cue(head) {
        Cue::Noun => true,
        Cue::Small => !matches!(date.weight, Weight::Years(year) if year < FIRST_YEAR),
        Cue::None => behind(chain, date),
    };
    if under {
        Some(MentionKind::Deadline)
    } else {
        plain
    }
}

/// The far end of a range: "с 5 мая до 10 мая".
fn continues(chain: &Chain, date: &Date, last: Option<&Mention>) -> bool {
    let Some(last) = last.filter(|last| last.kind == MentionKind::Date) else {
        return false;
    };
    if date.start.saturating_sub(last.end) > LONGEST_JOINT {
        return false;
    }
    let between = chain
        .text
        .get(last.end..date.start)
        .unwrap_or("?")
        .trim()
        .to_lowercase();
    matches!(
        between.as_str(),
        "до" | "по" | "to" | "until" | "till" | "before" | "-" | "–" | "—"
    )
}

enum Cue {
    Noun,
    Small,
    None,
}

/// The cue that a text before a date ends with.
fn cue(head: &str) -> Cue {
    let mut rest = head;
    let mut words = 0;
    let mut near = true;
    while words <= WORDS_BETWEEN {
        let Some((word, before)) = step(rest, near) else {
            return Cue::None;
        };
        rest = before;
        let because = word.is("due") && head[rest.len() + word.bytes().len()..].starts_with(" to ");
        if word.is_one_of(NOUNS) && !because || negated(&word, rest) {
            return Cue::Noun;
        }
        if near && word.is_one_of(SMALL) {
            let counted = step(rest, true).is_some_and(|(unit, _)| unit.is_one_of(AHEAD));
            return if counted { Cue::None } else { Cue::Small };
        }
        if near && word.is_one_of(OTHERWISE) {
            return Cue::None;
        }
        let filler =
            word.is_one_of(FILLERS) || word.bytes().first().is_some_and(u8::is_ascii_digit);
        near &= filler;
        words += usize::from(!filler);
    }
    Cue::None
}

/// "не позднее", "no later than", "at the latest".
fn negated(word: &InlineWord, rest: &str) -> bool {
    match word.as_str() {
        "позднее" | "позже" => {
            InlineWord::lowercase(last_word(rest.trim_end())).is("не")
        }
        "than" => rest.trim_end().to_lowercase().ends_with("later"),
        _ => false,
    }
}

/// The last word of a text in lower case and what stands before it; None across the end of a sentence.
fn step(rest: &str, near: bool) -> Option<(InlineWord, &str)> {
    let trimmed = rest.trim_end_matches(|c: char| !is_word_char(c));
    let between = &rest[trimmed.len()..];
    let line = between.contains('\n') && !near;
    let ends = (line || between.contains(['!', '?', ';', ')'])) && !between.contains(':');
    let stops =
        between.contains(',') && !near || between.contains('.') && (between.contains(' ') || !near);
    if ends || stops || trimmed.is_empty() {
        return None;
    }
    let start = trimmed
        .trim_end_matches(|c: char| is_word_char(c) || c == ':')
        .len();
    let word = &trimmed[start..];
    let word = word
        .rsplit(':')
        .next()
        .filter(|part| !part.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(word);
    Some((
        InlineWord::lowercase(word),
        &trimmed[..trimmed.len() - word.len()],
    ))
}

/// "5 мая — крайний срок", "May 5 deadline".
fn behind(chain: &Chain, date: &Date) -> bool {
    let Some(gap) = chain.lead(date.end, date.next) else {
        return false;
    };
    let joined = dash(gap) || matches!(gap, " (" | " is the " | " — это ");
    let word = chain.word(date.next) == Some(Word::Deadline);
    let due = word && chain.raw(date.next).eq_ignore_ascii_case("due");
    let direct = gap == " " && chain.raw(date.next).eq_ignore_ascii_case("deadline");
    word && !due && (joined || direct)
}
