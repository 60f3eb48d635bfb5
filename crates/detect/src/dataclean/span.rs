//! A find: its position, its type, and how strong its evidence is.

use super::pattern_name::PatternName;
use crate::seams::JoinedParts;
use std::ops::Range;

/// One find. A detector's are of its own pattern; put together, they are of any [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<K = PatternName> {
    /// What was found: a predefined pattern, or of any kind.
    pub kind: K,
    /// First byte in the original text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What speaks for it.
    pub strength: Strength,
}

impl Span {
    /// A find at a place.
    pub(crate) fn new(kind: PatternName, place: Range<usize>, strength: Strength) -> Self {
        Self {
            kind,
            start: place.start,
            end: place.end,
            strength,
        }
    }

    /// The same find in a text that has so many bytes more before it.
    pub(crate) fn moved(self, by: usize) -> Self {
        Self {
            start: self.start + by,
            end: self.end + by,
            ..self
        }
    }

    /// A find in joined parts, in the whole text; None if it lies in one part.
    pub(crate) fn across(self, joined: &JoinedParts) -> Option<Self> {
        let Range { start, end } = joined.original(self.start..self.end)?;
        Some(Self { start, end, ..self })
    }

    /// Among those of any kind.
    pub(crate) fn of_any<'r>(self) -> Span<Kind<'r>> {
        Span {
            kind: Kind::Predefined(self.kind),
            start: self.start,
            end: self.end,
            strength: self.strength,
        }
    }
}

/// What was found: a predefined pattern or one of the caller's, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind<'r> {
    Predefined(PatternName),
    Custom(&'r str),
}

impl<'r> Kind<'r> {
    /// The entity type of §2.9.
    pub(crate) fn as_str(self) -> &'r str {
        match self {
            Self::Predefined(name) => name.as_str(),
            Self::Custom(name) => name,
        }
    }
}

/// What speaks for a find, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// It reads like one; what looks like something else at the same place is that.
    Reading,
    /// It looks like one.
    Form,
    /// A word beside it says so.
    Context,
    /// Its check digits are right; or a custom pattern says so, which is the application's own word.
    CheckDigits,
    /// Its check digits are right, and a word beside it says so.
    Proven,
}
