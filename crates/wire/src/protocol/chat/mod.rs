//! Chat completions (§2.3 to §2.6, CONTRACT 4, 15, 19).

mod calls;
mod own;
mod writer;

use super::own::bytes;
use super::{OwnAnswer, OwnError, Protocol, StreamAnswer, StreamWriter, Texts, Wanted};
use crate::json::{self, Answer, AnswerEnd, AnswerLiteral, CallTexts, RequestShape};
use crate::sse::pieces::{self, Reading};
use crate::sse::{self, Accumulator, CheckedText, Usage};
use monitor_model::{ErrorEnvelope, ToolParts};
use writer::ChatWriter;

/// The Chat Completions API.
#[derive(Debug)]
pub struct Chat;

impl Protocol for Chat {
    fn request(&self) -> &'static RequestShape {
        &RequestShape::CHAT
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
        json::answer_text_of(body, calls)
    }

    fn checked_answer(&self, body: &[u8], calls: CallTexts) -> Option<Answer> {
        json::checked_answer_of(body, calls)
    }

    fn tool_calls(&self, body: &[u8], most: usize) -> ToolParts {
        calls::of_completion(body, most)
    }

    fn answer_literals(&self, body: &[u8]) -> Option<Vec<AnswerLiteral>> {
        json::answer_literals(body)
    }

    fn answer_end(&self, body: &[u8], most: usize) -> AnswerEnd {
        json::answer_end(body, most)
    }

    fn usage(&self, usage: &[u8]) -> Option<Usage> {
        serde_json::from_slice(usage).ok()
    }

    fn stream_answer(&self, texts: Texts, calls: CallTexts, limit: usize) -> Box<dyn StreamAnswer> {
        let stream = match texts {
            Texts::Record => Accumulator::new(limit),
            Texts::Every => Accumulator::of_every_text(limit),
        };
        Box::new(stream.with_calls(calls))
    }

    fn read_frame(&self, frame: &[u8], wanted: Wanted) -> Reading {
        match wanted {
            Wanted::First => pieces::read_first(frame),
            Wanted::Next => pieces::read(frame),
            Wanted::Known => pieces::read_known(frame),
        }
    }

    fn stream_writer(&self) -> Box<dyn StreamWriter> {
        Box::new(ChatWriter::default())
    }

    fn own_answer(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        own::completion(answer)
    }

    fn own_stream(&self, answer: &OwnAnswer<'_>) -> Vec<u8> {
        own::events(answer)
    }

    fn error(&self, error: &OwnError<'_>) -> Vec<u8> {
        let envelope = ErrorEnvelope::new(error.kind, error.status, error.message);
        match error.reason {
            None => envelope.to_json(),
            Some(_) => bytes(&error.with_reason(serde_json::json!(envelope))),
        }
    }

    fn error_frame(&self, error: &OwnError<'_>) -> Vec<u8> {
        sse::writer::error_frame(error.kind, error.message, error.status)
    }

    fn is_error(&self, body: &[u8]) -> bool {
        json::is_envelope(body)
    }

    fn heartbeat(&self) -> &'static [u8] {
        sse::writer::HEARTBEAT
    }
}

impl StreamAnswer for Accumulator {
    fn push(&mut self, _name: &[u8], data: &[u8]) {
        self.push(data);
    }

    fn text(&self) -> String {
        self.text()
    }

    fn checked_text(&self) -> Option<CheckedText> {
        self.checked_text()
    }

    fn tool_calls(&self, most: usize) -> ToolParts {
        self.tool_calls(most)
    }

    fn finish_reasons(&self) -> Vec<&str> {
        self.finish_reasons().map(|(_, reason)| reason).collect()
    }

    fn id(&self) -> Option<&str> {
        self.id()
    }

    fn model(&self) -> Option<&str> {
        self.model()
    }

    fn usage(&self) -> Option<Usage> {
        self.usage()
    }

    fn error_seen(&self) -> bool {
        self.error_seen()
    }

    fn skipped(&self) -> u64 {
        self.skipped()
    }

    fn kept(&self) -> usize {
        self.kept()
    }

    fn close(&mut self) {
        self.close();
    }

    fn is_truncated(&self) -> bool {
        self.is_truncated()
    }
}
