//! The input of the tagger: facts about each token, and the hashed features made of them and of their
//! neighbors. The trainer uses this code, so a change needs new weights.

use super::table::{self, Entry, Table};
use crate::chars;
use crate::dataclean::tagger::token::{Case, Gap, Kind, Token};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The most features one token has.
pub const MOST: usize = 96;
/// The longest part of a word that is looked at, in characters.
const LONGEST_WORD: usize = 40;

/// What is known of one token.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub word: u64,
    pub stem: u64,
    suffix: [u64; 3],
    prefix: u64,
    shape: u64,
    pub entry: Entry,
    seen: u64,
    quoted: u64,
    /// A word that begins with a capital.
    pub capital: bool,
}

/// A hash of letters, in lower case and with е for ё.
#[inline]
pub fn hash(letters: impl Iterator<Item = char>) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for c in letters {
        state = (state ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3);
    }
    mix(state)
}

/// The key under which the stem of a word is kept.
pub fn stem_key(word: u64) -> u64 {
    mix(word ^ 0x57e3)
}

/// Letters as they are compared.
#[inline]
pub fn fold(c: char) -> char {
    match c {
        'ё' | 'Ё' => 'е',
        _ => chars::small(c).unwrap_or_else(|| c.to_lowercase().next().unwrap_or(c)),
    }
}

#[inline]
fn mix(mut value: u64) -> u64 {
    value ^= value >> 32;
    value = value.wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 32)
}

/// Endings of names in Russian, longest first.
const ENDINGS: &[&[char]] = &[
    &['о', 'г', 'о'],
    &['о', 'м', 'у'],
    &['е', 'м', 'у'],
    &['ы', 'м', 'и'],
    &['и', 'м', 'и'],
    &['о', 'в', 'и'],
    &['о', 'й'],
    &['е', 'й'],
    &['о', 'м'],
    &['е', 'м'],
    &['ы', 'м'],
    &['и', 'м'],
    &['у', 'ю'],
    &['ы', 'х'],
    &['и', 'х'],
    &['и', 'й'],
    &['ы', 'й'],
    &['а', 'я'],
    &['и', 'я'],
    &['и', 'и'],
    &['и', 'ю'],
    &['и', 'е'],
    &['а', 'м'],
    &['я', 'м'],
    &['а'],
    &['я'],
    &['у'],
    &['ю'],
    &['е'],
    &['ы'],
    &['и'],
    &['о'],
    &['й'],
    &['ь'],
];

/// How many letters of a folded word are its stem.
pub fn stem_length(word: &[char]) -> usize {
    let last = word.last().filter(|last| matches!(last, 'а'..='я'));
    let has = |ending: &&&[char]| {
        ending.last() == last && word.len() > ending.len() + 1 && word.ends_with(ending)
    };
    let ending = last.and_then(|_| ENDINGS.iter().find(has));
    word.len() - ending.map_or(0, |ending| ending.len())
}

/// Facts about all tokens of a text.
pub fn facts(text: &str, tokens: &[Token], table: &Table) -> Vec<Facts> {
    let mut letters = Vec::with_capacity(LONGEST_WORD);
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        letters.clear();
        let word = text[token.start..token.end].chars().map(fold);
        letters.extend(word.take(LONGEST_WORD));
        out.push(of_token(*token, &letters, table));
    }
    look_around(text, tokens, &mut out);
    out
}

fn of_token(token: Token, letters: &[char], table: &Table) -> Facts {
    let shape = shape(token, letters.len());
    if !token.is_word() {
        let word = match token.kind {
            Kind::Digits => hash(std::iter::repeat_n('0', letters.len().min(7))),
            _ => hash(letters.iter().copied()),
        };
        return Facts {
            word,
            stem: word,
            shape,
            ..Facts::default()
        };
    }
    let all = |letters: &[char]| hash(letters.iter().copied());
    let last = |count: usize| all(&letters[letters.len().saturating_sub(count)..]);
    let word = all(letters);
    let stem = all(&letters[..stem_length(letters)]);
    let mut entry = table.get(word);
    if token.kind == Kind::Cyrillic {
        entry.flags |= table.get(stem_key(stem)).flags;
    }
    Facts {
        word,
        stem,
        suffix: [last(2), last(3), last(4)],
        prefix: all(&letters[..letters.len().min(3)]),
        shape,
        entry,
        seen: 0,
        quoted: 0,
        capital: token.is_capital(),
    }
}

fn shape(token: Token, length: usize) -> u64 {
    let length = match length {
        1..=4 => length,
        5..=7 => 5,
        _ => 6,
    };
    let gap = match token.gap {
        Gap::Glued => 0,
        Gap::Space => 1,
        Gap::Line | Gap::Paragraph => 2,
    };
    let case = token.case as u64;
    let length = match (token.kind, token.case) {
        (Kind::Digits, _) | (_, Case::Upper) => length as u64,
        _ => 0,
    };
    1 + token.kind as u64 + 8 * case + 64 * gap + 256 * length
}

/// What the rest of the text says about a word: whether it stands behind a first name, in quotes or
/// in lower case elsewhere.
fn look_around(text: &str, tokens: &[Token], facts: &mut [Facts]) {
    let mut seen: HashMap<u64, u64, RandomState> = HashMap::default();
    let mut depth = 0_u64;
    for at in 0..tokens.len() {
        match &text[tokens[at].start..tokens[at].end] {
            "«" | "“" | "„" => depth = 1,
            "»" | "”" => depth = 0,
            _ if depth > 0 => depth = (depth + 1) % 12,
            _ => {}
        }
        facts[at].quoted = depth.min(3);
        if !tokens[at].is_word() {
            continue;
        }
        *seen.entry(facts[at].stem).or_default() |= signs(tokens, facts, at);
    }
    for facts in facts.iter_mut().filter(|facts| facts.capital) {
        facts.seen = seen.get(&facts.stem).copied().unwrap_or_default();
    }
}

/// What the place of one word says about the same word elsewhere.
fn signs(tokens: &[Token], facts: &[Facts], at: usize) -> u64 {
    const BEHIND_FIRST: u64 = 1;
    const IN_LOWER: u64 = 2;
    const IN_MIDDLE: u64 = 4;
    const BEFORE_LAST: u64 = 8;
    if !facts[at].capital {
        return IN_LOWER;
    }
    let before = at
        .checked_sub(1)
        .map(|before| (tokens[before], facts[before]));
    let is_first = |facts: Facts| facts.entry.flags & table::FIRST_COMMON != 0;
    let named = before.is_some_and(|(token, facts)| token.is_capital() && is_first(facts));
    let middle = before.is_some_and(|(token, _)| token.case == Case::Lower);
    let next = tokens.get(at + 1).zip(facts.get(at + 1));
    let leads = next.is_some_and(|(token, next)| {
        token.case == Case::Title && next.entry.flags & table::LAST != 0
    });
    u64::from(named) * BEHIND_FIRST + u64::from(middle) * IN_MIDDLE + u64::from(leads) * BEFORE_LAST
}

/// What stands outside of a sentence.
const NOTHING: Facts = Facts {
    word: 1,
    stem: 1,
    suffix: [1; 3],
    prefix: 1,
    shape: 0,
    entry: Entry {
        near: 0,
        role: 0,
        flags: 0,
    },
    seen: 0,
    quoted: 0,
    capital: false,
};

/// Adds the features of the token at `at` of a sentence.
pub fn features(facts: &[Facts], at: usize, out: &mut Vec<u32>) {
    let near = |offset: isize| -> &Facts {
        let place = at.checked_add_signed(offset);
        place.and_then(|place| facts.get(place)).unwrap_or(&NOTHING)
    };
    let around = [near(-2), near(-1), near(0), near(1), near(2)];
    let mut sink = Sink { out, number: 0 };
    alone(&mut sink, around);
    together(&mut sink, around);
    let here = around[2];
    let start = u64::from(at == 0);
    sink.add([
        (start, 0),
        (start + 2 * here.seen, here.shape),
        (here.seen, u64::from(here.entry.flags)),
        (here.quoted, here.shape),
    ]);
    for offset in [-4, -3, 3, 4] {
        let far = near(offset);
        sink.add([(u64::from(far.entry.role), 0), (far.word, 0)]);
    }
}

fn alone(sink: &mut Sink, around: [&Facts; 5]) {
    for facts in around {
        sink.add([
            (facts.word, 0),
            (facts.shape, 0),
            (u64::from(facts.entry.near), 0),
            (u64::from(facts.entry.role), 0),
            (u64::from(facts.entry.flags), 0),
        ]);
    }
    for facts in &around[1..4] {
        sink.add([(facts.stem, 0), (facts.suffix[1], 0)]);
    }
    let [.., here, _, _] = around;
    sink.add([
        (here.suffix[0], here.shape),
        (here.suffix[2], 0),
        (here.prefix, here.shape),
    ]);
}

fn together(sink: &mut Sink, [second, left, here, right, last]: [&Facts; 5]) {
    let role = |facts: &Facts| u64::from(facts.entry.role);
    let meaning = |facts: &Facts| u64::from(facts.entry.near);
    let flags = |facts: &Facts| u64::from(facts.entry.flags);
    sink.add([
        (left.shape, here.shape),
        (here.shape, right.shape),
        (join(left.shape, here.shape), right.shape),
        (join(second.shape, left.shape), here.shape),
        (join(here.shape, right.shape), last.shape),
        (role(left), role(here)),
        (role(here), role(right)),
        (join(role(left), here.shape), right.shape),
        (join(role(right), here.shape), left.shape),
        (join(meaning(left), here.shape), 0),
        (join(meaning(right), here.shape), 0),
        (join(role(second), role(left)), here.shape),
        (join(role(right), role(last)), here.shape),
        (flags(here), here.shape),
        (join(flags(left), left.shape), join(flags(here), here.shape)),
        (
            join(flags(here), here.shape),
            join(flags(right), right.shape),
        ),
        (left.word, here.shape),
        (right.word, here.shape),
        (left.stem, here.stem),
        (here.stem, right.stem),
        (join(second.word, left.word), here.shape),
        (
            join(left.suffix[0], here.suffix[0]),
            join(left.shape, here.shape),
        ),
        (meaning(here), here.shape),
        (role(here), here.shape),
    ]);
}

#[inline]
fn join(left: u64, right: u64) -> u64 {
    left.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ right
}

/// Numbers the kinds of features while they are added.
struct Sink<'a> {
    out: &'a mut Vec<u32>,
    number: u64,
}

impl Sink<'_> {
    /// Adds several at once, so that there is room for them once.
    #[inline]
    fn add<const COUNT: usize>(&mut self, features: [(u64, u64); COUNT]) {
        let hashes = features.map(|(left, right)| {
            self.number += 1;
            let value = join(left, right) ^ self.number.wrapping_mul(0xa24b_aed4_963e_e407);
            (mix(value) >> 32) as u32
        });
        self.out.extend_from_slice(&hashes);
    }
}
