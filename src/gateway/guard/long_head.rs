//! Collects the bytes of a long HTTP/1 head, so that pingora parses it a few times only.
//!
//! Pingora parses a head from its beginning after every read: a megabyte of it followed by single bytes keeps a
//! processor busy. Beyond [`SHORT_HEAD`], bytes are passed on when the head has doubled, or when the empty line
//! that ends it has come.

use crate::gateway::limits::SHORT_HEAD;

/// Pingora refuses a longer head.
const LONGEST_HEAD: usize = 1 << 20;
const LINE_END: u8 = b'\n';

/// How much of a head has come, and how much of it was passed on.
pub(super) struct HeadPortions {
    length: usize,
    passed: usize,
    line: Line,
    empty_line: EmptyLine,
}

/// What has come of the current line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Nothing,
    CarriageReturn,
    Text,
}

/// Whether an empty line has come since the head is long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmptyLine {
    No,
    Yes,
    /// It was passed on and did not end the head. No other one is passed on sooner than text would be: a head of
    /// nothing else would be parsed as often.
    Passed,
}

impl HeadPortions {
    /// Before the first byte of a head.
    pub(super) fn new() -> Self {
        Self {
            length: 0,
            passed: 0,
            line: Line::Text,
            empty_line: EmptyLine::No,
        }
    }

    /// The bytes of the head so far, and of what came with it.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Whether what comes next is collected.
    pub(super) fn is_long(&self) -> bool {
        self.length >= SHORT_HEAD
    }

    /// Whether what was collected has to be passed on.
    pub(super) fn is_due(&self) -> bool {
        self.empty_line == EmptyLine::Yes
            || self.length >= LONGEST_HEAD
            || self.length >= self.passed * 2
    }

    /// What was collected is passed on.
    pub(super) fn pass_on(&mut self) {
        self.passed = self.length;
        if self.empty_line == EmptyLine::Yes {
            self.empty_line = EmptyLine::Passed;
        }
    }

    /// Takes the next bytes, which are passed on at once while the head is short.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let is_collected = self.is_long();
        let has_ended = self.read_lines(bytes);
        self.length = self.length.saturating_add(bytes.len());
        if !is_collected {
            self.passed = self.length;
        } else if has_ended && self.empty_line == EmptyLine::No {
            self.empty_line = EmptyLine::Yes;
        }
    }

    /// Whether an empty line ends within these bytes.
    fn read_lines(&mut self, mut bytes: &[u8]) -> bool {
        let mut is_empty = false;
        while let Some(end) = memchr::memchr(LINE_END, bytes) {
            is_empty |= self.line.after(&bytes[..end]) != Line::Text;
            self.line = Line::Nothing;
            bytes = &bytes[end + 1..];
        }
        self.line = self.line.after(bytes);
        is_empty
    }
}

impl Line {
    fn after(self, bytes: &[u8]) -> Self {
        match (self, bytes) {
            (line, []) => line,
            (Self::Nothing, [b'\r']) => Self::CarriageReturn,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a head that comes in these pieces is passed on once it is long.
    fn portions(pieces: &[&[u8]]) -> usize {
        let mut head = HeadPortions::new();
        let mut portions = 0;
        for piece in pieces {
            head.push(piece);
            if head.is_long() && head.is_due() {
                head.pass_on();
                portions += 1;
            }
        }
        portions
    }

    #[test]
    fn a_head_that_drips_is_passed_on_a_few_times() {
        let begun = [b'a'; SHORT_HEAD];
        for drip in [&b"a"[..], b"\n", b"\r\n", b"a\r\n\r\n"] {
            let mut pieces = vec![&begun[..]];
            pieces.resize(600_000 / drip.len(), drip);
            let portions = portions(&pieces);
            assert!((6..=8).contains(&portions), "{drip:?}: {portions}");
        }
    }

    #[test]
    fn the_end_of_a_head_is_seen_whatever_the_cuts() {
        for end in ["X: y\r\n\r\n", "X: y\n\n", "X: y\r\n\n"] {
            for cut in 0..end.len() {
                let mut head = HeadPortions::new();
                head.push(&[b'a'; SHORT_HEAD * 3 / 2]);
                head.push(&end.as_bytes()[..cut]);
                assert!(!head.is_due(), "{end:?} {cut}");
                head.push(&end.as_bytes()[cut..]);
                assert!(head.is_due(), "{end:?} {cut}");
            }
        }
    }
}
