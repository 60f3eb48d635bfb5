//! The router of the analysis server: the routes of the API under both of their prefixes, and the web UI. Works
//! on any listener.

use super::routes::routes;
use crate::analysis::error::ApiError;
use crate::analysis::{Services, ui};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use monitor_model::{GATEWAY_HEADER, GatewayReport};
use std::sync::Arc;

/// The API. Every path also with its trailing slash and under `/api`.
pub fn router(services: Arc<Services>) -> Router {
    let api = routes()
        .into_iter()
        .fold(Router::new(), |api, (path, methods)| {
            api.route(path, methods.clone())
                .route(&format!("{path}/"), methods)
        });
    Router::new()
        .nest("/api", api.clone())
        .merge(api)
        .layer(from_fn_with_state(services.clone(), note_gateway))
        .fallback(async || ApiError::NotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .with_state(services.clone())
        .merge(ui::router(services))
        .layer(from_fn(refuse_ambiguous))
}

/// Headers that have one value. `Authorization` and `If-Match` are refused where they are read.
const SINGLE_VALUED: [&str; 4] = ["Host", "Content-Type", "Sec-Fetch-Site", GATEWAY_HEADER];

/// Refuses a request that two readers could take for different ones. The same value twice is one.
async fn refuse_ambiguous(request: Request, next: Next) -> Result<Response, ApiError> {
    for name in SINGLE_VALUED {
        let mut values = request.headers().get_all(name).iter();
        let first = values.next();
        if values.any(|other| Some(other) != first) {
            return Err(ApiError::AmbiguousHeader(name));
        }
    }
    Ok(next.run(request).await)
}

/// Notes what a gateway reports about itself in an accepted call.
async fn note_gateway(
    State(services): State<Arc<Services>>,
    request: Request,
    next: Next,
) -> Response {
    let header = request.headers().get(GATEWAY_HEADER);
    let report = header.and_then(|header| GatewayReport::read(header.to_str().ok()?));
    let response = next.run(request).await;
    if let Some(report) = report.filter(|_| response.status().is_success()) {
        services.ingest.gateways.record(report);
    }
    response
}
