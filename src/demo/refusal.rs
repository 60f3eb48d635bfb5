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

/// One refusal as it is sent.
struct Error {
    status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<&'static str>,
    message: &'static str,
}

/// An error of the kind that most are of.
fn invalid(status: StatusCode, code: Option<&'static str>, message: &'static str) -> Error {
    Error {
        status,
        kind: "invalid_request_error",
        code,
        param: None,
        message,
    }
}

impl Refusal {
    fn error(&self) -> Error {
        use StatusCode as S;
        let invalid_key = "The key was refused: the demo upstream accepts any but `invalid`.";
        let not_an_object = "The request body must be a JSON object.";
        let no_model = "The model `missing-model` does not exist.";
        let rate_limited = "Rate limit reached for the model `rate-limited`.";
        let overloaded = "The demo upstream is overloaded\n";
        let no_path = "No such path at the demo upstream.";
        let no_method = "The method is not allowed on this path.";
        match *self {
            Self::KeyRejected => invalid(S::UNAUTHORIZED, Some("invalid_api_key"), invalid_key),
            Self::NotAnObject => invalid(S::BAD_REQUEST, None, not_an_object),
            Self::Field { param, message } => Error {
                param: Some(param),
                ..invalid(S::BAD_REQUEST, None, message)
            },
            Self::ModelNotFound => Error {
                param: Some("model"),
                ..invalid(S::NOT_FOUND, Some("model_not_found"), no_model)
            },
            Self::RateLimited => Error {
                kind: "rate_limit_error",
                ..invalid(
                    S::TOO_MANY_REQUESTS,
                    Some("rate_limit_exceeded"),
                    rate_limited,
                )
            },
            Self::Overloaded => invalid(S::SERVICE_UNAVAILABLE, None, overloaded),
            Self::UnknownPath => invalid(S::NOT_FOUND, Some("unknown_url"), no_path),
            Self::WrongMethod => invalid(
                S::METHOD_NOT_ALLOWED,
                Some("method_not_supported"),
                no_method,
            ),
        }
    }

    fn envelope(&self) -> Value {
        let error = self.error();
        json!({"error": {
            "message": error.message,
            "type": error.kind,
            "param": error.param,
            "code": error.code,
        }})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Error {
            status, message, ..
        } = self.error();
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
