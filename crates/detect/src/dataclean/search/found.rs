//! What a search has found so far, and what it could not look for.

use crate::dataclean::span::{Kind, Span};
use crate::message::Message;

/// The finds of one text and what could not be looked for.
pub(crate) struct Found<'r> {
    /// Sorted, not overlapping.
    pub(crate) spans: Vec<Span<Kind<'r>>>,
    /// One entry per pattern that was asked for and could not run.
    pub(crate) failures: Vec<String>,
    /// Patterns that ran, whole or in part.
    pub(crate) ran: usize,
    /// A pattern was not looked for in the whole text, so that there may be more finds than these.
    pub(crate) in_part: bool,
    /// The byte up to which anything was looked for: beyond the budget nothing was.
    pub(crate) looked_to: usize,
}

impl Found<'_> {
    /// Something could not look everywhere; told once, whatever the patterns it looks for.
    pub(super) fn fail(&mut self, failure: String) {
        self.in_part = true;
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }
}

/// Why values that go over some of its parts may not have been found.
pub(super) fn too_many_parts(message: Message<'_>) -> String {
    let parts = message.part_breaks.len() + 1;
    format!(
        "message in too many short parts: values split over its {parts} parts were not looked for everywhere"
    )
}
