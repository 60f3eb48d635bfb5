//! All errors of the analysis API (CONTRACT 27), with status and envelope (§2.6) in one match. Their texts
//! contain nothing of the message or the token.

use super::request_body::RefusedBody;
use crate::observe::events::StoreFailed;
use crate::observe::{StoreFault, TurnRefusal};
use monitor_model::{ErrorEnvelope, ErrorType};
use monitor_store::{Scope, StoreError};
use thiserror::Error;

/// `Retry-After` while the store is down, the analysis busy or memory short, in seconds.
const RETRY_AFTER: u64 = 1;
/// The same while too many files wait for their messages.
const WAITING_RETRY_AFTER: u64 = 60;

/// One wrong field, and what is allowed in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {problem}")]
pub struct FieldProblem {
    /// The field's path, such as `rules.pre.dataclean.patterns[0]`.
    pub field: String,
    /// What is wrong with it, then what is allowed. Quotes no phrase, no text of a rule and no token.
    pub problem: String,
}

impl FieldProblem {
    /// A problem of one field.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
        }
    }
}

/// Why a message is not analyzed for now.
fn busy(reason: TurnRefusal) -> &'static str {
    match reason {
        TurnRefusal::Full => {
            "too many messages wait to be analyzed (limits.waiting_bytes), nothing was recorded: try again"
        }
        TurnRefusal::Late => {
            "the message waited too long to be analyzed (limits.longest_wait), nothing was recorded: try again"
        }
    }
}

/// Why rules are not compiled for now.
fn rules_busy(reason: TurnRefusal) -> &'static str {
    match reason {
        TurnRefusal::Full => {
            "too many rules wait to be compiled (limits.waiting_bytes), nothing was recorded or changed: try again"
        }
        TurnRefusal::Late => {
            "the rules waited too long to be compiled (limits.longest_wait), nothing was recorded or changed: try again"
        }
    }
}

/// Why the store is not read for now.
fn reads_busy(reason: TurnRefusal) -> &'static str {
    match reason {
        TurnRefusal::Full => "too many requests of this client wait to read the store: try again",
        TurnRefusal::Late => {
            "the request waited too long to read the store (limits.longest_wait): try again"
        }
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApiError {
    /// No `Authorization: Bearer`, or more than one.
    #[error("missing access token: send `Authorization: Bearer <API_TOKEN>` once")]
    TokenMissing,
    /// Unknown, expired or revoked token.
    #[error("the access token is unknown, expired or revoked")]
    TokenInvalid,
    /// The token lacks the scope.
    #[error("the access token does not have the scope `{}`", .0.as_str())]
    ScopeMissing(Scope),
    /// The token is bound to another application.
    #[error("the access token is bound to another application")]
    OtherApplication,
    /// Only a token that is bound to no application may do this.
    #[error("this requires an access token that is not bound to an application")]
    NotForBound,
    /// The caller would hand out a scope that it does not have.
    #[error("scopes: the access token does not have `{}` and cannot grant it", .0.as_str())]
    ScopeNotOwn(Scope),
    /// The body is not JSON, or did not arrive completely.
    #[error("the body is not JSON{0}")]
    NotJson(String),
    /// The body is not what `Content-Encoding` names.
    #[error(
        "the body cannot be decoded: it is not one whole {0} stream, as Content-Encoding says, with nothing behind it; \
         send it so, or uncompressed without Content-Encoding"
    )]
    Undecodable(&'static str),
    /// `Content-Encoding` names a coding that is not decoded, or several.
    #[error(
        "Content-Encoding names a coding of the body that is not decoded, or several; send it with one of gzip, \
         deflate, br and zstd, or without Content-Encoding"
    )]
    UnknownCoding,
    /// Files are compressed.
    #[error("files are stored as they come: send the form without Content-Encoding")]
    EncodedFiles,
    /// The body expands further than any text does.
    #[error(
        "the body expands to more than 200 times its size, further than it is decoded; send it without \
         Content-Encoding"
    )]
    Expands,
    /// The body is over the configured size, in bytes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
    /// The body did not keep arriving.
    #[error(
        "the request body did not arrive in time: silence may last limits.header_timeout, then at least 500 bytes a \
         second must come"
    )]
    SlowBody,
    /// No memory for the request or its answer.
    #[error(
        "the memory for requests and answers (limits.buffered_bytes, and of one client limits.client_bytes) is \
         exhausted: try again"
    )]
    Overloaded,
    /// A header that has one value occurs with different ones.
    #[error("the header {0} is present more than once with different values: send one")]
    AmbiguousHeader(&'static str),
    /// `Content-Type` is not JSON, or names another charset than UTF-8.
    #[error("the body must be JSON in UTF-8: send `Content-Type: application/json`")]
    NotJsonType,
    /// `Content-Type` is not NDJSON, or names another charset than UTF-8.
    #[error("the body must be NDJSON in UTF-8: send `Content-Type: application/x-ndjson`")]
    NotNdjsonType,
    /// A file exceeds the limit, in bytes.
    #[error("attached_files: a file is larger than attachments.max_bytes, {0} bytes")]
    FileTooLarge(u64),
    /// Too many files in one request.
    #[error("attached_files: more files than attachments.max_files, {0}")]
    TooManyFiles(usize),
    /// `Content-Type` is not multipart.
    #[error("the body must be files: send `Content-Type: multipart/form-data`")]
    NotMultipart,
    /// The files did not arrive completely.
    #[error("the body is not multipart/form-data, or it is incomplete")]
    BrokenMultipart,
    /// A field has the wrong shape or value.
    #[error("{field}: {problem}")]
    Field {
        /// The field's path.
        field: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// All fields that are wrong.
    #[error("{}", joined(.0))]
    Fields(Vec<FieldProblem>),
    /// The change was made from an older version than this, the latest one.
    #[error("version: the application is now at version {0}; read it and repeat the change")]
    VersionConflict(i64),
    /// The change does not state the version it was made from.
    #[error("version: missing; send the version the change was made from, or its ETag as If-Match")]
    VersionMissing,
    /// The current state does not allow it.
    #[error("{0}")]
    Conflict(&'static str),
    /// The access token has reached its rate limit.
    #[error("more than {limit} requests per second with this access token: try again later")]
    TooManyRequests {
        /// Requests per second.
        limit: usize,
        /// Whole seconds to wait.
        retry_after: u64,
    },
    /// Too much was changed by those who are bound to one application.
    #[error(
        "too many changes, or reads of originals, of this application (limits.application_changes): try again later"
    )]
    TooManyChanges {
        /// Whole seconds to wait.
        retry_after: u64,
    },
    /// A batch has too many lines.
    #[error("the batch has more than {0} lines")]
    TooManyLines(usize),
    /// No such record, application, token or file.
    #[error("not found")]
    NotFound,
    /// No such path; where one of the API is meant, that one.
    #[error(
        "no such path; {}",
        .0.map_or("see /openapi.json for those that exist".to_owned(), |meant| format!("did you mean {meant}?"))
    )]
    UnknownPath(Option<&'static str>),
    /// A path of a model API.
    #[error(
        "no such path; this is the analysis API: calls of models go to the gateway, by default at port 4100"
    )]
    ModelPath,
    /// The exchange has no such record, or not yet.
    #[error(
        "no record has this request_id: it has not been analyzed yet, was removed, or belongs to another application"
    )]
    NotArrived,
    /// The user of the exchange was erased.
    #[error("the records of this exchange were erased with its user, nothing was stored")]
    ExchangeErased,
    /// Too many files of an application wait for their records.
    #[error(
        "too many files of this application wait for the analysis of their message (attachments.waiting_files, \
         attachments.waiting_bytes): send the message first, or try again later"
    )]
    TooManyWaiting,
    /// Too many bytes of files are being uploaded.
    #[error(
        "too many files are being uploaded (attachments.uploading_bytes), nothing was recorded: try again"
    )]
    UploadsFull,
    /// The path exists, the method does not.
    #[error("this path does not support this method")]
    MethodNotAllowed,
    /// The store is down; nothing was kept.
    #[error("the store is not available, nothing was recorded: try again")]
    StoreDown,
    /// A constraint of the store does not allow a value that the program does.
    #[error(
        "the store refuses the change, nothing was changed: the server's log names the constraint"
    )]
    StoreRefused,
    /// Too much waits to be analyzed, or the message has waited for too long.
    #[error("{}", busy(*.0))]
    Busy(TurnRefusal),
    /// Too many rules wait to be compiled, or these have waited for too long.
    #[error("{}", rules_busy(*.0))]
    RulesBusy(TurnRefusal),
    /// Too many reads wait, or this one has waited for too long.
    #[error("{}", reads_busy(*.0))]
    ReadsBusy(TurnRefusal),
    /// The analysis itself failed.
    #[error("the analysis failed")]
    Internal,
}

impl ApiError {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::TokenMissing | Self::TokenInvalid => 401,
            Self::ScopeMissing(_)
            | Self::OtherApplication
            | Self::NotForBound
            | Self::ScopeNotOwn(_) => 403,
            Self::NotJson(_)
            | Self::Undecodable(_)
            | Self::BrokenMultipart
            | Self::AmbiguousHeader(_) => 400,
            Self::TooLarge(_)
            | Self::Expands
            | Self::TooManyLines(_)
            | Self::FileTooLarge(_)
            | Self::TooManyFiles(_) => 413,
            Self::SlowBody => 408,
            Self::NotJsonType
            | Self::NotNdjsonType
            | Self::NotMultipart
            | Self::UnknownCoding
            | Self::EncodedFiles => 415,
            Self::Field { .. } | Self::Fields(_) => 422,
            Self::VersionConflict(_) | Self::Conflict(_) => 409,
            Self::VersionMissing => 428,
            Self::TooManyRequests { .. } | Self::TooManyChanges { .. } | Self::TooManyWaiting => {
                429
            }
            Self::NotFound
            | Self::UnknownPath(_)
            | Self::ModelPath
            | Self::NotArrived
            | Self::ExchangeErased => 404,
            Self::MethodNotAllowed => 405,
            Self::StoreDown
            | Self::Busy(_)
            | Self::RulesBusy(_)
            | Self::ReadsBusy(_)
            | Self::UploadsFull
            | Self::Overloaded => 503,
            Self::StoreRefused | Self::Internal => 500,
        }
    }

    /// Whole seconds after which the same call may succeed (`Retry-After`).
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooManyRequests { retry_after, .. } | Self::TooManyChanges { retry_after } => {
                Some(*retry_after)
            }
            Self::TooManyWaiting => Some(WAITING_RETRY_AFTER),
            Self::StoreDown
            | Self::Busy(_)
            | Self::RulesBusy(_)
            | Self::ReadsBusy(_)
            | Self::UploadsFull
            | Self::Overloaded => Some(RETRY_AFTER),
            _ => None,
        }
    }

    /// The body of the answer.
    pub fn envelope(&self) -> ErrorEnvelope {
        let status = self.status();
        let kind = if status < 500 {
            ErrorType::InvalidRequestError
        } else {
            ErrorType::ServerError
        };
        ErrorEnvelope::new(kind, status, self.to_string())
    }
}

impl From<FieldProblem> for ApiError {
    fn from(problem: FieldProblem) -> Self {
        Self::Fields(vec![problem])
    }
}

impl From<RefusedBody> for ApiError {
    fn from(refused: RefusedBody) -> Self {
        match refused {
            RefusedBody::TooSlow => Self::SlowBody,
            RefusedBody::NoMemory => Self::Overloaded,
        }
    }
}

fn joined(problems: &[impl ToString]) -> String {
    let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Counts and logs a failure of the store, for those who give no answer of the API. A failure of the storage of files
/// was reported where it happened.
pub(crate) fn report(error: &StoreError) {
    let reason = match error {
        // What was asked for is at fault, or it was reported before.
        StoreError::NoApplication | StoreError::Files(_) => return,
        StoreError::Unreadable(_) => StoreFault::Unreadable,
        StoreError::Refused(_) | StoreError::Erased => StoreFault::Refused,
        StoreError::Closed => StoreFault::Closed,
        StoreError::Unavailable(_)
        | StoreError::Conflict
        | StoreError::NewerSchema { .. }
        | StoreError::OtherSchema { .. }
        | StoreError::Unfinished
        | StoreError::NotEmpty { .. }
        | StoreError::File { .. } => StoreFault::Unavailable,
    };
    StoreFailed { reason, error }.emit();
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        // Reported here, so that no failure of the store goes unnoticed, whoever called it.
        report(&error);
        match error {
            StoreError::NoApplication => Self::Field {
                field: "application_id",
                problem: "no application has this id",
            },
            StoreError::Unreadable(_) => Self::Internal,
            StoreError::Refused(_) => Self::StoreRefused,
            _ => Self::StoreDown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_analysis_that_is_busy_asks_to_come_back_and_names_its_limit() {
        for (busy, limit) in [
            (TurnRefusal::Full, "limits.waiting_bytes"),
            (TurnRefusal::Late, "limits.longest_wait"),
        ] {
            for error in [ApiError::Busy(busy), ApiError::RulesBusy(busy)] {
                assert_eq!((error.status(), error.retry_after()), (503, Some(1)));
                assert!(error.to_string().contains(limit));
            }
            let rules = ApiError::RulesBusy(busy).to_string();
            assert!(
                rules.contains("rules") && !rules.contains("message"),
                "{rules}"
            );
        }
    }
}
