//! The grammar of durations: number and unit ("3 рабочих дня", "two weeks", "1 ч 30 мин", PT5M). Ages,
//! times of day and ordinals do not count.

use super::amount::{Amount, amount, further, second};
use super::chain::{Chain, blanks, glue};
use super::word::{Unit, Word, YearForm};
use super::{Mention, MentionKind};
use crate::chars::is_letter;
use crate::dataclean::text::inline::InlineWord;

/// Words before a number of years that make it an age.
const OWNERS: &[&str] = &[
    "мне",
    "ему",
    "ей",
    "им",
    "нам",
    "тебе",
    "вам",
    "исполнилось",
    "исполнится",
    "исполняется",
    "возраст",
    "возрасте",
    "возраста",
    "старше",
    "младше",
    "моложе",
    "aged",
    "age",
    "turned",
    "turns",
    "лицам",
];

/// The duration that begins at a place, and the first word behind it.
pub(super) fn duration(chain: &Chain, at: usize) -> Option<(Mention, usize)> {
    let (start, end, next) = match chain.word(at)? {
        Word::HalfUnit => (chain.start(at), chain.end(at), at + 1),
        Word::Period => period(chain, at)?,
        Word::Number | Word::Numeral(_) | Word::Half | Word::Couple => counted(chain, at)?,
        Word::Multiplier => counted(chain, at)?,
        Word::Unit(_) | Word::Year(YearForm::Both) | Word::Quarter | Word::Century => {
            single(chain, at)?
        }
        _ => return None,
    };
    let mention = Mention {
        kind: MentionKind::Duration,
        start,
        end,
    };
    Some((mention, next))
}

/// "2 часа 30 минут", "5–7 дней", "one year and two months".
fn counted(chain: &Chain, at: usize) -> Option<(usize, usize, usize)> {
    let first = amount(chain, at)?;
    let (mut size, mut end, mut next) = match unit(chain, &first) {
        Some(found) => found,
        None => unit(chain, &second(chain, &first)?)?,
    };
    if is_age(chain, first.start, end, size)
        || size == Unit::Hour && is_clock(chain, &first, end, next)
    {
        return None;
    }
    let idiom = first.value == Some(1) && chain.raw(at).eq_ignore_ascii_case("one");
    if idiom && !spans(chain, first.start) {
        return None;
    }
    while let Some((smaller, more, after)) = part(chain, end, next).filter(|part| part.0 < size) {
        (size, end, next) = (smaller, more, after);
    }
    Some((first.start, end, next))
}

/// The unit behind an amount: its size, its end, and the first word behind it.
fn unit(chain: &Chain, found: &Amount) -> Option<(Unit, usize, usize)> {
    let mut at = found.next;
    let mut gap = chain.lead(found.end, at)?;
    if found.scaled {
        gap = gap.strip_prefix('.').unwrap_or(gap);
    }
    let dash = gap == "-" || gap == "\u{2011}";
    while chain.word(at) == Some(Word::Kind) && blanks(gap) {
        gap = chain.gap(at)?;
        at += 1;
    }
    let article = glue(gap, &["a", "an", "of"]);
    if !(gap.is_empty() || blanks(gap) || dash || article) {
        return None;
    }
    let size = size(chain, at, found)?;
    let adjective = chain.word(at) == Some(Word::UnitAdjective);
    let latin = chain.raw(at).is_ascii();
    if (dash && !adjective && !latin)
        || (adjective && !dash)
        || (gap.is_empty() && !short(chain, at))
    {
        return None;
    }
    let end = chain.end(at);
    let dot = short(chain, at) && !latin && chain.behind(end).starts_with('.');
    Some((size, end + usize::from(dot), at + 1))
}

fn size(chain: &Chain, at: usize, found: &Amount) -> Option<Unit> {
    match chain.word(at)? {
        Word::Unit(size) => Some(size),
        Word::UnitAdjective => Some(Unit::Day),
        Word::Quarter => Some(Unit::Month),
        Word::Century => Some(Unit::Year),
        Word::Year(YearForm::Count) => Some(Unit::Year),
        // "2024 года" names a year.
        Word::Year(YearForm::Both) => found
            .value
            .is_none_or(|value| value < 1000)
            .then_some(Unit::Year),
        // "third second" is no time; "5 second" is.
        Word::Ordinal(2) if chain.raw(at).eq_ignore_ascii_case("second") => Some(Unit::Second),
        _ => None,
    }
}

/// Abbreviated units: they may touch their number, and keep their dot.
fn short(chain: &Chain, at: usize) -> bool {
    matches!(
        InlineWord::lowercase(chain.raw(at)).as_str(),
        "сек"
            | "мин"
            | "ч"
            | "дн"
            | "сут"
            | "нед"
            | "мес"
            | "мс"
            | "ms"
            | "sec"
            | "secs"
            | "min"
            | "mins"
            | "h"
            | "hr"
            | "hrs"
            | "wk"
            | "wks"
            | "mo"
            | "mos"
            | "yr"
            | "yrs"
    )
}

/// A further, smaller part: "2 часа 30 минут", "1h30m".
fn part(chain: &Chain, end: usize, next: usize) -> Option<(Unit, usize, usize)> {
    let gap = chain.lead(end, next)?;
    if !(gap.is_empty() || blanks(gap) || gap == ", " || glue(gap, &["и", "and", "and a", "с"])) {
        return None;
    }
    if chain.word(next) == Some(Word::Half) && glue(gap, &["and a", "с"]) {
        return Some((Unit::Second, chain.end(next), next + 1));
    }
    let found = further(chain, next)?;
    let minutes =
        found.scaled && gap != ", " && chain.raw(found.next - 1).eq_ignore_ascii_case("m");
    if minutes {
        return Some((Unit::Minute, found.end, found.next));
    }
    unit(chain, &found)
}

/// "50 years old", "ему 35 лет", "Иванов, 45 лет,".
fn is_age(chain: &Chain, start: usize, end: usize, size: Unit) -> bool {
    let behind = chain.behind(end);
    let old = behind.trim_start_matches([' ', '-', '\u{2011}']);
    let old = old
        .get(..3)
        .is_some_and(|word| word.eq_ignore_ascii_case("old"))
        || old.starts_with("от роду");
    let head = chain.text[..start].trim_end();
    let only = ["всего", "уже", "только", "почти"]
        .iter()
        .find_map(|word| head.strip_suffix(word));
    let owner = last_word(only.map_or(head, str::trim_end));
    let owned = InlineWord::lowercase(owner).is_one_of(OWNERS);
    let aside = head.ends_with([',', '(']) && behind.trim_start().starts_with([',', ')', '.', ';']);
    old && size >= Unit::Day || size == Unit::Year && (owned || aside && person(head))
}

/// Whether what stands before an aside ends as a name does: with a capital letter.
fn person(head: &str) -> bool {
    last_word(head.trim_end_matches([',', '(', ' '])).starts_with(char::is_uppercase)
}

/// Hours that are a time of day: "в 10 часов", "к 5 часам", "3 часа ночи", "с 9 до 18 часов".
fn is_clock(chain: &Chain, first: &Amount, end: usize, next: usize) -> bool {
    let part = chain.lead(end, next).is_some_and(blanks) && chain.word(next) == Some(Word::DayPart);
    let noon = chain.behind(end).trim_start().starts_with("дня");
    let hour =
        first.value.is_some_and(|value| value <= 24) || chain.word(first.next) == Some(Word::Half);
    let before = InlineWord::lowercase(last_word(chain.text[..first.start].trim_end()));
    let late = first.value.is_some_and(|value| (13..24).contains(&value))
        && matches!(before.as_str(), "на" | "до");
    part || noon
        || late
        || hour && matches!(before.as_str(), "в" | "к" | "после" | "с" | "около" | "at")
}

/// Whether a word before says that "one day" lasts rather than "once".
fn spans(chain: &Chain, start: usize) -> bool {
    const WORDS: &[&str] = &[
        "in", "for", "within", "least", "than", "only", "just", "takes", "took", "is", "lasts",
        "every", "after", "about",
    ];
    let word = InlineWord::lowercase(last_word(chain.text[..start].trim_end()));
    word.is_one_of(WORDS)
}

/// A unit alone behind a word of lasting: "в течение месяца", "within a week".
fn single(chain: &Chain, at: usize) -> Option<(usize, usize, usize)> {
    const WIDEST_BLANK: usize = 4;
    let start = chain.start(at);
    let head = chain.text[..start].trim_end();
    let folded = last_word(head);
    let word = InlineWord::lowercase(folded);
    let next = chain.end(at);
    if start - head.len() > WIDEST_BLANK {
        return None;
    }
    let lasting = match word.as_str() {
        "течение" | "протяжении" => {
            !InlineWord::lowercase(chain.raw(at)).begins_with(&["веков"])
        }
        "a" | "an" => spans_before(head, folded),
        _ => false,
    };
    let half = chain.gap(at).is_some_and(|gap| glue(gap, &["and a"]))
        && chain.word(at + 1) == Some(Word::Half);
    let article = matches!(word.as_str(), "a" | "an");
    if !(lasting || article && half) || is_age(chain, start, next, Unit::Year) {
        return None;
    }
    let start = if article {
        head.len() - folded.len()
    } else {
        start
    };
    Some(match half {
        true => (start, chain.end(at + 1), at + 2),
        false => (start, next, at + 1),
    })
}

fn spans_before(head: &str, article: &str) -> bool {
    let before = InlineWord::lowercase(last_word(head[..head.len() - article.len()].trim_end()));
    matches!(
        before.as_str(),
        "within" | "in" | "for" | "takes" | "took" | "lasts" | "after"
    )
}

/// ISO 8601: P3Y6M4DT12H30M5S, PT5M, P2W.
fn period(chain: &Chain, at: usize) -> Option<(usize, usize, usize)> {
    const LONGEST: usize = 40;
    let (start, text) = (chain.start(at), chain.text);
    let run = text[start..]
        .bytes()
        .take(LONGEST)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b','));
    let raw = text[start..start + run.count()].trim_end_matches(['.', ',']);
    let end = start + raw.len();
    if !chain.free_before(start) || !iso_period(raw) || !chain.free_after(end) {
        return None;
    }
    let next = chain
        .tokens
        .iter()
        .position(|token| token.start >= end)
        .unwrap_or(chain.tokens.len());
    Some((start, end, next))
}

fn iso_period(raw: &str) -> bool {
    let Some(body) = raw.strip_prefix('P') else {
        return false;
    };
    let (date, time) = body
        .split_once('T')
        .map_or((body, None), |(date, time)| (date, Some(time)));
    let dated = date.is_empty() || parts(date, "YMWD");
    let timed = time.is_none_or(|time| parts(time, "HMS"));
    dated && timed && body.len() >= 2
}

/// Numbers, each with one of these letters, in their order.
fn parts(text: &str, letters: &str) -> bool {
    let mut left = letters;
    let mut digits = 0;
    for c in text.chars() {
        if c.is_ascii_digit() || digits > 0 && matches!(c, '.' | ',') {
            digits += 1;
            continue;
        }
        match left.split_once(c) {
            Some((_, rest)) if digits > 0 => left = rest,
            _ => return false,
        }
        digits = 0;
    }
    digits == 0 && left != letters
}

pub(super) fn last_word(head: &str) -> &str {
    let letters = head.trim_end_matches(is_letter);
    &head[letters.len()..]
}
