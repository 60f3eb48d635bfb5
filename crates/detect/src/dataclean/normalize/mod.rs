//! Normalizes a message: one alphabet per word, ASCII digits, digits written one by one joined, invisible
//! characters removed. Detectors search the normalized text; finds are mapped back to the original. For a
//! plain text this costs one quick look.
//!
//! The normalized text of a growing message only grows: what is pending at its end (a word, digits one by
//! one) is not part of [`NormalizedText::certain`].

mod alphabet;
mod item;
mod number_chain;
mod suspects;
mod tag_digits;
mod writer;

use super::span::{Span, Strength};
use super::text::Text;
use std::ops::Range;
use suspects::{Suspects, last_rest, next_rest};
use writer::Writer;

/// Digits one by one are read as a number when there are so many of them.
const DIGITS: std::ops::RangeInclusive<usize> = 9..=19;
/// The end of a plain text in which something may be pending, in bytes.
const PENDING: usize = 256;

/// A message and how it is read.
pub(crate) struct NormalizedText<'a> {
    plain: &'a str,
    folded: Option<Rewritten>,
}

/// A reading that differs from the original.
#[derive(Default)]
struct Rewritten {
    text: String,
    pieces: Vec<Piece>,
    /// Places in the reading where digits that stood one by one were joined.
    joined: Vec<Range<usize>>,
    /// Where in the reading what is pending begins.
    certain: usize,
}

/// Characters that stand in both, side by side; or one that was read as another.
struct Piece {
    folded: usize,
    original: usize,
    /// In the original, in bytes.
    length: usize,
    is_same: bool,
}

impl<'a> NormalizedText<'a> {
    /// Reads a message. Linear.
    pub(crate) fn new(text: &Text<'a>) -> Self {
        let plain = text.original();
        let mut odd = Suspects::of(text);
        Self {
            plain,
            folded: odd.next(0).map(|first| Rewritten::new(plain, first, odd)),
        }
    }

    /// The reading, where it differs from the original.
    pub(crate) fn folded(&self) -> Option<&str> {
        self.folded.as_ref().map(|folded| folded.text.as_str())
    }

    /// The normalized text, which may be the original.
    pub(crate) fn text(&self) -> &str {
        self.folded().unwrap_or(self.plain)
    }

    /// The part of the reading that stays as it is, whatever follows.
    pub(crate) fn certain(&self) -> &str {
        if let Some(folded) = &self.folded {
            return &folded.text[..folded.certain];
        }
        let near = self.plain.len().saturating_sub(PENDING);
        let tail = Rewritten::whole(&self.plain[self.plain.ceil_char_boundary(near)..]);
        let pending = tail.text.len() - tail.certain;
        &self.plain[..self.plain.len() - pending]
    }

    /// A find at its place in the original. None for one that leans on digits that were joined and has
    /// neither check digits nor a label to prove it.
    pub(crate) fn original<K>(&self, span: Span<K>) -> Option<Span<K>> {
        let Some(folded) = &self.folded else {
            return Some(span);
        };
        let next = folded
            .joined
            .partition_point(|range| range.end <= span.start);
        let leans = folded
            .joined
            .get(next)
            .is_some_and(|range| range.start < span.end);
        let signed = folded.text[span.start..].starts_with('+');
        (!leans || signed || span.strength > Strength::Form).then(|| Span {
            start: folded.place(span.start),
            end: folded.end(span.end),
            ..span
        })
    }

    /// A place between two characters of the reading, in the original. Never falls as a text grows.
    pub(crate) fn place(&self, at: usize) -> usize {
        self.folded
            .as_ref()
            .map_or(at, |folded| match at == folded.text.len() {
                true => self.plain.len(),
                false => folded.place(at),
            })
    }
}

impl Rewritten {
    /// Reads the stretches in which anything may be read otherwise, and copies what lies between.
    fn new(original: &str, first: Range<usize>, mut odd: Suspects) -> Self {
        let mut writer = Writer::default();
        writer.out.text.reserve(original.len());
        let (mut at, mut stretch) = (0, Some(first));
        while let Some(place) = stretch {
            let from = last_rest(original, at..place.start);
            writer.copy(original, at..from);
            at = next_rest(original, place.end);
            writer.read(original, from..at);
            stretch = odd.next(at);
        }
        // What is pending at the end is told by reading it.
        let from = last_rest(original, at..original.len());
        writer.copy(original, at..from);
        writer.read(original, from..original.len());
        writer.finish()
    }

    fn whole(original: &str) -> Self {
        let mut writer = Writer::default();
        writer.read(original, 0..original.len());
        writer.finish()
    }

    fn piece(&self, at: usize) -> Option<&Piece> {
        let next = self.pieces.partition_point(|piece| piece.folded <= at);
        self.pieces.get(next.checked_sub(1)?)
    }

    fn place(&self, at: usize) -> usize {
        let inside = |piece: &Piece| if piece.is_same { at - piece.folded } else { 0 };
        self.piece(at)
            .map_or(at, |piece| piece.original + inside(piece))
    }

    fn end(&self, at: usize) -> usize {
        let Some(piece) = at.checked_sub(1).and_then(|last| self.piece(last)) else {
            return 0;
        };
        let inside = if piece.is_same {
            at - piece.folded
        } else {
            piece.length
        };
        piece.original + inside
    }
}
