//! Completions, `POST /v1/completions`: the older API of texts that a model goes on with. A request is one prompt or
//! several, and the choices of an answer have `text`. What is around the texts is that of chat completions.

mod own;
mod writer;

use super::{Chat, OwnAnswer, OwnError, Protocol, StreamAnswer, StreamWriter, Texts, Wanted};
use crate::json::{
    self, Answer, AnswerEnd, AnswerLiteral, CallTexts, ChoiceForm, Entries, Parameters,
    RequestShape,
};
use crate::sse::pieces::Reading;
use crate::sse::{Accumulator, Usage, completion_pieces};
use monitor_model::ToolParts;
use writer::CompletionsWriter;

/// The Completions API.
#[derive(Debug)]
pub struct Completions;

static REQUEST: RequestShape = RequestShape {
    list: "prompt",
    entries: Entries::Prompts,
    instructions: &[],
    words: &["suffix"],
    unreadable: &["prompt_embeds"],
    template: None,
    answered_later: None,
    parameters: Parameters {
        token_limits: &["max_tokens"],
        stops: Some("stop"),
        choices: Some("n"),
        output_format: &[],
    },
};

impl Protocol for Completions {
    fn request(&self) -> &'static RequestShape {
        &REQUEST
    }

    fn may_answer_whole(&self) -> bool {
        false
    }

    fn names_events(&self) -> bool {
        false
    }

    fn takes_advice(&self) -> bool {
        true
    }

    fn session_header(&self) -> Option<&'static str> {
        None
    }

    fn answer(&self, body: &[u8], _calls: CallTexts) -> Option<Answer> {
        json::completion_text(body)
    }

    fn checked_answer(&self, body: &[u8], _calls: CallTexts) -> Option<Answer> {
        json::checked_completion(body)
    }

    fn tool_calls(&self, _body: &[u8], _most: usize) -> ToolParts {
        ToolParts::default()
    }

    fn answer_literals(&self, body: &[u8]) -> Option<Vec<AnswerLiteral>> {
        json::completion_literals(body)
    }

    fn answer_end(&self, body: &[u8], most: usize) -> AnswerEnd {
        Chat.answer_end(body, most)
    }

    fn usage(&self, usage: &[u8]) -> Option<Usage> {
        Chat.usage(usage)
    }

    fn stream_answer(
        &self,
        texts: Texts,
        _calls: CallTexts,
        limit: usize,
    ) -> Box<dyn StreamAnswer> {
        let stream = match texts {
            Texts::Record => Accumulator::new(limit),
            Texts::Every => Accumulator::of_every_text(limit),
        };
        Box::new(stream.of_choices(ChoiceForm::Text))
    }

    fn read_frame(&self, frame: &[u8], wanted: Wanted) -> Reading {
        match wanted {
            Wanted::First => completion_pieces::read_first(frame),
            Wanted::Next => completion_pieces::read(frame),
            Wanted::Known => completion_pieces::read_known(frame),
        }
    }

    fn stream_writer(&self) -> Box<dyn StreamWriter> {
        Box::new(CompletionsWriter::default())
    }

    fn own_answer(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        own::completion(answer)
    }

    fn own_stream(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        own::events(answer)
    }

    fn error(&self, error: &OwnError<'_>) -> Vec<u8> {
        Chat.error(error)
    }

    fn error_frame(&self, error: &OwnError<'_>) -> Vec<u8> {
        Chat.error_frame(error)
    }

    fn is_error(&self, body: &[u8]) -> bool {
        Chat.is_error(body)
    }

    fn heartbeat(&self) -> &'static [u8] {
        Chat.heartbeat()
    }
}
