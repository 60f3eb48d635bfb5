//! The text of each choice of a stream so far, within a limit of memory.

use crate::json::{JoinedText, arguments_text};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What an allocation takes besides its bytes, and an entry one of: its text.
const ALLOCATION_BYTES: usize = 32;

/// What an entry of a map or a list costs of the bound besides its text, so that a million empty choices are bounded
/// too: both may be half empty.
pub(super) const fn entry_bytes<T>() -> usize {
    2 * (size_of::<u64>() + size_of::<T>()) + ALLOCATION_BYTES
}

/// What one choice has said.
#[derive(Default)]
pub(super) struct ChoiceText {
    pub(super) content: JoinedText,
    pub(super) refusal: JoinedText,
    pub(super) tools: BTreeMap<u64, ToolCallText>,
    pub(super) finish_reason: Option<Cow<'static, str>>,
}

/// One tool call.
#[derive(Default)]
pub(super) struct ToolCallText {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl ChoiceText {
    /// Content, else refusal, else the tool calls' names and arguments.
    pub(super) fn text(&self) -> String {
        for text in [&self.content.text, &self.refusal.text] {
            if !text.is_empty() {
                return text.clone();
            }
        }
        let calls = self.tools.values();
        let calls = calls.flat_map(|call| [(&*call.name).into(), arguments_text(&call.arguments)]);
        calls.collect::<Vec<Cow<'_, str>>>().join("\n")
    }
}

/// The reasons of the reference format.
const REASONS: [&str; 5] = [
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "function_call",
];

/// Names and reasons are short words; what is longer is cut.
pub(super) fn short(text: &str) -> String {
    text[..text.floor_char_boundary(256)].to_owned()
}

/// How many bytes may still be kept.
pub(super) struct Budget {
    bytes: usize,
    left: usize,
    truncated: bool,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            left: bytes,
            truncated: false,
        }
    }

    /// How many are kept.
    pub(super) fn kept(&self) -> usize {
        self.bytes - self.left
    }

    /// Nothing more may be kept.
    pub(super) fn close(&mut self) {
        self.bytes = self.kept();
        self.left = 0;
    }

    /// Whether something was left out.
    pub(super) fn is_exceeded(&self) -> bool {
        self.truncated
    }

    pub(super) fn append(&mut self, to: &mut String, piece: &str) {
        let kept = &piece[..piece.floor_char_boundary(self.left)];
        to.push_str(kept);
        self.left -= kept.len();
        if kept.len() < piece.len() {
            self.truncated = true;
            // Nothing is left out in the middle: after the first gap comes nothing.
            self.close();
        }
    }

    /// Takes the cost of an entry or of a short word; false where nothing is left.
    pub(super) fn charge(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.truncated = true,
        }
        !self.truncated
    }

    /// Keeps why a choice ended. A reason that everybody gives costs nothing, so that one is kept behind the bound too.
    pub(super) fn keep_reason(&mut self, choice: &mut ChoiceText, reason: &str) {
        if let Some(usual) = REASONS.into_iter().find(|usual| *usual == reason) {
            choice.finish_reason = Some(usual.into());
            return;
        }
        let reason = short(reason);
        // Some servers repeat it with each event.
        if choice.finish_reason.as_deref() == Some(reason.as_str()) {
            return;
        }
        if self.charge(reason.len() + ALLOCATION_BYTES) {
            choice.finish_reason = Some(reason.into());
        }
    }

    pub(super) fn entry<'m, T: Default>(
        &mut self,
        map: &'m mut BTreeMap<u64, T>,
        index: u64,
    ) -> Option<&'m mut T> {
        if !map.contains_key(&index) && !self.charge(entry_bytes::<T>()) {
            return None;
        }
        Some(map.entry(index).or_default())
    }
}
