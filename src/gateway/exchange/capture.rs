//! A copy of the answer for the record, taken as the bytes pass and never in their way (CONTRACT 4).

use super::decode;
use crate::gateway::headers;
use crate::json;
use crate::sse;
use http::header::CONTENT_ENCODING;
use pingora_http::ResponseHeader;

/// What the record says of the answer.
#[derive(Debug, Default)]
pub(super) struct Captured {
    pub(super) text: String,
    /// Part of the text is missing: over `limits.recorded_bytes`, or not readable.
    pub(super) incomplete: bool,
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
    },
    /// Bytes are kept and read at the end.
    Whole {
        bytes: Vec<u8>,
        cut: bool,
        limit: usize,
        encoding: Option<String>,
        event_stream: bool,
    },
}

impl Capture {
    pub(super) fn new(head: &ResponseHeader, recorded: bool, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let layout = Layout::of(head);
        match (recorded, layout.plain_stream()) {
            (false, _) => Self::Off,
            (true, true) => Self::Events {
                parser: sse::Parser::new(limit),
                text: sse::Accumulator::new(limit),
            },
            (true, false) => Self::Whole {
                bytes: Vec::new(),
                cut: false,
                limit,
                encoding: encoding(head),
                event_stream: layout.event_stream,
            },
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        match self {
            Self::Off => {}
            Self::Events { parser, text } => parser.push(chunk, |event| text.push(event.data)),
            Self::Whole {
                bytes, cut, limit, ..
            } => {
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
            } => {
                parser.finish(|event| text.push(event.data));
                spoken(&parser, &text)
            }
            Self::Whole {
                bytes,
                cut,
                limit,
                encoding,
                event_stream,
            } => {
                let (bytes, whole) = match encoding {
                    None => (bytes, !cut),
                    Some(encoding) => decode::decode(&encoding, &bytes, limit),
                };
                let read = if event_stream {
                    events(&bytes, limit)
                } else {
                    completion(&bytes)
                };
                Captured {
                    incomplete: read.incomplete || !whole || cut,
                    text: read.text,
                }
            }
        }
    }
}

fn events(bytes: &[u8], limit: usize) -> Captured {
    let (mut parser, mut text) = (sse::Parser::new(limit), sse::Accumulator::new(limit));
    parser.push(bytes, |event| text.push(event.data));
    parser.finish(|event| text.push(event.data));
    spoken(&parser, &text)
}

/// A frame that could not be read, or in which the upstream reports an error, leaves a gap.
fn spoken(parser: &sse::Parser, text: &sse::Accumulator) -> Captured {
    let gap = parser.dropped_frames() > 0 || text.skipped() > 0 || text.error_seen();
    Captured {
        incomplete: gap || text.is_truncated(),
        text: text.text(),
    }
}

fn completion(bytes: &[u8]) -> Captured {
    match json::answer_text(bytes) {
        Some(answer) => Captured {
            text: answer.text,
            incomplete: false,
        },
        None => Captured {
            text: String::new(),
            incomplete: !bytes.is_empty(),
        },
    }
}
