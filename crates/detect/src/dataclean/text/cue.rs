//! The words next to a number that say what it is: "ИНН 7752601811", "call 123-45-67". A number belongs to
//! the nearest label before it. `labels` lists the labels.

use super::inline::InlineWord;
pub(crate) use super::labels::Label;
use super::labels::Label::{Other, Phone};
use super::labels::label_of;
use crate::chars::{is_letter, is_word_char};

/// The label nearest to a number; several when they are joined ("ИНН/КПП").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cue {
    labels: u16,
    /// Words between label and number, fillers such as "номер" not counted.
    pub(crate) words: u8,
    /// Other numbers stand between them, as in a list.
    pub(crate) listed: bool,
}

impl Cue {
    /// The label of a column, which stands right above the number.
    pub(crate) fn of_column(header: &str) -> Option<Self> {
        let labels = words(header).filter_map(|(_, word)| label_of(&InlineWord::lowercase(word)));
        let labels = labels.fold(0, |labels, label| labels | (1 << label as u8));
        (labels != 0).then_some(Self {
            labels,
            ..Self::default()
        })
    }

    /// Whether this label is among them.
    pub(crate) fn has(self, label: Label) -> bool {
        self.labels & (1 << label as u8) != 0
    }

    /// The number stands right behind the label.
    pub(crate) fn direct(self) -> bool {
        self.words == 0 && !self.listed
    }

    /// One of these labels is at most so many words away.
    pub(crate) fn within(self, words: usize, labels: &[Label]) -> bool {
        usize::from(self.words) <= words && labels.iter().any(|label| self.has(*label))
    }

    /// The label says directly that the number is something else.
    pub(crate) fn denies(self, label: Label) -> bool {
        self.direct() && !self.has(label)
    }
}

/// How far back a label may stand, in bytes.
const REACH: usize = 130;
/// How much of a list of numbers is stepped over to find the label of the list, in bytes.
const LIST_REACH: usize = 300;
/// How far behind a number its label may stand, in bytes.
const REACH_AFTER: usize = 60;

/// Words that stand between a label and its number without breaking the bond.
const FILLERS: &[&str] = &[
    "номер",
    "номера",
    "номеру",
    "номером",
    "no",
    "number",
    "num",
    "nr",
    "is",
    "это",
    "at",
    "по",
    "мой",
    "n",
];

/// Words that name a phone only when they stand behind it: "455 6186 office".
const PHONE_AFTER: &[&str] = &["office", "home", "work", "моб", "раб", "дом", "сот"];

/// The nearest label before byte `at`.
pub(crate) fn before(text: &str, at: usize) -> Option<Cue> {
    let (window, listed) = window_before(text, at);
    // "ИНН, как указано в договоре, 77…": behind a comma the last noun does not name the number.
    let aside = !listed && text[..at].trim_end().ends_with(',');
    let mut cue = Cue {
        listed,
        ..Cue::default()
    };
    let mut end = window.len();
    while end > 0 {
        let head = window[..end].trim_end_matches(|c: char| !is_word_char(c));
        let word = last_word(head);
        let between = &window[head.len()..end];
        if cue.labels != 0 && !joins(between) {
            break;
        }
        let folded = InlineWord::lowercase(word);
        match label_of(&folded) {
            Some(Other) if aside && cue.labels == 0 => cue.words += 1,
            Some(label) => cue.labels |= 1 << label as u8,
            None if cue.labels != 0 && !folded.is_one_of(&["и", "and"]) => break,
            None => cue.words += u8::from(!word.is_empty() && !folded.is_one_of(FILLERS)),
        }
        end = head.len() - word.len();
    }
    (cue.labels != 0).then_some(cue)
}

/// The label that follows a number, when it belongs to that number and not to the next one.
pub(crate) fn after(text: &str, end: usize) -> Option<Cue> {
    const WORDS_BETWEEN: usize = 4;
    let rest = &text[end..text.floor_char_boundary(end + REACH_AFTER)];
    let rest = rest
        .split(|c: char| matches!(c, '\n' | ';') || c.is_ascii_digit())
        .next()?;
    let next_is_number = text[end + rest.len()..].starts_with(|c: char| c.is_ascii_digit());
    for (words, (word_end, word)) in words(rest).take(WORDS_BETWEEN).enumerate() {
        let folded = InlineWord::lowercase(word);
        let phone = words == 0 && folded.is_one_of(PHONE_AFTER);
        if let Some(label) = label_of(&folded).or(phone.then_some(Phone)) {
            let tail = &rest[word_end..];
            // "call 5 times, then phone": only a word right behind the number names it a phone.
            if label == Phone && words > 0 {
                return None;
            }
            let belongs_to_next = next_is_number && !tail.contains(is_word_char);
            let cue = Cue {
                labels: 1 << label as u8,
                words: words as u8,
                listed: false,
            };
            return (!belongs_to_next).then_some(cue);
        }
    }
    None
}

/// Whether the word that ends here is a label of this kind.
pub(crate) fn ends_with_label(head: &str, label: Label) -> bool {
    let near = &head[head.floor_char_boundary(head.len().saturating_sub(REACH))..];
    let letters = near.trim_end_matches(is_letter).len();
    label_of(&InlineWord::lowercase(&near[letters..])) == Some(label)
}

/// The text in which a label may stand, and whether a list of numbers was stepped over.
fn window_before(text: &str, at: usize) -> (&str, bool) {
    let near = &text[text.floor_char_boundary(at.saturating_sub(LIST_REACH))..at];
    let list =
        |c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, ',' | ';' | '/' | '-');
    let head = near.trim_end_matches(list);
    let listed = near[head.len()..].contains(|c: char| c.is_ascii_digit());
    let end = at - (near.len() - head.len());
    (
        &text[text.floor_char_boundary(end.saturating_sub(REACH))..end],
        listed,
    )
}

fn last_word(head: &str) -> &str {
    let start = head
        .char_indices()
        .rev()
        .take_while(|(_, c)| is_word_char(*c))
        .last();
    start.map_or("", |(at, _)| &head[at..])
}

/// Words with the byte where each ends.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.split_inclusive(|c: char| !is_word_char(c));
    let placed = parts.scan(0, |at, part| {
        let word = part.trim_end_matches(|c: char| !is_word_char(c));
        let end = *at + word.len();
        *at += part.len();
        Some((end, word))
    });
    placed.filter(|(_, word)| !word.is_empty())
}

/// Whether two labels with this between them name the same number or numbers.
fn joins(between: &str) -> bool {
    between
        .chars()
        .all(|c| c.is_whitespace() || matches!(c, '/' | ',' | '.' | '&' | '+'))
}

#[cfg(test)]
mod tests {
    use super::Label::{Card, Inn, Kpp, Other, Phone};
    use super::*;

    fn nearest(text: &str) -> Option<Cue> {
        before(text, text.len())
    }

    #[test]
    fn the_nearest_label_counts_and_joined_labels_count_together() {
        let cue = nearest("Заказ 5, ИНН/КПП организации: ").unwrap_or_default();
        assert!(cue.has(Inn) && cue.has(Kpp) && !cue.has(Phone) && cue.words == 1);
        let cue = nearest("ИНН 7752601811, заказ № ").unwrap_or_default();
        assert!(cue.has(Other) && !cue.has(Inn) && cue.direct() && cue.denies(Card));
        assert_eq!(nearest("просто число "), None);
    }

    #[test]
    fn a_list_shares_its_label() {
        let cue = nearest("ИНН: 7752601811, 7759083012, ").unwrap_or_default();
        assert!(cue.has(Inn) && cue.listed && !cue.direct());
    }

    #[test]
    fn a_label_behind_belongs_to_its_own_number() {
        let label = |text: &str| after(text, 10).map(|cue| cue.has(Inn));
        assert_eq!(label("7752601811 (ИНН)"), Some(true));
        assert_eq!(label("7752601811 - это ИНН компании 5"), Some(true));
        assert_eq!(label("1037749746, ИНН 7752601811"), None);
        assert!(after("455 6186 office\n877", 8).is_some_and(|cue| cue.has(Phone)));
    }
}
