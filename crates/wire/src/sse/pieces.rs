//! What one raw frame of an answer says, piece by piece with its place, for those who judge or
//! rewrite text on its way. Stricter than the accumulator of a record: what it cannot read for
//! certain it calls unreadable, because nobody may pass it as checked.

use super::data::Data;
use super::delta::{Choice, Chunk, Delta, Function, KnownNames, Part, ToolCall, index, text};
use super::line::{BOM, has_event_in_line};
use crate::json::{Form, Place, TextPath, content_literals, has_misspelled, other_texts, unescape};
use serde::Deserialize;
use std::ops::Range;

/// The most pieces, and the most choices, of one frame. One with more is unreadable, so that a frame of nothing but tiny
/// pieces takes a few times its bytes.
pub(super) const MOST_PIECES: usize = 16_384;

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
    /// The choice is a call of a tool, which its client makes once it has ended.
    pub begins_call: Option<u64>,
    /// The answer begins here, perhaps once more.
    pub begins_answer: bool,
    /// The items or blocks whose kind the event tells.
    pub kinds: Vec<PlaceKind>,
    /// Where the text of the choices stands: clients read one of them, or both.
    pub members: TextMembers,
}

/// The members of choices that have text in an event, or in those of a stream so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextMembers {
    /// `delta`, the member of an event.
    pub delta: bool,
    /// `message`, the member of an answer that is no stream.
    pub message: bool,
}

/// What an item or a block of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceKind {
    /// Its index in the answer.
    pub choice: u64,
    /// Whether it says words of the model, so that it is no reasoning and no call.
    pub says_words: bool,
    /// It begins here.
    pub begins: bool,
}

/// Which words a piece is where clients join those of all items or blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The part of the item that they belong to.
    pub part: u64,
    /// What says them.
    pub by: WordsBy,
}

/// What says words: they come bit by bit, and several events say the whole of them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordsBy {
    /// The text grows from event to event.
    Delta,
    /// The end of a text.
    Text,
    /// The end of a part.
    Part,
    /// The end of an item.
    Item,
    /// The whole response.
    Response,
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
    /// The JSON string with its quotes, or the number, as bytes of the raw frame.
    pub span: Range<usize>,
    /// The text it stands for.
    pub text: String,
    /// That text is a part of JSON again: the arguments of a call.
    pub is_arguments: bool,
    /// It belongs to the arguments of a call of a tool, in whichever form.
    pub in_arguments: bool,
    /// Nothing continues the text behind this piece.
    pub ends: bool,
    /// Where clients join the words of all items or blocks, and it is such.
    pub words: Option<Words>,
}

/// Texts of a choice that grow from event to event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The input of a tool call that is no JSON.
    ToolInput,
    /// Arguments of the older `function_call.arguments`.
    FunctionArguments,
    /// The part with this index of an item that has several; the first one is [`Field::Content`].
    Part(u64),
    /// A text that an event has as a whole, the one with this number in it.
    Whole(u64),
    /// Text under names that the API does not know, by the path of these names.
    Other(TextPath),
}

/// Reads one raw frame. Behind the first one of a stream, clients disagree on what begins with a byte order mark.
pub fn read(frame: &[u8]) -> Reading {
    match frame.starts_with(BOM) {
        true => Reading::Unreadable,
        false => read_first(frame),
    }
}

/// Reads the first frame of a stream, which may begin with a byte order mark.
pub fn read_first(frame: &[u8]) -> Reading {
    read_texts(frame, Wanted::Every, chunk)
}

/// Reads one raw frame for the texts of the reference format only, without [`Field::Other`].
pub fn read_known(frame: &[u8]) -> Reading {
    read_texts(frame, Wanted::Known, chunk)
}

/// Which texts of a frame are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Every,
    Known,
}

/// Reads the data of a frame; None where a part of it cannot be read.
pub(super) type ReadChunk = fn(&Data, Wanted, &mut Said) -> Option<()>;

pub(super) fn read_texts(frame: &[u8], wanted: Wanted, read: ReadChunk) -> Reading {
    let data = Data::of(frame);
    let event = data.joined.trim_ascii();
    let is_doubtful = || data.has_doubtful_lines || has_event_in_line(&data.joined);
    if wanted == Wanted::Every && is_doubtful() {
        return Reading::Unreadable;
    }
    if event.is_empty() {
        return Reading::Nothing;
    }
    if event == b"[DONE]" {
        return Reading::Done;
    }
    let mut said = Said::default();
    match read(&data, wanted, &mut said) {
        Some(()) => Reading::Said(said),
        None => Reading::Unreadable,
    }
}

fn chunk(data: &Data, wanted: Wanted, said: &mut Said) -> Option<()> {
    let json = std::str::from_utf8(&data.joined).ok()?;
    let chunk: Chunk<'_> = object(json)?;
    let mut outside = Pieces {
        data,
        wanted,
        choice: 0,
        said,
    };
    outside.other_members(json, Chunk::NAMES, Place::of_object("chunk"))?;
    for (place, choice) in (0..).zip(list(chunk.choices)?) {
        let Some(choice) = choice else { continue };
        let json = choice.get();
        let choice: Choice<'_> = parsed(json)?;
        let mut delta = Pieces {
            data,
            wanted,
            choice: index(choice.index, place)?,
            said,
        };
        if delta.said.choices.len() == MOST_PIECES {
            return None;
        }
        delta.said.choices.push(Named {
            choice: delta.choice,
            finished: text(choice.finish_reason).is_some_and(|reason| !reason.is_empty()),
        });
        let in_delta = delta.said.pieces.len();
        delta.read(choice.delta)?;
        let in_message = delta.said.pieces.len();
        if choice.delta.is_none() {
            delta.read(choice.message)?;
        }
        // A message is also a text of its own, as some clients read it whatever stands beside it.
        let known = match (wanted, choice.delta) {
            (Wanted::Known, None) => Choice::NAMES,
            _ => &["index", "delta", "finish_reason"],
        };
        delta.other_members(json, known, Place::of_object("choice"))?;
        if choice.delta.is_none() && has_misspelled(json.trim_ascii().as_bytes(), Choice::NAMES) {
            return None;
        }
        let has_text = |pieces: &[Piece]| pieces.iter().any(|piece| !piece.text.is_empty());
        let members = TextMembers {
            delta: has_text(&delta.said.pieces[in_delta..in_message]),
            message: choice.message.is_some() && has_text(&delta.said.pieces[in_message..]),
        };
        delta.said.members.add(members);
    }
    Some(())
}

impl TextMembers {
    /// Takes those of another event.
    pub fn add(&mut self, other: Self) {
        self.delta |= other.delta;
        self.message |= other.message;
    }

    /// Whether clients read different texts: those of one member, or of both.
    pub fn are_mixed(self) -> bool {
        self.delta && self.message
    }
}

/// Reads the delta of one choice; None where a part of it cannot be read.
pub(super) struct Pieces<'a> {
    pub(super) data: &'a Data,
    pub(super) wanted: Wanted,
    pub(super) choice: u64,
    pub(super) said: &'a mut Said,
}

impl Pieces<'_> {
    fn read(&mut self, delta: Part<'_>) -> Option<()> {
        let Some(delta) = delta else { return Some(()) };
        let (json, place) = (delta.get(), Place::of_object("delta"));
        let delta: Delta<'_> = parsed(json)?;
        self.other_members(json, Delta::NAMES, place)?;
        self.texts(delta.content, Field::Content)?;
        self.texts(delta.refusal, Field::Refusal)?;
        self.texts(delta.reasoning, Field::Reasoning)?;
        self.texts(delta.reasoning_content, Field::ReasoningContent)?;
        let calls = place.member("tool_calls");
        for (at, call) in (0..).zip(list(delta.tool_calls)?) {
            let Some(call) = call else { continue };
            let json = call.get();
            let call: ToolCall<'_> = object(json)?;
            let index = index(call.index, at)?;
            let place = calls.member(&index.to_string());
            self.other_members(json, ToolCall::NAMES, place)?;
            let fields = (Field::ToolName(index), Field::ToolArguments(index));
            self.function(call.function, fields, place.member("function"))?;
        }
        let fields = (Field::FunctionName, Field::FunctionArguments);
        self.function(delta.function_call, fields, place.member("function_call"))
    }

    /// The texts of an object under names that are none of `known`.
    pub(super) fn other_members(&mut self, json: &str, known: &[&str], place: Place) -> Option<()> {
        let object = json.trim_ascii();
        if !object.starts_with('{') {
            return None;
        }
        if self.wanted == Wanted::Known {
            return (!has_misspelled(object.as_bytes(), known)).then_some(());
        }
        for text in other_texts(object.as_bytes(), known, place)? {
            let (field, form) = (Field::Other(text.path), text.form());
            let json = object.get(text.span.clone())?;
            match text.stands_alone() {
                true => self.alone(json, &text.text(object.as_bytes()), field)?,
                false => self.string(json, field, form)?,
            }
            if let Some(piece) = self.said.pieces.last_mut() {
                piece.in_arguments = text.in_arguments;
            }
        }
        Some(())
    }

    fn function(&mut self, part: Part<'_>, fields: (Field, Field), place: Place) -> Option<()> {
        let Some(part) = part else {
            return Some(());
        };
        let function: Function<'_> = object(part.get())?;
        self.other_members(part.get(), Function::NAMES, place)?;
        let texts = [
            (function.name, fields.0, Form::Text),
            (function.arguments, fields.1, Form::Arguments),
        ];
        for (part, field, form) in texts {
            let Some(json) = part else { continue };
            let text = json.get().starts_with('"').then_some(json.get())?;
            self.string(text, field, form)?;
        }
        Some(())
    }

    /// A string, or the texts of a content in parts.
    pub(super) fn texts(&mut self, part: Part<'_>, field: Field) -> Option<()> {
        let Some(json) = part else { return Some(()) };
        let content = content_literals(json.get().as_bytes());
        for span in content.literals.into_iter().chain(content.asides) {
            self.string(json.get().get(span)?, field, Form::Text)?;
        }
        let alone = Field::Other(Place::of_object("delta").member("content").alone());
        let is_wanted = self.wanted == Wanted::Every;
        for one in content.alone.into_iter().filter(|_| is_wanted) {
            let text = one.text(json.get().as_bytes());
            self.alone(json.get().get(one.span.clone())?, &text, alone)?;
        }
        (!content.has_unreadable).then_some(())
    }

    fn string(&mut self, json: &str, field: Field, form: Form) -> Option<()> {
        let text = unescape(json.as_bytes()).into_owned();
        self.piece(json, text, field, form)
    }

    /// What goes on in no other event, and stands on a line of its own.
    fn alone(&mut self, json: &str, text: &str, field: Field) -> Option<()> {
        self.piece(json, format!("{text}\n"), field, Form::Text)
    }

    fn piece(&mut self, json: &str, text: String, field: Field, form: Form) -> Option<()> {
        if self.said.pieces.len() == MOST_PIECES {
            return None;
        }
        let span = self.data.span(json)?;
        self.said.pieces.push(Piece {
            choice: self.choice,
            field,
            span,
            text,
            is_arguments: form == Form::Arguments,
            in_arguments: matches!(field, Field::ToolArguments(_) | Field::FunctionArguments),
            ends: false,
            words: None,
        });
        Some(())
    }
}

/// An object; None of another value, and where readers who ignore the case of names would find more in it than others do.
pub(super) fn object<'a, T: Deserialize<'a> + KnownNames>(json: &'a str) -> Option<T> {
    let object = parsed(json)?;
    let json = json.trim_ascii();
    (json.starts_with('{') && !has_misspelled(json.as_bytes(), T::NAMES)).then_some(object)
}

fn parsed<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    serde_json::from_str(json).ok()
}

/// The elements of an array; none of a missing one.
pub(super) fn list(part: Part<'_>) -> Option<Vec<Part<'_>>> {
    part.map_or(Some(Vec::new()), |part| parsed(part.get()))
}

#[cfg(test)]
mod tests;
