//! One pass over a text that keeps its numbers, currency signs and words of the lexicon, and links
//! those that stand close into chains. A grammar sees one chain at a time and nothing behind it, so
//! that what a chain says is known as soon as the chain is closed (CONTRACT 41).

use super::lexicon::{Hash, Lexicon, russian};
use super::word::{Token, Word};
use std::ops::Range;

/// The most words of one chain: longer than any amount or date, and a bound on what is held back.
const MOST_TOKENS: usize = 24;
/// The most that may stand between two words of a chain, in bytes.
const WIDEST_GAP: usize = 16;
/// Longer runs of digits are no amount and no date.
const MOST_DIGITS: usize = 15;
/// Longer words are in no lexicon, in bytes.
const LONGEST_WORD: usize = 48;
/// What may be read behind a chain to see that it ends there, in bytes.
const LOOK_AHEAD: usize = 16;

/// Small words that stand between the words of an amount or a date.
const GLUE: &[&str] = &[
    "of", "and", "a", "an", "the", "or", "to", "till", "until", "at", "on", "in", "is", "и", "по", "до", "или",
    "в", "во", "с", "со", "от", "к", "на", "вв", "это", "by", "числа",
];

/// What a text holds.
pub(super) struct Scan {
    pub(super) tokens: Vec<Token>,
    /// Index ranges of tokens, in order.
    pub(super) chains: Vec<Range<usize>>,
}

impl Scan {
    /// O(n).
    pub(super) fn new(text: &str) -> Self {
        let tokens = tokens(text);
        let mut chains: Vec<Range<usize>> = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            let open = chains.last_mut().filter(|chain| {
                chain.len() < MOST_TOKENS && links(&text[tokens[index - 1].end..token.start])
            });
            match open {
                Some(chain) => chain.end = index + 1,
                None => chains.push(index..index + 1),
            }
        }
        Self { tokens, chains }
    }

    /// The first byte whose reading could change when more text follows.
    pub(super) fn settled(&self, text: &str) -> usize {
        let partial = partial_word(text);
        let Some(chain) = self.chains.last() else {
            return partial;
        };
        let end = self.tokens[chain.end - 1].end;
        let start = self.tokens[chain.start].start;
        let tail = &text[end.min(partial)..partial];
        let full = chain.len() == MOST_TOKENS && text.len() - end < LOOK_AHEAD;
        if full || links(tail) || text.len() - end < 2 {
            start.min(partial)
        } else {
            partial
        }
    }
}

/// Where the word begins that the end of the text cuts, or may cut.
fn partial_word(text: &str) -> usize {
    let letters = text.trim_end_matches(char::is_alphanumeric);
    match text.len() - letters.len() {
        0..=LONGEST_WORD => letters.len(),
        _ => text.len(),
    }
}

/// Whether two words with this between them can belong together.
fn links(gap: &str) -> bool {
    let word = |part: &str| part.is_empty() || GLUE.contains(&part.to_lowercase().as_str());
    match gap.as_bytes() {
        [] | [b' '] => true,
        _ => gap.len() <= WIDEST_GAP && gap.split(|c: char| !c.is_alphanumeric()).all(word),
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let (bytes, lexicon) = (text.as_bytes(), Lexicon::shared());
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let word = match CLASSES[usize::from(byte)] {
            Class::Other => {
                at += 1;
                continue;
            }
            Class::Digit => {
                at = digits(bytes, at);
                (at - start <= MOST_DIGITS).then_some(Word::Number)
            }
            Class::Symbol => {
                let (length, sign) = symbol(&bytes[at..]);
                at += length;
                sign.then_some(Word::Sign)
            }
            Class::Letter | Class::Russian | Class::Foreign => {
                let hash;
                (at, hash) = letters(bytes, at);
                (at - start <= LONGEST_WORD).then(|| lexicon.get(hash)).flatten()
            }
        };
        if let Some(word) = word {
            tokens.push(Token { start, end: at, word });
        }
    }
    tokens
}

fn digits(bytes: &[u8], from: usize) -> usize {
    let more = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit());
    from + more.count()
}

/// The end of the word that begins here, and its hash.
#[inline]
fn letters(bytes: &[u8], mut at: usize) -> (usize, Hash) {
    let mut hash = Hash::default();
    while let Some(&byte) = bytes.get(at) {
        match CLASSES[usize::from(byte)] {
            Class::Letter => {
                hash = hash.letter(byte | 0x20);
                at += 1;
            }
            Class::Russian => {
                let second = bytes.get(at + 1).copied().unwrap_or_default();
                hash = hash.letter(russian(byte, second));
                at += 2;
            }
            Class::Foreign => {
                hash = hash.letter(byte);
                at += 1;
            }
            Class::Other | Class::Digit | Class::Symbol => break,
        }
    }
    (at.min(bytes.len()), hash)
}

/// The bytes of a character that is no letter, and whether it is a currency's sign.
fn symbol(bytes: &[u8]) -> (usize, bool) {
    match bytes {
        [b'$', ..] => (1, true),
        [0xc2, 0xa2 | 0xa3 | 0xa5, ..] => (2, true),
        [0xc2, ..] => (2, false),
        [0xe2, 0x82, 0xa0..=0xbf, ..] => (3, true),
        _ => (3, false),
    }
}

#[derive(Clone, Copy)]
enum Class {
    Other,
    Digit,
    Letter,
    /// The first byte of a Cyrillic letter.
    Russian,
    /// A byte of any other letter.
    Foreign,
    /// A currency's sign, or the first byte of punctuation beyond ASCII.
    Symbol,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut at = 0;
    while at < 256 {
        classes[at] = match at as u8 {
            b'0'..=b'9' => Class::Digit,
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'$' | 0xc2 | 0xe2 => Class::Symbol,
            0xd0 | 0xd1 => Class::Russian,
            0x80.. => Class::Foreign,
            _ => Class::Other,
        };
        at += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::*;

    fn chains(text: &str) -> Vec<&str> {
        let scan = Scan::new(text);
        let place = |chain: &Range<usize>| {
            &text[scan.tokens[chain.start].start..scan.tokens[chain.end - 1].end]
        };
        scan.chains.iter().map(place).collect()
    }

    #[test]
    fn what_stands_close_is_one_chain_and_a_stranger_parts_two() {
        assert_eq!(
            chains("оплата 5 МАЯ 2024 г., потом ещё 5 тыс. рублей"),
            ["5 МАЯ 2024 г", "5 тыс. рублей"]
        );
        assert_eq!(chains("a €5 note by May 5th"), ["€5", "May 5th"]);
        assert_eq!(chains("“q” 1234567890123456"), ["q"]);
    }

    #[test]
    fn a_chain_is_open_as_long_as_a_word_of_it_may_follow() {
        for (text, settled) in [
            ("Hello ", 6),
            ("Hello", 0),
            ("due 5", 0),
            ("pay $5 ", 4),
            ("pay $5 then", 7),
            ("pay $5 then ", 12),
            ("in 2024 or t", 3),
        ] {
            assert_eq!(Scan::new(text).settled(text), settled, "{text}");
        }
    }
}
