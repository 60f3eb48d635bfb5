//! The grammar of numbers in digits or words with multipliers ("1 000,50", "two and a half million",
//! "15 тыс."). The grammars of money and durations add the unit.

use super::chain::{Chain, blanks, dash, glue, only};
use super::word::Word;
use crate::chars::is_blank;

/// A number in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The first word behind it.
    pub(super) next: usize,
    /// Its value, where it is a whole number in digits without groups, or one word.
    pub(super) value: Option<u64>,
    /// Multiplied: thousands and more.
    pub(super) scaled: bool,
}

/// The amount that begins at a place, and is not the rest of something longer.
pub(super) fn amount(chain: &Chain, at: usize) -> Option<Amount> {
    let start = chain.tokens.get(at)?.start;
    chain
        .free_before(start)
        .then(|| further(chain, at))
        .flatten()
}

/// The amount at a place inside something that began before it: "7" of "5–7", "30" of "1h30m".
pub(super) fn further(chain: &Chain, at: usize) -> Option<Amount> {
    let mut found = match chain.word(at)? {
        Word::Number => literal(chain, at)?,
        _ => worded(chain, at)?,
    };
    while let Some(more) = multiplied(chain, &found).or_else(|| spelled_out(chain, &found)) {
        found = more;
    }
    Some(found)
}

/// The second amount of a range: "5–7", "от 5 до 7", "5 to 7".
pub(super) fn second(chain: &Chain, first: &Amount) -> Option<Amount> {
    let gap = chain.lead(first.end, first.next)?;
    let joined = dash(gap) || glue(gap, &["до", "to", "or", "или"]);
    joined.then(|| further(chain, first.next)).flatten()
}

/// Digits, in groups or not, with or without a fraction.
fn literal(chain: &Chain, at: usize) -> Option<Amount> {
    let start = chain.start(at);
    let mut last = at;
    let mut group = None;
    if chain.digits(at) <= 3 {
        while let Some(mark) =
            grouped(chain, last).filter(|mark| group.is_none_or(|group| group == *mark))
        {
            group = Some(mark);
            last += 1;
        }
    }
    let mut plain = group.is_none();
    let fraction = chain
        .gap(last)
        .and_then(only)
        .filter(|mark| matches!(mark, '.' | ','));
    if fraction.is_some_and(|mark| group != Some(mark)) && chain.digits(last + 1) > 0 {
        last += 1;
        plain = false;
    }
    let end = chain.end(last);
    // A third part makes it a version, an address or a date.
    let goes_on =
        matches!(chain.gap(last), Some("." | "," | "/" | ":")) && chain.digits(last + 1) > 0;
    (!goes_on).then(|| Amount {
        start,
        end,
        next: last + 1,
        value: plain.then(|| chain.number(at)).flatten(),
        scaled: false,
    })
}

/// The mark between two groups of digits, when the next group is one.
fn grouped(chain: &Chain, at: usize) -> Option<char> {
    let mark = chain.gap(at).and_then(only)?;
    let mark = if is_blank(mark) { ' ' } else { mark };
    (matches!(mark, ' ' | ',' | '.' | '\'' | '’') && chain.digits(at + 1) == 3).then_some(mark)
}

/// Numerals, as long as they go on.
fn worded(chain: &Chain, at: usize) -> Option<Amount> {
    let numeral = |at: usize| match chain.word(at) {
        Some(Word::Numeral(value)) => Some(Some(u64::from(value))),
        Some(Word::Half | Word::Couple) => Some(None),
        Some(Word::Multiplier | Word::HalfMultiplier) => Some(None),
        _ => None,
    };
    let first = numeral(at)?;
    let scale = |at| {
        matches!(
            chain.word(at),
            Some(Word::Multiplier | Word::HalfMultiplier)
        )
    };
    let mut scaled = scale(at);
    let mut last = at;
    while numeral(last + 1).is_some() && chain.gap(last).is_some_and(joins) {
        last += 1;
        scaled |= scale(last);
    }
    Some(Amount {
        start: chain.start(at),
        end: chain.end(last),
        next: last + 1,
        value: first.filter(|_| last == at),
        scaled,
    })
}

fn joins(gap: &str) -> bool {
    blanks(gap) || gap == "-" || glue(gap, &["and", "a", "and a", "с", "of"])
}

/// An amount with the multiplier behind it.
fn multiplied(chain: &Chain, found: &Amount) -> Option<Amount> {
    let gap = chain.lead(found.end, found.next)?;
    let fits = match chain.word(found.next)? {
        Word::Multiplier => gap.is_empty() || blanks(gap) || gap == "-" || gap == ". ",
        Word::Scale => gap.is_empty() || blanks(gap) && thousand_roubles(chain, found.next),
        _ => false,
    };
    fits.then(|| Amount {
        end: chain.end(found.next),
        next: found.next + 1,
        scaled: true,
        ..*found
    })
}

/// "т.р." and "т. руб.": a thousand only before its roubles.
fn thousand_roubles(chain: &Chain, at: usize) -> bool {
    let dot = chain
        .gap(at)
        .is_some_and(|gap| gap.starts_with('.') && gap.trim_matches(['.', ' ']).is_empty());
    dot && chain.word(at + 1) == Some(Word::Currency)
}

/// "10 000 (десять тысяч)": the same once more in words.
fn spelled_out(chain: &Chain, found: &Amount) -> Option<Amount> {
    let gap = chain.lead(found.end, found.next)?;
    if gap.trim_start() != "(" {
        return None;
    }
    let words = worded(chain, found.next)?;
    let closed = chain.behind(words.end).starts_with(')');
    closed.then_some(Amount {
        end: words.end + 1,
        next: words.next,
        ..*found
    })
}
