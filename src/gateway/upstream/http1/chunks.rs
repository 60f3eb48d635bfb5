//! Takes the chunked coding off an answer, whatever the cuts (RFC 9112 7.1).

use bytes::BytesMut;

/// The most bytes of a line with a chunk's size.
const LONGEST_LINE: usize = 4 << 10;
/// The most bytes of the trailers.
const LONGEST_TRAILERS: usize = 64 << 10;
/// The most digits of a size, which then fits.
const LONGEST_SIZE: usize = 15;

/// Where in the coding the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the digits of a size.
    Size {
        digits: usize,
    },
    /// Behind the digits: blanks, extensions.
    Extension,
    /// At the line feed that ends the line of a size.
    SizeEnd,
    Data,
    DataEnd {
        has_return: bool,
    },
    /// In the trailers; `is_empty` of the current line.
    Trailer {
        is_empty: bool,
    },
    /// At the line feed behind the carriage return of a trailer's line.
    TrailerEnd {
        is_empty: bool,
    },
    End,
}

/// The state of one body.
#[derive(Debug)]
pub(super) struct Chunks {
    at: At,
    /// The size of the current chunk, then what is left of it.
    left: u64,
    /// Bytes of the current line, or of all trailers.
    line: usize,
}

/// The coding is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Chunks {
    pub(super) fn new() -> Self {
        Self {
            at: At::Size { digits: 0 },
            left: 0,
            line: 0,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.at == At::End
    }

    /// Appends the data in `input` to `data`; returns how many bytes of `input` belong to the body.
    pub(super) fn decode(&mut self, input: &[u8], data: &mut BytesMut) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < input.len() && self.at != At::End {
            if self.at == At::Data {
                let rest = &input[at..];
                let here =
                    usize::try_from(self.left).map_or(rest.len(), |left| left.min(rest.len()));
                data.extend_from_slice(&rest[..here]);
                at += here;
                self.left -= here as u64;
                if self.left == 0 {
                    self.at = At::DataEnd { has_return: false };
                }
                continue;
            }
            self.step(input[at])?;
            at += 1;
        }
        Ok(at)
    }

    /// Takes a byte that is none of the data.
    fn step(&mut self, byte: u8) -> Result<(), Malformed> {
        self.line += 1;
        let limit = match self.at {
            At::Trailer { .. } | At::TrailerEnd { .. } => LONGEST_TRAILERS,
            _ => LONGEST_LINE,
        };
        if self.line > limit {
            return Err(Malformed);
        }
        self.at = match (self.at, byte) {
            (At::Size { digits: 0 }, b'\r' | b' ' | b'\t' | b';') => return Err(Malformed),
            (At::Size { .. } | At::Extension, b'\r') => At::SizeEnd,
            (At::Size { .. }, b' ' | b'\t' | b';') => At::Extension,
            (At::Size { digits }, byte) => {
                let digit = char::from(byte).to_digit(16).ok_or(Malformed)?;
                if digits == LONGEST_SIZE {
                    return Err(Malformed);
                }
                self.left = self.left << 4 | u64::from(digit);
                At::Size { digits: digits + 1 }
            }
            (At::Extension, b'\n') => return Err(Malformed),
            (At::Extension, _) => At::Extension,
            (At::SizeEnd, b'\n') => {
                self.line = 0;
                match self.left {
                    0 => At::Trailer { is_empty: true },
                    _ => At::Data,
                }
            }
            (At::DataEnd { has_return: false }, b'\r') => At::DataEnd { has_return: true },
            (At::DataEnd { has_return: true }, b'\n') => {
                self.line = 0;
                At::Size { digits: 0 }
            }
            (At::Trailer { is_empty }, b'\r') => At::TrailerEnd { is_empty },
            (At::Trailer { .. }, b'\n') => return Err(Malformed),
            (At::Trailer { .. }, _) => At::Trailer { is_empty: false },
            (At::TrailerEnd { is_empty: true }, b'\n') => At::End,
            (At::TrailerEnd { is_empty: false }, b'\n') => At::Trailer { is_empty: true },
            (At::SizeEnd | At::DataEnd { .. } | At::TrailerEnd { .. } | At::Data | At::End, _) => {
                return Err(Malformed);
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a body that comes in pieces of so many bytes; the data and the bytes of the body.
    fn decode(body: &[u8], piece: usize) -> Result<(Vec<u8>, usize), Malformed> {
        let (mut chunks, mut data, mut used) = (Chunks::new(), BytesMut::new(), 0);
        for piece in body.chunks(piece) {
            used += chunks.decode(piece, &mut data)?;
        }
        match chunks.has_ended() {
            true => Ok((data.to_vec(), used)),
            false => Err(Malformed),
        }
    }

    #[test]
    fn the_data_is_the_same_whatever_the_cuts() {
        let body = b"5;a=\"b\"\r\nhello\r\nA \t\r\n, dear all\r\n000\r\nX: y\r\n\r\nnext";
        for piece in 1..body.len() {
            let whole = (b"hello, dear all".to_vec(), body.len() - 4);
            assert_eq!(decode(body, piece), Ok(whole), "{piece}");
        }
    }

    #[test]
    fn a_broken_coding_is_refused() {
        for body in [
            "\r\nhello\r\n0\r\n\r\n",
            "5\nhello\r\n0\r\n\r\n",
            "5\r\nhello!0\r\n\r\n",
            "5\r\nhello\n0\r\n\r\n",
            "-5\r\nhello\r\n0\r\n\r\n",
            "0x5\r\nhello\r\n0\r\n\r\n",
            "5;a\nb\r\nhello\r\n0\r\n\r\n",
            "5\r\rhello\r\n0\r\n\r\n",
            "10000000000000005\r\nhello\r\n0\r\n\r\n",
            "5\r\nhello\r\n0\r\nX: y\n\r\n",
            "5\r\nhello\r\n",
        ] {
            assert_eq!(decode(body.as_bytes(), 3), Err(Malformed), "{body:?}");
        }
        let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(LONGEST_LINE));
        assert_eq!(decode(extension.as_bytes(), 64), Err(Malformed));
        let trailers = format!("0\r\n{}\r\n", "X: y\r\n".repeat(LONGEST_TRAILERS / 5));
        assert_eq!(decode(trailers.as_bytes(), 64), Err(Malformed));
    }
}
