//! Copies an answer for its record as the bytes pass, without delaying them (CONTRACT 4).

mod event_names;
mod layout;

pub(super) use event_names::EventNames;
pub(super) use layout::{Layout, encoding, has_text};

use super::decode::{self, Decoded};
use crate::edge::names_another_charset;
use crate::gateway::call_trace::AnswerMetadata;
use crate::gateway::headers;
use crate::gateway::limits::MemoryReservation;
use monitor_model::{ToolParts, model_name};
use monitor_wire::json::{CallTexts, Prompt};
use monitor_wire::protocol::{Protocol, StreamAnswer, Texts};
use monitor_wire::sse;
use pingora_http::ResponseHeader;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// The part of an answer that is recorded.
#[derive(Default)]
pub(super) struct Captured {
    pub(super) text: String,
    /// Part of the text is missing: over `limits.recorded_bytes`, or not readable.
    pub(super) incomplete: bool,
    /// Where in the text a line feed stands between two parts of one message.
    pub(super) part_breaks: Vec<usize>,
    /// The model that says it answered.
    pub(super) model: Option<String>,
    /// The tokens of the call.
    pub(super) usage: Option<sse::Usage>,
    /// Of an answer the calls of tools, of a prompt their results.
    pub(super) tools: ToolParts,
    /// What the answer says about itself, where a trace reports it.
    pub(super) metadata: Option<Box<AnswerMetadata>>,
}

impl Captured {
    /// Forgets the tokens that the gateway's own last events count: those of the answer, and a prompt of 0 tokens.
    pub(super) fn forget_own_tokens(&mut self) {
        let prompt = self.usage.map(sse::Usage::of_prompt);
        self.usage = prompt.filter(|prompt| prompt.prompt_tokens > Some(0));
        if let Some(metadata) = &mut self.metadata {
            metadata.set_usage(self.usage);
        }
    }

    /// At most `limit` bytes of a prompt.
    pub(super) fn of_prompt(prompt: Prompt, limit: u64) -> Self {
        let Prompt {
            mut text,
            mut part_breaks,
            has_unreadable,
            tool_results,
        } = prompt;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_cut = text.len() > limit;
        text.truncate(text.floor_char_boundary(limit));
        part_breaks.retain(|place| *place < text.len());
        Self {
            text,
            incomplete: is_cut || has_unreadable,
            part_breaks,
            tools: tool_results.within(limit),
            ..Self::default()
        }
    }
}

/// The parts of an answer that are needed.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The API that the answer belongs to.
    pub(super) protocol: &'static dyn Protocol,
    /// What is text of calls of tools.
    pub(super) calls: CallTexts,
    /// The text, for the record.
    pub(super) text: bool,
    /// What the answer says about itself, for the trace.
    pub(super) metadata: bool,
    /// The most bytes of either (`limits.recorded_bytes`).
    pub(super) limit: u64,
}

impl Wanted {
    /// The text alone.
    pub(super) fn record(protocol: &'static dyn Protocol, calls: CallTexts, limit: u64) -> Self {
        Self {
            protocol,
            calls,
            text: true,
            metadata: false,
            limit,
        }
    }

    fn stream_answer(self, texts: Texts) -> Box<dyn StreamAnswer> {
        self.protocol.stream_answer(texts, self.calls, self.limit())
    }

    fn limit(self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }
}

/// What a complete answer says.
pub(super) struct Whole {
    pub(super) captured: Captured,
    /// The upstream's `usage`, byte for byte.
    pub(super) usage: Option<Box<RawValue>>,
}

/// Reads of a complete answer what a record keeps.
pub(super) fn whole(head: &ResponseHeader, bytes: &[u8], wanted: Wanted) -> Whole {
    read_whole(head, bytes, wanted, Texts::Record)
}

/// Reads a complete answer for its check: what a record keeps, and behind it every other text that the client gets.
pub(super) fn whole_for_check(head: &ResponseHeader, bytes: &[u8], wanted: Wanted) -> Whole {
    read_whole(head, bytes, wanted, Texts::Every)
}

fn read_whole(head: &ResponseHeader, bytes: &[u8], wanted: Wanted, texts: Texts) -> Whole {
    let plain = plain(bytes, encoding(head).as_deref(), wanted.limit());
    let (mut captured, usage) = match headers::is_event_stream(head) {
        true => (read_stream(&plain.bytes, wanted, texts), None),
        false => read_completion(&plain.bytes, wanted, texts),
    };
    captured.incomplete |= !plain.is_whole || names_another_charset(&head.headers);
    let usage = usage.and_then(|span| json_object(plain.bytes.get(span)?));
    Whole { captured, usage }
}

/// A body without its content coding.
struct Plain<'a> {
    bytes: Cow<'a, [u8]>,
    is_whole: bool,
}

/// The most bytes that a complete body has without its content coding.
pub(super) fn plain_bytes(head: &ResponseHeader, bytes: &[u8], limit: u64) -> usize {
    match encoding(head) {
        None => bytes.len(),
        Some(_) => usize::try_from(limit).unwrap_or(usize::MAX),
    }
}

/// A complete body without its content coding; None where it cannot be decoded within `limit` bytes, and where the
/// client is told to read it in another charset than UTF-8.
pub(super) fn decoded<'a>(
    head: &ResponseHeader,
    bytes: &'a [u8],
    limit: u64,
) -> Option<Cow<'a, [u8]>> {
    if names_another_charset(&head.headers) {
        return None;
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let plain = plain(bytes, encoding(head).as_deref(), limit);
    plain.is_whole.then_some(plain.bytes)
}

fn plain<'a>(bytes: &'a [u8], encoding: Option<&str>, limit: usize) -> Plain<'a> {
    match encoding {
        None => Plain {
            bytes: bytes.into(),
            is_whole: true,
        },
        Some(encoding) => {
            let Decoded { bytes, is_whole } = decode::decode(encoding, bytes, limit);
            Plain {
                bytes: bytes.into(),
                is_whole,
            }
        }
    }
}

fn json_object(bytes: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let value = RawValue::from_string(text.to_owned()).ok()?;
    value.get().starts_with('{').then_some(value)
}

/// Captures one answer while it is relayed.
pub(super) enum Capture {
    /// Nothing is needed.
    Off,
    /// Frames are parsed as they pass, and only their text is kept.
    Stream {
        parser: sse::Parser,
        text: Box<dyn StreamAnswer>,
        reservation: MemoryReservation,
        metadata: bool,
        has_other_charset: bool,
    },
    /// The bytes are kept and read at the end.
    Whole(WholeCapture),
}

/// The bytes of an answer that is read at its end.
pub(super) struct WholeCapture {
    bytes: Vec<u8>,
    is_cut: bool,
    /// Lowered when memory is exhausted.
    limit: usize,
    encoding: Option<String>,
    event_stream: bool,
    has_other_charset: bool,
    reservation: MemoryReservation,
    wanted: Wanted,
}

impl Capture {
    /// `reservation` is the memory of what is kept.
    pub(super) fn new(
        head: &ResponseHeader,
        wanted: Wanted,
        reservation: MemoryReservation,
    ) -> Self {
        let layout = Layout::of(head);
        match (wanted.text || wanted.metadata, layout.plain_stream()) {
            (false, _) => Self::Off,
            (true, true) => Self::Stream {
                parser: sse::Parser::new(wanted.limit()),
                text: wanted.stream_answer(Texts::Record),
                reservation,
                metadata: wanted.metadata,
                has_other_charset: layout.has_other_charset,
            },
            (true, false) => Self::Whole(WholeCapture {
                bytes: Vec::new(),
                is_cut: false,
                limit: wanted.limit(),
                encoding: encoding(head),
                event_stream: layout.event_stream,
                has_other_charset: layout.has_other_charset,
                reservation,
                wanted,
            }),
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        match self {
            Self::Off => {}
            Self::Stream {
                parser,
                text,
                reservation,
                ..
            } => {
                parser.push(chunk, |event| take(&mut **text, &event));
                if reservation.cover(text.kept()).is_err() {
                    text.close();
                }
            }
            Self::Whole(whole) => whole.push(chunk),
        }
    }

    pub(super) fn finish(self) -> Captured {
        match self {
            Self::Off => Captured::default(),
            Self::Stream {
                mut parser,
                mut text,
                metadata,
                has_other_charset,
                ..
            } => {
                parser.finish(|event| take(&mut *text, &event));
                let mut captured = captured_stream(&parser, &*text, metadata);
                captured.incomplete |= has_other_charset;
                captured
            }
            Self::Whole(whole) => whole.finish(),
        }
    }
}

impl WholeCapture {
    fn push(&mut self, chunk: &[u8]) {
        let length = self.bytes.len();
        if self.reservation.cover(length + chunk.len()).is_err() {
            self.limit = length;
        }
        let free = self.limit.saturating_sub(length);
        self.is_cut |= chunk.len() > free;
        self.bytes
            .extend_from_slice(&chunk[..chunk.len().min(free)]);
    }

    fn finish(self) -> Captured {
        let plain = plain(&self.bytes, self.encoding.as_deref(), self.limit);
        let wanted = Wanted {
            limit: self.limit as u64,
            ..self.wanted
        };
        let mut captured = match self.event_stream {
            true => read_stream(&plain.bytes, wanted, Texts::Record),
            false => read_completion(&plain.bytes, wanted, Texts::Record).0,
        };
        captured.incomplete |= !plain.is_whole || self.is_cut || self.has_other_charset;
        captured
    }
}

fn read_stream(bytes: &[u8], wanted: Wanted, texts: Texts) -> Captured {
    let limit = wanted.limit();
    let mut parser = sse::Parser::new(limit);
    let mut text = wanted.stream_answer(texts);
    // Where the name of an event says what it is, the answer looks at it.
    let mut names = (!wanted.protocol.names_events()).then(EventNames::default);
    let mut are_alike = true;
    let mut each = |event: sse::Event<'_>| {
        let before = text.kept();
        take(&mut *text, &event);
        if let Some(names) = names.as_mut().filter(|_| text.kept() > before) {
            are_alike &= names.note(event.usual_name());
        }
    };
    parser.push(bytes, &mut each);
    parser.finish(&mut each);
    let mut captured = captured_stream(&parser, &*text, wanted.metadata);
    if let Some(checked) = text.checked_text() {
        captured.incomplete |= checked.has_unreadable && !bytes.is_empty();
        captured.incomplete |= sse::has_doubtful_lines(bytes) || !are_alike;
        captured.text = checked.text;
        captured.part_breaks = checked.part_breaks;
    }
    captured
}

fn take(text: &mut dyn StreamAnswer, event: &sse::Event<'_>) {
    text.push(event.name.unwrap_or_default(), event.data);
}

/// A stream is incomplete when a frame could not be read, or when the upstream reports an error in one.
fn captured_stream(parser: &sse::Parser, text: &dyn StreamAnswer, metadata: bool) -> Captured {
    let gap = parser.dropped_frames() > 0 || text.skipped() > 0 || text.error_seen();
    Captured {
        incomplete: gap || text.is_truncated(),
        text: text.text(),
        part_breaks: Vec::new(),
        model: text.model().and_then(model_name).map(str::to_owned),
        usage: text.usage(),
        // What was kept is within the bound.
        tools: text.tool_calls(usize::MAX),
        metadata: metadata.then(|| Box::new(AnswerMetadata::of_stream(text))),
    }
}

/// The text of a whole answer, and the place of its `usage`.
fn read_completion(bytes: &[u8], wanted: Wanted, texts: Texts) -> (Captured, Option<Range<usize>>) {
    let protocol = wanted.protocol;
    let answer = match texts {
        Texts::Record => protocol.answer(bytes, wanted.calls),
        Texts::Every => protocol.checked_answer(bytes, wanted.calls),
    };
    let Some(answer) = answer else {
        let captured = Captured {
            incomplete: !bytes.is_empty(),
            ..Captured::default()
        };
        return (captured, None);
    };
    let usage = answer.usage;
    let text = usage.clone().and_then(|span| bytes.get(span));
    let tokens = text.and_then(|text| protocol.usage(text));
    let model = answer.model.as_deref().and_then(model_name);
    let model = model.map(str::to_owned);
    let metadata = wanted.metadata.then(|| {
        let metadata = AnswerMetadata::of_whole(protocol, bytes, answer.model, tokens);
        Box::new(metadata)
    });
    let captured = Captured {
        text: answer.text,
        incomplete: answer.has_unreadable,
        part_breaks: answer.part_breaks,
        model,
        usage: tokens,
        tools: match wanted.text {
            true => protocol.tool_calls(bytes, wanted.limit()),
            false => ToolParts::default(),
        },
        metadata,
    };
    (captured, usage)
}
