//! `/applications/{id}/versions`, `/applications/{id}/versions/{version}` and `/applications/{id}/restore`
//! (CONTRACT 38): earlier versions of an application, and restoring one, which creates a new version.

use super::applications::{Whole as Application, whole};
use crate::analysis::ApiError;
use crate::analysis::admin::applications::Basis;
use crate::analysis::api::extract::{
    Admin, Api, Fields, PathId, PathIds, Query, ReadFields, SettingsReader, Versioned,
};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::ApplicationId;
use monitor_store::ApplicationVersion;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = VersionList)]
struct List<'a> {
    versions: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VersionItem)]
struct Item<'a> {
    version: i64,
    /// Milliseconds since 1970.
    changed_at_ms: i64,
    /// The name of a token.
    changed_by: &'a str,
    name: &'a str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Version)]
struct Whole<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    description: &'a str,
    #[schema(value_type = schemas::StoredRules)]
    rules: &'a Value,
    /// As it was stored.
    #[schema(value_type = Option<Object>)]
    policy: Option<&'a Value>,
}

/// The body of a request that restores an earlier version.
pub(crate) struct Restore(i64);

impl ReadFields for Restore {
    fn read(fields: &mut Fields) -> Self {
        let earlier = fields.integer("restore");
        if earlier.is_none() {
            fields.refuse("restore", "must be the number of an earlier version");
        }
        Self(earlier.unwrap_or_default())
    }
}

/// List an application's versions, the latest first
///
/// Scope: read or admin.
#[utoipa::path(
    get,
    path = "/applications/{id}/versions",
    operation_id = "listVersions",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::Page, schemas::Limit),
    responses((status = 200, description = "One page.", body = List)),
)]
pub(crate) async fn list(
    State(services): Api,
    SettingsReader(caller): SettingsReader,
    mut query: Query,
    id: Result<PathId<ApplicationId>, ApiError>,
) -> Outcome {
    let before = query.typed("before", "must be an integer", |text| text.parse().ok())?;
    let limit = query.limit()?;
    query.finish()?;
    let PathId(id) = id?;
    let page = services.admin.list_versions(&caller, id, before, limit);
    let (versions, next_before) = page.await?;
    let list = List {
        versions: versions.iter().map(Item::from).collect(),
        next_before,
    };
    response::unstored(StatusCode::OK, &list)
}

/// Show a version
///
/// Scope: read or admin.
#[utoipa::path(
    get,
    path = "/applications/{id}/versions/{version}",
    operation_id = "getVersion",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::VersionPath),
    responses((status = 200, description = "The application at that version.", body = Whole)),
)]
pub(crate) async fn one(
    State(services): Api,
    SettingsReader(caller): SettingsReader,
    PathIds(id, version): PathIds<ApplicationId, i64>,
) -> Outcome {
    let version = services.admin.find_version(&caller, id, version).await?;
    let view = Whole {
        item: Item::from(&version),
        description: &version.description,
        rules: &version.rules,
        policy: version.policy.as_ref(),
    };
    response::unstored(StatusCode::OK, &view)
}

/// Make an earlier version the latest again
#[utoipa::path(
    post,
    path = "/applications/{id}/restore",
    operation_id = "restoreApplication",
    description = "Scope: admin.",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch),
    request_body = schemas::Restore,
    responses(
        (
            status = 200,
            description = "The application at its new version.",
            body = Application,
            headers(("ETag")),
        ),
    ),
)]
pub(crate) async fn restore(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    Versioned { version, edit }: Versioned<Restore>,
) -> Outcome {
    let basis = Basis { id, version };
    let restored = services.admin.restore_application(&caller, basis, edit.0);
    whole(&services, StatusCode::OK, &restored.await?)
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
