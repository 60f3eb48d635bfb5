//! A text that was joined, and where each of its characters stands in the whole one.

use std::ops::Range;

/// Who reads a message across its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The detectors of predefined patterns: readings without a digit or a sign that they need are left out.
    Detectors,
    /// Regexes, which may look for anything.
    CustomPatterns,
}

/// What stands side by side in both texts.
struct Piece {
    joined: usize,
    original: usize,
}

/// A place where something was left out or may have been cut.
#[derive(Clone, Copy)]
pub(super) struct Seam {
    /// In the joined text.
    pub(super) at: usize,
    /// In the whole one: where what was left out begins.
    pub(super) original: usize,
    pub(super) is_break: bool,
}

/// The text around seams that stand close.
#[derive(Default)]
pub(crate) struct JoinedParts {
    /// Both sides of the seams, joined.
    pub(crate) text: String,
    pieces: Vec<Piece>,
    pub(super) seams: Vec<Seam>,
}

impl JoinedParts {
    /// Where a span of the joined text stands in the whole one; None if it does not reach across a seam.
    pub(crate) fn original(&self, span: Range<usize>) -> Option<Range<usize>> {
        self.seams_in(&span).next()?;
        Some(self.place(span.start)?..self.place(span.end.checked_sub(1)?)? + 1)
    }

    /// Where the first part break is that a span reaches across.
    pub(crate) fn break_in(&self, span: &Range<usize>) -> Option<usize> {
        let mut seams = self.seams_in(span);
        seams.find(|seam| seam.is_break).map(|seam| seam.at)
    }

    fn seams_in(&self, span: &Range<usize>) -> impl Iterator<Item = Seam> + '_ {
        let before = self.seams.partition_point(|seam| seam.at <= span.start);
        let end = span.end;
        let seams = self.seams[before..].iter().copied();
        seams.take_while(move |seam| seam.at < end)
    }

    fn place(&self, at: usize) -> Option<usize> {
        let next = self.pieces.partition_point(|piece| piece.joined <= at);
        let piece = self.pieces.get(next.checked_sub(1)?)?;
        Some(piece.original + at - piece.joined)
    }

    pub(super) fn push(&mut self, text: &str, original: usize) {
        let joined = self.text.len();
        if self.place(joined) != Some(original) {
            self.pieces.push(Piece { joined, original });
        }
        self.text.push_str(text);
    }

    /// Adds a span of another joined text, without its seams.
    pub(super) fn copy(&mut self, other: &Self, span: Range<usize>) {
        let mut at = span.start;
        while at < span.end {
            let next = other.pieces.partition_point(|piece| piece.joined <= at);
            let end = other.pieces.get(next).map_or(span.end, |next| next.joined);
            let end = end.min(span.end);
            let Some(original) = other.place(at) else {
                return;
            };
            self.push(&other.text[at..end], original);
            at = end;
        }
    }

    /// Keeps the last `context` bytes, and gives what it was.
    pub(super) fn cut(&mut self, context: usize) -> Self {
        let from = self.text.len().saturating_sub(context);
        let from = self.text.ceil_char_boundary(from);
        let mut tail = Self::default();
        tail.copy(self, from..self.text.len());
        let later = self.seams.partition_point(|seam| seam.at <= from);
        tail.seams
            .extend(self.seams[later..].iter().map(|seam| Seam {
                at: seam.at - from,
                ..*seam
            }));
        std::mem::replace(self, tail)
    }
}
