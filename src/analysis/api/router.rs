//! The router of the analysis server: the routes of the API under both of their prefixes, and the web UI. Works
//! on any listener.

use super::routes::routes;
use crate::analysis::error::ApiError;
use crate::analysis::{Services, ui};
use crate::config::CorsSettings;
use crate::edge::cors::{self, Origin};
use crate::edge::meant_path::{self, ModelPath};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use monitor_model::{GATEWAY_HEADER, GatewayReport};
use std::sync::{Arc, LazyLock};

/// The API. Every path also with its trailing slash and under `/api`.
pub fn router(services: Arc<Services>, cors: CorsSettings) -> Router {
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
        .fallback(unknown_path)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .layer(from_fn_with_state(Arc::new(cors), share_with_websites))
        .with_state(services.clone())
        .merge(ui::router(services))
        .layer(from_fn(refuse_ambiguous))
}

/// Says what was probably meant. Paths are the same for everybody, so it needs no token.
async fn unknown_path(uri: Uri) -> ApiError {
    static KNOWN: LazyLock<Vec<&str>> =
        LazyLock::new(|| routes().into_iter().map(|(path, _)| path).collect());
    match meant_path::nearest(uri.path(), KNOWN.iter().copied()) {
        None if ModelPath::meant_by(uri.path()).is_some() => ApiError::ModelPath,
        meant => ApiError::UnknownPath(meant),
    }
}

/// Where gateways send records.
const RECORD_PATHS: [&str; 3] = ["/process_request", "/process_response", "/process_batch"];

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

/// The methods of all routes together, for browsers that ask what a page may do.
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";

/// Answers browsers that ask whether a page of a listed website may call, and lets such pages read answers. The web
/// UI has no part in it: it knows people by their cookies.
async fn share_with_websites(
    State(settings): State<Arc<CorsSettings>>,
    request: Request,
    next: Next,
) -> Response {
    let website = Origin::of(&settings, request.headers());
    let asks = website.may_ask(request.method(), request.headers());
    let is_route = request.extensions().get::<MatchedPath>().is_some();
    let mut response = match asks && is_route {
        true => {
            let allowed = cors::allowed(METHODS, request.headers());
            let mut response = StatusCode::NO_CONTENT.into_response();
            response.headers_mut().extend(allowed);
            response
        }
        false => next.run(request).await,
    };
    for (name, value) in website.headers() {
        response.headers_mut().append(name, value);
    }
    response
}

/// Notes what a gateway reports about itself with the records that it sends, not with what others may ask.
async fn note_gateway(
    State(services): State<Arc<Services>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().trim_end_matches('/');
    let sends = RECORD_PATHS.contains(&path.strip_prefix("/api").unwrap_or(path));
    let header = request.headers().get(GATEWAY_HEADER).filter(|_| sends);
    let report = header.and_then(|header| GatewayReport::read(header.to_str().ok()?));
    let response = next.run(request).await;
    if let Some(report) = report.filter(|_| response.status().is_success()) {
        services.ingest.gateways.record(report);
    }
    response
}
