//! Analyzes a text that is still growing (CONTRACT 41): what has been found so far, and up to which byte
//! further text cannot change the result. Only detectors that support this take part.

use super::normalize::NormalizedText;
use super::{Detector, PatternName, Span, Text, overlap};
use crate::message::{Message, portions};
use crate::seams::{Reader, joined_seams, read_bordered};

/// The detectors that can judge a growing text, built once. Shared between threads. One that panics
/// takes its caller with it: a text never passes because of it.
pub struct LocalDetectors {
    detectors: Vec<Box<dyn Detector>>,
}

impl Default for LocalDetectors {
    fn default() -> Self {
        Self::new()
    }
}

impl LocalDetectors {
    /// Builds every detector that can tell how far its finds are stable.
    pub fn new() -> Self {
        let nothing = Text::new("");
        let mut detectors = super::registry::detectors();
        detectors.retain(|detector| detector.stable_until(&nothing).is_some());
        Self { detectors }
    }

    /// The patterns that take part.
    pub fn names(&self) -> impl Iterator<Item = PatternName> {
        self.detectors.iter().map(|detector| detector.name())
    }

    /// What the detectors of the patterns in `among` find in a whole text: in order, not overlapping.
    pub fn find<'m>(
        &self,
        message: impl Into<Message<'m>>,
        among: impl Fn(PatternName) -> bool,
    ) -> Vec<Span> {
        let message = message.into();
        let mut spans = Vec::new();
        for portion in portions(message.text) {
            let found = self.find_in(portion.text, &among).into_iter();
            let found = found.map(|span| span.moved(portion.start));
            spans.extend(found.filter(|span| portion.own.contains(&span.start)));
        }
        for joined in joined_seams(message) {
            let found = self.find_in(&joined.text, &among).into_iter();
            spans.extend(found.filter_map(|span| span.across(&joined)));
        }
        // Whether that is all is for `is_read_whole` to say.
        let _ = read_bordered(message, Reader::Detectors, |joined| {
            let found = self.find_in(&joined.text, &among).into_iter();
            spans.extend(found.filter_map(|span| span.across(joined)));
            true
        });
        overlap::resolve(spans)
    }

    fn find_in(&self, text: &str, among: &impl Fn(PatternName) -> bool) -> Vec<Span> {
        let plain = Text::new(text);
        let view = NormalizedText::new(&plain);
        let folded = view.folded().map(Text::new);
        let spans = self.proposed(folded.as_ref().unwrap_or(&plain), among);
        let spans = spans.into_iter().filter_map(|span| view.original(span));
        spans.collect()
    }

    /// The first byte whose judgment could still change when more text follows; `text.len()` when
    /// nothing can. It never falls as a text grows, and no find of a longer text reaches across it.
    ///
    /// It is the lowest of what the detectors say (each by [`Detector::stable_until`]), and then so low
    /// that no proposed find reaches across it, because which of two overlapping finds stands is known
    /// only when both are:
    ///
    /// - A word at the end, and digits one by one, are not judged yet: `fold` may still read them otherwise.
    /// - BANK_CARD_NUMBER, INN, OGRN, OGRNIP, PHONE_NUMBER, SNILS and IPv4: `number_chain`. Digits with what may
    ///   stand between them are one chain; a chain at the end is open as long as it may go on, or as
    ///   long as a label behind it may still come (five words, 64 bytes, a line's end, a semicolon or
    ///   a digit end that). A closed chain of fewer than six digits and four groups is nothing.
    ///   BANK_CARD_NUMBER also: groups of a card in lines, cells or with signs between them.
    /// - EMAILS: a word at the end may become a local part (64 bytes of one alphabet at most); behind an
    ///   `@` the domain is open until a character that cannot stand in one, or 255 bytes.
    /// - KPP: also a short run of digits in the last 17 bytes, to which letters may come. PASSPORT_NUMBER:
    ///   also what may stand between series and number, and capital letters before it. CVC: three digits
    ///   as long as the words behind them may name them.
    /// - DOMAIN: a run of host characters at the end, and the 64 bytes of a local part behind it.
    /// - DATE, DEADLINE_DATE, DURATION and MONEY: the words of amounts and dates that stand close are
    ///   one chain of at most 24; a chain at the end is open until a word that is none of them is whole.
    /// - IPv6: a run of hexadecimal digits, colons and dots at the end that may still become one.
    pub fn stable_until(&self, text: &str, among: impl Fn(PatternName) -> bool) -> usize {
        let plain = Text::new(text);
        let view = NormalizedText::new(&plain);
        // What the end of the text is read as may still change: only what is certain is judged.
        let certain = Text::new(view.certain());
        let asked = self.detectors.iter().filter(|one| among(one.name()));
        let whole = certain.original().len();
        let mut stable = asked
            .filter_map(|one| one.stable_until(&certain))
            .min()
            .unwrap_or(whole);
        if stable == whole {
            return view.place(whole);
        }
        let mut spans = self.proposed(&certain, &among);
        spans.sort_by_key(|span| span.start);
        for span in spans.iter().rev() {
            if span.start < stable && stable < span.end {
                stable = span.start;
            }
        }
        view.place(stable)
    }

    fn proposed(&self, text: &Text, among: &impl Fn(PatternName) -> bool) -> Vec<Span> {
        let mut spans = Vec::new();
        let asked = self.detectors.iter().filter(|one| among(one.name()));
        for detector in asked.filter(|one| text.holds(one.needs())) {
            detector.find(text, &mut spans);
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PORTION;
    use monitor_model::{FURTHER_PATTERN_NAMES, LOCAL_PATTERNS, PATTERN_NAMES};

    #[test]
    fn the_contracts_tables_name_what_this_room_has() {
        let all: Vec<_> = PatternName::all().map(PatternName::as_str).collect();
        assert_eq!(all, PATTERN_NAMES);
        let further: Vec<_> = PatternName::further().map(PatternName::as_str).collect();
        assert_eq!(further, FURTHER_PATTERN_NAMES);
        let local: Vec<_> = LocalDetectors::new()
            .names()
            .map(PatternName::as_str)
            .collect();
        assert_eq!(local, LOCAL_PATTERNS);
    }

    /// A long text is read in portions; a value may stand behind the first one, or across its end.
    #[test]
    fn a_find_stands_where_it_is_in_the_whole_text() {
        const VALUE: &str = "ann@mail.example";
        let local = LocalDetectors::new();
        for before in [0, PORTION - VALUE.len() / 2, PORTION + 100] {
            let text = format!("{} {VALUE} and so on", "x ".repeat(before / 2));
            let found = local.find(text.as_str(), |name| name == PatternName::Emails);
            let found: Vec<_> = found
                .iter()
                .map(|find| &text[find.start..find.end])
                .collect();
            assert_eq!(found, [VALUE], "behind {before} bytes");
        }
        let parts = Message {
            text: "ann@mail\n.example",
            part_breaks: &[8],
        };
        let found = local.find(parts, |name| name == PatternName::Emails);
        assert_eq!((found[0].start, found[0].end), (0, 17));
    }

    #[test]
    fn text_that_cannot_be_part_of_a_find_is_settled() {
        let local = LocalDetectors::new();
        for (text, settled) in [
            ("", 0),
            ("Hello ", 6),
            ("Hello", 0),
            ("Hello, wor", 7),
            ("Привет, мир! ", 22),
            ("In 2024 ", 3),
            ("In 2024 t", 3),
            ("In 2024 the cat ", 16),
            ("call 8 916 123-45-67 ", 5),
            ("ask a.b@c.ru", 4),
            ("ask a.b@c.ru,", 13),
            ("at 12:30 ", 3),
            ("at 12:30 we", 3),
            ("at 12:30 we met", 12),
            ("see (", 4),
            ("😀", 4),
        ] {
            assert_eq!(local.stable_until(text, |_| true), settled, "{text}");
        }
        // An amount may go on in the next line, a number of its own kind does not.
        let of_numbers = |name| !matches!(name, PatternName::Money | PatternName::Duration);
        let of_numbers = |name| {
            of_numbers(name) && !matches!(name, PatternName::Date | PatternName::DeadlineDate)
        };
        for (text, settled) in [
            ("card 4276 5493 6034 4563\n", 25),
            ("KPP 770701001\n", 14),
            // The groups of a card may stand in lines.
            ("card 4276\n5493\n", 5),
            ("card 4276\n5493\nfine ", 20),
        ] {
            assert_eq!(local.stable_until(text, of_numbers), settled, "{text}");
        }
    }
}
