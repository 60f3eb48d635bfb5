//! The interface of a detector. `detectors` holds the implementations, `registry` lists them.

use super::pattern_name::PatternName;
use super::span::Span;
use super::text::{Needs, Text};

/// Finds one pattern. Pure, linear in the text's length.
pub trait Detector: Send + Sync {
    /// The pattern it finds.
    fn name(&self) -> PatternName;
    /// Adds its finds to `out`, in any order.
    fn find(&self, text: &Text, out: &mut Vec<Span>);

    /// What a text must hold for it to find anything: without that it is not asked.
    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    /// Why it could not look at the whole of a text that [`Detector::find`] was given, for those that
    /// can fail without panicking.
    fn failure(&self, _text: &Text) -> Option<String> {
        None
    }

    /// The first byte from which on its finds could still change when more text follows: those that
    /// begin before it are the same in every longer text. It never falls as a text grows. None for a
    /// detector that cannot tell.
    fn stable_until(&self, _text: &Text) -> Option<usize> {
        None
    }
}
