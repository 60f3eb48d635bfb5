//! `/applications` and `/applications/{id}` (CONTRACT 38): reading requires the scope read or admin,
//! changing admin. Creating and removing requires a token that is bound to no application.

use crate::analysis::admin::applications::Basis;
use crate::analysis::admin::draft::{Edit, Part};
use crate::analysis::api::extract::version::stated_in_query;
use crate::analysis::api::extract::{
    Admin, Api, Body, Fields, PathId, Query, ReadFields, SettingsReader, Versioned,
};
use crate::analysis::api::refusals::Conflict;
use crate::analysis::api::response::{self, Outcome, versioned};
use crate::analysis::api::schemas;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use monitor_model::{AppMode, ApplicationId, Policy, PolicyProblems};
use monitor_store::{Application, ApplicationFilter, NameFilter};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationList)]
struct List<'a> {
    applications: Vec<Item<'a>>,
    /// `after` of the next page; null on the last one.
    next_after: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationItem)]
struct Item<'a> {
    id: ApplicationId,
    name: &'a str,
    description: &'a str,
    /// Milliseconds since 1970.
    created_at_ms: i64,
    /// Milliseconds since 1970.
    updated_at_ms: i64,
    /// The number of the version.
    #[schema(minimum = 1)]
    version: i64,
    /// The mode of the policy; null without one.
    app_mode: Option<AppMode>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Application)]
pub(crate) struct Whole<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    #[schema(value_type = schemas::StoredRules)]
    rules: &'a Value,
    #[serde(flatten)]
    policy: PolicyView<'a>,
}

/// The policy of an application, or its problems where another program wrote one that cannot be read.
#[derive(Serialize, ToSchema)]
pub(crate) struct PolicyView<'a> {
    policy: Option<&'a Policy>,
    policy_source: PolicySource,
    /// Only where another program wrote a policy that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_problems: Vec<String>,
}

/// Where the policy that is in force comes from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum PolicySource {
    /// The store, where it can be changed.
    Store,
    /// The configuration file of this process (`applications`), which wins over the store: a change of it is refused.
    File,
}

/// The body of a request that creates an application.
pub(crate) struct NewApplication {
    id: Option<ApplicationId>,
    edit: Edit,
}

/// PUT: missing fields get their defaults.
pub(crate) struct Replacement(Edit);

/// PATCH: missing fields stay unchanged.
pub(crate) struct Patch(Edit);

impl ReadFields for NewApplication {
    fn read(fields: &mut Fields) -> Self {
        let id = fields.typed("id", "must be a UUID", |id| id.as_str()?.parse().ok());
        let edit = edit(fields, Part::Replace);
        Self {
            id,
            edit: Edit {
                name: Some(edit.name.unwrap_or_default()),
                ..edit
            },
        }
    }
}

impl ReadFields for Replacement {
    fn read(fields: &mut Fields) -> Self {
        let edit = edit(fields, Part::Replace);
        if edit.name.is_none() {
            fields.refuse("name", "missing");
        }
        Self(Edit {
            name: edit.name,
            description: Some(edit.description.unwrap_or_default()),
            rules: edit.rules.or(Some(Part::Default(json!({})))),
            policy: edit.policy.or(Some(Part::Default(Value::Null))),
        })
    }
}

impl ReadFields for Patch {
    fn read(fields: &mut Fields) -> Self {
        Self(edit(fields, Part::Merge))
    }
}

/// List applications, the oldest first
///
/// Scope: read or admin.
#[utoipa::path(
    get,
    path = "/applications",
    operation_id = "listApplications",
    tag = "applications",
    params(schemas::NameFilter, schemas::Limit),
    responses((status = 200, description = "One page.", body = List)),
)]
pub(crate) async fn list(
    State(services): Api,
    SettingsReader(caller): SettingsReader,
    mut query: Query,
) -> Outcome {
    let filter = ApplicationFilter {
        id: None,
        name: query.take("name")?.map(NameFilter::Part),
        after: query.typed("after", "must be an integer", |text| text.parse().ok())?,
        limit: query.limit()?,
    };
    query.finish()?;
    let page = services.admin.list_applications(&caller, filter).await?;
    let list = List {
        applications: page.applications.iter().map(Item::from).collect(),
        next_after: page.next_after,
    };
    response::unstored(StatusCode::OK, &list)
}

/// Create an application
///
/// Scope: admin, with a token that is not bound to an application.
#[utoipa::path(
    post,
    path = "/applications",
    operation_id = "createApplication",
    tag = "applications",
    request_body = schemas::NewApplication,
    responses(
        (
            status = 201,
            description = "The new application.",
            body = Whole,
            headers(("ETag"), ("Location")),
        ),
        Conflict,
    ),
)]
pub(crate) async fn create(
    State(services): Api,
    Admin(caller): Admin,
    Body(NewApplication { id, edit }): Body<NewApplication>,
) -> Outcome {
    let made = services.admin.create_application(&caller, id, edit).await?;
    let response = whole(&services, StatusCode::CREATED, &made)?;
    let path = format!("/applications/{}", made.id);
    Ok(response::located(response, &path))
}

/// Show an application
///
/// Scope: read or admin.
#[utoipa::path(
    get,
    path = "/applications/{id}",
    operation_id = "getApplication",
    tag = "applications",
    params(schemas::ApplicationPath),
    responses((status = 200, description = "The application.", body = Whole, headers(("ETag")))),
)]
pub(crate) async fn one(
    State(services): Api,
    SettingsReader(caller): SettingsReader,
    PathId(id): PathId<ApplicationId>,
) -> Outcome {
    let application = services.admin.find_application(&caller, id).await?;
    whole(&services, StatusCode::OK, &application)
}

/// Replace an application
///
/// Missing fields are reset to their defaults. Scope: admin.
#[utoipa::path(
    put,
    path = "/applications/{id}",
    operation_id = "replaceApplication",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch),
    request_body = schemas::ReplaceApplication,
    responses((status = 200, description = "The result.", body = Whole, headers(("ETag")))),
)]
pub(crate) async fn replace(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    Versioned { version, edit }: Versioned<Replacement>,
) -> Outcome {
    let basis = Basis { id, version };
    let changed = services.admin.change_application(&caller, basis, edit.0);
    whole(&services, StatusCode::OK, &changed.await?)
}

/// Change parts of an application
#[utoipa::path(
    patch,
    path = "/applications/{id}",
    operation_id = "changeApplication",
    description = "Scope: admin.",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch),
    request_body = schemas::ChangeApplication,
    responses((status = 200, description = "The result.", body = Whole, headers(("ETag")))),
)]
pub(crate) async fn change(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    Versioned { version, edit }: Versioned<Patch>,
) -> Outcome {
    let basis = Basis { id, version };
    let changed = services.admin.change_application(&caller, basis, edit.0);
    whole(&services, StatusCode::OK, &changed.await?)
}

/// Remove an application with its tokens and records
///
/// Scope: admin, with a token that is not bound to an application. Accounts of people that are bound to this
/// application are removed with it; if there are any, the scope read is required too.
#[utoipa::path(
    delete,
    path = "/applications/{id}",
    operation_id = "removeApplication",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch, schemas::RemovedVersion),
    responses((status = 204, description = "It is removed.")),
)]
pub(crate) async fn remove(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let version = query.typed("version", "must be an integer", |text| text.parse().ok())?;
    query.finish()?;
    let version = stated_in_query(version, &headers).settle()?;
    let basis = Basis { id, version };
    services.admin.remove_application(&caller, basis).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The whole application with its version as ETag.
pub(crate) fn whole(services: &Services, status: StatusCode, application: &Application) -> Outcome {
    let view = Whole {
        item: Item::from(application),
        rules: &application.rules,
        policy: PolicyView::of(services, application),
    };
    versioned(status, application.version, &view)
}

fn edit(fields: &mut Fields, part: fn(Value) -> Part) -> Edit {
    Edit {
        name: fields.text("name"),
        description: fields.text("description"),
        rules: fields.take("rules").map(part),
        policy: fields.take("policy").map(part),
    }
}

impl<'a> From<&'a Application> for Item<'a> {
    fn from(application: &'a Application) -> Self {
        let policy = application.policy.as_ref();
        Self {
            id: application.id,
            name: &application.name,
            description: &application.description,
            created_at_ms: application.created_at_ms,
            updated_at_ms: application.updated_at_ms,
            version: application.version,
            app_mode: policy.and_then(|policy| Some(policy.as_ref().ok()?.app_mode)),
        }
    }
}

impl<'a> PolicyView<'a> {
    pub(super) fn of(services: &Services, application: &'a Application) -> Self {
        let (policy, problems) = match &application.policy {
            None => (None, None),
            Some(Ok(policy)) => (Some(policy), None),
            Some(Err(problems)) => (None, Some(problems)),
        };
        let texts =
            |problems: &PolicyProblems| problems.0.iter().map(ToString::to_string).collect();
        Self {
            policy,
            policy_source: match services.admin.is_in_file(application.id) {
                true => PolicySource::File,
                false => PolicySource::Store,
            },
            policy_problems: problems.map(texts).unwrap_or_default(),
        }
    }
}
