//! The body of an answer, by its framing (RFC 9112 6.3).

use super::chunks::{Chunks, Malformed};
use bytes::{Bytes, BytesMut};

/// How the end of a body is found, and what of it is still to come.
#[derive(Debug)]
pub(super) enum Body {
    Length(u64),
    Chunks(Chunks),
    UntilClose,
}

/// What was read of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) data: Bytes,
    /// Bytes of the input that belong to the body.
    pub(super) used: usize,
}

impl Body {
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunks(chunks) => chunks.has_ended(),
            Self::UntilClose => false,
        }
    }

    /// Takes bytes that were read.
    pub(super) fn decode(&mut self, input: &[u8]) -> Result<Part, Malformed> {
        let used = match self {
            Self::Length(left) => {
                let used = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= used as u64;
                used
            }
            Self::UntilClose => input.len(),
            Self::Chunks(chunks) => {
                let mut data = BytesMut::new();
                let used = chunks.decode(input, &mut data)?;
                let data = data.freeze();
                return Ok(Part { data, used });
            }
        };
        let data = Bytes::copy_from_slice(&input[..used]);
        Ok(Part { data, used })
    }
}
