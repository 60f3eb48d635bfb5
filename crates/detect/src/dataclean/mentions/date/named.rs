//! Dates with the name of a month: "5 мая 2024 г.", "5–7 May", "the fifth of May", "May 5th, 2024",
//! "в марте", "05-MAY-2024".

use super::super::chain::{Chain, blanks, dash, glue};
use super::super::word::Word;
use super::time::{time, year_behind, year_of};
use super::{Date, Weight, before, preposition};

/// A month by its name: its place is a word of one of the three kinds.
fn is_month(chain: &Chain, at: usize) -> bool {
    matches!(
        chain.word(at),
        Some(Word::Month(_) | Word::MonthShort(_) | Word::MonthHomonym(_))
    )
}

/// "5 мая", "5-го мая", "«05» мая", "5, 6 и 7 мая", "5th of May".
pub(super) fn day_first(chain: &Chain, at: usize) -> Option<Date> {
    const MOST_DAYS: usize = 5;
    let mut last = at;
    for _ in 0..MOST_DAYS {
        let day = numbered(chain, last)?;
        let gap = chain.gap(day)?;
        if is_month(chain, day + 1) {
            let in_street = street(&chain.text[..chain.start(at)]);
            return (!in_street)
                .then(|| day_and_month(chain, at, day))
                .flatten();
        }
        let listed =
            dash(gap) || gap == ", " || glue(gap, &["по", "до", "и", "или", "and", "to", "or"]);
        if !listed {
            return None;
        }
        last = day + 1;
    }
    None
}

/// Whether a street stands before a day that may be its name: "ул. 8 Марта".
fn street(head: &str) -> bool {
    const STREETS: &[&str] = &[
        "ул.",
        "улица",
        "улице",
        "улицу",
        "улицы",
        "пл.",
        "площадь",
        "площади",
        "пер.",
        "просп.",
    ];
    let head = head.trim_end();
    let tail = &head[head.floor_char_boundary(head.len().saturating_sub(16))..].to_lowercase();
    STREETS.iter().any(|street| tail.ends_with(street))
}

/// The last word of a day in digits: the number, or the ending behind it.
fn numbered(chain: &Chain, at: usize) -> Option<usize> {
    let day = chain.digits(at) <= 2 && chain.number(at).is_some_and(|day| (1..=31).contains(&day));
    let ending = chain.word(at + 1) == Some(Word::Suffix)
        && matches!(chain.gap(at), Some("" | "-" | "\u{2011}"));
    day.then_some(at + usize::from(ending))
}

fn day_and_month(chain: &Chain, at: usize, day: usize) -> Option<Date> {
    let gap = chain.gap(day)?;
    let quoted = matches!(gap.chars().next(), Some('»' | '"' | '”' | '“'))
        && blanks(gap.get(gap.chars().next()?.len_utf8()..)?);
    let apart = blanks(gap) || quoted || glue(gap, &["of"]) || matches!(gap, "-" | "/" | ".");
    let start = chain.start(at);
    if !apart
        || !chain.free_before(start)
        || lower_may(chain, day + 1)
            && !glue(gap, &["of"])
            && year_behind(chain, chain.end(day + 1), day + 2).is_none()
    {
        return None;
    }
    let start = match chain.text[..start].chars().next_back() {
        Some(c) if quoted && matches!(c, '«' | '"' | '“' | '„') => start - c.len_utf8(),
        _ => start,
    };
    Some(with_year(chain, start, day + 1))
}

/// "may" and "march" in small letters are mostly no months.
fn lower_may(chain: &Chain, at: usize) -> bool {
    matches!(chain.word(at), Some(Word::MonthHomonym(_)))
        && chain.raw(at).starts_with(|c: char| c.is_lowercase())
}

/// The date that ends with a month, a year behind it included.
fn with_year(chain: &Chain, start: usize, month: usize) -> Date {
    let end = chain.end(month);
    let (mut end, mut next) = year_behind(chain, end, month + 1).unwrap_or((end, month + 1));
    if chain.digits(next - 1) == 4
        && let Some(timed) = time(chain, end, next)
    {
        (end, next) = timed;
    }
    Date {
        start,
        end,
        next,
        weight: Weight::Whole,
    }
}

/// "двадцать пятого мая", "the fifth of May".
pub(super) fn day_in_words(chain: &Chain, at: usize) -> Option<Date> {
    let tens = matches!(chain.word(at), Some(Word::Numeral(20 | 30)));
    let joined = tens && chain.gap(at).is_some_and(|gap| blanks(gap) || gap == "-");
    let day = if joined { at + 1 } else { at };
    if !matches!(chain.word(day), Some(Word::Ordinal(_))) || !is_month(chain, day + 1) {
        return None;
    }
    let gap = chain.gap(day)?;
    (blanks(gap) || glue(gap, &["of"])).then(|| with_year(chain, chain.start(at), day + 1))
}

/// "May 5th, 2024", "май 2024", "January–March 2024", "в марте".
pub(super) fn month_first(chain: &Chain, at: usize) -> Option<Date> {
    let start = chain.start(at);
    if !chain.free_before(start) {
        return None;
    }
    let gap = chain.gap(at);
    let joined = gap.is_some_and(|gap| dash(gap) || glue(gap, &["to", "по"]));
    let month = if joined && is_month(chain, at + 1) {
        at + 1
    } else {
        at
    };
    if chain.raw(at).is_ascii()
        && let Some(found) = latin_day(chain, at)
    {
        return Some(found);
    }
    let word = before(chain, start);
    let dated = year_behind(chain, chain.end(month), month + 1).is_some();
    if dated && (!lower_may(chain, at) || preposition(&word)) {
        let found = with_year(chain, start, month);
        return Some(Date {
            weight: year_of(chain, month + 1, found.next),
            ..found
        });
    }
    let whole = !matches!(chain.word(at), Some(Word::MonthShort(_)));
    let capital =
        !chain.raw(at).is_ascii() || chain.raw(at).starts_with(|c: char| c.is_uppercase());
    (whole && capital && preposition(&word) && !counted(chain, at))
        .then(|| with_year(chain, start, at))
}

/// A number behind a month makes it something else: a month's day only in English.
fn counted(chain: &Chain, at: usize) -> bool {
    chain.raw(at).is_ascii() && chain.gap(at) == Some("-")
}

/// "May 5", "May 5th, 2024", "May 5–7".
fn latin_day(chain: &Chain, at: usize) -> Option<Date> {
    let gap = chain.gap(at)?;
    if !(blanks(gap) || gap == ". ") {
        return None;
    }
    let mut last = numbered(chain, at + 1)?;
    let suffixed = last > at + 1;
    if chain
        .gap(last)
        .is_some_and(|gap| dash(gap) || glue(gap, &["to", "and"]))
        && let Some(second) = numbered(chain, last + 1)
        && !is_month(chain, second + 1)
    {
        last = second;
    }
    let end = chain.end(last);
    let year = year_behind(chain, end, last + 1);
    let small = lower_may(chain, at) && !suffixed && year.is_none();
    if small || !(year.is_some() || chain.free_after(end)) {
        return None;
    }
    let (mut end, mut next) = year.unwrap_or((end, last + 1));
    if let Some(timed) = time(chain, end, next) {
        (end, next) = timed;
    }
    Some(Date {
        start: chain.start(at),
        end,
        next,
        weight: Weight::Whole,
    })
}
