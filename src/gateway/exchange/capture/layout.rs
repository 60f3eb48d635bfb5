//! What the head of an answer says of its body.

use crate::edge::names_another_charset;
use crate::gateway::headers;
use http::header::CONTENT_ENCODING;
use pingora_http::ResponseHeader;

/// The layout of an answer, from its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) event_stream: bool,
    pub(crate) encoded: bool,
    /// The client is told to read it in another charset than UTF-8.
    pub(crate) has_other_charset: bool,
}

impl Layout {
    pub(crate) fn of(head: &ResponseHeader) -> Self {
        Self {
            event_stream: headers::is_event_stream(head),
            encoded: encoding(head).is_some(),
            has_other_charset: names_another_charset(&head.headers),
        }
    }

    /// Whether frames are visible, so that heartbeats and error frames can be written between them.
    pub(crate) fn plain_stream(self) -> bool {
        self.event_stream && !self.encoded
    }
}

/// The content coding; None for `identity` and for no header.
pub(crate) fn encoding(head: &ResponseHeader) -> Option<String> {
    let value = head
        .headers
        .get(CONTENT_ENCODING)?
        .to_str()
        .unwrap_or("?")
        .trim()
        .to_ascii_lowercase();
    (!value.is_empty() && value != "identity").then_some(value)
}

/// Whether an answer has text: an upstream error and a bodiless status have none.
pub(crate) fn has_text(head: &ResponseHeader) -> bool {
    let status = head.status.as_u16();
    status < 400 && !matches!(status, 204 | 304)
}
