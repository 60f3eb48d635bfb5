//! The paths of the administration (CONTRACT 30, 38), and what its handlers share: who calls, which
//! application, how an answer looks.

use super::{Route, applications, audit, auth, json, parts, replays, tokens, version, versions};
use crate::analysis::{ApiError, Caller, Service};
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use monitor_model::ApplicationId;
use monitor_store::Scope;
use serde::Serialize;

/// A part of the path as axum reads it.
pub(super) type Id = Result<Path<String>, PathRejection>;

/// The paths with their methods.
pub(super) fn routes() -> Vec<Route> {
    vec![
        (
            "/applications",
            get(applications::list).post(applications::create),
        ),
        (
            "/applications/{id}",
            get(applications::one)
                .put(applications::replace)
                .patch(applications::change)
                .delete(applications::remove),
        ),
        (
            "/applications/{id}/rules",
            get(parts::rules)
                .put(parts::replace_rules)
                .patch(parts::change_rules),
        ),
        (
            "/applications/{id}/policy",
            get(parts::policy)
                .put(parts::replace_policy)
                .patch(parts::change_policy),
        ),
        ("/applications/{id}/versions", get(versions::list)),
        ("/applications/{id}/versions/{version}", get(versions::one)),
        ("/applications/{id}/restore", post(versions::restore)),
        ("/applications/{id}/replay", post(replays::replay)),
        ("/tokens", get(tokens::list).post(tokens::create)),
        (
            "/tokens/{id}",
            get(tokens::one)
                .patch(tokens::change)
                .delete(tokens::revoke),
        ),
        ("/tokens/{id}/rotate", post(tokens::rotate)),
        ("/audit", get(audit::list)),
    ]
}

/// Whoever may change settings.
pub(super) async fn administrator(
    service: &Service,
    headers: &HeaderMap,
) -> Result<Caller, ApiError> {
    service
        .authorise(&auth::bearer(headers)?, Scope::Admin)
        .await
}

/// Whoever may read applications: their rules judge the records that a reader reads.
pub(super) async fn reader(service: &Service, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let key = auth::bearer(headers)?;
    service
        .authorise_any(&key, &[Scope::Read, Scope::Admin])
        .await
}

/// The application of a path. What is no UUID is no application's.
pub(super) fn application_id(id: Id) -> Result<ApplicationId, ApiError> {
    id.ok()
        .and_then(|Path(text)| text.parse().ok())
        .ok_or(ApiError::NotFound)
}

/// An answer that no cache between here and the caller may keep.
pub(super) fn answer(status: StatusCode, value: &impl Serialize) -> Result<Response, ApiError> {
    let bytes = serde_json::to_vec(value).map_err(|_| ApiError::Internal)?;
    let mut response = json(status, bytes);
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    Ok(response)
}

/// The same with the ETag of an application's version.
pub(super) fn versioned(
    status: StatusCode,
    version: i64,
    value: &impl Serialize,
) -> Result<Response, ApiError> {
    let mut response = answer(status, value)?;
    response
        .headers_mut()
        .insert(header::ETAG, version::etag(version));
    Ok(response)
}

/// Where something that was made is found.
pub(super) fn located(mut response: Response, path: &str) -> Response {
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}
