//! What stands between the upstream's bytes and the client's. Nearly always nothing: the relay then
//! passes each chunk on as it came. Nothing here waits, and nothing here writes.

use super::capture::Layout;
use super::hold_back::HoldBack;
use super::restored::Restoring;
use crate::gateway::error::CallError;
use bytes::Bytes;

/// What becomes of a stream's bytes on their way.
pub(super) enum Transform {
    /// They pass as they come.
    None,
    /// They wait until they are checked (CONTRACT 41).
    HoldBack(Box<HoldBack>),
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
pub(super) enum Stop {
    /// Something was found in the text; the stream says so and is ended.
    Found,
    /// It cannot be read, and the policy lets nothing pass unread; nothing of that is said yet.
    Unreadable,
}

impl Transform {
    /// Learns how the answer is laid out, before anything of it is sent.
    ///
    /// # Errors
    /// When nothing of the answer may pass.
    pub(super) fn begin(&mut self, layout: Layout) -> Result<(), CallError> {
        match self {
            Self::None | Self::Restore(_) => Ok(()),
            Self::HoldBack(held) => held.begin(layout),
        }
    }

    /// Whether something went on without the check it should have had.
    pub(super) fn is_unchecked(&self) -> bool {
        match self {
            Self::None | Self::Restore(_) => false,
            Self::HoldBack(held) => held.is_unchecked(),
        }
    }

    /// Takes a chunk of the upstream's.
    pub(super) fn push(&mut self, chunk: Bytes) -> Out {
        match self {
            Self::None => Out::passing(chunk),
            Self::HoldBack(held) => held.push(chunk),
            Self::Restore(restoring) => Out::passing(restoring.push(&chunk)),
        }
    }

    /// The upstream's body is over; `whole` is false where it broke off.
    pub(super) fn end(&mut self, whole: bool) -> Out {
        match self {
            Self::None => Out::passing(Bytes::new()),
            Self::HoldBack(held) => held.end(whole),
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
