//! What the gateway itself says in the place of a model server.

use monitor_model::ErrorType;
use serde_json::Value;
use serde_json::value::RawValue;

/// An answer that takes the place of the model's (§2.4).
pub struct OwnAnswer<'a> {
    /// Names the answer; no two have the same.
    pub id: &'a str,
    /// Seconds since 1970.
    pub created: u64,
    /// The model that was asked for: clients go on with the one that an answer names.
    pub model: &'a str,
    /// What the client gets to read.
    pub text: &'a str,
    /// The upstream's `usage`, where the upstream was called.
    pub usage: Option<&'a RawValue>,
    /// Whether a stream of chat completions ends with it.
    pub with_usage: bool,
    /// What the answer says of itself; None where a header says it.
    pub monitor: Option<Value>,
}

/// An error of the gateway's (§7).
pub struct OwnError<'a> {
    /// Whose fault it is.
    pub kind: ErrorType,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong and how to mend it.
    pub message: &'a str,
    /// X-Request-Id of the call.
    pub request_id: &'a str,
    /// Why, in one word for programs, where the status alone does not tell.
    pub reason: Option<&'a str>,
}

impl OwnError<'_> {
    /// The body of an error with its reason.
    pub(super) fn with_reason(&self, mut body: Value) -> Value {
        if let Some(reason) = self.reason {
            body["error"]["reason"] = reason.into();
        }
        body
    }
}

impl OwnAnswer<'_> {
    /// The tokens that were used: what the upstream says, else `none`.
    pub(super) fn usage_or(&self, none: Value) -> Value {
        let parsed = self
            .usage
            .and_then(|usage| serde_json::from_str(usage.get()).ok());
        parsed.unwrap_or(none)
    }
}

/// One frame of a stream whose events have names.
pub(super) fn frame(event: &str, data: &Value) -> Vec<u8> {
    let mut frame = format!("event: {event}\ndata: ").into_bytes();
    frame.extend(bytes(data));
    frame.extend_from_slice(b"\n\n");
    frame
}

/// JSON has no line breaks, and a value no failing case.
pub(super) fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
