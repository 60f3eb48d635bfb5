//! Dates in digits: 03.05.2024, 5/3/24, 2024-05-03T10:15Z, 05/2024. To exclude versions, addresses and
//! phone numbers, the parts must be a valid day, month and year, and nothing may follow or precede.

use super::super::chain::{Chain, dash, glue, only};
use super::super::duration::last_word;
use super::super::word::Word;
use super::time::{is_year, time, with_word};
use super::{Date, Weight, before, preposition};
use crate::chars::is_word_char;
use crate::dataclean::text::inline::InlineWord;

/// A whole date, or month and year.
pub(super) fn numeric(chain: &Chain, at: usize) -> Option<Date> {
    if shape(chain, at) {
        return day(chain, at);
    }
    let mark = chain.gap(at).and_then(only)?;
    let (start, end) = (chain.start(at), chain.tokens.get(at + 1)?.end);
    let free = || chain.free_before(start) && chain.free_after(end) && !in_path(chain, start);
    if !months(chain, at, mark) || !free() {
        return None;
    }
    let (end, next) = match mark {
        '-' => (end, at + 2),
        _ => with_word(chain, at + 1),
    };
    Some(whole(start, end, next))
}

/// Month and year: "05/2024", "05.2024", "2024-05".
fn months(chain: &Chain, at: usize, mark: char) -> bool {
    let digits = (chain.digits(at), mark, chain.digits(at + 1));
    let value = |at: usize| chain.number(at).unwrap_or_default();
    let month = |at: usize| (1..=12).contains(&value(at));
    let year = |at: usize| (1900..2100).contains(&value(at));
    match digits {
        (2, '/', 4) => month(at) && year(at + 1) && is_year(chain, at + 1),
        // "12.2024" may be a decimal; a zero before it or a preposition says it is none.
        (2, '.', 4) => {
            let sure =
                chain.raw(at).starts_with('0') || preposition(&before(chain, chain.start(at)));
            sure && month(at) && year(at + 1) && is_year(chain, at + 1)
        }
        (4, '-', 2) => year(at) && month(at + 1),
        _ => false,
    }
}

fn day(chain: &Chain, at: usize) -> Option<Date> {
    let (start, end) = (chain.start(at), chain.end(at + 2));
    let range = at >= 3 && chain.gap(at - 1).is_some_and(dash) && shape(chain, at - 3);
    if !(range || chain.free_before(start)) || in_path(chain, start) {
        return None;
    }
    if let Some((end, next)) = time(chain, end, at + 3).filter(|(end, _)| chain.free_after(*end)) {
        return Some(whole(start, end, next));
    }
    let range = chain.gap(at + 2).is_some_and(dash) && shape(chain, at + 3);
    let year = matches!(chain.word(at + 3), Some(Word::Year(_)));
    if !(range || year || chain.free_after(end)) {
        return None;
    }
    let (end, next) = with_word(chain, at + 2);
    Some(whole(start, end, next))
}

fn whole(start: usize, end: usize, next: usize) -> Date {
    Date {
        start,
        end,
        next,
        weight: Weight::Whole,
    }
}

/// Whether three numbers from a place on are a day.
fn shape(chain: &Chain, at: usize) -> bool {
    let Some(mark) = chain
        .gap(at)
        .filter(|gap| matches!(*gap, "." | "/" | "-" | ". " | "\u{2011}"))
    else {
        return false;
    };
    if chain.gap(at + 1) != Some(mark) || chain.digits(at + 2) == 0 {
        return false;
    }
    let digits = [at, at + 1, at + 2].map(|at| chain.digits(at));
    let value = |at: usize| chain.number(at).unwrap_or_default();
    let (first, second, third) = (value(at), value(at + 1), value(at + 2));
    let year = |value: u64| (1800..2200).contains(&value);
    let days = |day: u64, month: u64| (1..=31).contains(&day) && (1..=12).contains(&month);
    match digits {
        [4, 1 | 2, 1 | 2] => year(first) && days(third, second),
        [1 | 2, 1 | 2, 4] => {
            year(third) && (days(first, second) || mark == "/" && days(second, first))
        }
        [2, 2, 2] if mark == "." => days(first, second) && !versioned(chain, at),
        [1 | 2, 1 | 2, 2] if mark == "/" => days(first, second) || days(second, first),
        _ => false,
    }
}

fn versioned(chain: &Chain, at: usize) -> bool {
    let head = chain.text[..chain.start(at)].trim_end_matches([' ', ':', '.', '№', '=']);
    matches!(
        InlineWord::lowercase(last_word(head)).as_str(),
        "версия"
            | "версии"
            | "версию"
            | "версией"
            | "version"
            | "ver"
            | "v"
            | "build"
            | "сборка"
            | "сборки"
            | "release"
            | "релиз"
            | "код"
            | "оквэд"
            | "окпд"
            | "пункт"
            | "раздел"
            | "ip"
            | "тел"
            | "телефон"
    )
}

/// Part of a path or an address of the web.
fn in_path(chain: &Chain, start: usize) -> bool {
    let head = &chain.text[..start];
    head.strip_suffix(['/', '\\'])
        .is_some_and(|head| head.ends_with(is_word_char))
}

/// "12.03", "5/12": day and month only where a cue or the other end of a range says so.
pub(super) fn short(chain: &Chain, at: usize) -> Option<Date> {
    if !short_shape(chain, at) {
        return None;
    }
    let (start, end) = (chain.start(at), chain.end(at + 1));
    let to = |gap: Option<&str>| gap.is_some_and(|gap| glue(gap, &["по", "до"]));
    let range = to(chain.gap(at + 1))
        && short_shape(chain, at + 2)
        && matches!(before(chain, start).as_str(), "с" | "со");
    let end_of_range = at >= 2
        && chain.gap(at - 1).is_some_and(|gap| glue(gap, &["по"]))
        && short_shape(chain, at - 2);
    let behind = chain.behind(end).trim_start();
    let alone = behind.is_empty()
        || !behind.starts_with(|c: char| is_word_char(c) || "%°$€₽+*".contains(c))
        || behind.starts_with("включительно");
    let free = chain.free_before(start) && chain.free_after(end);
    (free && (range || end_of_range || alone)).then_some(Date {
        start,
        end,
        next: at + 2,
        weight: if range || end_of_range {
            Weight::Whole
        } else {
            Weight::Near
        },
    })
}

fn short_shape(chain: &Chain, at: usize) -> bool {
    let Some(mark) = chain.word(at).and(chain.gap(at)) else {
        return false;
    };
    let value = |at: usize| chain.number(at).unwrap_or_default();
    let (first, second) = (value(at), value(at + 1));
    let fits = |day: u64, month: u64| (1..=31).contains(&day) && (1..=12).contains(&month);
    match (chain.digits(at), mark, chain.digits(at + 1)) {
        (2, ".", 2) => fits(first, second),
        (1 | 2, "/", 1 | 2) => fits(first, second) || fits(second, first),
        _ => false,
    }
}
