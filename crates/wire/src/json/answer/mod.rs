//! The text of a whole chat completion (CONTRACT 4). `sse::Accumulator` does the same for streams, in the
//! same order: content, else refusal, else tool calls.

mod checked;
mod completion;

pub use checked::{checked_answer, checked_answer_of, checked_completion};
pub use completion::{ChoiceForm, completion_literals, completion_text};

use crate::json::call_texts::CallTexts;
use crate::json::content::{Piece, each_in_order, each_piece};
use crate::json::form::Form;
use crate::json::kind::Kind;
use crate::json::scan::{Scan, scan};
use crate::json::text::{Joined, keep_break};
use crate::json::view::View;
use std::ops::Range;

/// What the record keeps of an answer. No `Debug`: it holds the model's words.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text of all choices in their order, joined by line feeds; empty when there is none.
    pub text: String,
    /// Where in `text` a line feed stands between two parts of one choice, ascending.
    pub part_breaks: Vec<usize>,
    /// Something stands where text is expected and is none, or there are more parts than are reported: the
    /// text may be more than this.
    pub has_unreadable: bool,
    /// The model that answered, when it is named.
    pub model: Option<String>,
    /// Where the upstream's own `usage` stands in the body.
    pub usage: Option<Range<usize>>,
}

/// Reads what a record keeps of a `chat.completion` body: an empty text of any other shape, None of what is not JSON.
pub fn answer_text(body: &[u8]) -> Option<Answer> {
    answer_text_of(body, CallTexts::Whole)
}

/// The same with these texts of its calls of tools.
pub fn answer_text_of(body: &[u8], calls: CallTexts) -> Option<Answer> {
    let scan = scan(body).ok()?;
    let mut texts = AnswerTexts::default();
    for choices in scan.members_in_any_case(body, "choices") {
        for choice in scan.view(body, choices.value).elements() {
            texts.push(JoinedText::of_choice(choice, calls));
        }
    }
    Some(texts.into_answer(body, &scan))
}

/// What a completion says about itself besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerEnd {
    /// Its `id`, when it is a string.
    pub id: Option<String>,
    /// Why each choice ended, in their order, as far as it is known.
    pub finish_reasons: Vec<String>,
}

/// Reads `id` and the finish reasons of a `chat.completion` body; nothing of a body that is not JSON. At most
/// `most` reasons are read.
pub fn answer_end(body: &[u8], most: usize) -> AnswerEnd {
    let Ok(scan) = scan(body) else {
        return AnswerEnd::default();
    };
    let text = |view: View<'_>| view.text().map(|text| text.into_owned());
    let id = scan.members_named(body, "id").last();
    let choices = scan.members_named(body, "choices").last();
    let choices = choices.map(|choices| scan.view(body, choices.value).elements());
    let reasons = choices.into_iter().flatten();
    let reasons = reasons.filter_map(|choice| text(choice.named("finish_reason").last()?));
    AnswerEnd {
        id: id.and_then(|id| text(View::new(body, id.value))),
        finish_reasons: reasons.take(most).collect(),
    }
}

/// Where a text of an answer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerLiteral {
    /// The string with its quotes.
    pub span: Range<usize>,
    /// Whether its text is JSON again: the arguments of a function.
    pub is_arguments: bool,
}

/// The strings that hold the text of every choice of a `chat.completion` body, whichever of them a
/// record takes, ascending. None when it is not JSON.
pub fn answer_literals(body: &[u8]) -> Option<Vec<AnswerLiteral>> {
    let scan = scan(body).ok()?;
    let mut found = Vec::new();
    let mut take = |object, name, is_arguments| {
        each_piece(object, name, &mut |piece| {
            if let Piece::Text(text) = piece {
                found.push((text.span(), is_arguments));
            }
        });
    };
    let choices = scan.members_in_any_case(body, "choices");
    let choices = choices.flat_map(|choices| scan.view(body, choices.value).elements());
    for message in choices.flat_map(|choice| choice.named_in_any_case("message")) {
        for name in ["content", "refusal", "reasoning", "reasoning_content"] {
            take(message, name, false);
        }
        let calls = message.named_in_any_case("tool_calls");
        let calls = calls.flat_map(View::elements);
        let functions = calls.flat_map(|call| call.named_in_any_case("function"));
        for function in functions.chain(message.named_in_any_case("function_call")) {
            take(function, "arguments", true);
        }
    }
    found.sort_by_key(|(span, _)| span.start);
    let literal = |(span, is_arguments)| AnswerLiteral { span, is_arguments };
    Some(found.into_iter().map(literal).collect())
}

/// Texts that are read as one, and where a line feed stands between them.
#[derive(Clone, Default)]
pub(crate) struct JoinedText {
    pub(crate) text: String,
    pub(crate) part_breaks: Vec<usize>,
    pub(crate) has_unreadable: bool,
}

impl JoinedText {
    /// Texts that stand alone, joined by line feeds.
    pub(crate) fn of(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds one more text that is read as one with these.
    pub(crate) fn extend(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.has_unreadable |= !keep_break(&mut self.part_breaks, self.text.len());
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Marks the breaks of what was appended at `start`, as far as it was kept.
    pub(crate) fn add_breaks(&mut self, start: usize, breaks: &[usize]) {
        for place in breaks.iter().map(|place| start + place) {
            if place < self.text.len() {
                self.has_unreadable |= !keep_break(&mut self.part_breaks, place);
            }
        }
    }

    /// What a record keeps of a choice: the content, else the refusal, else the tool calls.
    fn of_choice(choice: View<'_>, calls: CallTexts) -> Self {
        let mut has_unreadable = false;
        for name in ["content", "refusal"] {
            let mut words = Self::of_member(choice, name);
            has_unreadable |= words.has_unreadable;
            if !words.text.is_empty() {
                words.has_unreadable = has_unreadable;
                return words;
            }
        }
        let mut text = Joined::default();
        for message in choice.named_in_any_case("message") {
            has_unreadable |= tool_calls(message, calls, &mut text);
        }
        Self {
            has_unreadable,
            ..Self::of(text.into_text())
        }
    }

    /// The texts of a member of a choice's messages.
    pub(super) fn of_member(choice: View<'_>, name: &'static str) -> Self {
        Self::of_objects(choice.named_in_any_case("message"), name)
    }

    /// The texts of a member of a choice.
    pub(super) fn of_value(choice: View<'_>, name: &'static str) -> Self {
        Self::of_objects(std::iter::once(choice), name)
    }

    fn of_objects<'a>(objects: impl Iterator<Item = View<'a>>, name: &'static str) -> Self {
        let (mut text, mut words) = (Joined::default(), Self::default());
        for object in objects {
            each_piece(object, name, &mut |piece| match piece {
                Piece::Text(view) => {
                    if let Some(place) = text.push(view.text().unwrap_or_default()) {
                        words.has_unreadable |= !keep_break(&mut words.part_breaks, place);
                    }
                }
                Piece::Alone(alone) => drop(text.push(alone.text())),
                Piece::Unreadable => words.has_unreadable = true,
                Piece::Aside(_) | Piece::Unknown(_) => {}
            });
        }
        words.text = text.into_text();
        words
    }
}

/// The texts of an answer, joined by line feeds.
#[derive(Default)]
pub(crate) struct AnswerTexts {
    text: Joined,
    part_breaks: Vec<usize>,
    has_unreadable: bool,
}

impl AnswerTexts {
    pub(crate) fn push(&mut self, words: JoinedText) {
        self.has_unreadable |= words.has_unreadable;
        if words.text.is_empty() {
            return;
        }
        let start = self
            .text
            .push(words.text.into())
            .map_or(0, |place| place + 1);
        for place in words.part_breaks {
            self.has_unreadable |= !keep_break(&mut self.part_breaks, start + place);
        }
    }

    /// Without any text, something is unreadable.
    pub(crate) fn require_text(&mut self) {
        self.has_unreadable |= self.text.is_empty();
    }

    pub(crate) fn into_joined(self) -> JoinedText {
        JoinedText {
            text: self.text.into_text(),
            part_breaks: self.part_breaks,
            has_unreadable: self.has_unreadable,
        }
    }

    pub(super) fn into_answer(self, body: &[u8], scan: &Scan) -> Answer {
        let JoinedText {
            text,
            part_breaks,
            has_unreadable,
        } = self.into_joined();
        let model = scan.members_named(body, "model").last();
        let model = model.and_then(|member| View::new(body, member.value).text());
        let usage = scan.members_named(body, "usage").last();
        Answer {
            text,
            part_breaks,
            has_unreadable,
            model: model.map(|text| text.into_owned()),
            usage: usage.map(|member| member.value),
        }
    }
}

/// Adds the names and arguments of the calls; true where one of them cannot be read.
fn tool_calls(message: View<'_>, calls: CallTexts, text: &mut Joined) -> bool {
    let mut has_unreadable = false;
    for call in message_calls(message) {
        let arguments = calls.have_arguments().then_some(call.arguments);
        for name in ["name"].into_iter().chain(arguments) {
            let is_json = name != "name" && has_string(call.tool, name);
            let form = match is_json {
                true => Form::Arguments,
                false => Form::Text,
            };
            each_in_order(call.tool, name, &mut |piece| match piece {
                Piece::Text(view) => drop(text.push(form.text(view.token()))),
                Piece::Alone(alone) => drop(text.push(alone.text())),
                Piece::Unreadable => has_unreadable = true,
                Piece::Aside(_) | Piece::Unknown(_) => {}
            });
        }
    }
    has_unreadable
}

/// A call in a message of a chat completion.
pub(crate) struct MessageCall<'a> {
    /// The element of `tool_calls`; the older `function_call` itself.
    pub(crate) call: View<'a>,
    /// The object with the name of the tool.
    pub(crate) tool: View<'a>,
    /// Its member with the arguments.
    pub(crate) arguments: &'static str,
}

/// The calls of a message, of functions and of custom tools, and the older form behind them.
pub(crate) fn message_calls(message: View<'_>) -> impl Iterator<Item = MessageCall<'_>> {
    let calls = message.named_in_any_case("tool_calls");
    let calls = calls.flat_map(View::elements).flat_map(|call| {
        let tools = [("function", "arguments"), ("custom", "input")];
        tools.into_iter().flat_map(move |(name, arguments)| {
            let tools = call.named_in_any_case(name);
            tools.map(move |tool| MessageCall {
                call,
                tool,
                arguments,
            })
        })
    });
    let older = message.named_in_any_case("function_call");
    let older = older.map(|tool| MessageCall {
        call: tool,
        tool,
        arguments: "arguments",
    });
    let calls = calls.chain(older);
    calls.filter(|call| call.tool.kind() == Kind::Object)
}

/// Whether a member comes as text.
fn has_string(function: View<'_>, name: &'static str) -> bool {
    let mut values = function.named_in_any_case(name);
    values.any(|value| value.kind() == Kind::String)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
