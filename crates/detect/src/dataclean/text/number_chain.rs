//! For number detectors in a growing text: how far a number at the end may still extend, and whether the
//! words that could label it have all arrived.

use crate::chars::{is_blank, is_dash, is_word_char};
use crate::dataclean::Text;

/// A run of more digits is part of no number that is looked for, and joins none.
const MOST_DIGITS: usize = 19;
/// Runs that the longest reading takes in, and one more for an extension.
const MOST_RUNS: usize = 9;
/// Characters that may stand between two runs of one number.
const LONGEST_GAP: usize = 3;
/// Fewer digits are a number only in four groups, as an IPv4 address.
const FEWEST_DIGITS: usize = 6;
const FEWEST_RUNS: usize = 4;
/// How far behind a number anything is read that bears on it, in bytes and in words.
const REACH: usize = 64;
const WORDS: usize = 5;
/// What is read behind the slash of "7752601811/770701001".
const KPP: usize = 10;

/// What holds the runs of one number together.
pub(crate) struct Links {
    /// Whether this can stand between two of them.
    pub(crate) joins: fn(&str) -> bool,
    /// Whether this can be the beginning of what stands between two of them.
    pub(crate) may_join: fn(&str) -> bool,
}

const NUMBERS: Links = Links {
    joins: |gap| gap.chars().count() <= LONGEST_GAP && gap.chars().all(links),
    may_join: goes_on,
};

/// The first byte from which on a number could still begin, end, or be named by what follows.
pub(crate) fn numbers(text: &Text) -> usize {
    let whole = text.original();
    // A bracket or plus sign belongs to the number that may follow it.
    let open = whole.len() - usize::from(whole.ends_with(['(', '+']));
    let chain = open_chain(text, &NUMBERS).unwrap_or(open);
    chain.min(open).min(open_kpp(text).unwrap_or(open))
}

/// Where the last number begins, unless nothing that follows can bear on it.
pub(crate) fn open_chain(text: &Text, links: &Links) -> Option<usize> {
    let runs = text.runs();
    let last = runs.len().checked_sub(1)?;
    if runs[last].digits() > MOST_DIGITS {
        return None;
    }
    let joined = |left: usize| {
        runs[left].digits() <= MOST_DIGITS && (links.joins)(text.gap(left).unwrap_or_default())
    };
    let (mut first, mut digits) = (last, runs[last].digits());
    while last - first + 1 < MOST_RUNS && first > 0 && joined(first - 1) {
        first -= 1;
        digits += runs[first].digits();
    }
    let goes_on = (links.may_join)(&text.original()[runs[last].end..]);
    let nothing = digits < FEWEST_DIGITS && last - first + 1 < FEWEST_RUNS;
    if !goes_on && (nothing || is_read(text, runs[last].end)) {
        return None;
    }
    let start = runs[first].start;
    Some(start - usize::from(matches!(text.before(start), Some('(' | '+'))))
}

/// Whether what stands behind a run is all that can stand between two, so that a further may follow.
fn goes_on(behind: &str) -> bool {
    let mut chars = behind.chars();
    chars.by_ref().take(LONGEST_GAP).all(links) && chars.next().is_none()
}

/// Whether everything behind a number that can bear on it is there. No digit is among it.
pub(crate) fn is_read(text: &Text, end: usize) -> bool {
    let behind = &text.original()[end..];
    let words = behind.split(|c: char| !is_word_char(c));
    behind.len() >= REACH
        || behind.contains(['\n', ';'])
        || words.filter(|word| !word.is_empty()).count() >= WORDS
}

/// Brackets, dots, dashes, blanks, and the `x` of an extension.
fn links(c: char) -> bool {
    matches!(c, '(' | ')' | '.' | 'x') || is_dash(c) || is_blank(c)
}

/// An INN whose KPP behind the slash is not all there.
fn open_kpp(text: &Text) -> Option<usize> {
    let whole = text.original();
    let slash = memchr::memrchr(b'/', whole.as_bytes())?;
    let behind = whole[slash + 1..].trim_start_matches(' ');
    let run = text.runs().iter().rev().find(|run| run.end <= slash)?;
    let open = run.end == slash && matches!(run.digits(), 10 | 12) && behind.len() < KPP;
    open.then_some(run.start)
}
