//! What a line of an event stream is to clients. The standard (WHATWG HTML, "Server-sent events") ends a line with LF, CR
//! or CRLF, and data stand in lines that begin with `data`. Many clients read more than that: they also split at U+2028 or
//! a form feed as Python's `splitlines` does, trim blanks or a BOM before a field, split the stream at each `data: `, or
//! parse every line by itself.
//!
//! Where text must not pass unchecked (CONTRACT 15, 41), the rule is: a line is data, or is known to hold none for any of
//! them, or the stream is unreadable. Such a line is a comment or one of the fields `event`, `id` and `retry`, is UTF-8,
//! and has neither `data:` nor a line break of another kind in it. No server of good will sends another line.

use crate::json::scan;
use memchr::memmem;

/// A byte order mark, which may stand before the first line.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a line without its end is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line of data, which is read.
    Data(&'a [u8]),
    /// One in which no client finds data.
    Empty,
    /// One in which some clients may find data, and others do not.
    Doubtful,
}

impl<'a> Line<'a> {
    pub(super) fn of(line: &'a [u8]) -> Self {
        match field(line, b"data") {
            Some(value) => Self::Data(value.strip_prefix(b" ").unwrap_or(value)),
            None if is_empty(line) => Self::Empty,
            None => Self::Doubtful,
        }
    }
}

/// Whether some clients may read other events in a complete stream than those of its lines of data.
pub fn has_doubtful_lines(stream: &[u8]) -> bool {
    let stream = stream.strip_prefix(BOM).unwrap_or(stream);
    let mut lines = stream.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.any(|line| Line::of(line) == Line::Doubtful)
}

/// Whether a client that parses each line by itself reads another event in this data of several lines.
pub(crate) fn has_event_in_line(data: &[u8]) -> bool {
    let mut lines = data.split(|byte| *byte == b'\n');
    let is_object = |line: &[u8]| line.trim_ascii().starts_with(b"{") && scan(line).is_ok();
    memchr::memchr(b'\n', data).is_some() && lines.any(is_object)
}

/// The name of the event in a raw frame: its last `event` field. Empty where it has none, or the default one.
pub fn event_name(frame: &[u8]) -> &[u8] {
    let frame = frame.strip_prefix(BOM).unwrap_or(frame);
    let mut lines = frame.rsplit(|byte| matches!(byte, b'\n' | b'\r'));
    let name = lines.find_map(|line| field(line, b"event"));
    let name = name.unwrap_or_default();
    usual(name.strip_prefix(b" ").unwrap_or(name))
}

/// The name of an event, empty for the default one.
pub(crate) fn usual(name: &[u8]) -> &[u8] {
    match name {
        b"message" => b"",
        name => name,
    }
}

/// The value of a line of this field, with the blank before it.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = line.strip_prefix(name)?;
    match value.is_empty() {
        true => Some(value),
        false => value.strip_prefix(b":"),
    }
}

fn is_empty(line: &[u8]) -> bool {
    let is_known = line.is_empty()
        || line.starts_with(b":")
        || [&b"event"[..], b"id", b"retry"]
            .iter()
            .any(|name| field(line, name).is_some());
    let Some(text) = std::str::from_utf8(line).ok().filter(|_| is_known) else {
        return false;
    };
    !text.contains(is_line_break) && memmem::find(line, b"data:").is_none()
}

/// What ends a line for readers of text that the standard does not know.
fn is_line_break(letter: char) -> bool {
    matches!(
        letter,
        '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::{Line, event_name, has_doubtful_lines, has_event_in_line};

    #[test]
    fn a_line_is_data_or_empty_to_every_client_or_doubtful() {
        for (line, data) in [
            ("data", ""),
            ("data:", ""),
            ("data: a", "a"),
            ("data:a", "a"),
            ("data:  a: data: b\u{2028}", " a: data: b\u{2028}"),
        ] {
            assert_eq!(Line::of(line.as_bytes()), Line::Data(data.as_bytes()));
        }
        for line in [
            "",
            ":",
            ": keepalive",
            ":ping - 2026-11-23 10:00:00",
            "event",
            "event: message",
            "event:x",
            "id: 7",
            "retry:10",
            ": пинг",
        ] {
            assert_eq!(Line::of(line.as_bytes()), Line::Empty, "{line:?}");
        }
        for line in [
            " data: a",
            "\tdata: a",
            "\u{feff}data: a",
            "\0data: a",
            "data : a",
            "Data: a",
            "database: a",
            "{\"choices\":[]}",
            " ",
            "event : a",
            "events: a",
            ": data: a",
            "id: data: a",
            "event: x\u{2028}data: a",
            "event: x\u{2028}{}",
            ": x\u{b}",
            ": x\u{c}",
            ": x\u{1c}",
            ": x\u{1d}",
            ": x\u{1e}",
            ": x\u{85}",
            ": x\u{2029}",
        ] {
            assert_eq!(Line::of(line.as_bytes()), Line::Doubtful, "{line:?}");
        }
        assert_eq!(Line::of(b": x\x85"), Line::Doubtful);
    }

    #[test]
    fn a_stream_with_a_line_that_only_some_clients_read_is_told() {
        for (stream, expected) in [
            ("", false),
            ("\u{feff}data: a\n\n: b\r\n\r\nevent: c\rid: 1\r\r", false),
            ("data: a\n\n data: b\n\n", true),
            ("data: a\n\n\u{feff}data: b\n\n", true),
            (": a\u{2028}data: b", true),
        ] {
            assert_eq!(
                has_doubtful_lines(stream.as_bytes()),
                expected,
                "{stream:?}"
            );
        }
    }

    #[test]
    fn the_last_name_of_an_event_holds_and_the_default_one_is_none() {
        for (frame, name) in [
            ("data: a\n\n", ""),
            ("event: message\ndata: a\n\n", ""),
            ("event\ndata: a\n\n", ""),
            ("event:ping\r\ndata: a\r\n\r\n", "ping"),
            ("\u{feff}event: a\ndata: a\nevent: ping\n\n", "ping"),
            ("event:  ping\n\n", " ping"),
        ] {
            assert_eq!(event_name(frame.as_bytes()), name.as_bytes(), "{frame:?}");
        }
    }

    #[test]
    fn an_event_in_one_of_several_lines_is_told() {
        for (data, expected) in [
            (r#"{"a":{}}"#, false),
            ("{\"a\":\n{}}", false),
            ("{\"a\":1,\n\"b\":[\n{\"c\":\n2}]}", false),
            ("{\"a\":\n{\"b\":1}\n}", true),
            ("{\"a\":\n \t{}\n}", true),
            ("{}\n", true),
        ] {
            assert_eq!(has_event_in_line(data.as_bytes()), expected, "{data:?}");
        }
    }
}
