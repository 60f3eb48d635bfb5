//! What a member of a message's part is to a reader of text, by its name.

use crate::json::name::{folded, is_in_any_case};
use crate::json::text::unescape;
use crate::json::view::View;

/// Levels of a content that are read. What lies deeper is reported as unreadable.
pub(super) const DEEPEST: usize = 32;

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
    pub(super) fn of(part: View<'_>) -> Self {
        let (mut types, mut is_call) = (0, false);
        let mut is_text = false;
        for kind in part.named_in_any_case("type") {
            types += 1;
            let kind = kind.text();
            let kind = kind.as_deref().map(folded);
            is_text |= kind.as_ref().is_none_or(|kind| kind.contains("text"));
            is_call |= kind.is_some_and(|kind| kind.contains("tool") || kind.contains("function"));
        }
        Self {
            is_text: is_text || types == 0,
            is_call,
        }
    }
}
