//! Joins the small chunks of a request body before pingora reads them.
//!
//! Pingora returns each chunk by itself, with an allocation and a timer, and without waiting while there are more in
//! its buffer: a body in chunks of one byte would cost a hundred times what its bytes do, on a thread that serves others
//! too. The data and the trailers stay as they are; extensions of joined chunks are left out (RFC 9112 7.1.1).

use super::chunks::ChunkParser;

/// Chunks with fewer bytes of data on average are joined.
const SMALL: usize = 1 << 10;

/// What was joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Joined {
    /// How many bytes there are now.
    pub(super) length: usize,
    /// Out of how many chunks.
    pub(super) chunks: usize,
}

/// Whole chunks that follow each other.
#[derive(Default)]
struct Run {
    chunks: usize,
    data: usize,
    /// With their framing.
    length: usize,
}

impl Run {
    fn of(bytes: &[u8]) -> Self {
        let mut run = Self::default();
        while let Some((data, length)) = whole_chunk(&bytes[run.length..]) {
            run.chunks += 1;
            run.data += data.len();
            run.length += length;
        }
        run
    }
}

/// Joins the whole chunks in `bytes`, which are well framed, to one if they are small. `before` is the parser in front of
/// them. The one chunk is never longer than what it replaces.
pub(super) fn join(before: ChunkParser, bytes: &mut [u8]) -> Option<Joined> {
    let start = before.next_chunk(bytes)?;
    let run = Run::of(&bytes[start..]);
    if run.chunks < 2 || run.data / run.chunks >= SMALL {
        return None;
    }
    let mut joined = Vec::with_capacity(run.length);
    joined.extend_from_slice(format!("{:x}\r\n", run.data).as_bytes());
    let mut rest = &bytes[start..];
    for _ in 0..run.chunks {
        let (data, length) = whole_chunk(rest)?;
        joined.extend_from_slice(data);
        rest = &rest[length..];
    }
    joined.extend_from_slice(b"\r\n");
    let (end, joined_end) = (start + run.length, start + joined.len());
    bytes[start..joined_end].copy_from_slice(&joined);
    bytes.copy_within(end.., joined_end);
    Some(Joined {
        length: bytes.len() - (end - joined_end),
        chunks: run.chunks,
    })
}

/// The data of the chunk that `bytes` begin with, and the length with its framing; None for one that is not whole, and
/// for the last one, which has no data.
fn whole_chunk(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let line = memchr::memchr(b'\n', bytes)? + 1;
    let digits = bytes
        .iter()
        .map_while(|byte| char::from(*byte).to_digit(16));
    let size = digits.fold(0, |size, digit| size << 4 | digit as usize);
    let end = line.checked_add(size)?;
    let length = end.checked_add(2)?;
    let is_whole = size > 0 && length <= bytes.len();
    is_whole.then(|| (&bytes[line..end], length))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The bytes as pingora gets them where they come in two pieces.
    fn joined(body: &[u8], cut: usize) -> (Vec<u8>, usize) {
        let (mut parser, mut out, mut chunks) = (ChunkParser::START, Vec::new(), 0);
        for piece in [&body[..cut], &body[cut..]] {
            let (before, mut piece) = (parser, piece.to_vec());
            assert!(parser.push(&piece));
            if let Some(joined) = join(before, &mut piece) {
                piece.truncate(joined.length);
                chunks += joined.chunks;
            }
            out.extend(piece);
        }
        (out, chunks)
    }

    fn data(mut body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some((data, length)) = whole_chunk(body) {
            out.extend_from_slice(data);
            body = &body[length..];
        }
        assert_eq!(body, b"0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n");
        out
    }

    #[test]
    fn joined_chunks_have_the_same_data_whatever_the_cuts() {
        let mut body: Vec<u8> = (0..40u8)
            .flat_map(|byte| [b'1', b'\r', b'\n', byte, b'\r', b'\n'])
            .collect();
        body.extend_from_slice(b"3;a=\"b\"\r\n1\r\n\r\n0002\r\n\n0\r\n");
        let mut expected: Vec<u8> = (0..40).collect();
        expected.extend_from_slice(b"1\r\n\n0");
        body.extend_from_slice(b"0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n");
        for cut in 0..=body.len() {
            let (out, chunks) = joined(&body, cut);
            assert!(ChunkParser::START.clone().push(&out), "{cut}");
            assert_eq!(data(&out), expected, "{cut}");
            assert!(
                chunks >= 39 && out.len() < body.len() / 2,
                "{cut}: {chunks}"
            );
        }
    }

    #[test]
    fn large_chunks_and_single_ones_stay_as_they_are() {
        let large = [b"400\r\n".as_slice(), &[b' '; SMALL], b"\r\n"].concat();
        for body in [
            large.repeat(3),
            b"1\r\n \r\n0\r\n\r\n".to_vec(),
            b"5\r\nhel".to_vec(),
        ] {
            assert_eq!(join(ChunkParser::START, &mut body.clone()), None);
        }
    }

    #[test]
    fn the_shortest_chunks_become_one_that_is_no_longer() {
        for count in 2..600 {
            let mut body = b"1\r\n \r\n".repeat(count);
            let joined = join(ChunkParser::START, &mut body).unwrap();
            assert_eq!(joined.chunks, count);
            assert_eq!(
                body[..joined.length],
                *format!("{count:x}\r\n{}\r\n", " ".repeat(count)).as_bytes()
            );
        }
    }
}
