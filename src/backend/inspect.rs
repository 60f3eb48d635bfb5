//! What the gateway may judge by itself, without the backend and without waiting (CONTRACT 41): the
//! pure detectors behind a trait, so that the gateway knows nothing of detection. Not a verdict of
//! §2.9: nothing is registered here.

use monitor_model::PatternSet;

/// One find of sensitive data in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    /// First byte, on a character's border.
    pub start: usize,
    /// One past the last byte, on a character's border.
    pub end: usize,
    /// The pattern's name of §2.8.
    pub kind: &'static str,
}

/// Pure detectors. Both methods take time linear in the text and hold nothing of it.
pub trait Inspector: Send + Sync {
    /// What is found in a whole text: in order, not overlapping.
    fn find(&self, text: &str, patterns: PatternSet) -> Vec<Find>;

    /// The first byte whose judgement could still change when more text follows; `text.len()` when
    /// nothing can. On a character's border. Whatever follows, the finds that end before it are those
    /// of the longer text too, no find of the longer text reaches across it, and it never falls.
    fn settled(&self, text: &str, patterns: PatternSet) -> usize;
}
