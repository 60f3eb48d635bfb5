//! What a member of a message's part is to a reader of text, by its name.

use crate::json::name::{folded, is_in_any_case};
use crate::json::text::unescape;
use crate::json::view::{KeptMembers, View};

/// Levels of a content that are read. What lies deeper is reported as unreadable.
pub(super) const DEEPEST: usize = 32;

/// Objects and lists that are read have so many bytes for each byte of a content, beside [`FIRST_NESTED`]: a byte counts
/// on each level around it. Beyond that, where bytes stand deeper on average, values are reported as unreadable, since
/// each level takes time.
const MOST_NESTED: usize = 16;
/// Bytes of objects and lists, counted in the same way, that are read of any content.
const FIRST_NESTED: usize = 4096;

/// How deep a walk is, and how many bytes of objects and lists it may still read.
#[derive(Default)]
pub(super) struct Depth {
    levels: usize,
    room: usize,
}

impl Depth {
    /// Whether an object or a list is read at this depth. The outermost one says how much room there is.
    pub(super) fn may_enter(&mut self, value: View<'_>) -> bool {
        let bytes = value.span().len();
        if self.levels == 0 {
            let most = bytes.saturating_mul(MOST_NESTED);
            self.room = most.saturating_add(FIRST_NESTED);
        }
        if self.levels >= DEEPEST {
            return false;
        }
        let left = self.room.checked_sub(bytes);
        self.room = left.unwrap_or_default();
        left.is_some()
    }

    pub(super) fn enter(&mut self) {
        self.levels += 1;
    }

    pub(super) fn leave(&mut self) {
        self.levels -= 1;
    }
}

/// What a member of a part is to a reader of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Text is expected here.
    Text,
    /// Text in a part of text, else the bytes of an image, a sound or a file.
    Source,
    /// Arguments, whose members mean what their caller wants: every string counts.
    Free,
    /// An attribute of the part, or a reference to a file.
    NoText,
    /// Not known; its strings count.
    Unknown,
}

impl Meaning {
    pub(super) fn of(name: &str) -> Self {
        match &*folded(name) {
            "text" | "content" | "refusal" | "input_text" | "output_text" => Self::Text,
            "data" | "source" => Self::Source,
            "input" | "arguments" | "parameters" | "args" => Self::Free,
            "image_url" | "image" | "input_audio" | "audio" | "audio_url" | "video"
            | "video_url" | "file" | "file_data" | "file_url" | "file_id" | "url" => Self::NoText,
            "type" | "id" | "index" | "name" | "role" | "status" | "detail" | "format"
            | "media_type" | "mime_type" | "mediatype" | "mimetype" | "call_id"
            | "tool_call_id" | "tool_use_id" | "cache_control" | "annotations" | "logprobs"
            | "citations" | "signature" | "encrypted_content" => Self::NoText,
            _ => Self::Unknown,
        }
    }

    /// That of a member, by its name as a token.
    pub(super) fn of_member(key: &[u8]) -> Self {
        Self::of(&unescape(key))
    }
}

/// What servers say of an answer beside its text, and clients of a message that they show again. In lower case.
const ATTRIBUTES: [&str; 24] = [
    "object",
    "model",
    "created_at",
    "system_fingerprint",
    "service_tier",
    "provider",
    "usage",
    "finish_reason",
    "stop_reason",
    "done_reason",
    "native_finish_reason",
    "matched_stop",
    "prompt_filter_results",
    "content_filter_results",
    "content_filter_offsets",
    "token_ids",
    "item_id",
    "response_id",
    "previous_response_id",
    "obfuscation",
    "thought_signature",
    "message_id",
    "uuid",
    "timestamp",
];

/// Whether a name in lower case is one of them.
pub(super) fn is_attribute(name: &str) -> bool {
    ATTRIBUTES.contains(&name)
}

/// Members of a call of a tool that hold its name and its arguments.
const WRAPPERS: [&str; 2] = ["function", "custom"];

/// Whether a member of a call, by its name as a token, is one of them.
pub(super) fn is_wrapper(key: &[u8]) -> bool {
    WRAPPERS.iter().any(|name| is_in_any_case(key, name))
}

/// What a part is, by its type.
#[derive(Clone, Copy)]
pub(super) struct PartKind {
    /// It is one of text, or does not say what it is.
    pub(super) is_text: bool,
    /// It is a call of a tool, or the result of one.
    pub(super) is_call: bool,
}

impl PartKind {
    pub(super) fn of(members: &KeptMembers<'_>) -> Self {
        let (mut types, mut is_call) = (0, false);
        let mut is_text = false;
        let named = members.iter();
        for member in named.filter(|member| is_in_any_case(member.key, "type")) {
            types += 1;
            let kind = member.value.text();
            let kind = kind.as_deref().map(folded);
            // The model is shown where a result of a search comes from.
            is_text |= kind
                .as_ref()
                .is_none_or(|kind| kind.contains("text") || kind == "search_result");
            is_call |= kind.is_some_and(|kind| kind.contains("tool") || kind.contains("function"));
        }
        Self {
            is_text: is_text || types == 0,
            is_call,
        }
    }
}
