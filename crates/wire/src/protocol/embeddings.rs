//! Embeddings, `POST /v1/embeddings`: a request is one text or several, and an answer is numbers. Errors are those of chat
//! completions.

use super::{Chat, OwnAnswer, OwnError, Protocol, StreamAnswer, StreamWriter, Texts, Wanted};
use crate::json::{Answer, AnswerEnd, AnswerLiteral, CallTexts, Entries, Parameters, RequestShape};
use crate::sse::Usage;
use crate::sse::pieces::Reading;
use monitor_model::ToolParts;

/// Embeddings. Only requests are read; an answer has no text.
#[derive(Debug)]
pub struct Embeddings;

// Some servers take their texts from another member: vLLM from `messages`, llama.cpp from `content`.
static REQUEST: RequestShape = RequestShape {
    list: "input",
    entries: Entries::Prompts,
    instructions: &[],
    words: &[],
    unreadable: &["messages", "content", "prompt"],
    template: None,
    answered_later: None,
    parameters: Parameters {
        token_limits: &[],
        stops: None,
        choices: None,
        output_format: &[],
    },
};

impl Protocol for Embeddings {
    fn request(&self) -> &'static RequestShape {
        &REQUEST
    }

    fn has_text_answers(&self) -> bool {
        false
    }

    fn may_answer_whole(&self) -> bool {
        true
    }

    fn names_events(&self) -> bool {
        false
    }

    fn takes_advice(&self) -> bool {
        false
    }

    fn session_header(&self) -> Option<&'static str> {
        None
    }

    fn answer(&self, body: &[u8], calls: CallTexts) -> Option<Answer> {
        Chat.answer(body, calls)
    }

    fn checked_answer(&self, body: &[u8], calls: CallTexts) -> Option<Answer> {
        Chat.checked_answer(body, calls)
    }

    fn tool_calls(&self, _body: &[u8], _most: usize) -> ToolParts {
        ToolParts::default()
    }

    fn answer_literals(&self, _body: &[u8]) -> Option<Vec<AnswerLiteral>> {
        Some(Vec::new())
    }

    fn answer_end(&self, body: &[u8], most: usize) -> AnswerEnd {
        Chat.answer_end(body, most)
    }

    fn usage(&self, usage: &[u8]) -> Option<Usage> {
        Chat.usage(usage)
    }

    fn stream_answer(&self, texts: Texts, calls: CallTexts, limit: usize) -> Box<dyn StreamAnswer> {
        Chat.stream_answer(texts, calls, limit)
    }

    fn read_frame(&self, frame: &[u8], wanted: Wanted) -> Reading {
        Chat.read_frame(frame, wanted)
    }

    fn stream_writer(&self) -> Box<dyn StreamWriter> {
        Chat.stream_writer()
    }

    fn own_answer(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        Chat.own_answer(answer)
    }

    fn own_stream(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        Chat.own_stream(answer)
    }

    fn error(&self, error: &OwnError<'_>) -> Vec<u8> {
        Chat.error(error)
    }

    fn error_frame(&self, error: &OwnError<'_>) -> Vec<u8> {
        Chat.error_frame(error)
    }

    /// Errors of the model server pass unchanged, in any form.
    fn is_error(&self, _body: &[u8]) -> bool {
        true
    }

    fn heartbeat(&self) -> &'static [u8] {
        Chat.heartbeat()
    }
}
