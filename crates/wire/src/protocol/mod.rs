//! What the gateway has to know of each API of model servers that it monitors. One trait, and one folder for each API;
//! another one is another folder, and a line in the gateway's table of routes.
//!
//! Nothing here sends, waits or reads a clock: functions take bytes and return bytes and text.

mod answer_shape;
mod chat;
mod completions;
mod embeddings;
mod events;
mod fields;
mod growing;
mod messages;
mod own;
mod responses;
mod said;

pub use chat::Chat;
pub use completions::Completions;
pub use embeddings::Embeddings;
pub use messages::Messages;
pub use own::{OwnAnswer, OwnError};
pub use responses::Responses;

use crate::json::{Answer, AnswerEnd, AnswerLiteral, CallTexts, Request, RequestShape};
use crate::sse::pieces::{Field, Named, Reading};
use crate::sse::{CheckedText, Usage};
use monitor_model::ToolParts;
use std::fmt::Debug;

/// An API of model servers.
pub trait Protocol: Debug + Send + Sync {
    /// Where the texts of a request stand.
    fn request(&self) -> &'static RequestShape;

    /// Whether its answers have text that a record keeps.
    fn has_text_answers(&self) -> bool {
        true
    }

    /// Whether a call that asks for a stream may be answered with a whole answer, as §4.1.2 wants it of chat completions.
    /// Clients of other APIs take such an answer for an empty stream.
    fn may_answer_whole(&self) -> bool;

    /// Whether the name of an event says what it is, and clients show the texts of all parts of an answer as one.
    fn names_events(&self) -> bool;

    /// Whether clients try a failed call again unless `X-Should-Retry` tells them not to.
    fn takes_advice(&self) -> bool;

    /// The status of a call that a policy refuses.
    fn refusal_status(&self) -> u16 {
        400
    }

    /// The header, in lower case, in which programs name the session of a call when X-Session-Id does not.
    fn session_header(&self) -> Option<&'static str>;

    /// Whether a request has a place for its user, which counts where X-User-Id is absent.
    fn names_user(&self) -> bool {
        false
    }

    /// The user whom a request names there.
    fn user(&self, _request: Request<'_>) -> Option<String> {
        None
    }

    /// What a record keeps of a whole answer; None of what is not JSON.
    fn answer(&self, body: &[u8], calls: CallTexts) -> Option<Answer>;

    /// The same and, behind it, every other text that the client gets.
    fn checked_answer(&self, body: &[u8], calls: CallTexts) -> Option<Answer>;

    /// The calls of tools in a whole answer, within `most` bytes; none of what is not JSON.
    fn tool_calls(&self, body: &[u8], most: usize) -> ToolParts;

    /// The strings of a whole answer that may hold placeholders, ascending; None of what is not JSON.
    fn answer_literals(&self, body: &[u8]) -> Option<Vec<AnswerLiteral>>;

    /// The id of a whole answer, and why it ended, with at most `most` reasons.
    fn answer_end(&self, body: &[u8], most: usize) -> AnswerEnd;

    /// The tokens that an object `usage` counts.
    fn usage(&self, usage: &[u8]) -> Option<Usage>;

    /// Reads the answer of a stream, with at most `limit` bytes of text.
    fn stream_answer(&self, texts: Texts, calls: CallTexts, limit: usize) -> Box<dyn StreamAnswer>;

    /// Reads one raw frame of a stream.
    fn read_frame(&self, frame: &[u8], wanted: Wanted) -> Reading;

    /// Writes events of the gateway's into a stream of the upstream's.
    fn stream_writer(&self) -> Box<dyn StreamWriter>;

    /// An answer that the gateway makes itself, as one JSON object.
    fn own_answer(&self, answer: &OwnAnswer<'_>) -> Vec<u8>;

    /// The same as the events of a stream.
    fn own_stream(&self, answer: &OwnAnswer<'_>) -> Vec<u8>;

    /// The body of an error.
    fn error(&self, error: &OwnError<'_>) -> Vec<u8>;

    /// The frame of an error that ends a stream.
    fn error_frame(&self, error: &OwnError<'_>) -> Vec<u8>;

    /// Whether the body of an upstream's error has the form that clients expect.
    fn is_error(&self, body: &[u8]) -> bool;

    /// A frame that keeps a silent stream alive. It may be sent only at a [`crate::sse::FrameBoundary`].
    fn heartbeat(&self) -> &'static [u8];
}

/// Which texts of an answer are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// What a record keeps (CONTRACT 4).
    Record,
    /// All that the client gets (CONTRACT 15).
    Every,
}

/// Which texts of a frame are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of the first frame of a stream, which may begin with a byte order mark.
    First,
    /// All of a later one, where clients disagree on what begins with a byte order mark.
    Next,
    /// Those that the API knows, and that may hold what stood in the prompt.
    Known,
}

/// Writes events of the gateway's into a stream of the upstream's (CONTRACT 41), so that clients see one answer.
pub trait StreamWriter: Send {
    /// Learns what its events have in common with a frame of the upstream's that they stand for.
    fn learn(&mut self, _frame: &[u8]) {}
    /// Learns what the client gets of the upstream: a frame, and the choices that it names.
    fn sent(&mut self, frame: &[u8], choices: &[Named]);
    /// Adds `text` to a text of the answer.
    fn text(&mut self, choice: u64, field: Field, text: &str) -> Vec<u8>;
    /// Ends the answer with `text`, which belongs to this choice where that can have any. `answer` is what the client
    /// gets where the stream has not begun.
    fn end(&mut self, choice: u64, answer: &OwnAnswer<'_>) -> Vec<u8>;
}

/// The answer of a stream so far. It never delays the stream: events that it cannot read are counted.
pub trait StreamAnswer: Send {
    /// Takes the name of one event, empty for the usual one, and its data.
    fn push(&mut self, name: &[u8], data: &[u8]);
    /// What a record keeps.
    fn text(&self) -> String;
    /// The same and every other text behind it; None unless it was asked for every text.
    fn checked_text(&self) -> Option<CheckedText>;
    /// The calls of tools, within `most` bytes.
    fn tool_calls(&self, most: usize) -> ToolParts;
    /// Why the answer, or each of its choices, ended, as far as it is known.
    fn finish_reasons(&self) -> Vec<&str>;
    /// The answer's `id`, when it has one.
    fn id(&self) -> Option<&str>;
    /// The model that answered, when it is named.
    fn model(&self) -> Option<&str>;
    /// The upstream's last word on tokens; without those of the answer where it has not told their number yet.
    fn usage(&self) -> Option<Usage>;
    /// Whether an event says that the answer failed.
    fn error_seen(&self) -> bool;
    /// Events, or parts of one, that could not be read.
    fn skipped(&self) -> u64;
    /// Bytes that are kept.
    fn kept(&self) -> usize;
    /// Keeps nothing more; what comes is left out and marked.
    fn close(&mut self);
    /// Whether text was left out because of the limit.
    fn is_truncated(&self) -> bool;
}

#[cfg(test)]
mod tests;
