//! How the body of a relayed answer ended, and what the client and the record learn of it (CONTRACT 17, 19).

use crate::backend::{CallFailure, ClosedBy};
use crate::gateway::exchange::answer::Stop;
use monitor_model::ErrorType;
use monitor_wire::protocol::OwnError;

/// How the body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    ClientGone,
    /// The upstream sent nothing for GATEWAY_UPSTREAM_TIMEOUT.
    Silent,
    /// The connection to the upstream broke.
    Broken,
    /// The gateway ended the stream.
    Stopped(Stop),
}

/// The filter has ended the stream with the policy's phrase, so the client has a complete answer.
pub(super) const FLAGGED: End = End::Stopped(Stop::Flagged);

impl End {
    /// Whether the client has a complete answer.
    pub(super) fn is_proper(self) -> bool {
        matches!(self, Self::Complete | FLAGGED)
    }

    pub(super) fn code(self) -> u16 {
        if self == Self::Silent { 504 } else { 502 }
    }

    pub(super) fn kind(self) -> ErrorType {
        match self {
            Self::Stopped(_) => ErrorType::GatewayError,
            _ => ErrorType::UpstreamError,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Complete | FLAGGED => "",
            Self::ClientGone => "the client left before the answer ended",
            Self::Silent => "the upstream fell silent in the middle of its answer",
            Self::Broken => "the upstream broke off in the middle of its answer",
            Self::Stopped(_) => {
                "the stream cannot be checked, and this application's policy requires a check (on_backend_failure)"
            }
        }
    }

    pub(super) fn error(self, request_id: &str) -> OwnError<'_> {
        OwnError {
            kind: self.kind(),
            status: self.code(),
            message: self.message(),
            request_id,
            reason: None,
        }
    }

    pub(super) fn failure(self) -> Option<CallFailure> {
        let closed_by = match self {
            Self::Complete | FLAGGED => return None,
            Self::ClientGone => ClosedBy::Client,
            Self::Stopped(_) => ClosedBy::Gateway,
            Self::Silent | Self::Broken => ClosedBy::Upstream,
        };
        let (kind, code) = match self {
            Self::ClientGone => (ErrorType::InvalidRequestError, 499),
            _ => (self.kind(), self.code()),
        };
        Some(CallFailure {
            kind: kind.as_str().into(),
            code,
            message: self.message().into(),
            closed_by,
        })
    }
}
