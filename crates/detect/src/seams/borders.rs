//! A part break is nothing to a value that was split, and a border to one that ends there: of the parts "is",
//! "4111 1111 11" and "11 1111" the first stands before the card, which goes over the other two. Joined, "is4111"
//! is one word. So each break is read both ways: around the breaks that stand close, a value may begin or end at
//! one as at a line's end, and reach across those between.
//!
//! The number of readings is that of the breaks times a constant, and each is short.

use super::parts::{JoinedParts, Seam};
use std::ops::Range;

/// The longest value that is read so, in bytes.
const LONGEST: usize = 96;
/// What is read beside its borders: a label, for instance.
const BESIDE: usize = 96;
/// A value of any kind that begins and ends at a break is looked for over so many parts, a number over any.
const PARTS: usize = 4;
/// Digits of a number.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=19;

/// The readings of joined parts in which a break is a border.
pub(crate) fn bordered(joined: &JoinedParts) -> impl Iterator<Item = JoinedParts> + '_ {
    let mut breaks: Vec<Seam> = joined.seams.clone();
    breaks.retain(|seam| seam.is_break);
    // Empty parts are nothing in any reading.
    breaks.dedup_by_key(|seam| seam.at);
    let borders = Borders { joined, breaks };
    (0..borders.breaks.len()).flat_map(move |at| borders.readings(at))
}

struct Borders<'a> {
    joined: &'a JoinedParts,
    /// Ascending, no two at one place.
    breaks: Vec<Seam>,
}

impl Borders<'_> {
    /// Those in which a value begins at a break, and the one in which it ends there and begins anywhere.
    fn readings(&self, at: usize) -> Vec<JoinedParts> {
        let border = self.breaks[at];
        let mut readings = Vec::new();
        let is_near = |other: usize| border.at.abs_diff(other) < LONGEST;
        if at > 0 && is_near(self.breaks[at - 1].at) {
            readings.push(self.ending_at(border));
        }
        if let Some(next) = self.breaks.get(at + 1)
            && is_near(next.at)
        {
            readings.push(self.beginning_at(border));
        }
        let (mut has_letter, mut digits) = (false, 0);
        for (behind, pair) in self.breaks[at..].windows(2).enumerate() {
            let (from, end) = (pair[0].at, pair[1]);
            let part = &self.joined.text[from..end.at];
            has_letter |= part.chars().any(char::is_alphabetic);
            digits += part.bytes().filter(u8::is_ascii_digit).count();
            let is_number = !has_letter && digits <= *DIGITS.end();
            if !is_near(end.at) || behind >= PARTS && !is_number {
                break;
            }
            // A value in one part is read where it stands.
            if behind > 0 && (behind < PARTS || DIGITS.contains(&digits)) {
                readings.push(self.between(border, end));
            }
        }
        readings
    }

    fn beginning_at(&self, border: Seam) -> JoinedParts {
        let mut reading = self.before(border);
        let crossed = border.at..border.at + LONGEST;
        self.add(&mut reading, border.at..border.at + 2 * LONGEST, crossed);
        reading
    }

    fn ending_at(&self, border: Seam) -> JoinedParts {
        let mut reading = JoinedParts::default();
        let from = |length: usize| border.at.saturating_sub(length);
        let crossed = from(LONGEST)..border.at;
        self.add(&mut reading, from(2 * LONGEST)..border.at, crossed);
        self.add_behind(&mut reading, border);
        reading
    }

    fn between(&self, border: Seam, end: Seam) -> JoinedParts {
        let mut reading = self.before(border);
        let place = border.at..end.at;
        self.add(&mut reading, place.clone(), place);
        self.add_behind(&mut reading, end);
        reading
    }

    /// What stands before a border, and the border. A find there belongs to other readings.
    fn before(&self, border: Seam) -> JoinedParts {
        let mut reading = JoinedParts::default();
        let from = border.at.saturating_sub(BESIDE);
        let none = border.at..border.at;
        self.add(&mut reading, from..border.at, none);
        reading.push("\n", border.original);
        reading
    }

    fn add_behind(&self, reading: &mut JoinedParts, border: Seam) {
        reading.push("\n", border.original);
        let none = border.at..border.at;
        self.add(reading, border.at..border.at + BESIDE, none);
    }

    /// Adds what stands at a place, and the breaks in it that a find may reach across.
    fn add(&self, reading: &mut JoinedParts, place: Range<usize>, crossed: Range<usize>) {
        let text = &self.joined.text;
        let start = text.ceil_char_boundary(place.start);
        let end = text.floor_char_boundary(place.end.min(text.len()));
        let added = reading.text.len();
        reading.copy(self.joined, start..end);
        let first = self.breaks.partition_point(|seam| seam.at <= crossed.start);
        let seams = self.breaks[first..].iter();
        let seams = seams.take_while(|seam| seam.at < crossed.end.min(end));
        reading.seams.extend(seams.map(|seam| Seam {
            at: added + seam.at - start,
            ..*seam
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::seams::joined_parts;

    /// Every reading of parts, with `|` where it can be crossed.
    fn readings(parts: &[&str]) -> Vec<String> {
        let text = parts.join("\n");
        let mut breaks = Vec::new();
        for part in &parts[..parts.len() - 1] {
            breaks.push(breaks.last().map_or(0, |last| last + 1) + part.len());
        }
        let message = Message {
            text: &text,
            part_breaks: &breaks,
        };
        let mut told = Vec::new();
        for joined in joined_parts(message) {
            for reading in bordered(&joined) {
                let mut shown = reading.text.clone();
                for seam in reading.seams.iter().rev() {
                    shown.insert(seam.at, '|');
                    if !text.is_ascii() {
                        continue;
                    }
                    let span = reading.original(seam.at - 1..seam.at + 1);
                    let span = span.map(|span| text[span].replace('\n', ""));
                    assert_eq!(span.as_deref(), reading.text.get(seam.at - 1..seam.at + 1));
                }
                told.push(shown);
            }
        }
        told
    }

    #[test]
    fn each_break_is_a_border_and_nothing() {
        assert_eq!(readings(&["a", "b"]), [""; 0]);
        assert_eq!(readings(&["a", "b", "c"]), ["a\nb|c", "a|b\nc"]);
        assert_eq!(
            readings(&["a", "b", "", "c", "d"]),
            ["a\nb|c|d", "a\nb|c\nd", "a|b\ncd", "ab\nc|d", "a|b|c\nd"]
        );
    }

    #[test]
    fn the_readings_of_many_breaks_are_as_many_times_a_constant_and_short() {
        for part in ["1", "a", "-", "12 ", "слово"] {
            let parts = vec![part; 2_000];
            let readings = readings(&parts);
            assert!(readings.len() <= 24 * parts.len(), "{part}");
            let longest = readings.iter().map(String::len).max().unwrap_or(0);
            assert!(longest <= 6 * LONGEST, "{part}: {longest}");
        }
        let far = "x".repeat(LONGEST);
        assert_eq!(readings(&["a", &far, &far, "b"]), [""; 0]);
    }
}
