//! Why a server gave no verdict, in fixed words: never a piece of its answer or of the
//! text it was asked about.

use crate::observe::RemoteOutcome;
use thiserror::Error;

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// No connection, or the connection broke.
    #[error("{0}")]
    Unreachable(&'static str),
    /// No whole answer in time.
    #[error("no whole answer within its timeout")]
    Late,
    /// An error status.
    #[error("status {0}")]
    Status(u16),
    /// An answer that is not in the requested form.
    #[error("its answer is refused: {0}")]
    Nonsense(&'static str),
    /// An answer that is too large to be read.
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
    /// Too many calls were waiting.
    #[error("too many calls are waiting for it")]
    Busy,
    /// It counts as down.
    #[error("it has not answered recently and was not asked")]
    Down,
}

impl Fault {
    /// Its label in metrics.
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

    /// Whether it counts against the server. A nonsense answer does not: a text may have caused it, and one
    /// text must not keep the next ones from being judged.
    pub(super) fn is_outage(self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Late => true,
            Self::Status(status) => status >= 500 || matches!(status, 401 | 403 | 404 | 408 | 429),
            Self::Nonsense(_) | Self::TooLarge(_) | Self::Busy | Self::Down => false,
        }
    }
}
