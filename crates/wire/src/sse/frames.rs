//! Splits the bytes of an event stream, in any chunks, into raw frames, for callers that hold frames back or
//! rewrite them. Every byte is returned, in order, with its terminator. `pieces` reads the frames.

use memchr::memchr2;

/// One frame, or a part of one that is too large to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The bytes as they came, the blank line at the end included.
    pub bytes: &'a [u8],
    /// False for a part of a frame over the bound, its last part included.
    pub is_whole: bool,
}

/// The frames of one stream.
pub struct Frames {
    max_frame_bytes: usize,
    held: Vec<u8>,
    /// Parts of the current frame went out already.
    over: bool,
    /// The current line has content.
    in_line: bool,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
}

impl Frames {
    /// `max_frame_bytes` bounds what is held; a larger frame comes in parts.
    pub fn new(max_frame_bytes: usize) -> Self {
        Self {
            max_frame_bytes,
            held: Vec::new(),
            over: false,
            in_line: false,
            after_cr: false,
        }
    }

    /// Takes the next bytes and hands over each frame that they complete.
    pub fn push(&mut self, bytes: &[u8], mut on_frame: impl FnMut(Frame<'_>)) {
        let (mut start, mut at) = (0, 0);
        if std::mem::take(&mut self.after_cr) && bytes.first() == Some(&b'\n') {
            at = 1;
            if self.held.is_empty() && !self.over {
                // The frame it ends is gone already.
                on_frame(Frame {
                    bytes: b"\n",
                    is_whole: true,
                });
                start = 1;
            }
        }
        while let Some(end) = memchr2(b'\n', b'\r', &bytes[at..]) {
            self.in_line |= end > 0;
            at += end + 1;
            if bytes[at - 1] == b'\r' {
                match bytes.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if !std::mem::take(&mut self.in_line) {
                self.hand_over(&bytes[start..at], &mut on_frame);
                start = at;
            }
        }
        self.in_line |= at < bytes.len();
        self.hold(&bytes[start..], &mut on_frame);
    }

    /// The stream is over: what is left of a frame whose blank line is missing; None for nothing.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.held);
        (!rest.is_empty()).then_some(rest)
    }

    fn hand_over(&mut self, end: &[u8], on_frame: &mut impl FnMut(Frame<'_>)) {
        let over = std::mem::take(&mut self.over);
        let is_whole = !over && self.held.len() + end.len() <= self.max_frame_bytes;
        if self.held.is_empty() {
            on_frame(Frame {
                bytes: end,
                is_whole,
            });
            return;
        }
        self.held.extend_from_slice(end);
        on_frame(Frame {
            bytes: &self.held,
            is_whole,
        });
        self.held.clear();
    }

    fn hold(&mut self, part: &[u8], on_frame: &mut impl FnMut(Frame<'_>)) {
        self.held.extend_from_slice(part);
        if self.held.len() > self.max_frame_bytes || self.over && !self.held.is_empty() {
            self.over = true;
            on_frame(Frame {
                bytes: &self.held,
                is_whole: false,
            });
            self.held = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Frames;

    type Seen = Vec<(String, bool)>;

    fn frames(parts: &[&[u8]], max: usize) -> (Seen, String) {
        let mut seen: Seen = Vec::new();
        let mut frames = Frames::new(max);
        for part in parts {
            frames.push(part, |frame| {
                let text = String::from_utf8_lossy(frame.bytes).into_owned();
                seen.push((text, frame.is_whole));
            });
        }
        let rest = frames.finish().unwrap_or_default();
        (seen, String::from_utf8_lossy(&rest).into_owned())
    }

    const TABLE: &[(&str, &[&str], &str)] = &[
        (
            "data: a\n\ndata: b\r\n\r\ndata: c\r\rx",
            &["data: a\n\n", "data: b\r\n\r\n", "data: c\r\r"],
            "x",
        ),
        (
            ": note\n\ndata: a\ndata: b\n\n",
            &[": note\n\n", "data: a\ndata: b\n\n"],
            "",
        ),
        (
            "data: a\r\n\n\ndata: b\n",
            &["data: a\r\n\n", "\n"],
            "data: b\n",
        ),
        ("\n\r\n\r", &["\n", "\r\n", "\r"], ""),
    ];

    #[test]
    fn every_cut_gives_the_same_frames_and_every_byte() {
        for (stream, expected, rest) in TABLE {
            let bytes = stream.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    let (seen, left) = frames(&parts, 100);
                    let whole: String = seen.iter().map(|(text, _)| text.as_str()).collect();
                    assert_eq!(whole + &left, *stream, "cut at {first}, {second}");
                    assert_eq!(left, *rest, "{stream:?} cut at {first}, {second}");
                    // An LF that comes late for its CR is a frame of its own.
                    let kept = seen
                        .iter()
                        .map(|(text, _)| text.trim_end_matches(['\r', '\n']));
                    let said: Vec<_> = kept.filter(|text| !text.is_empty()).collect();
                    let expected = expected
                        .iter()
                        .map(|text| text.trim_end_matches(['\r', '\n']));
                    let expected: Vec<_> = expected.filter(|text| !text.is_empty()).collect();
                    assert_eq!(said, expected, "{stream:?} cut at {first}, {second}");
                    assert!(seen.iter().all(|(_, whole)| *whole));
                }
            }
            assert_eq!(frames(&[bytes], 100).0.len(), expected.len(), "{stream:?}");
        }
    }

    #[test]
    fn a_frame_over_the_bound_comes_in_parts_in_every_cut() {
        let stream = format!("data: a\n\ndata: {}\n\ndata: b\n\n", "x".repeat(40));
        let bytes = stream.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                let (seen, rest) = frames(&parts, 20);
                let all: String = seen.iter().map(|(text, _)| text.as_str()).collect();
                assert_eq!((all, rest.as_str()), (stream.clone(), ""));
                let whole: Vec<_> = seen.iter().filter(|(_, whole)| *whole).collect();
                assert_eq!(whole.len(), 2, "cut at {first}, {second}: {seen:?}");
            }
        }
    }

    #[test]
    fn up_to_the_bound_a_frame_is_held_and_beyond_it_nothing_waits() {
        let part = |text: &str| (text.to_owned(), false);
        assert_eq!(frames(&[b"data: ab"], 8), (vec![], "data: ab".into()));
        let (seen, rest) = frames(&[b"data: abc", b"", b"d"], 8);
        assert_eq!(
            (seen, rest.as_str()),
            (vec![part("data: abc"), part("d")], "")
        );
    }

    #[test]
    fn an_endless_line_holds_no_more_than_the_bound() {
        let mut frames = Frames::new(4096);
        let mut passed = 0;
        for _ in 0..1000 {
            frames.push(&[b'x'; 1000], |frame| passed += frame.bytes.len());
            assert!(frames.held.capacity() <= 2 * 4096 + 1000);
        }
        assert!(passed >= 1000 * 1000 - 4096);
    }
}
