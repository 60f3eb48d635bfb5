//! The error envelope of the reference chat API format (§2.6) and its types (§7.1).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whose fault an error is (§7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    /// The client's request was refused.
    InvalidRequestError,
    /// The upstream answered with status 400 or above and no envelope, or broke off.
    UpstreamError,
    /// The gateway could not call the upstream.
    GatewayError,
    /// The analysis API refused because of a rate or size of work.
    RateLimitError,
    /// The analysis API itself failed.
    ServerError,
}

impl ErrorType {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequestError => "invalid_request_error",
            Self::UpstreamError => "upstream_error",
            Self::GatewayError => "gateway_error",
            Self::RateLimitError => "rate_limit_error",
            Self::ServerError => "server_error",
        }
    }
}

/// `{"error": {"message", "type", "code"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorEnvelope {
    /// The error itself.
    pub error: ErrorBody,
}

/// What an error says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What is wrong and how to fix it; fields are named by their paths.
    pub message: String,
    /// Whose fault it is (§7.1).
    #[serde(rename = "type")]
    pub kind: ErrorType,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub code: u16,
}

impl ErrorEnvelope {
    /// Builds an envelope.
    pub fn new(kind: ErrorType, code: u16, message: impl Into<String>) -> Self {
        Self {
            error: ErrorBody {
                message: message.into(),
                kind,
                code,
            },
        }
    }

    /// The JSON bytes of the envelope.
    pub fn to_json(&self) -> Vec<u8> {
        // Strings and integers only: serialization has no failing case.
        serde_json::to_vec(self).unwrap_or_default()
    }
}
