//! What stands beside a value, for patterns that rules have to name: the words that say what it is, and whether
//! anything goes on with it. The words are apart from `text::labels`, so that none bears on the patterns of §2.8.

use crate::chars::{is_dash, is_word_char};
use crate::dataclean::text::inline::InlineWord;
use crate::dataclean::text::labels::{Label, label_of};
use std::ops::Range;

/// How far before a value and behind it a word may stand, in bytes.
const REACH_BEFORE: usize = 96;
const REACH_BEHIND: usize = 48;
const MOST_WORDS_BEFORE: usize = 6;
const MOST_WORDS_BEHIND: usize = 4;
/// A word of several may be as long, in bytes.
const PHRASE: usize = 48;
/// A dot behind a longer word ends a sentence, behind a shorter one an abbreviation.
const ABBREVIATION: usize = 4;
/// Digits of another number, behind which its own words stand.
const OTHER_NUMBER: usize = 5;
/// Words between a value and the word behind it: "… is my IBAN".
const LINKS: &[&str] = &["это", "is", "мой", "моя", "my", "the", "our", "наш"];

/// The words for one pattern, in small letters.
pub(super) struct Words {
    /// Words as they are.
    pub(super) whole: &'static [&'static str],
    /// Beginnings of words.
    pub(super) stems: &'static [&'static str],
    /// Words of several parts.
    pub(super) phrases: &'static [&'static str],
}

impl Words {
    /// Whether they name the value at a place.
    pub(super) fn name(&self, text: &str, place: &Range<usize>) -> bool {
        self.stand_before(&text[..place.start]) || self.stand_behind(&text[place.end..])
    }

    /// Whether they name the value at a place, or the one that ends at `before`, with which it makes a list.
    pub(super) fn name_in_list(
        &self,
        text: &str,
        place: &Range<usize>,
        before: Option<usize>,
    ) -> bool {
        self.name(text, place) || before.is_some_and(|end| is_list(&text[end..place.start]))
    }

    /// Whether the nearest word that says what a value is, is one of them.
    pub(super) fn stand_before(&self, head: &str) -> bool {
        let near = &head[head.ceil_char_boundary(head.len().saturating_sub(REACH_BEFORE))..];
        let mut end = near.len();
        for passed in 0..MOST_WORDS_BEFORE {
            let rest = near[..end].trim_end_matches(|c: char| !is_word_char(c));
            let word = &rest[rest.trim_end_matches(is_word_char).len()..];
            let between = &near[rest.len()..end];
            if word.is_empty() || between.contains(';') || passed > 0 && ends(word, between) {
                return false;
            }
            let folded = InlineWord::lowercase(word);
            if self.have(&folded) || self.end(rest) {
                return true;
            }
            if names_another(&folded, word) {
                return false;
            }
            end = rest.len() - word.len();
        }
        false
    }

    /// "… (IBAN)", "… is my IBAN".
    fn stand_behind(&self, tail: &str) -> bool {
        let near = &tail[..tail.floor_char_boundary(REACH_BEHIND)];
        let stops = |c: char| matches!(c, '\n' | ';' | '|' | ',' | ')') || c.is_ascii_digit();
        let stop = near.find(stops);
        let near = &near[..stop.unwrap_or(near.len())];
        let signs = &near[..near.find(is_word_char).unwrap_or(near.len())];
        let is_open = |c: char| matches!(c, '(' | '[' | '\u{2014}') || is_dash(c);
        let mut is_linked = signs.contains(is_open);
        let words = near.split(|c: char| !is_word_char(c));
        let mut words = words
            .filter(|word| !word.is_empty())
            .take(MOST_WORDS_BEHIND);
        words.any(|word| {
            let folded = InlineWord::lowercase(word);
            let is_named = is_linked && self.have(&folded);
            is_linked |= folded.is_one_of(LINKS);
            is_named
        })
    }

    fn have(&self, word: &InlineWord) -> bool {
        word.is_one_of(self.whole) || word.begins_with(self.stems)
    }

    /// Whether a text ends with one of the phrases.
    fn end(&self, text: &str) -> bool {
        let from = text.ceil_char_boundary(text.len().saturating_sub(PHRASE));
        let near = InlineWord::lowercase(&text[from..]);
        let is_end = |phrase: &&str| {
            let head = near.as_str().strip_suffix(*phrase);
            head.is_some_and(|head| !head.ends_with(is_word_char))
        };
        self.phrases.iter().any(is_end)
    }
}

/// Whether nothing that goes on with a value stands right before or behind its place.
pub(super) fn stands_alone(text: &str, place: &Range<usize>, goes_on: fn(char) -> bool) -> bool {
    !text[..place.start].ends_with(goes_on) && !text[place.end..].starts_with(goes_on)
}

/// Whether what stands between two values makes them a list, which shares its word.
fn is_list(between: &str) -> bool {
    const LONGEST: usize = 8;
    let joins = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '/' | '|' | '&');
    let word = between.trim_matches(joins);
    between.len() <= LONGEST && matches!(word, "" | "и" | "and" | "or" | "или")
}

/// Whether a sentence, a line or a field ends behind a word.
fn ends(word: &str, between: &str) -> bool {
    let is_long = word.chars().nth(ABBREVIATION).is_some();
    between.contains(['\n', '!', '?']) || is_long && between.contains(". ")
}

/// Whether a word says that what follows is something else.
fn names_another(folded: &InlineWord, word: &str) -> bool {
    // "серия 99 12 номер 345678" is said of more than passports; "удостоверение" and "страхования" have their own word
    // before them.
    let label = label_of(folded).filter(|label| *label != Label::Passport);
    let label = label.filter(|_| !folded.begins_with(&["удостоверен", "страхов"]));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    label.is_some() || folded.begins_with(&["паспорт", "passport"]) || digits >= OTHER_NUMBER
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Words = Words {
        whole: &["омс"],
        stems: &["полис"],
        phrases: &["в/у", "health policy"],
    };

    #[test]
    fn the_nearest_word_that_says_what_a_value_is_counts() {
        for (head, is_named) in [
            ("полис ОМС № ", true),
            ("Полиса застрахованного лица: ", true),
            ("номер в/у ", true),
            ("Health policy no. ", true),
            ("Полис:\n", true),
            ("полис, карта ", false),
            ("полис оформлен. Номер ", false),
            ("полис\nномер ", false),
            ("полис; ", false),
            ("полис 12345678, ", false),
            ("wealth policy ", false),
            ("", false),
        ] {
            assert_eq!(POLICY.stand_before(head), is_named, "{head:?}");
        }
    }

    #[test]
    fn a_word_behind_counts_where_something_links_it() {
        for (tail, is_named) in [
            (" (полис ОМС)", true),
            (" — полис", true),
            (" это мой полис", true),
            (" полис", false),
            (", полис", false),
            (" (карта), полис", false),
            (" 5 полис", false),
        ] {
            assert_eq!(POLICY.stand_behind(tail), is_named, "{tail:?}");
        }
    }
}
