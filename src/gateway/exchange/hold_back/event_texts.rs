//! An event of a stream, and the text that each of its pieces belongs to.

use monitor_wire::sse::pieces::{Field, Piece, Said, WordsBy};

/// One growing text: a choice and a field of it.
pub(super) type TextKey = (u64, Field);

/// What clients show as one text where events have names: the words of all blocks or items.
pub(super) const ALL_WORDS: TextKey = (u64::MAX, Field::Content);

/// An event, as it came and as it is read.
pub(super) struct Event<'a> {
    pub(super) raw: &'a [u8],
    pub(super) said: Said,
    /// Whether a piece that is a text as a whole says words that did not come bit by bit before.
    pub(super) is_new: &'a dyn Fn(usize) -> bool,
}

/// The words that the ends of one kind say, one after another.
pub(super) fn key_of_source(by: WordsBy) -> TextKey {
    (ALL_WORDS.0, Field::Whole(by as u64))
}

/// What says the words of a piece that is all of them.
pub(super) fn source_of(piece: &Piece) -> Option<WordsBy> {
    let words = piece.words.filter(|_| is_alone(piece))?;
    Some(words.by)
}

/// Whether a piece is all of its text.
pub(super) fn is_alone(piece: &Piece) -> bool {
    matches!(piece.field, Field::Whole(_))
}

/// Whether a piece says only that its text is over.
pub(super) fn is_end(piece: &Piece) -> bool {
    piece.ends && piece.text.is_empty()
}

/// Whether a text is over, as far as can be told, where an event has these pieces.
pub(super) fn is_over((choice, field): TextKey, pieces: &[Piece]) -> bool {
    let said = || pieces.iter().filter(|piece| !piece.text.is_empty());
    let goes_on = || said().any(|piece| piece.choice == choice && piece.field == field);
    match field {
        Field::Other(_) => said().next().is_some() && !goes_on(),
        Field::Reasoning | Field::ReasoningContent => {
            !goes_on() && said().any(|piece| piece.choice == choice && is_answer(piece))
        }
        _ => false,
    }
}

/// Whether a piece belongs to what a reasoning leads to.
fn is_answer(piece: &Piece) -> bool {
    !matches!(
        piece.field,
        Field::Reasoning | Field::ReasoningContent | Field::Other(_)
    )
}
