//! Identifiers in a path. What is no UUID belongs to nothing: 404.

use crate::analysis::ApiError;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use monitor_model::{ApplicationId, RecordId};

/// A part of the path as axum reads it.
pub(in crate::analysis::api) type Id = Result<Path<String>, PathRejection>;

/// The application of a path. What is no UUID is no application's.
pub(in crate::analysis::api) fn application_id(id: Id) -> Result<ApplicationId, ApiError> {
    id.ok()
        .and_then(|Path(text)| text.parse().ok())
        .ok_or(ApiError::NotFound)
}

/// The record of a path. What is no UUID is no record's.
pub(in crate::analysis::api) fn record_id(id: Id) -> Result<RecordId, ApiError> {
    id.ok()
        .and_then(|Path(text)| text.parse().ok())
        .ok_or(ApiError::NotFound)
}
