//! The name of the member that a number stands in, which says what the number is (CONTRACT 15, 42): a check reads its
//! words before the number, as it would in prose.

use super::long_number;
use crate::json::text::unescape;

/// The most bytes of the words that are read before one number.
const MOST_WORDS: usize = 64;
/// The end of a name that is looked at, as it is written: each character may be an escape of six bytes.
const LONGEST_END: usize = 6 * MOST_WORDS;

/// Where the name stands, as a token with quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberName {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) sharing: Sharing,
}

/// Whether a name has stood before another number already, as that of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    First,
    Further,
}

impl Sharing {
    pub(crate) fn of(is_spent: bool) -> Self {
        match is_spent {
            true => Self::Further,
            false => Self::First,
        }
    }

    /// The most bytes that are read before a number that is read as `text`. Before a further one, both have at most so
    /// many bytes, so that the text of a body stays within two times its bytes.
    pub(crate) fn room(self, bytes: usize, text: &str) -> usize {
        match self {
            Self::First => MOST_WORDS,
            Self::Further => MOST_WORDS.min(bytes.saturating_sub(text.len())),
        }
    }
}

impl NumberName {
    /// The same in a part of the body that begins at this byte.
    pub(crate) fn moved(self, begin: usize) -> Self {
        Self {
            start: self.start.saturating_sub(begin),
            end: self.end.saturating_sub(begin),
            ..self
        }
    }

    /// What is read before a number; `body` is what the name stands in.
    pub(crate) fn label(self, body: &[u8], number: &[u8]) -> String {
        let token = body.get(self.start..self.end).unwrap_or_default();
        label_of_number(token, self.sharing, number)
    }
}

/// What is read before a number; both are given as they are written.
pub(crate) fn label_of_number(name: &[u8], sharing: Sharing, number: &[u8]) -> String {
    let text = long_number(std::str::from_utf8(number).unwrap_or_default());
    let room = sharing.room(2 * number.len(), &text.unwrap_or_default());
    label(name_end(name), room)
}

/// The end of a name that is looked at, without its quotes.
pub(crate) fn name_end(token: &[u8]) -> &[u8] {
    let name = token.strip_suffix(b"\"").unwrap_or(token);
    let name = name.strip_prefix(b"\"").unwrap_or(name);
    &name[name.len().saturating_sub(LONGEST_END)..]
}

/// The last words of a name, given without its quotes, that fit in so many bytes with the colon behind them. No digit is
/// among them, so that none goes on in the number.
pub(crate) fn label(name_end: &[u8], most: usize) -> String {
    let name = unescape(name_end);
    let is_cut = name_end.len() == LONGEST_END;
    let mut words = words(&name);
    if is_cut && !words.is_empty() {
        words.remove(0);
    }
    // One blank fewer than words, and the colon with its blank.
    let mut bytes = 1;
    let fitting = words.iter().rev().take_while(|word| {
        bytes += word.len() + 1;
        bytes <= most
    });
    let first = words.len() - fitting.count();
    match words.get(first..).unwrap_or_default() {
        [] => String::new(),
        words => format!("{}: ", words.join(" ")),
    }
}

/// The words of a name: runs of letters, and `clientInn` is two of them.
fn words(name: &str) -> Vec<&str> {
    let (mut words, mut start, mut before) = (Vec::new(), None, ' ');
    for (at, c) in name.char_indices() {
        let is_border = !c.is_alphabetic() || before.is_lowercase() && c.is_uppercase();
        if let Some(begun) = start.filter(|_| is_border) {
            words.push(&name[begun..at]);
            start = None;
        }
        if c.is_alphabetic() {
            start.get_or_insert(at);
        }
        before = c;
    }
    words.extend(start.map(|begun| &name[begun..]));
    words
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_END, MOST_WORDS, NumberName, Sharing, label, name_end};

    #[test]
    fn the_words_of_a_name_are_read_before_its_number() {
        for (name, expected) in [
            ("inn", "inn: "),
            ("client_inn", "client inn: "),
            ("clientInn", "client Inn: "),
            ("userINN", "user INN: "),
            ("ORDER-ID", "ORDER ID: "),
            (r"\u0438нн", "инн: "),
            ("НомерКарты", "Номер Карты: "),
            ("+7", ""),
            ("4111card1111", "card: "),
            ("", ""),
        ] {
            assert_eq!(label(name.as_bytes(), MOST_WORDS), expected, "{name}");
        }
    }

    #[test]
    fn only_the_last_words_of_a_long_name_are_read() {
        let name = format!("\"{}card number\"", "long ".repeat(LONGEST_END));
        let label = label(name_end(name.as_bytes()), MOST_WORDS);
        assert!(label.len() <= MOST_WORDS && label.ends_with("long card number: "));
        let name = format!("\"{}\"", "x".repeat(LONGEST_END));
        assert_eq!(super::label(name_end(name.as_bytes()), MOST_WORDS), "");
    }

    #[test]
    fn before_a_further_number_of_a_list_is_no_more_than_the_number_is_long() {
        let body = br#"{"client_inn":[7752601811,7759083012]}"#;
        for (sharing, expected) in [
            (Sharing::First, "client inn: "),
            (Sharing::Further, "inn: "),
        ] {
            let name = NumberName {
                start: 1,
                end: 13,
                sharing,
            };
            assert_eq!(name.label(body, b"7759083012"), expected);
        }
    }
}
