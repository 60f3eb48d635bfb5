//! The analysis API over HTTP (§4.3, CONTRACT 27): paths, methods and how an error looks. Works on
//! any listener; what is behind the paths is [`Service`].

mod admin;
mod applications;
mod audit;
mod auth;
mod body;
mod fields;
mod home;
mod ingest;
mod parts;
mod query;
mod records;
mod surrogates;
#[cfg(test)]
mod tests;
mod tokens;
mod version;
mod versions;

pub use tokens::token_json;

use super::Service;
use super::error::ApiError;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use std::sync::Arc;

/// What a client is told to wait when the store is down, in seconds.
const RETRY_AFTER: &str = "1";

/// The API. Every path also with its trailing slash and under `/api`.
pub fn router(service: Arc<Service>) -> Router {
    let api = Router::new();
    let api = both(api, "/process_request", post(ingest::request));
    let api = both(api, "/process_response", post(ingest::response));
    let api = both(api, "/records", get(records::list));
    let api = both(api, "/records/{id}", get(records::one));
    let api = admin::routes(api);
    Router::new()
        .route("/", get(home::page))
        .nest("/api", api.clone())
        .merge(api)
        .fallback(async || ApiError::NotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .with_state(service)
}

fn both(
    router: Router<Arc<Service>>,
    path: &str,
    methods: MethodRouter<Arc<Service>>,
) -> Router<Arc<Service>> {
    router
        .route(path, methods.clone())
        .route(&format!("{path}/"), methods)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, self.envelope().to_json());
        let headers = response.headers_mut();
        match self {
            Self::TokenMissing | Self::TokenInvalid => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::VersionConflict(latest) => {
                headers.insert(header::ETAG, version::etag(latest));
            }
            Self::StoreDown => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
            }
            _ => {}
        }
        response
    }
}

fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
