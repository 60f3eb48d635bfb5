//! One pass over a text that keeps numbers, currency signs and words of the lexicon, and links those that
//! are close into chains. A grammar sees one chain at a time, so its result is final as soon as the chain
//! is closed (CONTRACT 41).

use super::letters::{CLASSES, Class, letters};
use super::lexicon::Lexicon;
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

/// What a text holds.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) tokens: Vec<Token>,
    /// Index ranges of tokens, in order.
    pub(super) chains: Vec<Range<usize>>,
    /// A word of no lexicon stands behind the last token.
    parted: bool,
    /// Where the word begins that the end of the text may cut; the end, where there is none.
    open: usize,
}

impl Scan {
    /// Scans a text once, in O(n).
    pub(super) fn new(text: &str) -> Self {
        let (bytes, lexicon) = (text.as_bytes(), Lexicon::shared());
        let mut scan = Self::default();
        let mut at = 0;
        scan.open = bytes.len();
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            let (word, longest) = match CLASSES[usize::from(byte)] {
                Class::Other => {
                    at += 1;
                    continue;
                }
                Class::Digit => {
                    at = digits(bytes, at);
                    (Some(Word::Number), MOST_DIGITS)
                }
                Class::Symbol => {
                    let (length, sign) = symbol(&bytes[at..]);
                    at += length;
                    if !sign {
                        continue;
                    }
                    (Some(Word::Sign), length)
                }
                Class::Letter => {
                    let hash;
                    (at, hash) = letters(bytes, at);
                    (lexicon.get(hash), LONGEST_WORD)
                }
            };
            let fits = at - start <= longest;
            scan.take(start..at, word.filter(|_| fits), fits && at == bytes.len());
        }
        scan
    }

    /// Takes in a word, of the lexicon or not; the last of a text may yet become another.
    fn take(&mut self, place: Range<usize>, word: Option<Word>, last: bool) {
        if last {
            self.open = place.start;
        }
        match word {
            Some(Word::Glue) => {}
            Some(word) => self.push(Token {
                start: place.start,
                end: place.end,
                word,
            }),
            None => self.parted |= !last,
        }
    }

    fn push(&mut self, token: Token) {
        let index = self.tokens.len();
        let close = |last: &Token| token.start - last.end <= WIDEST_GAP && !self.parted;
        let linked = self.tokens.last().is_some_and(close);
        match self.chains.last_mut() {
            Some(chain) if linked && chain.len() < MOST_TOKENS => chain.end = index + 1,
            _ => self.chains.push(index..index + 1),
        }
        self.tokens.push(token);
        self.parted = false;
    }

    /// The first byte whose reading could change when more text follows.
    pub(super) fn stable_until(&self, text: &str) -> usize {
        let end = |chain: &Range<usize>| self.tokens[chain.end - 1].end;
        let start = |chain: &Range<usize>| self.tokens[chain.start].start;
        let full = |chain: &&Range<usize>| {
            chain.len() == MOST_TOKENS && text.len() - end(chain) < LOOK_AHEAD
        };
        let linked = |chain: &&Range<usize>| {
            !self.parted && self.open.saturating_sub(end(chain)) <= WIDEST_GAP
        };
        let last = self.chains.last().filter(linked);
        let behind_full = self.chains.iter().rev().take(2).filter(full);
        let open = behind_full.chain(last).map(start).min();
        lead_in(text, open.map_or(self.open, |open| open.min(self.open)))
    }
}

/// Where a find may begin whose first word stands at a byte: with a quotation mark, the country of a
/// sign, or an article before it.
fn lead_in(text: &str, at: usize) -> usize {
    const LONGEST_COUNTRY: usize = 2;
    const WIDEST_BLANK: usize = 4;
    let head = text[..at].trim_end_matches(['«', '"', '“', '„']);
    let capitals = head
        .bytes()
        .rev()
        .take(LONGEST_COUNTRY)
        .take_while(u8::is_ascii_uppercase)
        .count();
    if head.len() < at || capitals > 0 {
        return head.len() - capitals;
    }
    let word = head.trim_end();
    let letters = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let article = matches!(
        word[letters.len()..].to_ascii_lowercase().as_str(),
        "a" | "an"
    ) && (1..=WIDEST_BLANK).contains(&(head.len() - word.len()));
    if article { letters.len() } else { at }
}

fn digits(bytes: &[u8], from: usize) -> usize {
    let more = bytes[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    from + more.count()
}

/// The bytes of a character that is no letter, and whether it is a currency's sign.
fn symbol(bytes: &[u8]) -> (usize, bool) {
    match bytes {
        [b'$', ..] => (1, true),
        [0xc2, 0xa2 | 0xa3 | 0xa5, ..] => (2, true),
        [0xc2, ..] => (2, false),
        [0xe2, 0x82, 0xa0..=0xbf, ..] => (3, true),
        [0xf0..=0xff, ..] => (4, false),
        _ => (3, false),
    }
}

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
            ("pay $5 then", 4),
            ("pay $5 then ", 12),
            ("in 2024 or t", 3),
        ] {
            assert_eq!(Scan::new(text).stable_until(text), settled, "{text}");
        }
    }
}
