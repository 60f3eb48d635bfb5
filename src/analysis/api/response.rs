//! How answers look: JSON, their headers, and the envelope of an error.

use crate::analysis::ApiError;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The result of a handler.
pub(crate) type Outcome = Result<Response, ApiError>;

/// 200 with this value.
pub(crate) fn ok(value: &impl Serialize) -> Outcome {
    let bytes = serde_json::to_vec(value).map_err(|_| ApiError::Internal)?;
    Ok(json(StatusCode::OK, bytes))
}

/// The same for a long value, of about so many bytes.
pub(crate) fn ok_of(value: &impl Serialize, bytes: usize) -> Outcome {
    let mut body = Vec::with_capacity(bytes);
    serde_json::to_writer(&mut body, value).map_err(|_| ApiError::Internal)?;
    Ok(json(StatusCode::OK, body))
}

/// A JSON answer that no cache may store.
pub(crate) fn unstored(status: StatusCode, value: &impl Serialize) -> Outcome {
    let bytes = serde_json::to_vec(value).map_err(|_| ApiError::Internal)?;
    let mut response = json(status, bytes);
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    Ok(response)
}

/// Like [`unstored`], with the ETag of an application's version.
pub(crate) fn versioned(status: StatusCode, version: i64, value: &impl Serialize) -> Outcome {
    let mut response = unstored(status, value)?;
    response.headers_mut().insert(header::ETAG, etag(version));
    Ok(response)
}

/// Adds the location of something that was created.
pub(crate) fn located(mut response: Response, path: &str) -> Response {
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

/// An application's version as an ETag.
pub(crate) fn etag(version: i64) -> HeaderValue {
    // Digits in quotes are a valid header value.
    HeaderValue::from_str(&format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, self.envelope().to_json());
        let headers = response.headers_mut();
        if matches!(self, Self::TokenMissing | Self::TokenInvalid) {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Self::VersionConflict(latest) = self {
            headers.insert(header::ETAG, etag(latest));
        }
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

pub(crate) fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    content(status, "application/json", bytes)
}

pub(crate) fn content(status: StatusCode, kind: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
