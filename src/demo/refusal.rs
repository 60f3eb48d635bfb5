//! Errors of the demo upstream in the reference envelope `{error: {message, type, param, code}}` or that of the Messages
//! API, and the one that is deliberately outside both. Not the gateway's errors (§2.6, §7).

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;
use uuid::Uuid;

/// Why a request is not answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refusal {
    #[serde(skip_serializing)]
    status: u16,
    message: String,
    #[serde(rename = "type", default = "invalid_request")]
    kind: String,
    pub(super) param: Option<String>,
    code: Option<String>,
}

static NAMED: LazyLock<HashMap<String, Refusal>> =
    LazyLock::new(|| serde_json::from_str(include_str!("refusals.json")).unwrap_or_default());

fn invalid_request() -> String {
    "invalid_request_error".to_owned()
}

impl Refusal {
    /// One of `refusals.json`.
    pub(super) fn named(name: &str) -> Self {
        NAMED.get(name).cloned().unwrap_or_default()
    }

    /// A field of the body or the query is missing or has a wrong value.
    pub(super) fn field(param: &str, message: &str) -> Self {
        Self {
            status: 400,
            message: message.to_owned(),
            kind: invalid_request(),
            param: Some(param.to_owned()),
            code: None,
        }
    }

    fn respond(self, envelope: Value) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match self.status {
            503 => (status, self.message).into_response(),
            429 => (status, [(header::RETRY_AFTER, "1")], Json(envelope)).into_response(),
            _ => (status, Json(envelope)).into_response(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let envelope = json!({ "error": self });
        self.respond(envelope)
    }
}

/// A refusal in the form of the Messages API.
#[derive(Debug)]
pub(super) struct MessagesRefusal(Refusal);

impl From<Refusal> for MessagesRefusal {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for MessagesRefusal {
    fn into_response(self) -> Response {
        let kind = match self.0.status {
            401 => "authentication_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            _ => "invalid_request_error",
        };
        let envelope = json!({
            "type": "error",
            "error": {"type": kind, "message": self.0.message},
            "request_id": format!("req_{}", Uuid::new_v4().simple()),
        });
        self.0.respond(envelope)
    }
}

/// Any key is good, or none, but `invalid`.
pub(super) fn check_key(headers: &HeaderMap) -> Result<(), Refusal> {
    let bearer = headers.get_all(header::AUTHORIZATION).iter();
    let bearer = bearer.filter_map(|value| value.to_str().ok()?.split_once(' '));
    let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let own = headers.get_all("x-api-key").iter();
    let own = own.filter_map(|value| value.to_str().ok());
    let mut keys = bearer.map(|(_, key)| key).chain(own);
    match keys.any(|key| key.trim() == "invalid") {
        true => Err(Refusal::named("key")),
        false => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn only_the_key_named_invalid_is_refused() {
        assert_eq!(check_key(&HeaderMap::new()), Ok(()));
        for good in ["Bearer anything", "Bearer ", "Basic invalid"] {
            assert_eq!(check_key(&headers("authorization", good)), Ok(()));
        }
        assert_eq!(check_key(&headers("x-api-key", "anything")), Ok(()));
        for (name, refused) in [
            ("authorization", "Bearer invalid"),
            ("authorization", "bearer invalid"),
            ("x-api-key", "invalid"),
        ] {
            let error = check_key(&headers(name, refused)).unwrap_err();
            assert_eq!(error.into_response().status(), StatusCode::UNAUTHORIZED);
        }
    }

    #[test]
    fn every_named_refusal_has_its_status_and_its_code() {
        let invalid = "invalid_request_error";
        for (name, status, kind, param, code) in [
            ("key", 401, invalid, None, Some("invalid_api_key")),
            ("body", 400, invalid, None, None),
            (
                "missing-model",
                404,
                invalid,
                Some("model"),
                Some("model_not_found"),
            ),
            (
                "rate-limited",
                429,
                "rate_limit_error",
                None,
                Some("rate_limit_exceeded"),
            ),
            ("overloaded", 503, invalid, None, None),
            ("response", 404, invalid, None, None),
            ("path", 404, invalid, None, Some("unknown_url")),
            ("method", 405, invalid, None, Some("method_not_supported")),
        ] {
            let refusal = Refusal::named(name);
            assert_eq!((refusal.status, &*refusal.kind), (status, kind), "{name}");
            assert_eq!(
                (refusal.param.as_deref(), refusal.code.as_deref()),
                (param, code),
                "{name}"
            );
            assert!(!refusal.message.is_empty(), "{name}");
        }
    }

    #[test]
    fn an_envelope_names_the_field() {
        let error = json!(Refusal::field("messages", "missing"));
        let keys: Vec<_> = error
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys, ["code", "message", "param", "type"]);
        assert_eq!(error["param"], "messages");
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["code"].is_null());
    }

    #[test]
    fn a_rate_limit_says_when_to_come_back() {
        let response = Refusal::named("rate-limited").into_response();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    }

    #[test]
    fn overload_is_answered_in_plain_text() {
        let response = Refusal::named("overloaded").into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        let kind = response.headers()[header::CONTENT_TYPE].to_str().unwrap();
        assert!(kind.starts_with("text/plain"), "{kind}");
    }
}
