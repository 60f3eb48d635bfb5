//! §7 in one place: every way a call can fail before its answer began, whose fault it is, and what
//! the client is told. Once an answer has begun, `exchange/relay.rs` says it in the stream.

use super::auth::KeyError;
use crate::observe::{Exhausted, Outcome, QuotaLimit};
use monitor_model::ErrorType;
use monitor_wire::json::SyntaxError;

/// A failed call, not yet answered.
#[derive(Debug)]
pub(crate) enum CallError {
    /// §7.2 row 401 of the gateway.
    Key(KeyError),
    /// CONTRACT 9.
    UnknownPath,
    /// CONTRACT 9: the value of `Allow`.
    WrongMethod(&'static str),
    /// §7.2 row 400 of the gateway.
    NotJson(SyntaxError),
    /// CONTRACT 10: the request's framing is broken or says two things.
    BadFraming,
    /// The client sent its body too slowly.
    SlowBody,
    /// The body is larger than what all calls together may hold.
    TooLarge,
    /// §7.2 row 502: no connection.
    Connect(&'static str),
    /// §7.2 row 502: connected, but no response head came within the budget.
    Late,
    /// §7.2 row 502: the connection broke before the response head.
    Broken(&'static str),
    /// CONTRACT 13: the backend refuses the access key, so nothing can be checked.
    KeyRefused,
    /// CONTRACT 13: no verdict, and the policy lets nothing pass without one.
    Unchecked,
    /// The record cannot be written, and the settings let nothing pass without one.
    Unregistered,
    /// The application has had as many calls as it may.
    TooMany {
        /// Which of its limits.
        limit: QuotaLimit,
        /// Seconds.
        retry_after: u64,
    },
    /// There is no room for the call.
    Overloaded(Exhausted),
    /// The client left; nobody is there to be told.
    ClientGone,
}

/// What goes to the client.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: ErrorType,
    pub(crate) message: String,
    pub(crate) allow: Option<&'static str>,
    /// Seconds.
    pub(crate) retry_after: Option<u64>,
}

impl CallError {
    /// The table of §7.2. None where nobody listens any more.
    pub(crate) fn answer(&self) -> Option<Answer> {
        use ErrorType::{GatewayError, InvalidRequestError, RateLimitError};
        let (status, kind, message) = match self {
            Self::Key(error) => (401, InvalidRequestError, error.message().to_owned()),
            Self::UnknownPath => (404, InvalidRequestError, "no such path; see /openapi.json for those that exist".into()),
            Self::WrongMethod(allow) => (405, InvalidRequestError, format!("this path answers {allow} only")),
            Self::NotJson(error) => (400, InvalidRequestError, format!("the request body is {error}")),
            Self::BadFraming => (400, InvalidRequestError, "the request's length or its lines are ambiguous; send either one Content-Length or well-formed chunks, and end each line of the head with CR LF".into()),
            Self::SlowBody => (408, InvalidRequestError, "the request body did not arrive in time (limits.header_timeout)".into()),
            Self::TooLarge => (413, InvalidRequestError, "the request body is larger than the gateway may hold (limits.buffered_bytes)".into()),
            Self::Connect(why) => (502, GatewayError, format!("the upstream cannot be reached: {why}")),
            Self::Late => (502, GatewayError, "the upstream did not answer in time (GATEWAY_UPSTREAM_TIMEOUT)".into()),
            Self::Broken(why) => (502, GatewayError, format!("the upstream broke off before it answered: {why}")),
            Self::KeyRefused => (401, InvalidRequestError, "access key refused by the monitoring backend; send the one you were given in X-Monitor-Api-Key".into()),
            Self::Unchecked => (502, GatewayError, "the monitoring backend gave no verdict, without which nothing passes for this application (on_backend_failure)".into()),
            Self::Unregistered => (502, GatewayError, "the call cannot be registered: the gateway's disk refuses, and nothing passes unregistered (spool.on_disk_failure)".into()),
            Self::TooMany { limit: QuotaLimit::Rate, .. } => (429, RateLimitError, "this application calls more often than it may; wait as long as Retry-After says".into()),
            Self::TooMany { limit: QuotaLimit::Concurrent, .. } => (429, RateLimitError, "this application has as many calls under way as it may; wait until one has ended".into()),
            Self::Overloaded(Exhausted::Memory) => (503, GatewayError, "the gateway holds as much as it may for the calls under way (limits.buffered_bytes); try again".into()),
            Self::Overloaded(Exhausted::Descriptors) => (503, GatewayError, "the gateway has as many calls under way as its file descriptors allow; try again".into()),
            Self::Overloaded(Exhausted::Disk) => (503, GatewayError, "the gateway's disk has no room for a request body of this size; try again".into()),
            Self::ClientGone => return None,
        };
        let allow = if let Self::WrongMethod(allow) = self {
            Some(*allow)
        } else {
            None
        };
        Some(Answer {
            status,
            kind,
            message,
            allow,
            retry_after: self.retry_after(),
        })
    }

    /// When the same call may succeed.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooMany { retry_after, .. } => Some(*retry_after),
            Self::Overloaded(Exhausted::Memory | Exhausted::Descriptors) => Some(1),
            Self::Overloaded(Exhausted::Disk) => Some(10),
            _ => None,
        }
    }

    /// The `outcome` label.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Connect(_)
            | Self::Late
            | Self::Broken(_)
            | Self::Unchecked
            | Self::Unregistered
            | Self::Overloaded(_) => Outcome::GatewayError,
            Self::ClientGone => Outcome::ClientGone,
            _ => Outcome::Refused,
        }
    }

    /// The access line's `detail`.
    pub(crate) fn detail(&self) -> &'static str {
        match self {
            Self::Key(_) => "access_key",
            Self::UnknownPath => "unknown_path",
            Self::WrongMethod(_) => "wrong_method",
            Self::NotJson(_) => "not_json",
            Self::BadFraming => "bad_framing",
            Self::SlowBody => "slow_body",
            Self::TooLarge => "too_large",
            Self::Connect(_) => "connect",
            Self::Late => "upstream_late",
            Self::Broken(_) => "upstream_broken",
            Self::KeyRefused => "access_key_refused",
            Self::Unchecked => "unchecked",
            Self::Unregistered => "unregistered",
            Self::TooMany { .. } => "too_many_calls",
            Self::Overloaded(_) => "overloaded",
            Self::ClientGone => "client_gone",
        }
    }

    /// Whether the connection can carry another request after the answer.
    pub(crate) fn closes(&self) -> bool {
        matches!(
            self,
            Self::BadFraming | Self::SlowBody | Self::TooLarge | Self::ClientGone
        )
    }
}
