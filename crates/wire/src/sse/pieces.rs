//! What one raw frame of an answer says, piece by piece with its place, for those who judge or
//! rewrite text on its way. Stricter than the accumulator of a record: what it cannot read for
//! certain it calls unreadable, because nobody may pass it as checked.

use super::data::Data;
use super::delta::{Choice, Chunk, Delta, Function, KnownNames, Part, ToolCall, text, value};
use crate::json::{content_literals, has_misspelled, other_texts};
use serde::Deserialize;
use std::ops::Range;
use std::sync::Arc;

/// What a frame is.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    /// No event: comments, blank lines, other fields.
    Nothing,
    /// The end of the stream, `[DONE]`.
    Done,
    /// An event of the reference format.
    Said(Said),
    /// Data that is no chunk of a chat completion.
    Unreadable,
}

/// One event. No choices for usage, errors and the like.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The text pieces, those of one text in its order.
    pub pieces: Vec<Piece>,
    /// Every choice the event names.
    pub choices: Vec<Named>,
}

/// A choice that an event names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The choice's index in the answer.
    pub choice: u64,
    /// Whether the event says why it ended.
    pub finished: bool,
}

/// One piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the choice.
    pub choice: u64,
    /// What the text continues.
    pub field: Field,
    /// The JSON string with its quotes, as bytes of the raw frame.
    pub span: Range<usize>,
    /// The text it stands for.
    pub text: String,
}

/// Texts of a choice that grow from event to event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// `content`, as a string or in parts.
    Content,
    /// A refusal, `refusal`.
    Refusal,
    /// `reasoning`, outside the reference format.
    Reasoning,
    /// `reasoning_content`, outside the reference format.
    ReasoningContent,
    /// The function's name of the tool call with this index.
    ToolName(u64),
    /// The arguments of the tool call with this index.
    ToolArguments(u64),
    /// `function_call.name`, the predecessor of tool calls.
    FunctionName,
    /// Arguments of the older `function_call.arguments`.
    FunctionArguments,
    /// Text under names that the reference format does not know, by the path of these names.
    Other(Arc<str>),
}

/// Reads one raw frame.
pub fn read(frame: &[u8]) -> Reading {
    let data = Data::of(frame);
    let event = data.joined.trim_ascii();
    if event.is_empty() {
        return Reading::Nothing;
    }
    if event == b"[DONE]" {
        return Reading::Done;
    }
    let mut said = Said::default();
    match chunk(&data, &mut said) {
        Some(()) => Reading::Said(said),
        None => Reading::Unreadable,
    }
}

/// Reads a whole answer, whose choices have messages instead of deltas; None where it is unreadable.
pub fn read_whole(completion: &[u8]) -> Option<Said> {
    let data = Data::of_json(completion);
    let mut said = Said::default();
    chunk(&data, &mut said).map(|()| said)
}

fn chunk(data: &Data, said: &mut Said) -> Option<()> {
    let chunk: Chunk<'_> = object(std::str::from_utf8(&data.joined).ok()?)?;
    for (place, choice) in (0..).zip(list(chunk.choices)?) {
        let Some(choice) = choice else { continue };
        let json = choice.get();
        let choice: Choice<'_> = parsed(json)?;
        let mut delta = Pieces {
            data,
            choice: value(choice.index).unwrap_or(place),
            said,
        };
        delta.said.choices.push(Named {
            choice: delta.choice,
            finished: text(choice.finish_reason).is_some(),
        });
        delta.read(choice.delta.or(choice.message))?;
        let known = match choice.delta {
            // Its message is read as a text of its own.
            Some(_) => &["index", "delta", "finish_reason"][..],
            None => Choice::NAMES,
        };
        delta.others(json, known)?;
    }
    Some(())
}

/// Reads the delta of one choice; None where a part of it cannot be read.
struct Pieces<'a> {
    data: &'a Data,
    choice: u64,
    said: &'a mut Said,
}

impl Pieces<'_> {
    fn read(&mut self, delta: Part<'_>) -> Option<()> {
        let Some(delta) = delta else { return Some(()) };
        let json = delta.get();
        let delta: Delta<'_> = parsed(json)?;
        self.others(json, Delta::NAMES)?;
        self.texts(delta.content, Field::Content)?;
        self.texts(delta.refusal, Field::Refusal)?;
        self.texts(delta.reasoning, Field::Reasoning)?;
        self.texts(delta.reasoning_content, Field::ReasoningContent)?;
        for (place, call) in (0..).zip(list(delta.tool_calls)?) {
            let Some(call) = call else { continue };
            let call: ToolCall<'_> = object(call.get())?;
            let index = value(call.index).unwrap_or(place);
            let fields = (Field::ToolName(index), Field::ToolArguments(index));
            self.function(call.function, fields)?;
        }
        let fields = (Field::FunctionName, Field::FunctionArguments);
        self.function(delta.function_call, fields)
    }

    /// The texts of an object under names that are none of `known`.
    fn others(&mut self, json: &str, known: &[&str]) -> Option<()> {
        for text in other_texts(json.trim_ascii().as_bytes(), known)? {
            let literal = json.trim_ascii().get(text.span)?;
            self.string(literal, Field::Other(text.path.into()))?;
        }
        Some(())
    }

    fn function(&mut self, part: Part<'_>, fields: (Field, Field)) -> Option<()> {
        let Some(function) = part else {
            return Some(());
        };
        let function: Function<'_> = object(function.get())?;
        for (part, field) in [(function.name, fields.0), (function.arguments, fields.1)] {
            let Some(json) = part else { continue };
            let text = json.get().starts_with('"').then_some(json.get())?;
            self.string(text, field)?;
        }
        Some(())
    }

    /// A string, or the texts of a content in parts.
    fn texts(&mut self, part: Part<'_>, field: Field) -> Option<()> {
        let Some(json) = part else { return Some(()) };
        let content = content_literals(json.get().as_bytes());
        for span in content.literals.into_iter().chain(content.asides) {
            self.string(json.get().get(span)?, field.clone())?;
        }
        (!content.has_unreadable).then_some(())
    }

    fn string(&mut self, json: &str, field: Field) -> Option<()> {
        let (span, text) = self.data.piece(json)?;
        self.said.pieces.push(Piece {
            choice: self.choice,
            field,
            span,
            text,
        });
        Some(())
    }
}

/// An object; None where readers who ignore the case of names would find more in it than others do.
fn object<'a, T: Deserialize<'a> + KnownNames>(json: &'a str) -> Option<T> {
    let object = parsed(json)?;
    (!has_misspelled(json.trim_ascii().as_bytes(), T::NAMES)).then_some(object)
}

fn parsed<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    serde_json::from_str(json).ok()
}

/// The elements of an array; none of a missing one.
fn list(part: Part<'_>) -> Option<Vec<Part<'_>>> {
    part.map_or(Some(Vec::new()), |part| parsed(part.get()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Field, Reading, read};

    fn said(frame: &str) -> Vec<(u64, Field, String, String)> {
        let Reading::Said(said) = read(frame.as_bytes()) else {
            panic!("not readable: {frame}");
        };
        let pieces = said.pieces.into_iter();
        pieces
            .map(|piece| {
                let raw = frame[piece.span].to_owned();
                (piece.choice, piece.field, raw, piece.text)
            })
            .collect()
    }

    #[test]
    fn every_text_of_a_frame_has_its_place_and_its_meaning() {
        let frame = concat!(
            r#"data: {"choices":[{"index":1,"delta":{"role":"assistant","content":"a\u0416\n"}},"#,
            r#"{"delta":{"refusal":"no","content":null,"reasoning_content":"r","reasoning":"s"}},"#,
            r#"{"index":7,"delta":{"content":[{"type":"text","text":"p"},{"type":"text","text":"q"}],"#,
            r#""tool_calls":[{"index":3,"function":{"name":"f","arguments":"{\"x\""}},"#,
            r#"{"function":{"arguments":""}}],"function_call":{"name":"g","arguments":"1"}}}]}"#,
            "\n\n"
        );
        let expected = [
            (1, Field::Content, r#""a\u0416\n""#, "aЖ\n"),
            (1, Field::Refusal, r#""no""#, "no"),
            (1, Field::Reasoning, r#""s""#, "s"),
            (1, Field::ReasoningContent, r#""r""#, "r"),
            (7, Field::Content, r#""p""#, "p"),
            (7, Field::Content, r#""q""#, "q"),
            (7, Field::ToolName(3), r#""f""#, "f"),
            (7, Field::ToolArguments(3), r#""{\"x\"""#, "{\"x\""),
            (7, Field::ToolArguments(1), r#""""#, ""),
            (7, Field::FunctionName, r#""g""#, "g"),
            (7, Field::FunctionArguments, r#""1""#, "1"),
        ];
        let expected = expected
            .map(|(choice, field, raw, text)| (choice, field, raw.to_owned(), text.to_owned()));
        assert_eq!(said(frame), expected);
    }

    #[test]
    fn texts_under_other_names_are_told_by_their_paths() {
        let frame = concat!(
            r#"data: {"choices":[{"index":2,"delta":{"role":"assistant","thinking":"a","audio":{"transcript":"b"},"#,
            r#""reasoning_details":[{"index":4,"text":"c"}]},"text":"d","message":{"content":"e"},"logprobs":null,"#,
            r#""stop_reason":"no"},{"message":{"content":"f"}}]}"#,
            "\n\n"
        );
        let other = |path: &str| Field::Other(path.into());
        let expected = [
            (2, other("/thinking"), r#""a""#, "a"),
            (2, other("/audio/transcript"), r#""b""#, "b"),
            (2, other("/reasoning_details/4/text"), r#""c""#, "c"),
            (2, other("/text"), r#""d""#, "d"),
            (2, other("/message/content"), r#""e""#, "e"),
            (1, Field::Content, r#""f""#, "f"),
        ];
        let expected = expected
            .map(|(choice, field, raw, text)| (choice, field, raw.to_owned(), text.to_owned()));
        assert_eq!(said(frame), expected);
        let whole = super::read_whole(br#"{"choices":[{"message":{"content":["x","y"]}}]}"#);
        let pieces = whole.unwrap().pieces;
        assert_eq!((&*pieces[0].text, &*pieces[1].text), ("x", "y"));
        assert!(super::read_whole(b"<html>").is_none());
    }

    #[test]
    fn lines_line_ends_and_comments_move_no_place() {
        let json = [
            r#"{"choices":[{"index":0,"#,
            r#""delta":{"content":"Жa"}}]}"#,
        ];
        for frame in [
            format!("data:{}{}\n\n", json[0], json[1]),
            format!("\u{feff}data: {}{}\r\n\r\n", json[0], json[1]),
            format!(
                ": note\r\nevent: x\r\ndata: {}\r\nid: 1\r\ndata: {}\r\n\r\n",
                json[0], json[1]
            ),
            format!("\ndata: {}\rdata\r:\rdata: {}\r\r", json[0], json[1]),
        ] {
            let expected = (0, Field::Content, "\"Жa\"".to_owned(), "Жa".to_owned());
            assert_eq!(said(&frame), [expected], "{frame:?}");
        }
    }

    #[test]
    fn the_choices_and_their_ends_are_told() {
        let frame = br#"data: {"choices":[{"index":2,"delta":{},"finish_reason":"stop"},null,{"index":5,"finish_reason":null}]}"#;
        let Reading::Said(said) = read(frame) else {
            panic!("not readable");
        };
        let told = said.choices.iter().map(|one| (one.choice, one.finished));
        assert_eq!(told.collect::<Vec<_>>(), [(2, true), (5, false)]);
    }

    #[test]
    fn what_is_no_text_is_told_from_what_cannot_be_read() {
        for (frame, expected) in [
            (": note\n\n", Reading::Nothing),
            ("\n", Reading::Nothing),
            ("event: ping\ndata:\n\n", Reading::Nothing),
            ("database: x\n\n", Reading::Nothing),
            ("data: [DONE]\r\n\r\n", Reading::Done),
        ] {
            assert_eq!(read(frame.as_bytes()), expected, "{frame:?}");
        }
        for json in [
            r#"{"choices":[],"usage":{}}"#,
            r#"{"error":{"message":"x"}}"#,
            "{}",
        ] {
            assert!(said(&format!("data: {json}\n\n")).is_empty());
        }
        for json in [
            "nonsense",
            "[]",
            r#"{"choices":[{"delta":{"content":"a"}}]"#,
            r#"{"choices":{}}"#,
            r#"{"choices":[7]}"#,
            r#"{"choices":[{"delta":7}]}"#,
            r#"{"choices":[{"delta":{"content":7}}]}"#,
            r#"{"choices":[{"delta":{"content":{"text":7}}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#,
            r#"{"Choices":[{"delta":{"content":"a"}}]}"#,
            r#" {"choices":[{"Delta":{"content":"a"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","Content":"b"}}]}"#,
            r#"{"choices":[{"delta":{"rea\u017foning":"a"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"Arguments":"a"}}]}}]}"#,
            r#"{"choices":[{"delta":{"function_call":{"NAME":"a"}}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{}}}]}}]}"#,
        ] {
            let frame = format!("data: {json}\n\n");
            assert_eq!(read(frame.as_bytes()), Reading::Unreadable, "{json}");
        }
        let broken = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n";
        assert_eq!(read(broken), Reading::Unreadable);
    }
}
