//! Who calls: the token of the request with the scope that a handler needs.

use super::bearer;
use crate::analysis::{ApiError, Caller, Services};
use axum::http::HeaderMap;
use monitor_store::Scope;

/// Whoever may change settings.
pub(in crate::analysis::api) async fn administrator(
    services: &Services,
    headers: &HeaderMap,
) -> Result<Caller, ApiError> {
    services
        .access
        .authorize(&bearer::bearer(headers)?, Scope::Admin)
        .await
}

/// Whoever may read applications: their rules judge the records that a reader reads.
pub(in crate::analysis::api) async fn settings_reader(
    services: &Services,
    headers: &HeaderMap,
) -> Result<Caller, ApiError> {
    let key = bearer::bearer(headers)?;
    services
        .access
        .authorize_any(&key, &[Scope::Read, Scope::Admin])
        .await
}

/// The caller, if it may read.
pub(in crate::analysis::api) async fn record_reader(
    services: &Services,
    headers: &HeaderMap,
) -> Result<Caller, ApiError> {
    services
        .access
        .authorize(&bearer::bearer(headers)?, Scope::Read)
        .await
}
