//! What an answer of the Messages API says: the blocks of a whole one, or those that events bring bit by bit.

use super::Tokens;
use crate::json::{AnswerLiteral, Kind as JsonKind, View};
use crate::protocol::fields::{each_string, number, text};
use crate::protocol::growing::{GrowingAnswer, Kind};
use crate::sse::{CompletionTokensDetails, Usage};

/// Members of a message that are read here, or say nothing of the answer.
pub(super) const OF_MESSAGE: [&str; 7] = [
    "type",
    "role",
    "content",
    "stop_reason",
    "container",
    "usage",
    "context_management",
];
/// Of an event.
pub(super) const OF_EVENT: [&str; 5] = ["type", "index", "delta", "content_block", "message"];
/// Of a block.
pub(super) const OF_BLOCK: [&str; 5] = ["type", "text", "thinking", "name", "input"];

/// Reads a whole message.
pub(super) fn whole(answer: &mut GrowingAnswer, message: View<'_>) {
    if message.kind() != JsonKind::Object {
        return answer.add_every("", message);
    }
    answer.check_names(message, &OF_MESSAGE);
    head(answer, message);
    for content in message.named_in_any_case("content") {
        answer.has_answer |= content.kind() == JsonKind::Array;
        if let Some(words) = content.text() {
            answer.set_whole((0, 0), Kind::Said, &words);
        }
        for (index, block) in (0..).zip(content.elements()) {
            read_block(answer, index, block);
        }
    }
    answer.add_beside(message, &OF_MESSAGE);
}

/// Reads one event.
pub(super) fn event(answer: &mut GrowingAnswer, event: View<'_>) {
    answer.check_names(event, &OF_EVENT);
    let kind = text(event, "type").unwrap_or_default();
    let index = number(event, "index").unwrap_or_default();
    match (
        &*kind,
        event.named("message").last(),
        event.named("content_block").last(),
    ) {
        ("message_start", Some(message), _) => {
            answer.begin();
            whole(answer, message);
            // The tokens of the answer are those so far, and a stream that breaks off never says how many there were.
            answer.usage = answer.usage.map(Usage::of_prompt);
        }
        ("content_block_start", _, Some(block)) => read_block(answer, index, block),
        _ => {}
    }
    match (&*kind, event.named("delta").last()) {
        ("content_block_delta", Some(delta)) => read_delta(answer, index, delta),
        ("message_delta", delta) => {
            head(answer, event);
            if let Some(delta) = delta {
                head(answer, delta);
                answer.add_beside(delta, &OF_MESSAGE);
            }
        }
        _ => {}
    }
    answer.error_seen |= kind == "error";
    answer.add_beside(event, &OF_EVENT);
}

/// What a message says of itself. Of tokens, later events repeat some and correct others.
fn head(answer: &mut GrowingAnswer, message: View<'_>) {
    answer.set_head(message, "stop_reason", |_| true);
    let usage = message.named("usage").last();
    if let Some(tokens) = usage.and_then(|usage| Tokens::read(usage.raw().as_bytes())) {
        answer.usage = Some(merged(answer.usage.unwrap_or_default(), tokens.usage()));
    }
}

/// All numbers of the prompt are those of one event: those of the cache are a part of their own prompt only.
fn merged(before: Usage, now: Usage) -> Usage {
    let prompt = match leaves_out(now, before) || is_emptied(now, before) {
        true => before,
        false => now,
    };
    let completion_tokens = now.completion_tokens.or(before.completion_tokens);
    let (output, begun) = (
        now.completion_tokens_details,
        before.completion_tokens_details,
    );
    Usage {
        completion_tokens,
        total_tokens: prompt
            .prompt_tokens
            .zip(completion_tokens)
            .map(|(prompt, answer)| prompt.saturating_add(answer)),
        completion_tokens_details: CompletionTokensDetails {
            reasoning_tokens: output.reasoning_tokens.or(begun.reasoning_tokens),
        },
        ..prompt
    }
}

/// Whether later tokens of a prompt lack a number that the earlier ones have.
fn leaves_out(now: Usage, before: Usage) -> bool {
    let (input, earlier) = (now.prompt_tokens_details, before.prompt_tokens_details);
    let cache = [
        (input.cached_tokens, earlier.cached_tokens),
        (input.cache_creation_tokens, earlier.cache_creation_tokens),
    ];
    let mut cache = cache.into_iter();
    before.prompt_tokens.is_some()
        && (now.prompt_tokens.is_none()
            || cache.any(|(now, before)| now.is_none() && before.is_some_and(|tokens| tokens > 0)))
}

/// Whether later tokens of a prompt are fewer because no `input_tokens` are counted: a 0 corrects no number.
fn is_emptied(now: Usage, before: Usage) -> bool {
    let cache = now.prompt_tokens_details;
    let of_cache = [cache.cached_tokens, cache.cache_creation_tokens];
    let of_cache = of_cache.into_iter().flatten().fold(0, u64::saturating_add);
    now.prompt_tokens == Some(of_cache) && now.prompt_tokens < before.prompt_tokens
}

fn kind_of(block: &str) -> Kind {
    match block {
        "text" => Kind::Said,
        block if block.ends_with("tool_use") => Kind::Call,
        _ => Kind::Beside,
    }
}

fn read_block(answer: &mut GrowingAnswer, index: u64, block: View<'_>) {
    let key = (index, 0);
    let kind = text(block, "type").unwrap_or_default();
    answer.add_item(index, kind_of(&kind));
    answer.check_names(block, &OF_BLOCK);
    let known = match &*kind {
        "text" => {
            let words = text(block, "text");
            answer.skipped += u64::from(words.is_none());
            answer.set_whole(key, Kind::Said, &words.unwrap_or_default());
            &["type", "text"][..]
        }
        "thinking" => {
            let words = text(block, "thinking").unwrap_or_default();
            answer.set_whole(key, Kind::Beside, &words);
            &["type", "thinking"]
        }
        kind if kind.ends_with("tool_use") => {
            answer.set_name(key, &text(block, "name").unwrap_or_default());
            answer.set_call(key, &text(block, "id").unwrap_or_default(), "");
            // A stream begins with no arguments.
            let input = block.named("input").last();
            if let Some(input) = input.filter(|input| input.members().next().is_some()) {
                answer.set_whole(key, Kind::Call, input.raw());
            }
            &["type", "name", "input"]
        }
        _ => return answer.add_every("content", block),
    };
    answer.add_beside(block, known);
}

fn read_delta(answer: &mut GrowingAnswer, index: u64, delta: View<'_>) {
    let kind = text(delta, "type").unwrap_or_default();
    let (name, of) = match &*kind {
        "text_delta" => ("text", Kind::Said),
        "input_json_delta" => ("partial_json", Kind::Call),
        "thinking_delta" => ("thinking", Kind::Beside),
        _ => return answer.add_beside(delta, &["type"]),
    };
    let known = ["type", name];
    answer.check_names(delta, &known);
    let piece = text(delta, name);
    answer.skipped += u64::from(piece.is_none());
    answer.append((index, 0), of, &piece.unwrap_or_default());
    answer.add_beside(delta, &known);
}

/// The strings of a block that may hold what stood in the prompt. What the model server signed stays as it is.
pub(super) fn literals(block: View<'_>, found: &mut Vec<AnswerLiteral>) {
    let kind = text(block, "type").unwrap_or_default();
    let name = match &*kind {
        "text" => "text",
        kind if kind.ends_with("tool_use") => "input",
        _ => return,
    };
    for value in block.named(name) {
        each_string(value, |text| {
            found.push(AnswerLiteral {
                span: text.span(),
                is_arguments: false,
            });
        });
    }
}
