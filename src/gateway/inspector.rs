//! Detection that the gateway does by itself, without the backend and without waiting (CONTRACT 41): the
//! pure detectors behind a trait, so that the gateway does not depend on detection. The result is not a
//! verdict of §2.9, and nothing is stored.

use monitor_model::PatternSet;

/// A sensitive value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    /// Offset of its first byte, on a character boundary.
    pub start: usize,
    /// Offset after its last byte, on a character boundary.
    pub end: usize,
    /// The pattern's name of §2.8.
    pub kind: &'static str,
}

/// Pure detectors. All methods take time linear in the text and keep nothing of it.
pub trait Inspector: Send + Sync {
    /// The finds in a whole text, in order and without overlaps. They may reach across `part_breaks`, the
    /// bytes at which a line feed stands between two parts of one message.
    fn find(&self, text: &str, part_breaks: &[usize], patterns: PatternSet) -> Vec<Find>;

    /// Whether [`Inspector::find`] looks everywhere for values that reach across `part_breaks`: not in a message of
    /// so many short parts that reading all of them together takes more than a few times its bytes.
    fn finds_across(&self, text: &str, part_breaks: &[usize]) -> bool;

    /// The offset of the first byte about which the finds may still change when more text follows;
    /// `text.len()` if nothing can change. It is on a character boundary. Whatever follows, the finds that
    /// end before it are also finds of the longer text, and no find of the longer text spans it. The offset
    /// never decreases as text is added.
    fn stable_until(&self, text: &str, patterns: PatternSet) -> usize;
}
