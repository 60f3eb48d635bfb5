//! The texts of one frame of the Messages API, block by block.

use super::answer::{OF_BLOCK, OF_EVENT, OF_MESSAGE};
use crate::json::{Kind, View};
use crate::protocol::fields::{list, number, text};
use crate::protocol::growing::OUTSIDE;
use crate::protocol::said::FrameTexts;
use crate::sse::pieces::{Field, PlaceKind, Words, WordsBy};

/// The words of a block, which has no parts.
const WORDS: Option<Words> = Some(Words {
    part: 0,
    by: WordsBy::Delta,
});

/// Reads an event; None where a part of it cannot be read.
pub(super) fn read(texts: &mut FrameTexts<'_>, event: View<'_>) -> Option<()> {
    texts.check_names(event, &OF_EVENT)?;
    let kind = text(event, "type")?;
    let index = number(event, "index");
    match &*kind {
        "message_start" => {
            let message = event.named("message").last()?;
            texts.said.begins_answer = true;
            for (index, block) in (0..).zip(list(message, "content")?) {
                begin(texts, block, index)?;
            }
            texts.beside(message, OUTSIDE, &OF_MESSAGE)?;
        }
        "content_block_start" => begin(texts, event.named("content_block").last()?, index?)?,
        "content_block_delta" => delta(texts, event.named("delta").last()?, index?)?,
        "content_block_stop" => {
            let index = index?;
            texts.end(index, Field::Reasoning);
            texts.end(index, Field::ToolName(0));
            texts.end(index, Field::ToolArguments(0));
            texts.finish(index);
        }
        "message_delta" => {
            if let Some(delta) = event.named("delta").last() {
                texts.beside(delta, OUTSIDE, &OF_MESSAGE)?;
            }
        }
        // Nothing that is known belongs into another event.
        other => {
            if matches!(other, "message_stop" | "error") {
                texts.end_all();
            }
            return texts.beside(event, OUTSIDE, &["type"]);
        }
    }
    texts.beside(event, OUTSIDE, &OF_EVENT)
}

fn begin(texts: &mut FrameTexts<'_>, block: View<'_>, index: u64) -> Option<()> {
    texts.check_names(block, &OF_BLOCK)?;
    let kind = text(block, "type")?;
    texts.said.kinds.push(PlaceKind {
        choice: index,
        says_words: kind == "text",
        begins: true,
    });
    let known = match &*kind {
        "text" => {
            let words = block.named("text").last();
            texts.as_words(WORDS, |texts| texts.text(words, index, Field::Content))?;
            &["type", "text"][..]
        }
        "thinking" => {
            // Signed, so nobody may change it.
            if texts.wants_every() {
                texts.text(block.named("thinking").last(), index, Field::Reasoning)?;
            }
            &["type", "thinking"]
        }
        kind if kind.ends_with("tool_use") => {
            texts.said.begins_call = Some(index);
            if texts.wants_every() {
                texts.text(block.named("name").last(), index, Field::ToolName(0))?;
            }
            let has_input = |input: &View<'_>| input.members().next().is_some();
            for input in block.named("input").filter(has_input) {
                texts.as_arguments(true, |texts| texts.raw_arguments(input, index))?;
            }
            &["type", "name", "input"]
        }
        _ => return texts.every(block, index, "content"),
    };
    texts.beside(block, index, known)
}

fn delta(texts: &mut FrameTexts<'_>, delta: View<'_>, index: u64) -> Option<()> {
    let kind = text(delta, "type")?;
    let (name, field) = match &*kind {
        "text_delta" => ("text", Field::Content),
        "input_json_delta" => ("partial_json", Field::ToolArguments(0)),
        "thinking_delta" if !texts.wants_every() => return Some(()),
        "thinking_delta" => ("thinking", Field::Reasoning),
        _ => return texts.beside(delta, index, &["type"]),
    };
    let known = ["type", name];
    texts.check_names(delta, &known)?;
    let piece = delta.named(name).last();
    let piece = piece.filter(|piece| piece.kind() == Kind::String)?;
    let are_arguments = matches!(field, Field::ToolArguments(_));
    let words = WORDS.filter(|_| field == Field::Content);
    texts.as_words(words, |texts| {
        texts.as_arguments(are_arguments, |texts| texts.text(Some(piece), index, field))
    })?;
    texts.beside(delta, index, &known)
}
