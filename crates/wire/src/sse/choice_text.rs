//! The text of each choice of a stream so far, within a limit of memory.

use crate::json::{CallTexts, JoinedText, arguments_text};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What an allocation takes besides its bytes, and an entry one of: its text.
const ALLOCATION_BYTES: usize = 32;

/// What an entry of a map or a list costs of the bound besides its text, so that a million empty choices are bounded
/// too: both may be half empty.
pub(crate) const fn entry_bytes<T>() -> usize {
    2 * (size_of::<u64>() + size_of::<T>()) + ALLOCATION_BYTES
}

/// What one choice has said.
#[derive(Default)]
pub(crate) struct ChoiceText {
    pub(crate) content: JoinedText,
    pub(crate) refusal: JoinedText,
    pub(crate) tools: BTreeMap<u64, ToolCallText>,
    pub(crate) finish_reason: Option<Cow<'static, str>>,
}

/// One tool call.
#[derive(Default)]
pub(crate) struct ToolCallText {
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) id: Option<Box<str>>,
}

impl ChoiceText {
    /// Whether the model has said why it ended.
    pub(crate) fn has_ended(&self) -> bool {
        let reason = self.finish_reason.as_deref();
        reason.is_some_and(|reason| !reason.is_empty())
    }

    /// Content, else refusal, else these texts of the tool calls.
    pub(crate) fn text(&self, calls: CallTexts) -> String {
        for text in [&self.content.text, &self.refusal.text] {
            if !text.is_empty() {
                return text.clone();
            }
        }
        let has_arguments = calls.have_arguments();
        let texts = self.tools.values().flat_map(|call| {
            let arguments = has_arguments.then(|| arguments_text(&call.arguments));
            [Some(Cow::from(&*call.name)), arguments]
        });
        let texts: Vec<Cow<'_, str>> = texts.flatten().collect();
        texts.join("\n")
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
pub(crate) fn short(text: &str) -> String {
    text[..text.floor_char_boundary(256)].to_owned()
}

/// How many bytes may still be kept.
pub(crate) struct Budget {
    bytes: usize,
    left: usize,
    truncated: bool,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            left: bytes,
            truncated: false,
        }
    }

    /// How many are kept.
    pub(crate) fn kept(&self) -> usize {
        self.bytes - self.left
    }

    /// Nothing more may be kept.
    pub(crate) fn close(&mut self) {
        self.bytes = self.kept();
        self.left = 0;
    }

    /// Whether something was left out.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.truncated
    }

    pub(crate) fn append(&mut self, to: &mut String, piece: &str) {
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
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.truncated = true,
        }
        !self.truncated
    }

    /// Keeps why a choice ended. A reason that everybody gives costs nothing, so that one is kept behind the bound too.
    pub(crate) fn keep_reason(&mut self, choice: &mut ChoiceText, reason: &str) {
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

    pub(crate) fn entry<'m, T: Default>(
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
