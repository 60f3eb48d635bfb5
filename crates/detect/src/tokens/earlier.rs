//! Pieces of the same text that were merged before: most words occur again.

use super::edges::Edges;

/// A piece has one place, which the last one of its hash holds.
pub(super) struct Earlier<'t>(Vec<Known<'t>>);

#[derive(Clone, Copy, Default)]
struct Known<'t> {
    piece: &'t [u8],
    tokens: usize,
}

impl<'t> Earlier<'t> {
    /// One place for so many bytes of text.
    const BYTES: usize = 32;
    const MOST: usize = 1 << 13;

    pub(super) fn new(text: &'t str) -> Self {
        let places = (text.len() / Self::BYTES).next_power_of_two();
        Self(vec![Known::default(); places.min(Self::MOST)])
    }

    /// The tokens of a piece that is not empty, counted unless it was the last of its place.
    pub(super) fn tokens_of(
        &mut self,
        piece: &'t [u8],
        edges: Edges,
        count: impl FnOnce() -> usize,
    ) -> usize {
        let at = edges.hash() as usize & (self.0.len() - 1);
        let known = &mut self.0[at];
        if known.piece != piece {
            let tokens = count();
            *known = Known { piece, tokens };
        }
        known.tokens
    }
}
