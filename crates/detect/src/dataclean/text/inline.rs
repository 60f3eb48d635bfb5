//! Short values that detectors need for every number, kept without an allocation: a word in lower case, and the
//! digits of one number with what they stand for.

use std::ops::Deref;

/// Longer than every word of any table here, in bytes.
const LONGEST_WORD: usize = 48;
/// More digits than any number has that is looked for.
const MOST_DIGITS: usize = 24;

/// A word in small letters; of a longer word its beginning, which is then no word of a table but may
/// begin like one.
#[derive(Clone, Copy)]
pub(crate) struct InlineWord {
    bytes: [u8; LONGEST_WORD],
    length: usize,
}

impl InlineWord {
    /// Folds a word.
    pub(crate) fn lowercase(word: &str) -> Self {
        let mut small = Self {
            bytes: [0; LONGEST_WORD],
            length: 0,
        };
        let known = small.take_known(word.as_bytes());
        for c in word[known..].chars() {
            if !c.to_lowercase().all(|c| small.push(c)) {
                break;
            }
        }
        small
    }

    /// As text, for a table written as a match.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// The lower-case bytes, UTF-8 unless the word was cut.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Whether it is this word, given in small letters.
    #[inline]
    pub(crate) fn is(&self, word: &str) -> bool {
        self.bytes() == word.as_bytes()
    }

    /// Whether it is one of these.
    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Whether it begins with one of these.
    pub(crate) fn begins_with(&self, stems: &[&str]) -> bool {
        let begins = |stem: &&str| self.bytes().starts_with(stem.as_bytes());
        stems.iter().any(begins)
    }

    /// Takes in the letters from А to я and all of ASCII up to the first other character, as they are
    /// folded within as many bytes; gives how many bytes that were.
    fn take_known(&mut self, word: &[u8]) -> usize {
        let mut at = 0;
        while let Some(&lead) = word.get(at) {
            let second = word.get(at + 1).copied().unwrap_or_default();
            let (lead, second) = match (lead, second) {
                (0..0x80, _) => (lead.to_ascii_lowercase(), None),
                (0xd0, 0x90..=0x9f) => (lead, Some(second + 0x20)),
                (0xd0, 0xa0..=0xaf) => (0xd1, Some(second - 0x20)),
                (0xd0, 0xb0..=0xbf) | (0xd1, 0x80..=0x8f) => (lead, Some(second)),
                _ => break,
            };
            let length = 1 + usize::from(second.is_some());
            if at + length > LONGEST_WORD {
                break;
            }
            self.bytes[at] = lead;
            if let Some(second) = second {
                self.bytes[at + 1] = second;
            }
            at += length;
        }
        self.length = at;
        at
    }

    fn push(&mut self, c: char) -> bool {
        let end = self.length + c.len_utf8();
        let Some(room) = self.bytes.get_mut(self.length..end) else {
            return false;
        };
        c.encode_utf8(room);
        self.length = end;
        true
    }
}

/// Digit values of one number; of a longer one so many that it is none of those looked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct InlineDigits {
    values: [u8; MOST_DIGITS],
    length: usize,
}

impl InlineDigits {
    /// Takes out one.
    pub(crate) fn remove(&mut self, at: usize) {
        self.values[..self.length].copy_within(at + 1.., at);
        self.length -= 1;
    }
}

impl Extend<u8> for InlineDigits {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, values: I) {
        for (place, value) in self.values[self.length..].iter_mut().zip(values) {
            *place = value;
            self.length += 1;
        }
    }
}

impl Deref for InlineDigits {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.values[..self.length]
    }
}

/// The number that at most nine digits stand for.
pub(crate) fn number(digits: &[u8]) -> u32 {
    let digits = digits.iter();
    digits.fold(0, |number, digit| number * 10 + u32::from(*digit))
}

/// Whether a number reads as a year of the last century or of this one.
pub(crate) fn is_year(number: u32) -> bool {
    (1900..2100).contains(&number)
}

/// Whether one sign is repeated throughout, as in the number of nobody.
pub(crate) fn is_repeated(signs: &[u8]) -> bool {
    signs.iter().all(|sign| Some(sign) == signs.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_folded_as_the_standard_library_does() {
        for word in ["ИНН", "Тел", "iPhone7", "ЁЖ", "Größe", "İx", "ǅ", "", "ЎЂ"] {
            assert_eq!(
                InlineWord::lowercase(word).bytes(),
                word.to_lowercase().as_bytes()
            );
        }
        let long = "Щ".repeat(100);
        assert!(
            InlineWord::lowercase(&long).begins_with(&["щщщ"])
                && !InlineWord::lowercase(&long).is("щщщ")
        );
    }

    #[test]
    fn digits_beyond_the_bound_are_left_out() {
        let mut digits = InlineDigits::default();
        digits.extend([4, 4, 0, 2, 0]);
        digits.remove(2);
        assert_eq!(digits[..], [4, 4, 2, 0]);
        digits.extend([7; 40]);
        assert_eq!(digits.len(), MOST_DIGITS);
    }
}
