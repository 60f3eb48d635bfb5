//! Finds the stretches of a message that need normalizing, and the positions where normalizing may begin
//! and end.

use super::DIGITS;
use crate::confusables::suspicious;
use crate::dataclean::text::{Run, Text};
use std::ops::Range;

/// Behind a blank after a letter nothing is pending and nothing before bears on what follows: a reading
/// may begin or end there.
fn is_rest(bytes: &[u8], at: usize) -> bool {
    let letter = |before: &[u8]| match before {
        [.., 0xd0 | 0xd1, _] => true,
        [.., last] => last.is_ascii_alphabetic(),
        [] => false,
    };
    at == 0 || at == bytes.len() || bytes[at - 1] == b' ' && letter(&bytes[..at - 1])
}

/// The last rest in a stretch that begins with one.
pub(super) fn last_rest(text: &str, place: Range<usize>) -> usize {
    let mut inside = (place.start..=place.end.max(place.start)).rev();
    let rest = inside.find(|at| *at < text.len() && is_rest(text.as_bytes(), *at));
    rest.unwrap_or(place.start)
}

/// The first rest from a place on.
pub(super) fn next_rest(text: &str, from: usize) -> usize {
    let mut behind = from..text.len();
    let rest = behind.find(|at| is_rest(text.as_bytes(), *at));
    rest.unwrap_or(text.len())
}

/// The stretches of a text in which anything may be read otherwise.
pub(super) struct Suspects<'a> {
    text: &'a str,
    runs: &'a [Run],
    /// The next of each kind, as far as it was looked for.
    suspicious: Option<Range<usize>>,
    spaced: Option<Range<usize>>,
}

impl<'a> Suspects<'a> {
    pub(super) fn of(text: &'a Text<'_>) -> Self {
        let (text, runs) = (text.original(), text.runs());
        let mut odd = Self {
            text,
            runs,
            suspicious: suspicious(text, 0),
            spaced: None,
        };
        odd.spaced = odd.next_spaced(0);
        odd
    }

    /// The first that begins at a place or behind it, or reaches over it.
    pub(super) fn next(&mut self, from: usize) -> Option<Range<usize>> {
        if self.suspicious.as_ref().is_some_and(|odd| odd.end <= from) {
            self.suspicious = suspicious(self.text, from);
        }
        if self.spaced.as_ref().is_some_and(|odd| odd.end <= from) {
            self.spaced = self.next_spaced(from);
        }
        let both = [&self.suspicious, &self.spaced].into_iter().flatten();
        let next = both.min_by_key(|odd| odd.start)?;
        Some(next.start.max(from)..next.end)
    }

    /// Digits one by one, enough of them.
    fn next_spaced(&mut self, from: usize) -> Option<Range<usize>> {
        let behind = self.runs.partition_point(|run| run.end <= from);
        self.runs = &self.runs[behind..];
        let (mut first, mut count, mut end) = (0, 0, 0);
        for run in self.runs {
            let close = count > 0 && run.start - end <= '\u{2212}'.len_utf8();
            if count >= *DIGITS.start() && !(close && run.digits() == 1) {
                break;
            }
            end = run.end;
            count = match run.digits() {
                1 if close => count + 1,
                1 => {
                    first = run.start;
                    1
                }
                _ => 0,
            };
        }
        (count >= *DIGITS.start()).then_some(first..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataclean::normalize::{NormalizedText, Rewritten};

    const PIECES: &[&str] = &[
        "a",
        "слово",
        "word ",
        "И",
        "ИНН ",
        "7",
        "7 ",
        "77",
        "1-2-3-4-5-6-7-8-9-0",
        "5 5 5 5 5 ",
        "\u{200b}",
        "\u{ad}",
        "\u{2800}",
        "\u{1}",
        "\u{c}",
        "\u{301}",
        "\u{20e3}",
        "кaрта",
        "７",
        "٣",
        "𝟕",
        "⁷",
        "₇",
        "②",
        "①2200124464507773",
        "2200 1244 6450 7773",
        "\u{e0034}\u{e0031}\u{e0031}\u{e0031}\u{e0034}\u{e0031}\u{e0031}\u{e0031}\u{e0034}",
        "\u{fffd}",
        "\u{3000}",
        "\u{2003}",
        "\u{2028}",
        "\u{202f}",
        "\u{a0}",
        "-",
        ".",
        ", ",
        "\n",
        "é ",
        "日本",
        "😀",
        "x\u{336} ",
        "обычные слова ",
        "plain words and more of them ",
    ];

    /// What is known of a reading: the text, what is certain, and where each place stands in the original.
    fn told(folded: &Rewritten) -> (&str, usize, Vec<usize>, &[Range<usize>]) {
        let places = (0..=folded.text.len()).map(|at| folded.place(at));
        (
            &folded.text,
            folded.certain,
            places.collect(),
            &folded.joined,
        )
    }

    #[test]
    fn a_raised_digit_behind_a_word_or_a_number_is_none_of_it() {
        for (text, read) in [
            ("m² 10⁹ x₂ 4276¹ ¹⁰", "m² 10⁹ x₂ 4276¹ 10"),
            ("⁴²⁷⁶5₄₉₃ ₁²", "42765₄₉₃ 12"),
            ("a²³ (²³)", "a²³ (23)"),
        ] {
            assert_eq!(Rewritten::whole(text).text, read);
        }
    }

    #[test]
    fn a_sign_for_a_digit_beside_a_card_number_is_none_of_its_digits() {
        for (text, read) in [
            ("①2200124464507773", " 2200124464507773"),
            ("2200124464507773①", "2200124464507773 "),
            ("①2200 1244 6450 7773② x", " 2200 1244 6450 7773  x"),
            ("a ¹2200-1244-6450-7773", "a  2200-1244-6450-7773"),
            ("₁₂2200124464507773, 5", "  2200124464507773, 5"),
            ("②200124464507773", "2200124464507773"),
            ("220012446450777③", "2200124464507773"),
            ("2200 1244 6450 777③ ①", "2200 1244 6450 7773 1"),
            ("①23", "123"),
            ("①2200124464507774", "12200124464507774"),
        ] {
            assert_eq!(Rewritten::whole(text).text, read, "{text}");
        }
    }

    #[test]
    fn digits_as_tags_are_a_number_by_themselves_and_nothing_within_another() {
        let tagged = |text: &str| -> String {
            let tag = |c: char| char::from_u32(0xe0000 + u32::from(c));
            text.chars().filter_map(tag).collect()
        };
        for (before, tags, behind, read) in [
            ("x ", "4111111111111111", " y", "x 4111111111111111 y"),
            ("", "4111 1111 1111 1111", "", "4111111111111111"),
            ("x ", "card 926-123-45-67", ".", "x 9261234567."),
            ("220012446450777", "1", "3", "2200124464507773"),
            (
                "2200 1244 ",
                "123456789",
                "6450 7773",
                "2200 1244 6450 7773",
            ),
            (
                "2200 1244 ",
                "123456789",
                " 6450 7773",
                "2200 1244  6450 7773",
            ),
            (
                "2200124464507773",
                "4111111111111111",
                "",
                "2200124464507773",
            ),
            ("", "123456789", "2200124464507773", "2200124464507773"),
            ("x ", "12345678", " y", "x  y"),
            ("x ", "12345678901234567890", "y", "x y"),
            (
                "1 2 3 4 5 6 7 8 ",
                "123456789",
                " 9 0",
                "1 2 3 4 5 6 7 8  9 0",
            ),
        ] {
            let text = format!("{before}{}{behind}", tagged(tags));
            assert_eq!(
                Rewritten::whole(&text).text,
                read,
                "{before}<{tags}>{behind}"
            );
        }
    }

    #[test]
    fn a_text_read_in_stretches_is_read_as_the_whole_of_it() {
        let mut seed = 41_u64;
        let mut below = |most: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % most
        };
        for _ in 0..4000 {
            let mut text = String::new();
            for _ in 0..below(40) {
                let place = if below(3) == 0 {
                    below(PIECES.len())
                } else {
                    PIECES.len() - 1 - below(2)
                };
                text.push_str(PIECES[place]);
            }
            let whole = Rewritten::whole(&text);
            let plain = Text::new(&text);
            match &NormalizedText::new(&plain).folded {
                Some(folded) => assert_eq!(told(folded), told(&whole), "{text:?}"),
                None => assert_eq!(whole.text, text),
            }
        }
    }
}
