//! Errors of the demo upstream in the reference envelope `{error: {message, type, param, code}}`,
//! and the one that is deliberately outside it. Not the gateway's errors (§2.6, §7).

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The bearer key is `invalid`.
    KeyRejected,
    /// The body is not JSON, or no object.
    NotAnObject,
    /// A field is missing or has a wrong value.
    Field {
        /// The field's path in the body or query.
        param: &'static str,
        /// What is wrong with it.
        message: &'static str,
    },
    /// The model's name is `missing-model`.
    ModelNotFound,
    /// The model's name is `rate-limited`.
    RateLimited,
    /// The model's name is `overloaded`.
    Overloaded,
    /// No such path.
    UnknownPath,
    /// The path exists, the method does not.
    WrongMethod,
}

/// Status, type, code, param and message of one refusal.
type Row = (
    StatusCode,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
);

impl Refusal {
    fn row(&self) -> Row {
        const BAD: &str = "invalid_request_error";
        match *self {
            Self::KeyRejected => {
                let text = "The key was refused: the demo upstream accepts any but `invalid`.";
                (
                    StatusCode::UNAUTHORIZED,
                    BAD,
                    Some("invalid_api_key"),
                    None,
                    text,
                )
            }
            Self::NotAnObject => {
                let text = "The request body must be a JSON object.";
                (StatusCode::BAD_REQUEST, BAD, None, None, text)
            }
            Self::Field { param, message } => {
                (StatusCode::BAD_REQUEST, BAD, None, Some(param), message)
            }
            Self::ModelNotFound => {
                let text = "The model `missing-model` does not exist.";
                (
                    StatusCode::NOT_FOUND,
                    BAD,
                    Some("model_not_found"),
                    Some("model"),
                    text,
                )
            }
            Self::RateLimited => {
                let (kind, code) = ("rate_limit_error", Some("rate_limit_exceeded"));
                let text = "Rate limit reached for the model `rate-limited`.";
                (StatusCode::TOO_MANY_REQUESTS, kind, code, None, text)
            }
            Self::Overloaded => {
                let text = "The demo upstream is overloaded\n";
                (StatusCode::SERVICE_UNAVAILABLE, "", None, None, text)
            }
            Self::UnknownPath => {
                let text = "No such path at the demo upstream.";
                (StatusCode::NOT_FOUND, BAD, Some("unknown_url"), None, text)
            }
            Self::WrongMethod => {
                let text = "The method is not allowed on this path.";
                (
                    StatusCode::METHOD_NOT_ALLOWED,
                    BAD,
                    Some("method_not_supported"),
                    None,
                    text,
                )
            }
        }
    }

    fn envelope(&self) -> Value {
        let (_, kind, code, param, message) = self.row();
        json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, _, _, _, message) = self.row();
        match self {
            Self::Overloaded => (status, message).into_response(),
            Self::RateLimited => {
                let retry = [(header::RETRY_AFTER, "1")];
                (status, retry, axum::Json(self.envelope())).into_response()
            }
            _ => (status, axum::Json(self.envelope())).into_response(),
        }
    }
}

/// Any key is good, or none, but `invalid`.
pub(super) fn check_key(headers: &HeaderMap) -> Result<(), Refusal> {
    let rejected = headers
        .get_all(header::AUTHORIZATION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .filter_map(|value| value.split_once(' '))
        .any(|(scheme, key)| scheme.eq_ignore_ascii_case("bearer") && key.trim() == "invalid");
    if rejected {
        Err(Refusal::KeyRejected)
    } else {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn headers(authorization: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
        headers
    }

    #[test]
    fn only_the_key_named_invalid_is_refused() {
        assert_eq!(check_key(&HeaderMap::new()), Ok(()));
        assert_eq!(check_key(&headers("Bearer anything")), Ok(()));
        assert_eq!(check_key(&headers("Bearer ")), Ok(()));
        for refused in ["Bearer invalid", "bearer invalid"] {
            assert_eq!(check_key(&headers(refused)), Err(Refusal::KeyRejected));
        }
    }

    #[test]
    fn an_envelope_names_the_field() {
        let refusal = Refusal::Field {
            param: "messages",
            message: "missing",
        };
        let error = &refusal.envelope()["error"];
        assert_eq!(error["param"], "messages");
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["code"].is_null());
    }

    #[test]
    fn a_rate_limit_says_when_to_come_back() {
        let response = Refusal::RateLimited.into_response();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    }

    #[test]
    fn overload_is_answered_in_plain_text() {
        let response = Refusal::Overloaded.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        let kind = response.headers()[header::CONTENT_TYPE].to_str().unwrap();
        assert!(kind.starts_with("text/plain"), "{kind}");
    }
}
