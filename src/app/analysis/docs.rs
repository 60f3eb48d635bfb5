//! `/openapi.json`, `/docs` and `/redoc` of the analysis API, without a token as at the gateway
//! (CONTRACT 9): the document is the analysis's own, the pages and their files are those of
//! `gateway::docs`, which name no service and load the document beside them.

use crate::analysis::{ApiError, openapi_json};
use crate::gateway::docs::{self, Asset};
use axum::Router;
use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// The paths of the documentation.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/openapi.json", get(document))
        .route("/docs", get(page))
        .route("/docs/", get(page))
        .route("/docs/{file}", get(page))
        .route("/redoc", get(page))
        .route("/redoc/", get(page))
        .route("/redoc/{file}", get(page))
}

async fn document() -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-cache"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, openapi_json())
}

async fn page(uri: Uri, headers: HeaderMap) -> Response {
    match docs::find(uri.path()) {
        Some(asset) => answer(asset, &headers),
        None => ApiError::NotFound.into_response(),
    }
}

fn answer(asset: Asset, asked: &HeaderMap) -> Response {
    let cache = match asset.cache {
        true => "public, max-age=86400",
        false => "no-cache",
    };
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (CONTENT_TYPE, asset.content_type),
        (CONTENT_SECURITY_POLICY, asset.csp),
        (CACHE_CONTROL, cache),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (VARY, "accept-encoding"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let (body, encoding) = asset.body_for(asked.get(ACCEPT_ENCODING));
    if let Some(encoding) = encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    (headers, Body::from(body)).into_response()
}
