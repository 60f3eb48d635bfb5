//! The body of a request, read up to a size limit.

use crate::analysis::{ApiError, RefusedBody};
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use http_body_util::LengthLimitError;
use std::error::Error as _;

/// The whole body of a JSON request.
pub(crate) async fn read(request: Request, max_bytes: u64) -> Result<Bytes, ApiError> {
    if !is_json(request.headers()) {
        return Err(ApiError::NotJsonType);
    }
    read_any(request, max_bytes).await
}

/// The whole body, of any type.
pub(crate) async fn read_any(request: Request, max_bytes: u64) -> Result<Bytes, ApiError> {
    read_body(request.into_body(), max_bytes).await
}

/// The whole of a body.
pub(crate) async fn read_body(body: Body, max_bytes: u64) -> Result<Bytes, ApiError> {
    if body.size_hint().lower() > max_bytes {
        return Err(ApiError::TooLarge(max_bytes));
    }
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    axum::body::to_bytes(body, limit).await.map_err(|error| {
        if let Some(refused) = RefusedBody::cause_of(&error) {
            return refused.into();
        }
        match error
            .source()
            .is_some_and(|cause| cause.is::<LengthLimitError>())
        {
            true => ApiError::TooLarge(max_bytes),
            false => ApiError::NotJson(": it is incomplete".to_owned()),
        }
    })
}

/// `application/json` or a type based on it, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim();
    let Some((main, sub)) = essence.split_once('/') else {
        return false;
    };
    let suffix = sub.rsplit_once('+').map_or(sub, |(_, suffix)| suffix);
    main.eq_ignore_ascii_case("application") && suffix.eq_ignore_ascii_case("json")
}

pub(crate) fn not_json(error: &serde_json::Error) -> ApiError {
    // The position only: the parser's message could quote the body.
    ApiError::NotJson(format!(
        ", see line {} column {}",
        error.line(),
        error.column()
    ))
}
