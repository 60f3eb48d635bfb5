//! A copy of the answer for the record, taken as the bytes pass and never in their way (CONTRACT 4).

use super::decode;
use crate::gateway::headers;
use crate::gateway::memory::{Memory, Share};
use crate::gateway::told::Heard;
use http::header::CONTENT_ENCODING;
use monitor_wire::json;
use monitor_wire::sse;
use pingora_http::ResponseHeader;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// What the record says of the answer.
#[derive(Default)]
pub(super) struct Captured {
    pub(super) text: String,
    /// Part of the text is missing: over `limits.recorded_bytes`, or not readable.
    pub(super) incomplete: bool,
    /// What the answer says about itself, where that is wanted.
    pub(super) heard: Option<Box<Heard>>,
}

/// What is wanted of an answer.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Its text.
    pub(super) record: bool,
    /// What it says about itself.
    pub(super) heard: bool,
}

/// What a whole answer says.
pub(super) struct Whole {
    pub(super) said: Captured,
    /// The upstream's own `usage`, byte for byte.
    pub(super) usage: Option<Box<RawValue>>,
}

/// Reads an answer that is all there.
pub(super) fn whole(head: &ResponseHeader, bytes: &[u8], (limit, heard): (u64, bool)) -> Whole {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (plain, decoded) = plain(bytes, encoding(head).as_deref(), limit);
    let (mut said, usage) = match headers::is_event_stream(head) {
        true => (events(&plain, limit, heard), None),
        false => completion(&plain, heard),
    };
    said.incomplete |= !decoded;
    let usage = usage.and_then(|span| object(plain.get(span)?));
    Whole { said, usage }
}

/// The bytes without their content coding, and whether they are all there.
fn plain<'a>(bytes: &'a [u8], encoding: Option<&str>, limit: usize) -> (Cow<'a, [u8]>, bool) {
    match encoding {
        None => (bytes.into(), true),
        Some(encoding) => {
            let (decoded, whole) = decode::decode(encoding, bytes, limit);
            (decoded.into(), whole)
        }
    }
}

fn object(bytes: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let value = RawValue::from_string(text.to_owned()).ok()?;
    value.get().starts_with('{').then_some(value)
}

/// How the answer is laid out, by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) event_stream: bool,
    pub(super) encoded: bool,
}

impl Layout {
    pub(super) fn of(head: &ResponseHeader) -> Self {
        Self {
            event_stream: headers::is_event_stream(head),
            encoded: encoding(head).is_some(),
        }
    }

    /// Frames are visible, so heartbeats and error frames can stand between them.
    pub(super) fn plain_stream(self) -> bool {
        self.event_stream && !self.encoded
    }
}

/// The content coding, None for none.
pub(super) fn encoding(head: &ResponseHeader) -> Option<String> {
    let value = head
        .headers
        .get(CONTENT_ENCODING)?
        .to_str()
        .unwrap_or("?")
        .trim()
        .to_ascii_lowercase();
    (!value.is_empty() && value != "identity").then_some(value)
}

/// Collects one answer.
pub(super) enum Capture {
    /// Nothing is recorded.
    Off,
    /// Frames are read as they pass; only their text is kept.
    Events {
        parser: sse::Parser,
        text: sse::Accumulator,
        share: Share,
        heard: bool,
    },
    /// Bytes are kept and read at the end.
    Whole {
        bytes: Vec<u8>,
        cut: bool,
        limit: usize,
        encoding: Option<String>,
        event_stream: bool,
        share: Share,
        heard: bool,
    },
}

impl Capture {
    pub(super) fn new(
        head: &ResponseHeader,
        wanted: Wanted,
        limit: u64,
        memory: &Arc<Memory>,
    ) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let layout = Layout::of(head);
        let heard = wanted.heard;
        match (wanted.record || heard, layout.plain_stream()) {
            (false, _) => Self::Off,
            (true, true) => Self::Events {
                parser: sse::Parser::new(limit),
                text: sse::Accumulator::new(limit),
                share: Share::new(memory),
                heard,
            },
            (true, false) => Self::Whole {
                bytes: Vec::new(),
                cut: false,
                limit,
                encoding: encoding(head),
                event_stream: layout.event_stream,
                share: Share::new(memory),
                heard,
            },
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        match self {
            Self::Off => {}
            Self::Events {
                parser,
                text,
                share,
                ..
            } => {
                parser.push(chunk, |event| text.push(event.data));
                if share.cover(text.kept()).is_err() {
                    text.close();
                }
            }
            Self::Whole {
                bytes,
                cut,
                limit,
                share,
                ..
            } => {
                if share.cover(bytes.len() + chunk.len()).is_err() {
                    *limit = bytes.len();
                }
                let room = limit.saturating_sub(bytes.len());
                *cut |= chunk.len() > room;
                bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
        }
    }

    pub(super) fn finish(self) -> Captured {
        match self {
            Self::Off => Captured::default(),
            Self::Events {
                mut parser,
                mut text,
                heard,
                ..
            } => {
                parser.finish(|event| text.push(event.data));
                spoken(&parser, &text, heard)
            }
            Self::Whole {
                bytes,
                cut,
                limit,
                encoding,
                event_stream,
                heard,
                ..
            } => {
                let (plain, whole) = plain(&bytes, encoding.as_deref(), limit);
                let mut said = match event_stream {
                    true => events(&plain, limit, heard),
                    false => completion(&plain, heard).0,
                };
                said.incomplete |= !whole || cut;
                said
            }
        }
    }
}

fn events(bytes: &[u8], limit: usize, heard: bool) -> Captured {
    let (mut parser, mut text) = (sse::Parser::new(limit), sse::Accumulator::new(limit));
    parser.push(bytes, |event| text.push(event.data));
    parser.finish(|event| text.push(event.data));
    spoken(&parser, &text, heard)
}

/// A frame that could not be read, or in which the upstream reports an error, leaves a gap.
fn spoken(parser: &sse::Parser, text: &sse::Accumulator, heard: bool) -> Captured {
    let gap = parser.dropped_frames() > 0 || text.skipped() > 0 || text.error_seen();
    Captured {
        incomplete: gap || text.is_truncated(),
        text: text.text(),
        heard: heard.then(|| {
            let model = text.model().map(str::to_owned);
            Box::new(Heard::new(model, text.usage()))
        }),
    }
}

/// The text, and where the upstream's `usage` stands.
fn completion(bytes: &[u8], heard: bool) -> (Captured, Option<Range<usize>>) {
    match json::answer_text(bytes) {
        Some(answer) => {
            let usage = answer.usage;
            let heard = heard.then(|| {
                let told = usage.clone().and_then(|span| bytes.get(span));
                let told = told.and_then(|told| serde_json::from_slice(told).ok());
                Box::new(Heard::new(answer.model, told))
            });
            let said = Captured {
                text: answer.text,
                incomplete: false,
                heard,
            };
            (said, usage)
        }
        None => {
            let said = Captured {
                text: String::new(),
                incomplete: !bytes.is_empty(),
                heard: None,
            };
            (said, None)
        }
    }
}
