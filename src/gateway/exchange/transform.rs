//! What stands between the upstream's bytes and the client's. Nearly always nothing: the relay then
//! passes each chunk on as it came. Nothing here waits, and nothing here writes.

use super::restored::Restoring;
use bytes::Bytes;

/// What becomes of a stream's bytes on their way.
pub(super) enum Transform {
    /// They pass as they come.
    None,
    /// Placeholders become values again (CONTRACT 41).
    Restore(Box<Restoring>),
}

/// What goes to the client now.
pub(super) struct Out {
    pub(super) bytes: Bytes,
    /// Present where the stream ends behind the bytes, whatever the upstream still says.
    pub(super) stop: Option<Stop>,
}

/// Why a stream ends before the upstream's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {}

impl Transform {
    /// Takes a chunk of the upstream's.
    pub(super) fn push(&mut self, chunk: Bytes) -> Out {
        match self {
            Self::None => Out::passing(chunk),
            Self::Restore(restoring) => Out::passing(restoring.push(&chunk)),
        }
    }

    /// The upstream's body is over; `whole` is false where it broke off.
    pub(super) fn end(&mut self, _whole: bool) -> Out {
        match self {
            Self::None => Out::passing(Bytes::new()),
            Self::Restore(restoring) => Out::passing(restoring.end()),
        }
    }
}

impl Out {
    /// Bytes behind which the stream goes on.
    pub(super) fn passing(bytes: Bytes) -> Self {
        Self { bytes, stop: None }
    }
}
