//! Follows the requests of an HTTP/1.1 connection: where a head is expected, and how the body behind it is
//! framed.
//!
//! Pingora parses heads and bodies from its own buffer and shows neither the bytes of a chunked body nor
//! the time a head takes. This state machine sees the bytes as they are read from the socket.

use super::chunks::ChunkParser;
use super::long_head::HeadPortions;
use super::small_chunks;
use crate::gateway::limits::{Full, HeadShare};
use std::net::IpAddr;
use std::time::Duration;

/// A long head that arrives is collected here until it has doubled, and is in pingora's buffer, which doubles too.
const COPIES: usize = 2;

/// The most bytes of a head, and of what arrived with it, that are kept.
const LONGEST_KEPT: usize = 64 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// The state of one HTTP/1.1 connection.
pub(super) struct Http1State {
    phase: Phase,
    /// Bytes read since the head is expected, up to [`LONGEST_KEPT`].
    head: Vec<u8>,
    portions: HeadPortions,
    /// Bytes read since the head is expected.
    read: u64,
    /// The request's bytes, where they are known once its head is complete.
    length: Option<u64>,
    /// The body is read in small portions.
    reads_little: bool,
    /// The memory of the head; its values stay in memory as long as the call.
    share: HeadShare,
}

enum Phase {
    /// A head is expected or incomplete.
    Head,
    /// A chunked body is being read.
    Chunks(ChunkParser),
    /// A body of known length or none, the answer, and early bytes of the next request.
    Rest,
}

/// What pingora has made of a head.
#[derive(Clone, Copy)]
pub(crate) struct ParsedHead {
    /// The body comes in chunks.
    pub(crate) chunked: bool,
    /// The target ends in `%20`, which pingora also writes for a space.
    pub(crate) ends_in_space: bool,
    /// The bytes of head and body; None for a chunked body.
    pub(crate) length: Option<u64>,
}

/// How the body behind a head is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Valid,
    Malformed,
    /// The head was pipelined with the request before it, so its chunks cannot be followed.
    Unknown,
}

impl Http1State {
    /// Starts with `first` bytes of a head already read.
    pub(super) fn new(first: &[u8], share: HeadShare) -> Self {
        let mut state = Self {
            phase: Phase::Head,
            head: Vec::new(),
            portions: HeadPortions::new(),
            read: 0,
            length: None,
            reads_little: false,
            share,
        };
        state.push(first);
        state
    }

    /// Expects the next head.
    pub(super) fn start_head(&mut self) {
        self.phase = Phase::Head;
        self.head.clear();
        self.portions = HeadPortions::new();
        (self.read, self.length) = (0, None);
        self.reads_little = false;
        self.share.release();
    }

    /// Reads the body of the request in small portions.
    pub(super) fn read_little(&mut self) {
        self.reads_little = true;
    }

    /// Whether the body of the request is read in small portions.
    pub(super) fn reads_little(&self) -> bool {
        self.reads_little
    }

    /// Whether the next bytes are collected before pingora gets them.
    pub(super) fn collects(&self) -> bool {
        self.is_in_head() && self.portions.is_long()
    }

    /// Whether pingora has to get what was collected.
    pub(super) fn is_due(&self) -> bool {
        self.portions.is_due()
    }

    /// Pingora gets what was collected.
    pub(super) fn pass_on(&mut self) {
        self.portions.pass_on();
    }

    /// Reserves the memory of the head.
    pub(super) fn cover(&mut self) -> Result<(), Full> {
        match self.phase {
            Phase::Head if self.portions.is_long() => {
                self.share.cover(self.portions.length() * COPIES)
            }
            Phase::Head => Ok(()),
            Phase::Chunks(_) | Phase::Rest => Ok(()),
        }
    }

    /// Counts the memory of the head for the client that a proxy names.
    pub(super) fn count_for_client(&mut self, client: IpAddr) -> Result<(), Full> {
        self.share.count_for_client(client)
    }

    /// Counts the memory of the head for a known access key.
    pub(super) fn count_for(&mut self, holder: u64) {
        self.share.count_for(holder);
    }

    /// Whether a head is expected or incomplete.
    pub(super) fn is_in_head(&self) -> bool {
        matches!(self.phase, Phase::Head)
    }

    /// Takes bytes that were read; false when they make a chunked body malformed.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.read += bytes.len() as u64;
        match &mut self.phase {
            Phase::Head => {
                self.keep(bytes);
                self.portions.push(bytes);
            }
            Phase::Chunks(chunks) => return chunks.push(bytes),
            Phase::Rest => {}
        }
        true
    }

    /// Where the next bytes of a chunked body stand.
    pub(super) fn chunks(&self) -> Option<ChunkParser> {
        match self.phase {
            Phase::Chunks(chunks) => Some(chunks),
            Phase::Head | Phase::Rest => None,
        }
    }

    /// Joins the small chunks in bytes that were read; gives how many bytes are left, and how long nothing more is read.
    pub(super) fn join_chunks(
        &self,
        before: ChunkParser,
        bytes: &mut [u8],
    ) -> (usize, Option<Duration>) {
        match small_chunks::join(before, bytes) {
            Some(joined) => (joined.length, self.share.pause_after(joined.chunks)),
            None => (bytes.len(), None),
        }
    }

    /// Whether the request was read to its end and nothing behind it, so far as its length is known.
    pub(super) fn is_read_exactly(&self) -> bool {
        self.length == Some(self.read)
    }

    /// Whether the whole request was read, so far as it is known where it ends.
    pub(super) fn has_ended(&self) -> bool {
        match &self.phase {
            Phase::Head => false,
            Phase::Chunks(chunks) => *chunks == ChunkParser::Done,
            Phase::Rest => self.length.is_some_and(|length| self.read >= length),
        }
    }

    /// Ends the head that pingora has parsed, and follows its body from here on when it is chunked.
    ///
    /// A second space before the version makes it malformed (RFC 9112 3): pingora takes it for a part of the
    /// target, other servers skip it. Behind another request the line is not seen, and a target that may end
    /// so is refused. `raw` is the head as pingora has it.
    pub(super) fn end_head(&mut self, parsed: ParsedHead, raw: &[u8]) -> BodyFraming {
        self.phase = Phase::Rest;
        // Taken, so that it is not kept as long as the answer streams.
        let head = std::mem::take(&mut self.head);
        // Bytes of the head that came with the request before it were not counted, nor what pingora has escaped.
        self.length = parsed.length.filter(|_| head.starts_with(raw));
        if parsed.ends_in_space && !has_one_space_before_version(&head) {
            return BodyFraming::Malformed;
        }
        if !parsed.chunked {
            return BodyFraming::Valid;
        }
        let is_whole = head.len() < LONGEST_KEPT;
        let end = memchr::memmem::find(&head, HEAD_END).filter(|_| is_whole);
        let Some(end) = end else {
            return BodyFraming::Unknown;
        };
        let mut chunks = ChunkParser::START;
        if !chunks.push(&head[end + HEAD_END.len()..]) {
            return BodyFraming::Malformed;
        }
        self.phase = Phase::Chunks(chunks);
        BodyFraming::Valid
    }

    fn keep(&mut self, bytes: &[u8]) {
        let free = LONGEST_KEPT.saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..bytes.len().min(free)]);
    }
}

/// Whether the request line of a head is there with a single space before its version.
fn has_one_space_before_version(head: &[u8]) -> bool {
    let line = head.trim_ascii_start().split(|byte| *byte == b'\n').next();
    let target = line.and_then(|line| Some(&line[..memchr::memrchr(b' ', line)?]));
    target.is_some_and(|target| !target.ends_with(b" "))
}

#[cfg(test)]
mod tests {
    use super::has_one_space_before_version;

    #[test]
    fn a_second_space_before_the_version_is_seen() {
        for (head, expected) in [
            ("GET /a HTTP/1.1\r\nHost: b  c\r\n\r\n", true),
            ("\r\nGET /a%20 HTTP/1.1\r\n", true),
            ("GET /a b HTTP/1.1\r\n", true),
            ("GET /a  HTTP/1.1\r\n", false),
            ("GET /a   HTTP/1.1\r\n", false),
            ("", false),
            ("GET", false),
        ] {
            assert_eq!(
                has_one_space_before_version(head.as_bytes()),
                expected,
                "{head:?}"
            );
        }
    }
}
