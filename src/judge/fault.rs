//! Why a server gave no verdict, in fixed words: never a piece of its answer or of the
//! text it was asked about.

use crate::observe::RemoteOutcome;
use thiserror::Error;

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// No connection, or it broke.
    #[error("{0}")]
    Unreachable(&'static str),
    /// No whole answer in time.
    #[error("no whole answer within its timeout")]
    Late,
    /// A status that is no success.
    #[error("status {0}")]
    Status(u16),
    /// Something else than what was asked for.
    #[error("its answer is refused: {0}")]
    Nonsense(&'static str),
    /// An answer beyond the bound.
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
    /// Too many calls were waiting.
    #[error("too many calls are waiting for it")]
    Busy,
    /// It did not answer lately.
    #[error("it did not answer lately and was not asked")]
    Down,
}

impl Fault {
    /// The label it is counted by.
    pub(super) fn outcome(self) -> RemoteOutcome {
        match self {
            Self::Unreachable(_) => RemoteOutcome::Unreachable,
            Self::Late => RemoteOutcome::Late,
            Self::Status(_) => RemoteOutcome::Status,
            Self::Nonsense(_) => RemoteOutcome::Nonsense,
            Self::TooLarge(_) => RemoteOutcome::TooLarge,
            Self::Busy => RemoteOutcome::Busy,
            Self::Down => RemoteOutcome::Down,
        }
    }

    /// Whether it speaks against the server. A nonsense answer does not: a text may have caused it, and
    /// one text must not have the next ones go unjudged.
    pub(super) fn is_outage(self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Late => true,
            Self::Status(status) => status >= 500 || matches!(status, 401 | 403 | 404 | 408 | 429),
            Self::Nonsense(_) | Self::TooLarge(_) | Self::Busy | Self::Down => false,
        }
    }
}
