//! The analysis API over HTTP (§4.3, CONTRACT 27): paths, methods and how an error looks. Works on
//! any listener; what is behind the paths is [`Service`].

mod admin;
mod applications;
pub(super) mod attachments;
mod audit;
mod auth;
mod batch;
mod body;
mod chain;
mod csv;
mod erasure;
pub(super) mod export;
mod fields;
pub(super) mod filters;
mod ingest;
mod paced;
mod parts;
mod query;
mod records;
mod replays;
mod sessions;
pub(super) mod shapes;
mod statistics;
mod surrogates;
#[cfg(test)]
mod tests;
mod tokens;
mod version;
mod versions;

pub use tokens::token_json;

use super::Service;
use super::error::ApiError;
use super::ui;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use monitor_model::{GATEWAY_HEADER, GatewayReport};
use std::sync::Arc;

/// A path without its slash at the end, and what it takes.
pub(super) type Route = (&'static str, MethodRouter<Arc<Service>>);

/// The API. Every path also with its trailing slash and under `/api`.
pub fn router(service: Arc<Service>) -> Router {
    let api = routes()
        .into_iter()
        .fold(Router::new(), |api, (path, methods)| {
            api.route(path, methods.clone())
                .route(&format!("{path}/"), methods)
        });
    Router::new()
        .nest("/api", api.clone())
        .merge(api)
        .layer(from_fn_with_state(service.clone(), listen))
        .fallback(async || ApiError::NotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .with_state(service.clone())
        .merge(ui::router(service))
}

/// Everything below `/`; `openapi.json` describes the same.
pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        ("/records", get(records::list).delete(erasure::records)),
        ("/records/export", get(export::records)),
        ("/records/{id}", get(records::one)),
        ("/records/{id}/explain", post(replays::explain)),
        ("/sessions", get(sessions::list)),
        ("/chain", get(chain::list)),
        ("/statistics", get(statistics::list)),
        ("/statistics/users", get(statistics::users)),
    ];
    let processing = [
        ("/process_request", post(ingest::request)),
        ("/process_response", post(ingest::response)),
        ("/process_request/override", post(ingest::request_override)),
        (
            "/process_response/override",
            post(ingest::response_override),
        ),
        ("/process_batch", post(batch::process)),
    ];
    let tells = |(path, methods): Route| (path, methods.layer(map_response(takes_batches)));
    routes.extend(processing.into_iter().map(tells));
    routes.extend(attachments::routes());
    routes.extend(admin::routes());
    routes
}

/// Tells a gateway that registrations may come in batches (CONTRACT 39).
async fn takes_batches(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("x-monitor-batch", HeaderValue::from_static("1"));
    response
}

/// Takes in what a gateway says of itself, where its call is accepted.
async fn listen(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let header = request.headers().get(GATEWAY_HEADER);
    let report = header.and_then(|header| GatewayReport::read(header.to_str().ok()?));
    let response = next.run(request).await;
    if let Some(report) = report.filter(|_| response.status().is_success()) {
        service.heard_of(report);
    }
    response
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
            headers.insert(header::ETAG, version::etag(latest));
        }
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    content(status, "application/json", bytes)
}

fn content(status: StatusCode, kind: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
