//! The input of the linear models: hashes of words, of their stems and inner pieces, of neighboring words,
//! of cues, and of how the message begins. The trainer uses this code, so a change needs new weights.

use super::hash::mix;
use super::mail::{self, Sentence};
use crate::guardrails::cues::Hit;
use crate::guardrails::reading::{Kind, Token, TokenizedText};

/// Tokens at the beginning that say what kind of message it is.
const HEAD: usize = 4;
/// Letters of a word's beginning that stand for its stem.
const STEM: usize = 5;
/// The bit of the hashes of pieces of Latin words: they have half of the rows for themselves, since the model
/// of harmful requests does better without them.
pub const PIECE: u32 = 1 << 31;
/// Letters of the shorter beginning, for words side by side.
const SHORT: usize = 4;

/// Features by the token they belong to, and those of the whole message.
pub struct Features {
    /// Hashes, one token after the other.
    pub hashes: Vec<u32>,
    /// Where those of a token end.
    pub ends: Vec<u32>,
    /// Hashes of the words among the tokens; 0 for other tokens. No features.
    pub words: Vec<u32>,
    /// Hashes that belong to every part of the message.
    pub whole: Vec<u32>,
    /// Of a mail, its sentences; empty for other messages.
    pub sentences: Vec<Sentence>,
    /// Whose thresholds it is judged by.
    pub script: Script,
}

impl Features {
    /// The features of a message and of the cues in it, which stand in the order of the text.
    pub fn new(read: &TokenizedText, hits: &[Hit]) -> Self {
        let tokens = &read.tokens;
        let mut out = Self {
            hashes: Vec::with_capacity(tokens.len() * 14),
            ends: Vec::with_capacity(tokens.len()),
            words: Vec::with_capacity(tokens.len()),
            whole: Vec::with_capacity(32),
            sentences: Vec::new(),
            script: Script::of(read),
        };
        // A program is not a mail, whatever stands in its comments.
        if out.script != Script::Code {
            out.sentences = mail::sentences(read);
        }
        let known: Vec<Hashes> = tokens
            .iter()
            .map(|token| Hashes::of(read, *token))
            .collect();
        let words = tokens.iter().zip(&known).map(|(token, hashes)| {
            let is_word = token.kind == Kind::Word;
            if is_word { hashes.word | 1 } else { 0 }
        });
        out.words.extend(words);
        let mut hits = hits.iter().peekable();
        for at in 0..tokens.len() {
            out.token(read, &known, at);
            while let Some(hit) = hits.next_if(|hit| hit.at as usize <= at) {
                let quoted = u32::from(hit.is_quoted);
                out.hashes.push(mix(0x51, u32::from(hit.cue), quoted));
                out.hashes.push(mix(0x52, hit.kind as u32, quoted));
            }
            out.ends.push(out.hashes.len() as u32);
        }
        out.head(read, &known);
        out
    }

    fn token(&mut self, read: &TokenizedText, known: &[Hashes], at: usize) {
        let here = known[at];
        self.hashes.push(mix(1, here.word, 0));
        if let Some(before) = at.checked_sub(1).map(|at| known[at]) {
            self.hashes.push(mix(2, before.word, here.word));
            self.hashes.push(mix(3, before.short, here.short));
        }
        if let Some(before) = at.checked_sub(2).map(|at| known[at]) {
            self.hashes.push(mix(4, before.short, here.short));
            let between = known[at - 1].short;
            self.hashes
                .push(mix(5, mix(5, before.short, between), here.short));
        }
        if read.tokens[at].kind == Kind::Word {
            self.hashes.push(mix(6, here.stem, 0));
            self.pieces(read.word(read.tokens[at]));
        }
    }

    /// Pieces of four and five letters, the word's edges among them.
    fn pieces(&mut self, word: &str) {
        let half = if word.is_ascii() { PIECE } else { 0 };
        // Four letters and the fifth before them; the first ones are not there yet.
        let [mut first, mut second, mut third, mut fourth] = [u32::from(b'_'); 4];
        let letters = word.chars().chain(['_']);
        for (seen, c) in (2..).zip(letters) {
            let fifth = c as u32;
            let last = |hash| step(step(step(step(hash, second), third), fourth), fifth);
            if seen >= 4 {
                self.hashes.push(mix(7, last(7), 0) | half);
            }
            if seen >= 5 {
                self.hashes.push(mix(8, last(step(8, first)), 0) | half);
            }
            (first, second, third, fourth) = (second, third, fourth, fifth);
        }
    }

    fn head(&mut self, read: &TokenizedText, known: &[Hashes]) {
        let first = &known[..known.len().min(HEAD)];
        for (at, hashes) in first.iter().enumerate() {
            self.whole
                .push(mix(0x20 + u32::from(at > 0), hashes.short, 0));
        }
        if let [one, two, ..] = first {
            self.whole.push(mix(0x22, one.word, two.word));
        }
        let size = usize::BITS - known.len().leading_zeros();
        self.whole.push(mix(0x23, size, 0));
        for (tag, count) in [(0x24, read.mixed), (0x25, read.unseen), (0x26, read.leet)] {
            self.whole.push(mix(tag, count.min(3), 0));
        }
        let last = known.iter().rev().take(2);
        self.whole
            .extend(last.map(|hashes| mix(0x27, hashes.short, 0)));
    }
}

/// Kinds of messages with thresholds of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    Latin,
    Cyrillic,
    /// Programs: of what they are made of, the models know little.
    Code,
}

/// Tokens that a program has at least, and of how many of them one is a sign of programs.
const CODE: (usize, usize) = (40, 8);

impl Script {
    /// How many there are.
    pub const ALL: usize = 3;

    fn of(read: &TokenizedText) -> Self {
        let is_sign = |token: &&Token| {
            token.kind == Kind::Sign
                && matches!(read.word(**token), "{" | "}" | "(" | ")" | ";" | "=" | "_")
        };
        let signs = read.tokens.iter().filter(is_sign).count();
        match is_cyrillic(&read.text) {
            true => Self::Cyrillic,
            false if read.tokens.len() >= CODE.0 && signs * CODE.1 >= read.tokens.len() => {
                Self::Code
            }
            false => Self::Latin,
        }
    }
}

/// Cyrillic letters are two bytes each, and the first of them tells.
fn is_cyrillic(text: &str) -> bool {
    let count = |is: fn(&u8) -> bool| text.bytes().filter(is).count();
    count(|byte| matches!(byte, 0xd0 | 0xd1)) > count(u8::is_ascii_alphabetic)
}

/// A token by its whole, its stem and its shorter stem.
#[derive(Clone, Copy)]
struct Hashes {
    word: u32,
    stem: u32,
    short: u32,
}

impl Hashes {
    fn of(read: &TokenizedText, token: Token) -> Self {
        let mut out = Self {
            word: 1,
            stem: 2,
            short: 3,
        };
        for (at, c) in read.word(token).chars().enumerate() {
            out.word = step(out.word, c as u32);
            if at < STEM {
                out.stem = step(out.stem, c as u32);
            }
            if at < SHORT {
                out.short = step(out.short, c as u32);
            }
        }
        out
    }
}

#[inline]
fn step(hash: u32, value: u32) -> u32 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b1)
}
