//! Sensitive data: finds spans of the predefined patterns (§2.8) and cleans the text (CONTRACT 25).
//! Each detector only proposes spans; which of two overlapping ones stands is decided in `overlap`.

pub(crate) mod checksum;
pub(crate) mod context;
mod detectors;
mod local;
mod mask;
pub(crate) mod numbering;
mod overlap;
mod registry;
mod settled;
mod text;

pub use local::Local;
pub(super) use mask::clean;
pub use registry::PatternName;
pub use text::{Run, Text};

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Finds one pattern. Pure, linear in the text's length.
pub trait Detector: Send + Sync {
    /// The pattern it finds.
    fn name(&self) -> PatternName;
    /// Adds its finds to `out`, in any order.
    fn find(&self, text: &Text, out: &mut Vec<Span>);

    /// The first byte from which on its finds could still change when more text follows: those that
    /// begin before it are the same in every longer text. It never falls as a text grows. None for a
    /// detector that cannot tell.
    fn settled(&self, _text: &Text) -> Option<usize> {
        None
    }
}

/// One find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The pattern.
    pub kind: PatternName,
    /// First byte in the original text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What speaks for it.
    pub strength: Strength,
}

/// What speaks for a find, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// It looks like one.
    Form,
    /// A word beside it says so.
    Context,
    /// Its check digits are right.
    CheckDigits,
}

/// The finds of one text and what could not be looked for.
pub(super) struct Found {
    /// Sorted, not overlapping.
    pub(super) spans: Vec<Span>,
    /// One entry per pattern that was asked for and could not run.
    pub(super) failures: Vec<String>,
}

/// Builds every detector there is.
pub(super) fn detectors() -> Vec<Box<dyn Detector>> {
    PatternName::available()
        .filter_map(PatternName::detector)
        .collect()
}

/// Looks for `patterns`; a detector that panics costs its own finds only.
pub(super) fn find(detectors: &[Box<dyn Detector>], text: &str, patterns: &[PatternName]) -> Found {
    let text = Text::new(text);
    let mut spans = Vec::new();
    let mut failures = Vec::new();
    for name in patterns {
        let Some(detector) = detectors.iter().find(|detector| detector.name() == *name) else {
            failures.push(format!("pattern {name} has no detector"));
            continue;
        };
        let before = spans.len();
        let run = AssertUnwindSafe(|| detector.find(&text, &mut spans));
        if catch_unwind(run).is_err() {
            spans.truncate(before);
            failures.push(format!("the detector of {name} failed"));
        }
    }
    Found {
        spans: overlap::resolve(spans),
        failures,
    }
}
