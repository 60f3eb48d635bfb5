//! What an answer of the Responses API says: the items of a whole one, or those that events bring bit by bit. The last
//! event of a stream says the whole again, and so does the end of each item; what was said before is known by then.

use super::usage_of;
use crate::json::{AnswerLiteral, Kind as JsonKind, View};
use crate::protocol::fields::{beside, content, each_string, number, text};
use crate::protocol::growing::{GrowingAnswer, Key, Kind, OTHER_PARTS, TRANSCRIPT};

/// Members of a response that hold the answer, and those that say the request again.
pub(super) const OF_RESPONSE: [&str; 20] = [
    "output",
    "instructions",
    "metadata",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "prompt",
    "prompt_cache_key",
    "safety_identifier",
    "user",
    "conversation",
    "status",
    "truncation",
    "background",
    "previous_response_id",
    "incomplete_details",
    "input",
    "billing",
    "prompt_cache_retention",
];
/// Of an event: what is read here, and what says where that belongs. [`of_event`] takes parts of it.
pub(super) static OF_EVENT: [&str; 21] = [
    "delta",
    "type",
    "sequence_number",
    "item_id",
    "output_index",
    "content_index",
    "summary_index",
    "command_index",
    "item",
    "part",
    "response",
    "name",
    "partial_image_b64",
    "partial_image_index",
    "text",
    "refusal",
    "arguments",
    "input",
    "code",
    "command",
    "transcript",
];
/// The members that an event at the end of a text has it in.
pub(super) const DONE: [&str; 7] = [
    "text",
    "refusal",
    "arguments",
    "input",
    "code",
    "command",
    "transcript",
];

/// The members that are read of an event of a type: what brings text in one is unknown in another.
pub(super) fn of_event(kind: &str) -> &'static [&'static str] {
    let at_end = OF_EVENT.len() - DONE.len();
    match kind.strip_suffix(".done") {
        Some(name) if !name.ends_with("_item") => &OF_EVENT[1..],
        None if kind.ends_with(".delta") => &OF_EVENT[..at_end],
        _ => &OF_EVENT[1..at_end],
    }
}

/// Of an item.
pub(super) const OF_MESSAGE: [&str; 4] = ["type", "content", "status", "phase"];
pub(super) const OF_CALL: [&str; 9] = [
    "type",
    "name",
    "arguments",
    "input",
    "code",
    "status",
    "action",
    "operation",
    "queries",
];
pub(super) const OF_REASONING: [&str; 4] = ["type", "summary", "content", "status"];
/// An image, which is no text, and how it was asked for.
pub(super) const OF_IMAGE: [&str; 7] = [
    "type",
    "result",
    "status",
    "size",
    "quality",
    "background",
    "output_format",
];

/// Reasoning has a summary and a content, whose parts are counted apart from those of words: some servers give it the
/// number of the message behind it.
const REASONING_SUMMARY: u64 = OTHER_PARTS;
const REASONING_CONTENT: u64 = 1 << 32;
/// What an item says beside its parts.
const BESIDE: u64 = TRANSCRIPT - 1;
/// The arguments of a call, and behind them those that are no string: some servers give a call the number of words.
const CALL: u64 = BESIDE - 2;
/// The commands of a shell, as they grow; the action of its item says them again.
const COMMANDS: u64 = BESIDE + 2;

/// What an item is, by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    Call,
    Image,
}

impl ItemKind {
    pub(super) fn of(item: View<'_>) -> Self {
        match text(item, "type").as_deref() {
            Some("reasoning") => Self::Reasoning,
            Some("image_generation_call") => Self::Image,
            Some(kind) if kind.ends_with("_call") || kind.ends_with("_request") => Self::Call,
            _ => Self::Message,
        }
    }

    /// What its texts are to the answer.
    fn says(self) -> Kind {
        match self {
            Self::Message => Kind::Said,
            Self::Call => Kind::Call,
            Self::Reasoning | Self::Image => Kind::Beside,
        }
    }

    /// The members that are read.
    pub(super) fn known(self) -> &'static [&'static str] {
        match self {
            Self::Message => &OF_MESSAGE,
            Self::Reasoning => &OF_REASONING,
            Self::Call => &OF_CALL,
            Self::Image => &OF_IMAGE,
        }
    }
}

/// Calls that the model server runs itself.
const RUN_BY_SERVER: [&str; 4] = [
    "code_interpreter_call",
    "file_search_call",
    "mcp_call",
    "web_search_call",
];

/// Whether an item is a call that its client runs, or lets run, once it has ended.
pub(super) fn is_run_by_client(item: View<'_>) -> bool {
    let kind = text(item, "type").unwrap_or_default();
    matches!(ItemKind::of(item), ItemKind::Call) && !RUN_BY_SERVER.contains(&&*kind)
}

/// Reads a whole response.
pub(super) fn whole(answer: &mut GrowingAnswer, response: View<'_>) {
    if response.kind() != JsonKind::Object {
        return answer.add_every("", response);
    }
    answer.check_names(response, &OF_RESPONSE);
    answer.set_head(response, "status", |status| {
        !matches!(status, "in_progress" | "queued")
    });
    let usage = response.named("usage").last();
    answer.usage = usage
        .and_then(|usage| usage_of(usage.raw().as_bytes()))
        .or(answer.usage);
    for output in response.named("output") {
        match output.kind() {
            JsonKind::Array => {
                answer.has_answer = true;
                // Events have told of the same items, perhaps under numbers with gaps.
                let kinds = output.elements().map(ItemKind::of).map(ItemKind::says);
                let indices = answer.indices(kinds);
                for (index, item) in indices.into_iter().zip(output.elements()) {
                    read_item(answer, index, item);
                }
            }
            JsonKind::Null => {}
            _ => answer.add_every("output", output),
        }
    }
    answer.add_beside(response, &OF_RESPONSE);
}

/// Reads one event.
pub(super) fn event(answer: &mut GrowingAnswer, event: View<'_>) {
    answer.check_names(event, &OF_EVENT);
    let kind = text(event, "type").unwrap_or_default();
    let index = number(event, "output_index").unwrap_or_default();
    answer.error_seen |= matches!(&*kind, "response.failed" | "error");
    if kind == "response.created" {
        answer.begin();
    }
    for response in event.named("response") {
        whole(answer, response);
    }
    for item in event.named("item") {
        read_item(answer, index, item);
    }
    for part in event.named("part") {
        let number = number(event, "content_index").unwrap_or_default();
        let number = number.min(OTHER_PARTS);
        // Reasoning is read with its item.
        if !is_reasoning(part) {
            answer.set_read((index, number), Kind::Said, &content(part));
        }
    }
    if let Some(name) = kind.strip_suffix(".delta") {
        let place = Place::of(name, index, event);
        match (text(event, "delta"), event.named("delta").last()) {
            (Some(piece), _) => answer.append(place.key, place.kind, &piece),
            (None, Some(delta)) => answer.add_every("delta", delta),
            (None, None) => answer.skipped += 1,
        }
    }
    if let Some(name) = kind.strip_suffix(".done") {
        let place = Place::of(name, index, event);
        for said in DONE.into_iter().filter_map(|member| text(event, member)) {
            answer.set_whole(place.key, place.kind, &said);
        }
    }
    for name in event.named("name") {
        answer.add_every("name", name);
    }
    answer.add_beside(event, of_event(&kind));
}

/// Whether the events of a name, without its last word, bring the arguments of a call.
pub(super) fn is_of_call(name: &str) -> bool {
    matches!(
        name,
        "response.function_call_arguments"
            | "response.custom_tool_call_input"
            | "response.mcp_call_arguments"
            | "response.code_interpreter_call_code"
            | "response.shell_call_command"
    )
}

/// Where the text of an event belongs.
struct Place {
    key: Key,
    kind: Kind,
}

impl Place {
    fn of(name: &str, index: u64, event: View<'_>) -> Self {
        let part = |member| number(event, member).unwrap_or_default();
        let (part, kind) = match name {
            "response.output_text" | "response.refusal" => {
                (part("content_index").min(OTHER_PARTS), Kind::Said)
            }
            "response.audio.transcript" => (TRANSCRIPT, Kind::Said),
            "response.shell_call_command" => (COMMANDS + part("command_index"), Kind::Call),
            name if is_of_call(name) => (CALL, Kind::Call),
            "response.reasoning_summary_text" => {
                (REASONING_SUMMARY + part("summary_index"), Kind::Beside)
            }
            _ if name.contains("reasoning") => {
                (REASONING_CONTENT + part("content_index"), Kind::Beside)
            }
            _ => (BESIDE, Kind::Beside),
        };
        Self {
            key: (index, part),
            kind,
        }
    }
}

fn read_item(answer: &mut GrowingAnswer, index: u64, item: View<'_>) {
    let kind = ItemKind::of(item);
    answer.add_item(index, kind.says());
    answer.check_names(item, kind.known());
    match kind {
        ItemKind::Message => {
            for said in item.named("content") {
                let parts: Vec<_> = said.elements().map(content).collect();
                if !answer.says_again(index, &parts) {
                    let parts = (0..).zip(&parts);
                    parts.for_each(|(part, read)| {
                        answer.set_read((index, part), Kind::Said, read);
                    });
                }
                if said.kind() != JsonKind::Array {
                    answer.set_read((index, 0), Kind::Said, &content(said));
                }
            }
        }
        ItemKind::Reasoning => read_reasoning(answer, index, item),
        ItemKind::Call => read_call(answer, index, item),
        ItemKind::Image => {}
    }
    if answer.wants_every() {
        let read = beside(item, kind.known());
        answer.set_read((index, BESIDE), Kind::Beside, &read);
    }
}

/// Whether a part belongs to an item of reasoning.
pub(super) fn is_reasoning(part: View<'_>) -> bool {
    text(part, "type").is_some_and(|kind| kind.starts_with("reasoning") || kind == "summary_text")
}

fn read_reasoning(answer: &mut GrowingAnswer, index: u64, item: View<'_>) {
    if !answer.wants_every() {
        return;
    }
    for (name, first) in [
        ("summary", REASONING_SUMMARY),
        ("content", REASONING_CONTENT),
    ] {
        let parts = item.named(name).flat_map(View::elements);
        for (part, said) in (first..).zip(parts) {
            answer.set_read((index, part), Kind::Beside, &content(said));
        }
    }
}

fn read_call(answer: &mut GrowingAnswer, index: u64, item: View<'_>) {
    let key = (index, CALL);
    answer.set_name(key, &text(item, "name").unwrap_or_default());
    let id = text(item, "call_id").or_else(|| text(item, "id"));
    let kind = text(item, "type").unwrap_or_default();
    let kind = kind.strip_suffix("_call").unwrap_or(&kind);
    answer.set_call(key, &id.unwrap_or_default(), kind);
    for name in [
        "arguments",
        "input",
        "code",
        "action",
        "operation",
        "queries",
    ] {
        for value in item.named(name) {
            match (value.kind(), value.text()) {
                (_, Some(words)) => answer.set_whole(key, Kind::Call, &words),
                (JsonKind::Null, _) => {}
                _ => answer.set_whole((index, CALL + 1), Kind::Call, value.raw()),
            }
        }
    }
    if item
        .named("action")
        .any(|action| action.kind() == JsonKind::Object)
    {
        answer.supersede((index, COMMANDS));
    }
}

/// The strings of an item that may hold what stood in the prompt.
pub(super) fn literals(item: View<'_>, found: &mut Vec<AnswerLiteral>) {
    let mut add = |value: View<'_>, is_arguments| {
        each_string(value, |text| {
            found.push(AnswerLiteral {
                span: text.span(),
                is_arguments,
            });
        });
    };
    let parts = ["content", "summary"].into_iter();
    let parts = parts.flat_map(|name| item.named(name));
    for part in parts.flat_map(View::elements) {
        let said = part.named("text").chain(part.named("refusal"));
        said.for_each(|said| add(said, false));
    }
    // These alone are JSON where they come as a text.
    for arguments in item.named("arguments") {
        add(arguments, arguments.kind() == JsonKind::String);
    }
    for name in ["input", "code", "action", "operation", "queries"] {
        item.named(name).for_each(|input| add(input, false));
    }
}
