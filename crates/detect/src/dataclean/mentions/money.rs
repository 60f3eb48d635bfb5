//! The grammar of money: number and currency in either order, ranges, multipliers, and small change behind
//! it. A number without a currency does not count.

use super::amount::{Amount, amount, further, second};
use super::chain::{Chain, blanks, dash, glue};
use super::word::Word;
use super::{Mention, MentionKind};
use crate::chars::{is_letter, is_word_char};
use crate::dataclean::text::inline::InlineWord;

/// The money that begins at a place, and the first word behind it.
pub(super) fn money(chain: &Chain, at: usize) -> Option<(Mention, usize)> {
    let (start, end, next) = match chain.word(at)? {
        Word::Sign | Word::Code | Word::CapitalCode => marked(chain, at)?,
        Word::Number | Word::Numeral(_) | Word::Half | Word::Couple => counted(chain, at)?,
        Word::Multiplier | Word::HalfMultiplier => counted(chain, at)?,
        _ => return None,
    };
    let mention = Mention {
        kind: MentionKind::Money,
        start,
        end,
    };
    Some((mention, next))
}

/// "$5", "USD 5 million", "€5–7".
fn marked(chain: &Chain, at: usize) -> Option<(usize, usize, usize)> {
    let gap = chain.gap(at)?;
    let word = matches!(chain.word(at), Some(Word::Code | Word::CapitalCode));
    let start = if word {
        code(chain, at)?
    } else {
        sign(chain, at)?
    };
    let glued =
        gap.is_empty() && (!word || chain.raw(at).bytes().all(|byte| byte.is_ascii_uppercase()));
    if !(glued || blanks(gap)) || chain.word(at + 1) == Some(Word::Couple) {
        return None;
    }
    let first = literal_after(chain, at + 1)?;
    let mut last = first;
    if let Some(gap) = chain.lead(first.end, first.next) {
        let skip = usize::from(matches!(
            chain.word(first.next),
            Some(Word::Sign | Word::Code)
        ));
        let joined = dash(gap) || glue(gap, &["to", "до"]);
        let more = joined
            .then(|| literal_after(chain, first.next + skip))
            .flatten();
        last = more.unwrap_or(last);
    }
    if variable(chain, at, &last) {
        return None;
    }
    let (end, next) = trailing(chain, last.end, last.next);
    Some((start, end, next))
}

fn literal_after(chain: &Chain, at: usize) -> Option<Amount> {
    if chain.word(at) != Some(Word::Number) {
        return None;
    }
    let found = further(chain, at)?;
    let plain = found.end == chain.end(found.next - 1);
    let glued = chain.behind(found.end).chars().next();
    (!plain || !glued.is_some_and(|c| is_word_char(c) || c == '_')).then_some(found)
}

/// "$1" of a shell or of awk: one digit beside brackets.
fn variable(chain: &Chain, at: usize, found: &Amount) -> bool {
    let before = chain.text[..chain.start(at)].chars().next_back();
    let around = matches!(before, Some('{' | '"' | '\'' | '`' | '/' | '\\'));
    let behind = chain.behind(found.end).chars().next();
    chain.raw(at) == "$"
        && found.value.is_some_and(|value| value < 10)
        && (around || matches!(behind, Some('}' | '"' | '\'' | '`')))
}

/// Where a sign begins, with the country before it: "US$", "A$".
fn sign(chain: &Chain, at: usize) -> Option<usize> {
    let start = chain.start(at);
    let head = &chain.text[..start];
    let letters = head.len()
        - head
            .trim_end_matches(|c: char| c.is_ascii_uppercase())
            .len();
    let free = head[..start - letters].chars().next_back();
    let country = matches!(
        &head[start - letters..],
        "" | "US" | "A" | "AU" | "C" | "CA" | "HK" | "NZ" | "S" | "R" | "NT"
    );
    let number_before = letters == 0 && free.is_some_and(|c| c.is_ascii_digit());
    (country && !number_before && !free.is_some_and(|c| is_letter(c) || c == '$'))
        .then_some(start - letters)
}

/// Where a code begins, when it stands alone.
fn code(chain: &Chain, at: usize) -> Option<usize> {
    let raw = chain.raw(at);
    let capital = raw.bytes().all(|byte| byte.is_ascii_uppercase());
    let start = chain.start(at);
    let fits = chain.word(at) == Some(Word::Code) || capital;
    (fits && chain.free_before(start)).then_some(start)
}

/// A code behind what a sign began: "$5 USD".
fn trailing(chain: &Chain, end: usize, next: usize) -> (usize, usize) {
    let close = chain
        .lead(end, next)
        .is_some_and(|gap| gap.is_empty() || blanks(gap));
    match chain.word(next) {
        Some(Word::Code | Word::Sign) if close => {
            let more = chain.digits(next + 1) > 0 && chain.close(next);
            if more {
                (end, next)
            } else {
                (chain.end(next), next + 1)
            }
        }
        Some(Word::CapitalCode) if close && code(chain, next).is_some() => {
            (chain.end(next), next + 1)
        }
        _ => (end, next),
    }
}

/// "5 млн руб.", "от 5 до 7 тысяч долларов США", "5 рублей 30 копеек".
fn counted(chain: &Chain, at: usize) -> Option<(usize, usize, usize)> {
    let first = amount(chain, at)?;
    let alone = currency(chain, &first);
    let (end, next) = match alone {
        Some(found) => found,
        None => currency(chain, &second(chain, &first)?)?,
    };
    let (end, next) = change(chain, end, next).unwrap_or((end, next));
    Some((first.start, end, next))
}

/// End of the currency behind an amount and the first word behind that.
fn currency(chain: &Chain, found: &Amount) -> Option<(usize, usize)> {
    let mut at = found.next;
    let mut gap = chain.lead(found.end, at)?;
    let abbreviated = found.scaled && gap.starts_with('.');
    let of = glue(gap, &["of"]);
    if abbreviated {
        gap = gap.get(1..)?;
    }
    let nation = chain.word(at) == Some(Word::Nation) && (blanks(gap) || gap.is_empty());
    if nation {
        gap = chain.gap(at)?;
        gap = gap.strip_prefix('.').unwrap_or(gap);
        at += 1;
    }
    if !(gap.is_empty() || blanks(gap) || gap == "-" || of) {
        return None;
    }
    let fits = match chain.word(at)? {
        Word::Sign => suffix_sign(chain, at),
        Word::Code | Word::CapitalCode => {
            code(chain, at).is_some() || gap.is_empty() && chain.word(at) == Some(Word::Code)
        }
        Word::Currency => letter_fits(chain, at),
        Word::Coins => !found.scaled,
        Word::Doubtful => {
            nation || found.scaled || sterling(chain, at) || priced(chain, found.start)
        }
        Word::Conventional => return conventional(chain, at),
        _ => false,
    };
    fits.then(|| tail(chain, at))
}

/// A sign behind a number is the next number's when that touches it.
fn suffix_sign(chain: &Chain, at: usize) -> bool {
    !(chain.gap(at) == Some("") && chain.digits(at + 1) > 0)
}

/// "р" is a rouble before a dot, a blank or nothing; not in "р-н".
fn letter_fits(chain: &Chain, at: usize) -> bool {
    let letter = chain.end(at) - chain.start(at) == 'р'.len_utf8();
    !letter || !chain.behind(chain.end(at)).starts_with(['-', '/', '_'])
}

fn sterling(chain: &Chain, at: usize) -> bool {
    chain.word(at + 1) == Some(Word::Tail) && chain.close(at)
}

/// Whether a word of buying stands before pounds that might be weight.
fn priced(chain: &Chain, start: usize) -> bool {
    const REACH: usize = 40;
    const WORDS: &[&str] = &[
        "cost",
        "price",
        "pay",
        "paid",
        "worth",
        "spent",
        "spend",
        "fee",
        "charge",
        "owe",
        "salary",
        "budget",
        "bill",
        "invoice",
        "refund",
        "sto",
        "стои",
        "цен",
        "запла",
        "плат",
        "стоим",
        "сумм",
    ];
    let head = &chain.text[chain.text.floor_char_boundary(start.saturating_sub(REACH))..start]
        .to_lowercase();
    WORDS.iter().any(|word| head.contains(word))
}

/// "у. е."
fn conventional(chain: &Chain, at: usize) -> Option<(usize, usize)> {
    let behind = chain.behind(chain.end(at)).strip_prefix('.')?;
    let unit = behind.trim_start_matches(' ');
    if !unit.starts_with("е.") && !unit.starts_with("Е.") {
        return None;
    }
    let end = chain.end(at) + 1 + (behind.len() - unit.len()) + "е.".len();
    let next = chain
        .tokens
        .iter()
        .position(|token| token.start >= end)
        .unwrap_or(chain.tokens.len());
    Some((end, next))
}

/// The end of a currency with its dot or its country: "руб.", "долларов США".
fn tail(chain: &Chain, at: usize) -> (usize, usize) {
    let end = chain.end(at);
    if matches!(chain.word(at + 1), Some(Word::Tail)) && chain.close(at) {
        return (chain.end(at + 1), at + 2);
    }
    let short = matches!(
        InlineWord::lowercase(chain.raw(at)).as_str(),
        "руб" | "р" | "коп" | "долл"
    );
    let dot = short && chain.behind(end).starts_with('.');
    (end + usize::from(dot), at + 1)
}

/// "30 копеек" behind the roubles.
fn change(chain: &Chain, end: usize, next: usize) -> Option<(usize, usize)> {
    let gap = chain.lead(end, next)?;
    let joined = blanks(gap) || gap == ", " || glue(gap, &["и", "and"]);
    let small = joined.then(|| amount(chain, next)).flatten()?;
    let gap = chain.lead(small.end, small.next)?;
    let coins = chain.word(small.next) == Some(Word::Coins) && (gap.is_empty() || blanks(gap));
    coins.then(|| tail(chain, small.next))
}
