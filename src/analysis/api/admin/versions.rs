//! `/applications/{id}/versions`, `/applications/{id}/versions/{version}` and
//! `/applications/{id}/restore` (CONTRACT 38): what an application was, and going back to it, which
//! makes a new version.

use super::applications::whole;
use crate::analysis::admin::applications::Basis;
use crate::analysis::api::extract::callers::{administrator, settings_reader};
use crate::analysis::api::extract::fields::Fields;
use crate::analysis::api::extract::path::{Id, application_id};
use crate::analysis::api::extract::query::{Given, Query};
use crate::analysis::api::extract::version::stated;
use crate::analysis::api::response;
use crate::analysis::{ApiError, Services};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use monitor_store::ApplicationVersion;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

#[derive(Serialize)]
struct List<'a> {
    versions: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<i64>,
}

#[derive(Serialize)]
struct Item<'a> {
    version: i64,
    changed_at_ms: i64,
    changed_by: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    description: &'a str,
    rules: &'a Value,
    policy: Option<&'a Value>,
}

pub(in crate::analysis::api) async fn list(
    State(services): State<Arc<Services>>,
    id: Id,
    given: Given,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = settings_reader(&services, &headers).await?;
    let mut query = Query::read(given)?;
    let before = query.typed("before", "must be an integer", |text| text.parse().ok())?;
    let limit = query.limit()?;
    query.finish()?;
    let id = application_id(id)?;
    let (versions, next_before) = services
        .admin
        .list_versions(&caller, id, before, limit)
        .await?;
    let list = List {
        versions: versions.iter().map(Item::from).collect(),
        next_before,
    };
    response::unstored(StatusCode::OK, &list)
}

pub(in crate::analysis::api) async fn one(
    State(services): State<Arc<Services>>,
    place: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = settings_reader(&services, &headers).await?;
    let Path((id, version)) = place.map_err(|_| ApiError::NotFound)?;
    let id = application_id(Ok(Path(id)))?;
    let version = version.parse().map_err(|_| ApiError::NotFound)?;
    let version = services.admin.one_version(&caller, id, version).await?;
    let view = Whole {
        item: Item::from(&version),
        description: &version.description,
        rules: &version.rules,
        policy: version.policy.as_ref(),
    };
    response::unstored(StatusCode::OK, &view)
}

pub(in crate::analysis::api) async fn restore(
    State(services): State<Arc<Services>>,
    id: Id,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = administrator(&services, &headers).await?;
    let id = application_id(id)?;
    let mut fields = Fields::read(request).await?;
    let version = stated(&mut fields, &headers);
    let earlier = fields.integer("restore");
    if earlier.is_none() {
        fields.refuse("restore", "must be the number of an earlier version");
    }
    fields.finish()?;
    let basis = Basis {
        id,
        version: version.settle()?,
    };
    let earlier = earlier.ok_or(ApiError::Internal)?;
    let restored = services
        .admin
        .restore_application(&caller, basis, earlier)
        .await?;
    whole(StatusCode::OK, &restored)
}

impl<'a> From<&'a ApplicationVersion> for Item<'a> {
    fn from(version: &'a ApplicationVersion) -> Self {
        Self {
            version: version.version,
            changed_at_ms: version.changed_at_ms,
            changed_by: &version.changed_by,
            name: &version.name,
        }
    }
}
