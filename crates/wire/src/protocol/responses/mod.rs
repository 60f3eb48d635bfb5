//! The Responses API, `POST /v1/responses`: a request is instructions and a list of items, an answer a list of items.

mod answer;
mod own;
mod pieces;
mod writer;

use super::answer_shape::AnswerShape;
use super::own::bytes;
use super::said::read_frame;
use super::{OwnAnswer, OwnError, Protocol, StreamAnswer, StreamWriter, Texts, Wanted};
use crate::json::{
    self, Answer, AnswerEnd, AnswerLiteral, CallTexts, Entries, Parameters, RequestShape,
};
use crate::sse::pieces::Reading;
use crate::sse::{CompletionTokensDetails, PromptTokensDetails, Usage, details};
use monitor_model::ToolParts;
use serde::Deserialize;
use serde_json::json;

/// The Responses API.
#[derive(Debug)]
pub struct Responses;

static REQUEST: RequestShape = RequestShape {
    list: "input",
    entries: Entries::Items,
    instructions: &["instructions"],
    words: &[],
    unreadable: &[],
    template: Some("prompt"),
    answered_later: Some("background"),
    parameters: Parameters {
        token_limits: &["max_output_tokens"],
        stops: None,
        choices: None,
        output_format: &["text", "format"],
    },
};

static ANSWER: AnswerShape = AnswerShape {
    list: "output",
    calls: &["_call\"", "_request\""],
    reason: "status",
    whole: answer::whole,
    event: answer::event,
    literals: answer::literals,
};

impl Protocol for Responses {
    fn request(&self) -> &'static RequestShape {
        &REQUEST
    }

    fn may_answer_whole(&self) -> bool {
        false
    }

    fn names_events(&self) -> bool {
        true
    }

    fn takes_advice(&self) -> bool {
        true
    }

    fn session_header(&self) -> Option<&'static str> {
        Some("session-id")
    }

    fn answer(&self, body: &[u8], calls: CallTexts) -> Option<Answer> {
        ANSWER.answer(body, Texts::Record, calls)
    }

    fn checked_answer(&self, body: &[u8], calls: CallTexts) -> Option<Answer> {
        ANSWER.answer(body, Texts::Every, calls)
    }

    fn tool_calls(&self, body: &[u8], most: usize) -> ToolParts {
        ANSWER.tool_calls(body, most)
    }

    fn answer_literals(&self, body: &[u8]) -> Option<Vec<AnswerLiteral>> {
        ANSWER.literals(body)
    }

    fn answer_end(&self, body: &[u8], _most: usize) -> AnswerEnd {
        ANSWER.end(body)
    }

    fn usage(&self, usage: &[u8]) -> Option<Usage> {
        usage_of(usage)
    }

    fn stream_answer(&self, texts: Texts, calls: CallTexts, limit: usize) -> Box<dyn StreamAnswer> {
        ANSWER.stream(texts, calls, limit)
    }

    fn read_frame(&self, frame: &[u8], wanted: Wanted) -> Reading {
        read_frame(frame, wanted, pieces::read)
    }

    fn stream_writer(&self) -> Box<dyn StreamWriter> {
        Box::<writer::ResponsesWriter>::default()
    }

    fn own_answer(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        bytes(&own::response(answer))
    }

    fn own_stream(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        own::events(answer)
    }

    fn error(&self, error: &OwnError<'_>) -> Vec<u8> {
        bytes(&error.with_reason(json!({"error": {
            "message": error.message, "type": error.kind.as_str(), "code": error.status, "param": null,
        }})))
    }

    fn error_frame(&self, error: &OwnError<'_>) -> Vec<u8> {
        own::error_frame(error)
    }

    fn is_error(&self, body: &[u8]) -> bool {
        json::is_envelope(body)
    }

    fn heartbeat(&self) -> &'static [u8] {
        own::HEARTBEAT
    }
}

/// The tokens of an answer, as this API counts them.
fn usage_of(usage: &[u8]) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Tokens {
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        total_tokens: Option<u64>,
        #[serde(default, deserialize_with = "details")]
        input_tokens_details: PromptTokensDetails,
        #[serde(default, deserialize_with = "details")]
        output_tokens_details: CompletionTokensDetails,
    }
    let tokens: Tokens = serde_json::from_slice(usage).ok()?;
    Some(Usage {
        prompt_tokens: tokens.input_tokens,
        completion_tokens: tokens.output_tokens,
        total_tokens: tokens.total_tokens,
        prompt_tokens_details: tokens.input_tokens_details,
        completion_tokens_details: tokens.output_tokens_details,
    })
}
