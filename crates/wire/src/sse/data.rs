//! The data of one raw frame, and where each byte of it stood.

use super::line::{BOM, Line};
use std::ops::Range;

/// The `data` lines of one raw frame joined by line feeds.
pub(crate) fn data(frame: &[u8]) -> Vec<u8> {
    Data::of(frame).joined
}

/// The `data` lines of a frame joined by line feeds, and where each stood.
pub(crate) struct Data {
    pub(crate) joined: Vec<u8>,
    /// Some clients may find data in a line that is none.
    pub(crate) has_doubtful_lines: bool,
    /// Where a line begins in `joined` and in the frame.
    lines: Vec<(usize, usize)>,
    /// Lines that were looked at for places.
    #[cfg(test)]
    looked_at: std::cell::Cell<usize>,
}

impl Data {
    pub(crate) fn of(frame: &[u8]) -> Self {
        let (mut joined, mut lines) = (Vec::with_capacity(frame.len()), Vec::new());
        let mut has_doubtful_lines = false;
        let mut at = if frame.starts_with(BOM) { BOM.len() } else { 0 };
        for line in frame[at..].split(|byte| matches!(byte, b'\n' | b'\r')) {
            match Line::of(line) {
                Line::Data(value) => {
                    if !lines.is_empty() {
                        joined.push(b'\n');
                    }
                    lines.push((joined.len(), at + line.len() - value.len()));
                    joined.extend_from_slice(value);
                }
                Line::Empty => {}
                Line::Doubtful => has_doubtful_lines = true,
            }
            at += line.len() + 1;
        }
        Self {
            joined,
            has_doubtful_lines,
            lines,
            #[cfg(test)]
            looked_at: Default::default(),
        }
    }

    /// The place in the frame of a string or a number of the event. Neither goes over a line's end.
    pub(crate) fn span(&self, json: &str) -> Option<Range<usize>> {
        let start = (json.as_ptr() as usize).checked_sub(self.joined.as_ptr() as usize)?;
        let (joined, raw) = self.line_of(start)?;
        let start = start - joined + raw;
        Some(start..start + json.len())
    }

    /// Where the line begins, in `joined` and in the frame, in which this byte of `joined` is.
    fn line_of(&self, at: usize) -> Option<(usize, usize)> {
        let begun = self.lines.partition_point(|(joined, _)| {
            #[cfg(test)]
            self.looked_at.set(self.looked_at.get() + 1);
            *joined <= at
        });
        self.lines.get(begun.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Data;

    #[test]
    fn a_place_among_very_many_lines_is_found_in_few_steps() {
        let frame = "data: \"a\"\n".repeat(10_000);
        let data = Data::of(frame.as_bytes());
        let joined = std::str::from_utf8(&data.joined).unwrap();
        for (line, json) in joined.split('\n').enumerate() {
            let span = data.span(json).unwrap();
            assert_eq!((span.start, &frame[span.clone()]), (line * 10 + 6, "\"a\""));
        }
        let steps = data.looked_at.get();
        assert!(steps <= 10_000 * 20, "{steps} steps");
    }

    #[test]
    fn the_data_of_a_frame_is_its_lines_joined_by_line_feeds() {
        assert_eq!(super::data(b"data: a\n: no\r\ndata:b\n\n"), b"a\nb");
        assert_eq!(super::data(b"event: x\n\n"), b"");
    }
}
