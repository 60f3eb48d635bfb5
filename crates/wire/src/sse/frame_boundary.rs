//! Tracks whether a relayed stream is between two frames, from the line ends at the end of each chunk. It
//! does not parse the lines.

/// Follows a stream and knows whether a frame of ours may be put in now (CONTRACT 18).
///
/// When in doubt it says no: behind a blank line's CR that may still get its LF, after lines that
/// end in LF or CRLF, it waits for that LF.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameBoundary(Place);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Nothing was sent, or a blank line is complete.
    #[default]
    Boundary,
    /// A blank line ended by CR right behind a CR: a boundary in a stream of CR line ends. An LF may
    /// follow; put behind a frame of ours it is one blank line more, which says nothing.
    BoundaryCr,
    /// A blank line ended by CR where the line before ended in LF: the LF is to come.
    BlankCr,
    /// Behind a line with content that LF ended.
    LineLf,
    /// Behind a line with content that CR ended, or CRLF of which the LF is to come.
    LineCr,
    /// Inside a line.
    Inside,
}

impl FrameBoundary {
    /// A stream of which nothing was sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of bytes that were sent.
    pub fn push(&mut self, bytes: &[u8]) {
        let content = bytes
            .iter()
            .rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        if content.is_some() {
            self.0 = Place::Inside;
        }
        // Only line ends are left; what stands before them does not matter any more.
        for byte in bytes.iter().skip(content.map_or(0, |place| place + 1)) {
            self.0 = if *byte == b'\n' {
                self.0.after_lf()
            } else {
                self.0.after_cr()
            };
        }
    }

    /// Whether a frame may be put in here.
    pub fn is_at_boundary(&self) -> bool {
        matches!(self.0, Place::Boundary | Place::BoundaryCr)
    }
}

impl Place {
    fn after_lf(self) -> Self {
        match self {
            Self::Inside | Self::LineCr => Self::LineLf,
            Self::LineLf | Self::BlankCr | Self::Boundary | Self::BoundaryCr => Self::Boundary,
        }
    }

    fn after_cr(self) -> Self {
        match self {
            Self::Inside => Self::LineCr,
            Self::LineLf | Self::Boundary => Self::BlankCr,
            Self::LineCr | Self::BlankCr | Self::BoundaryCr => Self::BoundaryCr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FrameBoundary;
    use crate::sse::{Parser, writer::HEARTBEAT};

    const TABLE: &[(&str, bool)] = &[
        ("", true),
        ("\n", true),
        ("data: x", false),
        ("data: x\n", false),
        ("data: x\r", false),
        ("data: x\r\n", false),
        ("data: x\n\n", true),
        ("data: x\r\n\r\n", true),
        ("data: x\r\r", true),
        ("data: x\n\r\n", true),
        ("data: x\r\n\n", true),
        ("data: x\r\r\n", true),
        ("data: x\r\n\r", false),
        ("data: x\n\r", false),
        ("data: x\n\n\r", false),
        ("data: x\n\n\n\n", true),
        ("data: x\r\r\r\r", true),
        ("data: x\n\ndata: y", false),
        ("data: x\n\n:", false),
        (": keepalive\n\n", true),
        ("data: x\n\ndata: y\r\ndata: z\r\n\r\n", true),
    ];

    #[test]
    fn a_boundary_is_the_start_or_behind_a_blank_line_in_any_cut() {
        for (stream, expected) in TABLE {
            let bytes = stream.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let mut boundary = FrameBoundary::new();
                    for part in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                        boundary.push(part);
                    }
                    assert_eq!(
                        boundary.is_at_boundary(),
                        *expected,
                        "{stream:?} cut at {first}, {second}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_heartbeat_at_any_boundary_changes_no_event() {
        let stream = b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\r\r\ndata: e\ndata: f\n\r\nevent: g\rdata: g\r\n\rdata: h\n\n\n\r\n";
        let plain = events(stream);
        assert_eq!(plain.len(), 7);
        let mut boundaries = 0;
        for place in 0..=stream.len() {
            let mut boundary = FrameBoundary::new();
            boundary.push(&stream[..place]);
            if boundary.is_at_boundary() {
                boundaries += 1;
                let beaten = [&stream[..place], HEARTBEAT, &stream[place..]].concat();
                assert_eq!(events(&beaten), plain, "heartbeat at {place}");
            }
        }
        assert!(boundaries >= 8, "{boundaries}");
    }

    fn events(stream: &[u8]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let mut seen = Vec::new();
        let mut parser = Parser::new(1 << 20);
        parser.push(stream, |event| {
            seen.push((event.data.to_vec(), event.name.map(<[u8]>::to_vec)))
        });
        seen
    }
}
