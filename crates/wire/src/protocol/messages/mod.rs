//! The Messages API, `POST /v1/messages`: messages and answers are lists of blocks.

mod answer;
mod own;
mod pieces;
mod user;
mod writer;

use super::answer_shape::AnswerShape;
use super::own::bytes;
use super::said::read_frame;
use super::{OwnAnswer, OwnError, Protocol, StreamAnswer, StreamWriter, Texts, Wanted};
use crate::json::{
    Answer, AnswerEnd, AnswerLiteral, CallTexts, Entries, Parameters, Request, RequestShape,
    is_envelope,
};
use crate::sse::pieces::Reading;
use crate::sse::{CompletionTokensDetails, PromptTokensDetails, Usage, details};
use monitor_model::ToolParts;
use serde::Deserialize;

/// The Messages API.
#[derive(Debug)]
pub struct Messages;

static REQUEST: RequestShape = RequestShape {
    list: "messages",
    entries: Entries::Blocks,
    instructions: &["system"],
    words: &[],
    unreadable: &[],
    template: None,
    answered_later: None,
    parameters: Parameters {
        token_limits: &["max_tokens"],
        stops: Some("stop_sequences"),
        choices: None,
        output_format: &["output_config", "format"],
    },
};

static ANSWER: AnswerShape = AnswerShape {
    list: "content",
    calls: &["tool_use\""],
    reason: "stop_reason",
    whole: answer::whole,
    event: answer::event,
    literals: answer::literals,
};

impl Protocol for Messages {
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

    /// Programs take 400 for a word on their form, and send the call again without what they may do without.
    fn refusal_status(&self) -> u16 {
        403
    }

    fn session_header(&self) -> Option<&'static str> {
        Some("x-claude-code-session-id")
    }

    fn names_user(&self) -> bool {
        true
    }

    fn user(&self, request: Request<'_>) -> Option<String> {
        user::of(&request.metadata("user_id")?)
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
        Some(Tokens::read(usage)?.usage())
    }

    fn stream_answer(&self, texts: Texts, calls: CallTexts, limit: usize) -> Box<dyn StreamAnswer> {
        ANSWER.stream(texts, calls, limit)
    }

    fn read_frame(&self, frame: &[u8], wanted: Wanted) -> Reading {
        read_frame(frame, wanted, pieces::read)
    }

    fn stream_writer(&self) -> Box<dyn StreamWriter> {
        Box::<writer::MessagesWriter>::default()
    }

    fn own_answer(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        bytes(&own::message(answer))
    }

    fn own_stream(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        own::events(answer)
    }

    fn error(&self, error: &OwnError<'_>) -> Vec<u8> {
        bytes(&error.with_reason(own::error(error)))
    }

    fn error_frame(&self, error: &OwnError<'_>) -> Vec<u8> {
        super::own::frame("error", &own::error(error))
    }

    fn is_error(&self, body: &[u8]) -> bool {
        is_envelope(body)
    }

    fn heartbeat(&self) -> &'static [u8] {
        own::HEARTBEAT
    }
}

/// Tokens as this API counts them: those of the cache are none of `input_tokens`.
#[derive(Clone, Copy, Default, Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "details")]
    output_tokens_details: CompletionTokensDetails,
}

impl Tokens {
    fn read(usage: &[u8]) -> Option<Self> {
        serde_json::from_slice(usage).ok()
    }

    fn usage(self) -> Usage {
        let cached = [
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
        ];
        let cached = cached.into_iter().flatten();
        let prompt = self
            .input_tokens
            .map(|tokens| cached.fold(tokens, u64::saturating_add));
        Usage {
            prompt_tokens: prompt,
            completion_tokens: self.output_tokens,
            total_tokens: prompt
                .zip(self.output_tokens)
                .map(|(prompt, answer)| prompt.saturating_add(answer)),
            prompt_tokens_details: PromptTokensDetails {
                cached_tokens: self.cache_read_input_tokens,
                cache_creation_tokens: self.cache_creation_input_tokens,
            },
            completion_tokens_details: self.output_tokens_details,
        }
    }
}
