//! Bytes of an event stream in any cut to its events, after the WHATWG HTML standard, section
//! "Server-sent events": LF, CR and CRLF in any mix, comments, several data lines, a BOM at the
//! start. Not a decoder: data stays bytes, `id` and `retry` mean nothing to a record.

use super::line::usual;
use memchr::{memchr, memchr2};

/// One event of a stream, with the bytes of its data.
pub struct Event<'a> {
    /// The `data` lines joined by line feeds.
    pub data: &'a [u8],
    /// The last `event` field; None when absent or empty.
    pub name: Option<&'a [u8]>,
}

impl Event<'_> {
    /// Its name, empty for the default one.
    pub fn usual_name(&self) -> &[u8] {
        usual(self.name.unwrap_or_default())
    }
}

/// The parser of one stream.
pub struct Parser {
    max_frame_bytes: usize,
    frame: Frame,
    /// The part of a line that the chunks before brought.
    line: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// No line is complete yet, so a BOM may stand in front.
    at_start: bool,
    dropped_frames: u64,
}

/// What the lines since the last blank one brought.
#[derive(Default)]
struct Frame {
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    oversize: bool,
}

impl Parser {
    /// `max_frame_bytes` bounds what one frame may hold in memory; a larger one is dropped whole.
    pub fn new(max_frame_bytes: usize) -> Self {
        Self {
            max_frame_bytes,
            frame: Frame::default(),
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            dropped_frames: 0,
        }
    }

    /// Takes the next bytes and hands over each event that they complete.
    pub fn push(&mut self, bytes: &[u8], mut on_event: impl FnMut(Event<'_>)) {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.hold(rest);
                return;
            };
            self.after_cr = rest[end] == b'\r';
            self.end_line(&rest[..end], &mut on_event);
            rest = &rest[end + 1..];
        }
    }

    /// The stream is over. A browser throws away a frame whose blank line is missing; the record
    /// wants what the client was sent, so it is handed over as far as it came.
    pub fn finish(&mut self, mut on_event: impl FnMut(Event<'_>)) {
        if !self.line.is_empty() {
            self.end_line(b"", &mut on_event);
        }
        self.end_line(b"", &mut on_event);
    }

    /// Frames left out because they were larger than the bound.
    pub fn dropped_frames(&self) -> u64 {
        self.dropped_frames
    }

    /// Keeps the part of a line that a chunk ends with.
    fn hold(&mut self, part: &[u8]) {
        if self.frame.oversize {
            // One byte says that the line is not blank.
            self.line.resize(1, b':');
        } else if self.line.first() == Some(&b':') {
            // The rest of a comment does not matter.
        } else if self.fits(part.len()) {
            self.line.extend_from_slice(part);
        } else if self.line.is_empty() && part.first() == Some(&b':') {
            self.line.push(b':');
        } else {
            self.drop_frame();
            self.line.push(b':');
        }
    }

    fn end_line(&mut self, end: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        if self.line.is_empty() {
            self.take_line(end, on_event);
            return;
        }
        self.hold(end);
        let mut line = std::mem::take(&mut self.line);
        self.take_line(&line, on_event);
        line.clear();
        self.line = line;
    }

    fn take_line(&mut self, line: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        // Measured as `hold` measures it, so that no cut decides what is too large.
        if !self.frame.oversize && line.first() != Some(&b':') && !self.fits(line.len()) {
            self.drop_frame();
        }
        let line = match std::mem::take(&mut self.at_start) {
            true => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            false => line,
        };
        if line.is_empty() {
            self.end_frame(on_event);
            return;
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" | b"event" if self.frame.oversize => {}
            b"data" => self.frame.push_data(value),
            b"event" => {
                self.frame.name.clear();
                self.frame.name.extend_from_slice(value);
            }
            _ => {}
        }
    }

    fn end_frame(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        let frame = &mut self.frame;
        if frame.has_data && !frame.oversize {
            let name = (!frame.name.is_empty()).then_some(frame.name.as_slice());
            on_event(Event {
                data: &frame.data,
                name,
            });
        }
        frame.clear();
    }

    fn fits(&self, more: usize) -> bool {
        let held = self.frame.data.len() + self.frame.name.len() + self.line.len();
        held.saturating_add(more) <= self.max_frame_bytes
    }

    fn drop_frame(&mut self) {
        self.dropped_frames += 1;
        self.frame = Frame {
            oversize: true,
            ..Frame::default()
        };
        self.line = Vec::new();
    }
}

impl Frame {
    fn push_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    // Keeps the buffers for the next frame.
    fn clear(&mut self) {
        self.data.clear();
        self.name.clear();
        self.has_data = false;
        self.oversize = false;
    }
}

#[cfg(test)]
mod tests {
    use super::Parser;

    type Seen = Vec<(String, String)>;

    fn events(parts: &[&[u8]], max: usize) -> (Seen, u64) {
        let mut seen = Vec::new();
        let mut keep = |event: super::Event<'_>| {
            let name = String::from_utf8_lossy(event.name.unwrap_or_default());
            seen.push((
                String::from_utf8_lossy(event.data).into_owned(),
                name.into_owned(),
            ));
        };
        let mut parser = Parser::new(max);
        for part in parts {
            parser.push(part, &mut keep);
        }
        parser.finish(&mut keep);
        (seen, parser.dropped_frames())
    }

    const TABLE: &[(&str, &[(&str, &str)])] = &[
        (
            "data: a\n\ndata:b\r\n\r\ndata:  c\r\rdata\n\n",
            &[("a", ""), ("b", ""), (" c", ""), ("", "")],
        ),
        (
            "data: one\ndata: two\r\ndata:\rdata: four\n\r\n",
            &[("one\ntwo\n\nfour", "")],
        ),
        (": note\n:\n\ndata: a\n: inside\n\n", &[("a", "")]),
        (
            "event: ping\ndata: x\n\ndata: y\n\n",
            &[("x", "ping"), ("y", "")],
        ),
        (
            "event: lost\n\ndata: y\n\nevent: a\nevent: b\ndata: z\nevent\n\n",
            &[("y", ""), ("z", "")],
        ),
        (
            "id: 1\nretry: 5\nunknown\nDATA: no\n data: no\ndata : no\n\n",
            &[],
        ),
        ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &[("a", "")]),
        (
            "\u{feff}: note\n\u{feff}data: no\n\ndata: é😀\n\n",
            &[("é😀", "")],
        ),
        ("\n\r\n\r\r\ndata: a\n\n\n\n", &[("a", "")]),
        (
            "data: a:b: c\n\ndata: {\"x\":\"\\n\"}\n\n",
            &[("a:b: c", ""), ("{\"x\":\"\\n\"}", "")],
        ),
        (
            "data: done\n\ndata: left open",
            &[("done", ""), ("left open", "")],
        ),
        ("data: left open\r", &[("left open", "")]),
    ];

    #[test]
    fn every_cut_of_a_stream_gives_the_same_events() {
        for (stream, expected) in TABLE {
            let expected: Seen = expected
                .iter()
                .map(|(data, name)| (data.to_string(), name.to_string()))
                .collect();
            let bytes = stream.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    assert_eq!(
                        events(&parts, 1000),
                        (expected.clone(), 0),
                        "{stream:?} cut at {first}, {second}"
                    );
                }
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(events(&single, 1000).0, expected, "{stream:?} byte by byte");
        }
    }

    #[test]
    fn an_oversize_frame_is_dropped_and_counted_in_every_cut() {
        let long = "x".repeat(30);
        let stream = format!(
            "data: a\n\ndata: {long}\ndata: rest\n\n: {long}{long}\ndata: b\n\ndata: 12345\ndata: 12345\ndata: 12345\n\nid: {long}\n\nevent: {long}\r\ndata: c\r\n\r\ndata: d\n\n"
        );
        let bytes = stream.as_bytes();
        let whole = events(&[bytes], 20);
        let data: Vec<_> = whole.0.iter().map(|(data, _)| data.as_str()).collect();
        assert_eq!((data, whole.1), (vec!["a", "b", "d"], 4));
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(events(&parts, 20), whole, "cut at {first}, {second}");
            }
        }
    }

    #[test]
    fn an_endless_frame_of_short_lines_holds_no_more_than_the_bound() {
        let mut parser = Parser::new(100);
        for _ in 0..1_000 {
            parser.push(b"data: a line\n", |_| panic!("the frame has no end"));
        }
        assert!(parser.frame.data.len() <= 100);
        assert_eq!(parser.dropped_frames(), 1);
    }

    #[test]
    fn an_endless_line_holds_no_more_than_the_bound() {
        for start in ["data: ", ": ", "id", ""] {
            let mut parser = Parser::new(4096);
            parser.push(start.as_bytes(), |_| {});
            for _ in 0..1000 {
                parser.push(&[b'x'; 1000], |_| {});
                assert!(parser.line.capacity() + parser.frame.data.capacity() <= 2 * 4096);
            }
            let mut seen = 0;
            parser.push(b"\n\ndata: a\n\n", |_| seen += 1);
            assert_eq!(
                (seen, parser.dropped_frames()),
                (1, u64::from(start != ": "))
            );
        }
    }
}
