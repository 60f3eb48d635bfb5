//! Validates the chunked transfer coding of a request byte by byte (RFC 9112 §7.1, CONTRACT 10).
//!
//! Pingora accepts an empty chunk size, a space behind the size and a bare line feed inside an extension.
//! Another parser on the path may read such a body differently (request smuggling), so the gateway
//! refuses it. Pingora still reads the body itself.

use std::fmt;

/// The most hexadecimal digits of a chunk size.
const LONGEST_SIZE: u32 = 16;

/// The read error of a connection whose body is malformed.
#[derive(Debug)]
pub(crate) struct MalformedChunk;

impl fmt::Display for MalformedChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the chunked request body is malformed")
    }
}

impl std::error::Error for MalformedChunk {}

/// The position in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkParser {
    Size {
        value: u64,
        digits: u32,
    },
    Extension {
        size: u64,
    },
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    DataCarriageReturn,
    DataEnd,
    TrailerStart,
    Trailer,
    TrailerEnd,
    LastEnd,
    /// The body has ended; further bytes belong to the next request.
    Done,
}

impl ChunkParser {
    /// Before the first chunk size.
    pub(super) const START: Self = Self::Size {
        value: 0,
        digits: 0,
    };

    /// Reads the next bytes; false when the body is malformed.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((byte, rest)) = bytes.split_first() {
            bytes = rest;
            *self = match *self {
                Self::Done => return true,
                Self::Data { left } => {
                    let skipped = (bytes.len() as u64).min(left - 1);
                    bytes = &bytes[skipped as usize..];
                    Self::after_data(left - 1 - skipped)
                }
                state => match state.after(*byte) {
                    Some(next) => next,
                    None => return false,
                },
            };
        }
        true
    }

    /// Where in the bytes that follow a chunk begins; None if none does.
    pub(super) fn next_chunk(mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0usize;
        while self != Self::START {
            let step = match self {
                Self::Data { left } => usize::try_from(left).ok()?,
                _ => 1,
            };
            let end = at.checked_add(step)?;
            if !self.push(bytes.get(at..end)?) {
                return None;
            }
            at = end;
        }
        Some(at)
    }

    fn after_data(left: u64) -> Self {
        match left {
            0 => Self::DataCarriageReturn,
            left => Self::Data { left },
        }
    }

    fn after(self, byte: u8) -> Option<Self> {
        let next = match (self, byte) {
            (Self::Size { value, digits }, b'\r') if digits > 0 => Self::SizeEnd { size: value },
            (Self::Size { value, digits }, b';') if digits > 0 => Self::Extension { size: value },
            (Self::Size { value, digits }, digit) if digits < LONGEST_SIZE => Self::Size {
                value: value << 4 | u64::from(char::from(digit).to_digit(16)?),
                digits: digits + 1,
            },
            (Self::Extension { size }, b'\r') => Self::SizeEnd { size },
            (Self::Extension { .. } | Self::Trailer, byte) if is_text(byte) => self,
            (Self::SizeEnd { size: 0 }, b'\n') => Self::TrailerStart,
            (Self::SizeEnd { size }, b'\n') => Self::Data { left: size },
            (Self::DataCarriageReturn, b'\r') => Self::DataEnd,
            (Self::DataEnd, b'\n') => Self::START,
            (Self::TrailerStart, b'\r') => Self::LastEnd,
            (Self::TrailerStart, byte) if is_text(byte) => Self::Trailer,
            (Self::Trailer, b'\r') => Self::TrailerEnd,
            (Self::TrailerEnd, b'\n') => Self::TrailerStart,
            (Self::LastEnd, b'\n') => Self::Done,
            _ => return None,
        };
        Some(next)
    }
}

/// Whether the byte may stand inside a line: no line end and no other control character.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::ChunkParser;

    #[test]
    fn a_well_framed_body_is_followed_to_its_end_whatever_the_cuts() {
        let body = b"5;a=\"b\"\r\nhel\r\n\r\n00A\r\n0123456789\r\n0\r\nX-T: v\r\nY: \r\n\r\nGET / not ours\n";
        for cut in 0..body.len() {
            let mut chunks = ChunkParser::START;
            assert!(
                chunks.push(&body[..cut]) && chunks.push(&body[cut..]),
                "{cut}"
            );
            assert_eq!(chunks, ChunkParser::Done);
        }
    }

    #[test]
    fn what_others_could_read_otherwise_is_refused() {
        let bad: [&[u8]; 14] = [
            b"\r\nhello\r\n0\r\n\r\n",
            b" 5\r\nhello\r\n",
            b"5 \r\nhello\r\n",
            b"5\nhello\r\n",
            b"5\rhello\r\n",
            b"+5\r\nhello\r\n",
            b"0x5\r\nhello\r\n",
            b"10000000000000005\r\nhello\r\n",
            b"5;a\nb\r\nhello\r\n",
            b"5;a\rb\r\nhello\r\n",
            b"5;a\0\r\nhello\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"5\r\nhello!\r\n0\r\n\r\n",
            b"0\r\nX: y\n\r\n",
        ];
        for body in bad {
            assert!(
                !ChunkParser::START.clone().push(body),
                "{}",
                body.escape_ascii()
            );
        }
    }
}
