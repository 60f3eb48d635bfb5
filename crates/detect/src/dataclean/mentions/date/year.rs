//! Years and expressions with years: "2024 год", "2010–2012 гг.", "1990-е", "in 2019", "XIX век",
//! "третий квартал 2024 года", "летом 2012 года".

use super::super::chain::{Chain, blanks, dash, glue};
use super::super::word::{Word, YearForm};
use super::time::{is_year, with_word, year_behind, year_of};
use super::{Date, Weight, before, preposition};
use crate::chars::is_letter;
use crate::dataclean::text::inline::InlineWord;

/// A year or several.
pub(super) fn year(chain: &Chain, at: usize) -> Option<Date> {
    let start = chain.start(at);
    decade(chain, at)
        .or_else(|| range(chain, at))
        .or_else(|| single(chain, at))
        .filter(|_| chain.free_before(start))
}

fn years(start: usize, (end, next): (usize, usize), value: u64) -> Date {
    Date {
        start,
        end,
        next,
        weight: Weight::Years(value),
    }
}

/// "2010–2012 гг.", "1941-1945".
fn range(chain: &Chain, at: usize) -> Option<Date> {
    let value = chain.number(at).filter(|_| chain.digits(at) == 4)?;
    let gap = chain.gap(at).filter(|gap| dash(gap))?;
    let other = chain.number(at + 1).filter(|_| chain.digits(at + 1) == 4)?;
    let fits = (1000..2200).contains(&value)
        && value < other
        && other - value < 150
        && is_year(chain, at + 1);
    let (end, next) = with_word(chain, at + 1);
    let worded = next > at + 2;
    let free = worded || chain.free_after(chain.end(at + 1)) && value >= 1800 && gap.len() <= 5;
    let identifier = matches!(
        chain.text[..chain.start(at)].chars().next_back(),
        Some('№' | '#' | '+' | '(')
    ) && !chain.behind(end).starts_with(')');
    (fits && free && !identifier).then(|| years(chain.start(at), (end, next), value))
}

/// "1990-е годы", "90-х годов". The English "1990s" is none by the conventions of our data.
fn decade(chain: &Chain, at: usize) -> Option<Date> {
    if chain.word(at + 1) != Some(Word::Suffix) {
        return None;
    }
    let value = chain.number(at).filter(|value| value.is_multiple_of(10))?;
    let long = chain.digits(at) == 4 && (1000..2200).contains(&value);
    if !(long || chain.digits(at) == 2) {
        return None;
    }
    let (start, ending) = (chain.start(at), InlineWord::lowercase(chain.raw(at + 1)));
    let (end, next) = with_word(chain, at);
    let plural = matches!(ending.as_str(), "е" | "х" | "ые" | "ых")
        && (long || edge_word(&before(chain, start)));
    let fits = chain.gap(at) == Some("-") && (plural || next > at + 2);
    fits.then(|| years(start, (end, next), value))
}

fn edge_word(word: &InlineWord) -> bool {
    matches!(
        word.as_str(),
        "в" | "с" | "начале" | "начала" | "конце" | "конца" | "середине" | "середины"
    )
}

/// "2024 год", "2024 г.", "2024-м", "в 2019", "(1998)".
fn single(chain: &Chain, at: usize) -> Option<Date> {
    let (start, digits, value) = (chain.start(at), chain.digits(at), chain.number(at)?);
    let worded = || matches!(chain.word(at + 1), Some(Word::Year(_)));
    if digits > 4 || digits < 4 && !worded() {
        return None;
    }
    let (end, next) = with_word(chain, at);
    if digits < 4 {
        let named = next == at + 2
            && InlineWord::lowercase(chain.raw(at + 1)).is("году")
            && before(chain, start).is("в");
        return (named && value > 0).then(|| years(start, (end, next), value));
    }
    if !is_year(chain, at) {
        return None;
    }
    let word = before(chain, start);
    let recent = (1900..2100).contains(&value);
    let suffixed = chain.word(at + 1) == Some(Word::Suffix) && chain.gap(at) == Some("-");
    let fits = match chain.word(next - 1) {
        Some(Word::Year(YearForm::Letter))
            if chain.behind(chain.end(next - 1)).starts_with('.') =>
        {
            recent || preposition(&word)
        }
        Some(Word::Year(YearForm::Letter)) => recent && preposition(&word),
        Some(Word::Year(_)) => true,
        _ if suffixed => (recent || !value.is_multiple_of(100)) && preposition(&word),
        _ => bare(chain, at, &word),
    };
    fits.then(|| years(start, (end, next), value))
}

/// Four digits alone: behind a preposition and before nothing that they count, or in brackets.
fn bare(chain: &Chain, at: usize, word: &InlineWord) -> bool {
    let (start, end) = (chain.start(at), chain.end(at));
    let value = chain.number(at).unwrap_or_default();
    let behind = chain.behind(end);
    let brackets = chain.text[..start].ends_with('(') && behind.starts_with(')');
    let recent = (1900..2100).contains(&value);
    let alone = match behind.trim_start_matches([' ', '\u{a0}']).chars().next() {
        Some(c) if is_letter(c) => !value.is_multiple_of(100) && behind.starts_with(' '),
        Some(c) => !"°+*=%$€₽".contains(c) && chain.free_after(end),
        None => true,
    };
    let second =
        at > 0 && chain.digits(at - 1) == 4 && word.is_one_of(&["and", "to", "or", "и", "или"]);
    let named = preposition(word) && !word.is_one_of(&["на", "за", "last", "next"])
        || word.is("year")
        || second;
    recent && (brackets || named && alone)
}

/// "XIX век", "19-й век", "двадцатого века", "19th century".
pub(super) fn century(chain: &Chain, at: usize) -> Option<Date> {
    let start = chain.start(at);
    let fits = match chain.word(at)? {
        Word::Number => chain.digits(at) <= 2,
        Word::Roman => chain.raw(at).chars().all(char::is_uppercase),
        _ => true,
    };
    let number = chain.word(at) == Some(Word::Number);
    let near = chain.tokens.iter().skip(at).take(3);
    let mut near = near.map(|token| token.word);
    if !fits || number && !near.any(|word| word == Word::Century) || !chain.free_before(start) {
        return None;
    }
    let ended = chain.word(at + 1) == Some(Word::Suffix) && matches!(chain.gap(at), Some("" | "-"));
    let last = at + usize::from(ended);
    if chain.word(last + 1) == Some(Word::Century) && chain.close(last) {
        let ordinal =
            ended || chain.word(at) != Some(Word::Number) || preposition(&before(chain, start));
        return ordinal.then(|| years(start, (chain.end(last + 1), last + 2), 0));
    }
    let behind = chain.behind(chain.end(at));
    let short = [" вв.", " в."]
        .into_iter()
        .find(|short| behind.starts_with(short));
    let length = short.filter(|_| chain.word(at) == Some(Word::Roman))?.len();
    Some(years(start, (chain.end(at) + length, at + 1), 0))
}

/// "III квартал 2024 года", "в третьем квартале", "2-е полугодие 2023 г."
pub(super) fn quarter(chain: &Chain, at: usize) -> Option<Date> {
    let start = chain.start(at);
    let ended = chain.word(at + 1) == Some(Word::Suffix) && matches!(chain.gap(at), Some("" | "-"));
    let last = at + usize::from(ended);
    let fits = match chain.word(at)? {
        Word::Number => chain
            .number(at)
            .is_some_and(|value| (1..=4).contains(&value)),
        Word::Ordinal(number) => number <= 4,
        _ => true,
    };
    if !fits
        || chain.word(last + 1) != Some(Word::Quarter)
        || !chain.close(last)
        || !chain.free_before(start)
    {
        return None;
    }
    let end = chain.end(last + 1);
    let dated = year_behind(chain, end, last + 2);
    let named =
        preposition(&before(chain, start)) && (ended || chain.word(at) != Some(Word::Number));
    let (end, next) = dated.unwrap_or((end, last + 2));
    (dated.is_some() || named).then_some(Date {
        start,
        end,
        next,
        weight: Weight::Whole,
    })
}

/// "Q3 2024"; alone only under a cue.
pub(super) fn quarter_sign(chain: &Chain, at: usize) -> Option<Date> {
    let fits = chain.gap(at) == Some("")
        && chain
            .number(at + 1)
            .is_some_and(|value| (1..=4).contains(&value));
    let (start, end) = (
        chain.start(at),
        chain.end(at + usize::from(chain.tokens.len() > at + 1)),
    );
    if !fits || !chain.free_before(start) {
        return None;
    }
    let dated = year_behind(chain, end, at + 2);
    let (end, next) = dated.unwrap_or((end, at + 2));
    Some(Date {
        start,
        end,
        next,
        weight: if dated.is_some() {
            Weight::Whole
        } else {
            Weight::Near
        },
    })
}

/// "летом 2012 года", "the summer of 2012".
pub(super) fn season(chain: &Chain, at: usize) -> Option<Date> {
    let gap = chain.gap(at)?;
    let apart = blanks(gap) || glue(gap, &["of", "in"]);
    let (end, next) = match chain.word(at + 1)? {
        Word::Number if chain.digits(at + 1) == 4 && is_year(chain, at + 1) => {
            with_word(chain, at + 1)
        }
        Word::This | Word::Relative => year_behind(chain, chain.end(at), at + 1)?,
        _ => return None,
    };
    apart.then_some(Date {
        start: chain.start(at),
        end,
        next,
        weight: year_of(chain, at + 1, next),
    })
}
