//! §7 in one place: every way a call can fail before its answer has begun, who caused it, and the error the
//! client gets. Once an answer has begun, `exchange/relay` reports the failure in the stream.

use super::auth::KeyError;
use super::body_type::Unsupported;
use super::guard::MalformedChunk;
use super::headers;
use crate::edge::Undecodable;
use crate::edge::meant_path::ModelPath;
use crate::observe::{Exhausted, Outcome, QuotaLimit, VerdictType};
use monitor_model::{Budget, BudgetPer, ErrorType};
use monitor_wire::json::SyntaxError;
use pingora_error::{Error, ErrorSource, ErrorType as PingoraError};

/// Why a call failed, before anything was answered.
#[derive(Debug)]
pub(crate) enum CallError {
    /// §7.2 row 401 of the gateway.
    Key(KeyError),
    /// No route has this path (CONTRACT 9).
    UnknownPath(Option<ModelPath>),
    /// The path has other methods, given as the value of `Allow` (CONTRACT 9).
    WrongMethod(&'static str),
    /// The path answers no WebSocket.
    WebSocket,
    /// The path has a prompt that nobody reads, and this application has its prompts checked.
    Unread,
    /// A finding in the texts of embeddings blocks the call.
    Flagged(VerdictType),
    /// The answer would come by another call, where nobody checks it, and this application has its answers checked.
    StoredAnswer,
    /// §7.2 row 400 of the gateway.
    NotJson(SyntaxError),
    /// The length of the request or the lines of its head are malformed or ambiguous (CONTRACT 10).
    BadFraming,
    /// A header that has one value occurs with different ones.
    AmbiguousHeader(&'static str),
    /// The body is declared as something else than JSON in UTF-8.
    Unsupported(Unsupported),
    /// The body is compressed, and cannot be decoded.
    Undecodable(Undecodable),
    /// The client sent its body too slowly.
    SlowBody,
    /// The body exceeds the memory of all calls together.
    TooLarge,
    /// §7.2 row 502: no connection to the upstream.
    Connect(&'static str),
    /// §7.2 row 502: connected, but no response head came within the budget.
    Late,
    /// §7.2 row 502: the connection broke before the response head.
    Broken(&'static str),
    /// §7.2 row 502: the answer would lead the client past the gateway.
    Redirected,
    /// The backend refuses the access key, so the call cannot be checked (CONTRACT 13).
    KeyRefused,
    /// The backend cannot be asked about the access key, and the settings require it (CONTRACT 44).
    KeyUnchecked,
    /// The application does not exist, or is not the access key's (CONTRACT 44).
    UnknownApplication,
    /// There is no verdict, and the policy requires one (CONTRACT 13).
    Unchecked,
    /// The record cannot be written, and the settings require one.
    Unregistered,
    /// A call limit of the application is reached.
    TooMany {
        limit: QuotaLimit,
        /// Seconds until a retry may succeed.
        retry_after: u64,
    },
    /// A budget of the application or the user is spent.
    OverBudget {
        budget: Budget,
        /// Seconds until the next window begins.
        left: u64,
    },
    /// A resource of the gateway is exhausted.
    Overloaded(Exhausted),
    /// The client has left, so nothing can be answered.
    ClientGone,
}

/// The error response to the client.
pub(crate) struct ErrorAnswer {
    pub(crate) status: u16,
    pub(crate) kind: ErrorType,
    pub(crate) message: String,
    pub(crate) allow: Option<&'static str>,
    /// Seconds until a retry may succeed, for `Retry-After`.
    pub(crate) retry_after: Option<u64>,
    /// Whether a client that waits so long may hope for an answer.
    pub(crate) may_retry: bool,
    /// Why, where the status alone does not tell.
    pub(crate) reason: Option<&'static str>,
}

/// The longest `Retry-After` of a spent budget. Agents wait it out, and may find the budget raised.
const LONGEST_BUDGET_WAIT: u64 = 60;

impl CallError {
    /// The table of §7.2. None when the client has left.
    pub(crate) fn answer(&self) -> Option<ErrorAnswer> {
        use ErrorType::{GatewayError, InvalidRequestError, RateLimitError};
        let (status, kind, message) = match self {
            Self::Key(error) => (401, InvalidRequestError, error.message().to_owned()),
            Self::UnknownPath(None) => (404, InvalidRequestError, "no such path; see /openapi.json for those that exist".into()),
            Self::UnknownPath(Some(ModelPath::Served(path))) => (404, InvalidRequestError, format!("no such path; did you mean {path}? A client's base URL ends with /v1")),
            Self::UnknownPath(Some(ModelPath::OtherApi(name))) => (404, InvalidRequestError, format!("no such path; the gateway forwards no calls of the {name} API: set the client to /v1/chat/completions, /v1/responses or /v1/messages")),
            Self::WrongMethod(allow) => (405, InvalidRequestError, format!("this path answers {allow} only")),
            Self::WebSocket => (426, InvalidRequestError, "the gateway takes calls by HTTP only, not by WebSocket; send them as POST".into()),
            Self::Unread => (400, InvalidRequestError, "the gateway does not read prompts on this path, and this application's policy has them checked or redacted (app_mode: sync, redact_upstream); send the call itself".into()),
            Self::Flagged(kind) => (400, InvalidRequestError, format!("this application's policy blocks the input because of a finding of {}; nothing was sent to the model", kind.as_str())),
            Self::StoredAnswer => (400, InvalidRequestError, "an answer that another call delivers is not checked, and this application's policy requires a check (replace_response, stream_in_sync); send the call without background: true, and read the answer to it".into()),
            Self::NotJson(error) => (400, InvalidRequestError, format!("the request body is {error}")),
            Self::BadFraming => (400, InvalidRequestError, "the length of the request or the lines of its head are malformed or ambiguous; send either one Content-Length or well-formed chunks, and end each line of the head with CR LF".into()),
            Self::AmbiguousHeader(name) => (400, InvalidRequestError, format!("the header {name} is present more than once with different values; send one")),
            Self::Unsupported(Unsupported::Form) => (415, InvalidRequestError, "the request body must be JSON, and Content-Type names a form; send Content-Type: application/json".into()),
            Self::Unsupported(Unsupported::Charset) => (415, InvalidRequestError, "the request body must be JSON in UTF-8, and Content-Type names another charset; send Content-Type: application/json".into()),
            Self::Unsupported(Unsupported::Encoding) => (415, InvalidRequestError, "Content-Encoding names a coding of the request body that the gateway does not decode, or several; send it with one of gzip, deflate, br and zstd, or without Content-Encoding".into()),
            Self::Undecodable(Undecodable::Malformed(coding)) => (400, InvalidRequestError, format!("the request body cannot be decoded: it is not one whole {} stream, as Content-Encoding says, with nothing behind it; send it so, or uncompressed without Content-Encoding", coding.name())),
            Self::Undecodable(Undecodable::TooLarge) => (413, InvalidRequestError, "the request body is larger than the gateway decodes (limits.decoded_bytes); send it without Content-Encoding".into()),
            Self::Undecodable(Undecodable::Expands) => (413, InvalidRequestError, "the request body expands to more than 200 times its size, further than the gateway decodes; send it without Content-Encoding".into()),
            Self::SlowBody => (408, InvalidRequestError, "the request body did not arrive in time (limits.header_timeout)".into()),
            Self::TooLarge => (413, InvalidRequestError, "the request body is larger than the gateway may hold (limits.buffered_bytes)".into()),
            Self::Connect(why) => (502, GatewayError, format!("the upstream cannot be reached: {why}")),
            Self::Late => (502, GatewayError, "the upstream did not answer in time".into()),
            Self::Broken(why) => (502, GatewayError, format!("the connection to the upstream broke before it answered: {why}")),
            Self::Redirected => (502, GatewayError, "the upstream redirects the call to another address, where nothing would be monitored; name that address in upstream.url".into()),
            Self::KeyRefused => (401, InvalidRequestError, "the monitoring backend refused the access key; send the key that was issued to you in X-Monitor-Api-Key".into()),
            Self::KeyUnchecked => (502, GatewayError, "the monitoring backend cannot be asked about the access key, and only known ones are served (monitor.unknown_key); try again".into()),
            Self::UnknownApplication => (403, InvalidRequestError, "the application in X-Application-Id does not exist or is not this access key's; send the id of one that is, or leave the header out".into()),
            Self::Unchecked => (502, GatewayError, "the monitoring backend gave no verdict, and this application's policy requires one (on_backend_failure)".into()),
            Self::Unregistered => (502, GatewayError, "the call cannot be registered because the gateway's disk fails, and registration is required (spool.on_disk_failure)".into()),
            Self::TooMany { limit: QuotaLimit::Rate, .. } => (429, RateLimitError, "this application exceeds its rate of calls; retry after the seconds in Retry-After".into()),
            Self::TooMany { limit: QuotaLimit::Concurrent, .. } => (429, RateLimitError, "this application has reached its limit of concurrent calls; retry when one has ended".into()),
            Self::OverBudget { budget, .. } => (429, RateLimitError, over_budget(*budget)),
            Self::Overloaded(Exhausted::ClientMemory) => (503, GatewayError, "the gateway's memory for one client address is exhausted (limits.client_bytes); try again".into()),
            Self::Overloaded(Exhausted::Memory | Exhausted::ApiMemory) => (503, GatewayError, "the gateway's memory for calls in progress is exhausted (limits.buffered_bytes); try again".into()),
            Self::Overloaded(Exhausted::ClientCalls) => (503, GatewayError, "this client has as many calls over HTTP/2 in progress as it may have; try again when one has ended".into()),
            Self::Overloaded(Exhausted::Descriptors) => (503, GatewayError, "the gateway has no file descriptors left for another call; try again".into()),
            Self::Overloaded(Exhausted::Disk) => (503, GatewayError, "the gateway's disk has no space for a request body of this size; try again".into()),
            Self::ClientGone => return None,
        };
        let allow = if let Self::WrongMethod(allow) = self {
            Some(*allow)
        } else {
            None
        };
        Some(ErrorAnswer {
            status,
            kind,
            message,
            allow,
            retry_after: self.retry_after(),
            may_retry: self.may_retry(),
            reason: matches!(self, Self::OverBudget { .. }).then_some("budget_exceeded"),
        })
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::OverBudget { left, .. } => *left <= LONGEST_BUDGET_WAIT,
            _ => self.retry_after().is_some(),
        }
    }

    /// The seconds after which the same call may succeed.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooMany { retry_after, .. } => Some(*retry_after),
            Self::OverBudget { left, .. } => Some((*left).min(LONGEST_BUDGET_WAIT)),
            Self::Overloaded(
                Exhausted::Memory
                | Exhausted::ClientMemory
                | Exhausted::ClientCalls
                | Exhausted::ApiMemory
                | Exhausted::Descriptors,
            ) => Some(1),
            Self::Overloaded(Exhausted::Disk) => Some(10),
            _ => None,
        }
    }

    /// The label `outcome` in metrics.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Connect(_)
            | Self::Late
            | Self::Broken(_)
            | Self::Redirected
            | Self::KeyUnchecked
            | Self::Unchecked
            | Self::Unregistered
            | Self::Overloaded(_) => Outcome::GatewayError,
            Self::ClientGone => Outcome::ClientGone,
            Self::Flagged(_) => Outcome::Blocked,
            _ => Outcome::Refused,
        }
    }

    /// The access line's `detail`.
    pub(crate) fn detail(&self) -> &'static str {
        match self {
            Self::Key(_) => "access_key",
            Self::UnknownPath(_) => "unknown_path",
            Self::WrongMethod(_) => "wrong_method",
            Self::WebSocket => "websocket",
            Self::Unread => "unread_prompt",
            Self::StoredAnswer => "stored_answer",
            Self::Flagged(kind) => kind.as_str(),
            Self::NotJson(_) => "not_json",
            Self::BadFraming => "bad_framing",
            Self::AmbiguousHeader(_) => "ambiguous_header",
            Self::Unsupported(_) => "unsupported_body",
            Self::Undecodable(Undecodable::Malformed(_)) => "undecodable_body",
            Self::Undecodable(_) => "decoded_too_large",
            Self::SlowBody => "slow_body",
            Self::TooLarge => "too_large",
            Self::Connect(_) => "connect",
            Self::Late => "upstream_late",
            Self::Broken(_) => "upstream_broken",
            Self::Redirected => "upstream_redirects",
            Self::KeyRefused => "access_key_refused",
            Self::KeyUnchecked => "access_key_unchecked",
            Self::UnknownApplication => "unknown_application",
            Self::Unchecked => "unchecked",
            Self::Unregistered => "unregistered",
            Self::TooMany { .. } => "too_many_calls",
            Self::OverBudget { .. } => "budget_exceeded",
            Self::Overloaded(_) => "overloaded",
            Self::ClientGone => "client_gone",
        }
    }

    /// Whether the connection is closed after the answer, because its next bytes may not be a request.
    pub(crate) fn closes(&self) -> bool {
        matches!(
            self,
            Self::BadFraming | Self::SlowBody | Self::TooLarge | Self::ClientGone
        )
    }
}

fn over_budget(budget: Budget) -> String {
    let whose = match budget.per {
        BudgetPer::Application => "this application",
        BudgetPer::User => "this user",
    };
    let unit = if budget.tokens.is_some() {
        "tokens"
    } else {
        "money"
    };
    let window = budget.window.as_str();
    format!(
        "{whose} has spent its budget of {unit} for this {window}; calls are served again from the next {window} (UTC) on, or once the budget is raised"
    )
}

/// Reads a pingora error as one of §7.2.
pub(super) fn classify(error: &Error) -> CallError {
    use PingoraError as E;
    if is_caused_by::<MalformedChunk>(error) {
        return CallError::BadFraming;
    }
    match (&error.esource, &error.etype) {
        // Pingora reports malformed chunks as a custom type without a public name.
        (ErrorSource::Downstream, E::InvalidHTTPHeader | E::Custom(_)) => CallError::BadFraming,
        (ErrorSource::Downstream, E::ReadTimedout) => CallError::SlowBody,
        (ErrorSource::Downstream, _) => CallError::ClientGone,
        (_, E::ConnectTimedout | E::TLSHandshakeTimedout) => {
            CallError::Connect("no connection in time")
        }
        (_, E::ConnectRefused) => CallError::Connect("connection refused"),
        (_, E::ConnectNoRoute) => CallError::Connect("no route"),
        (_, E::TLSHandshakeFailure | E::InvalidCert | E::HandshakeError) => {
            CallError::Connect("TLS handshake failed")
        }
        (_, E::ConnectError | E::SocketError | E::BindError | E::InternalError) => {
            CallError::Connect("no connection")
        }
        (_, E::Custom(headers::REDIRECTED)) => CallError::Redirected,
        (_, E::ReadTimedout | E::WriteTimedout) => CallError::Late,
        _ => CallError::Broken("the connection was lost"),
    }
}

/// Whether an I/O error that carries the gateway's error `E` made pingora's read or write fail.
pub(super) fn is_caused_by<E: std::error::Error + 'static>(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = match &error.cause {
        Some(cause) => Some(cause.as_ref()),
        None => None,
    };
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        let inner = io.and_then(std::io::Error::get_ref);
        if inner.is_some_and(|inner| inner.is::<E>()) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::edge::Coding;
    use crate::gateway::docs::openapi_json;
    use monitor_model::{BudgetAction, BudgetWindow};
    use monitor_wire::json;

    #[test]
    fn the_openapi_document_shows_the_errors_that_are_sent() {
        let budget = Budget {
            per: BudgetPer::Application,
            window: BudgetWindow::Day,
            tokens: Some(1),
            cost: None,
            action: BudgetAction::Stop,
            warn_at: 80,
        };
        let not_json = json::scan(br#"{"messages": [1, ]}"#).unwrap_err();
        let table = [
            ("Gateway400InvalidJson", CallError::NotJson(not_json)),
            ("Gateway400Framing", CallError::BadFraming),
            (
                "Gateway400AmbiguousHeader",
                CallError::AmbiguousHeader("X-Application-Id"),
            ),
            (
                "Gateway415Charset",
                CallError::Unsupported(Unsupported::Charset),
            ),
            ("Gateway415Form", CallError::Unsupported(Unsupported::Form)),
            (
                "Gateway415Encoding",
                CallError::Unsupported(Unsupported::Encoding),
            ),
            (
                "Gateway400Undecodable",
                CallError::Undecodable(Undecodable::Malformed(Coding::Gzip)),
            ),
            (
                "Gateway413Decoded",
                CallError::Undecodable(Undecodable::TooLarge),
            ),
            ("Gateway401MissingKey", CallError::Key(KeyError::Missing)),
            ("Gateway401RefusedKey", CallError::KeyRefused),
            (
                "Gateway403UnknownApplication",
                CallError::UnknownApplication,
            ),
            ("Gateway404UnknownPath", CallError::UnknownPath(None)),
            ("Gateway405WrongMethod", CallError::WrongMethod("POST")),
            ("Gateway408SlowBody", CallError::SlowBody),
            ("Gateway413TooLarge", CallError::TooLarge),
            (
                "Gateway502Unreachable",
                CallError::Connect("connection refused"),
            ),
            (
                "Gateway429Budget",
                CallError::OverBudget { budget, left: 900 },
            ),
            ("Gateway502Late", CallError::Late),
        ];
        let document: serde_json::Value = serde_json::from_slice(openapi_json()).unwrap();
        for (name, error) in table {
            let shown = &document["components"]["examples"][name]["value"]["error"];
            let sent = error.answer().unwrap();
            assert_eq!(shown["message"], sent.message, "{name}");
            assert_eq!(shown["type"], sent.kind.as_str(), "{name}");
            assert_eq!(shown["code"], sent.status, "{name}");
        }
    }

    #[test]
    fn a_spent_budget_is_waited_for_a_minute_at_most() {
        let budget = Budget {
            per: BudgetPer::User,
            window: BudgetWindow::Month,
            tokens: None,
            cost: None,
            action: BudgetAction::Stop,
            warn_at: 80,
        };
        for (left, wait, may_retry) in [(1, 1, true), (60, 60, true), (86_400, 60, false)] {
            let answer = CallError::OverBudget { budget, left }.answer().unwrap();
            assert_eq!(
                (answer.status, answer.reason),
                (429, Some("budget_exceeded"))
            );
            assert_eq!(
                (answer.retry_after, answer.may_retry),
                (Some(wait), may_retry)
            );
        }
    }
}
