//! `/applications` and `/applications/{id}` (CONTRACT 38): reading takes the scope read or admin,
//! changing admin. Making and removing take a token that is bound to no application.

use crate::analysis::admin::applications::Basis;
use crate::analysis::admin::draft::{Edit, Part};
use crate::analysis::api::extract::callers::{administrator, settings_reader};
use crate::analysis::api::extract::fields::Fields;
use crate::analysis::api::extract::path::{Id, application_id};
use crate::analysis::api::extract::query::{Given, Query};
use crate::analysis::api::extract::version::{stated, stated_in_query};
use crate::analysis::api::response;
use crate::analysis::api::response::versioned;
use crate::analysis::{ApiError, Services};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use monitor_model::{AppMode, ApplicationId, Policy};
use monitor_store::{Application, ApplicationFilter, NameFilter};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Serialize)]
struct List<'a> {
    applications: Vec<Item<'a>>,
    /// `after` of the next page; null on the last one.
    next_after: Option<i64>,
}

#[derive(Serialize)]
struct Item<'a> {
    id: ApplicationId,
    name: &'a str,
    description: &'a str,
    created_at_ms: i64,
    updated_at_ms: i64,
    version: i64,
    /// Of the policy; null without one.
    app_mode: Option<AppMode>,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    rules: &'a Value,
    #[serde(flatten)]
    policy: PolicyView<'a>,
}

/// The policy of an application, or what is wrong where another program wrote one that nobody can
/// read.
#[derive(Serialize)]
pub(in crate::analysis::api) struct PolicyView<'a> {
    policy: Option<&'a Policy>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_problems: Vec<String>,
}

pub(in crate::analysis::api) async fn list(
    State(services): State<Arc<Services>>,
    given: Given,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = settings_reader(&services, &headers).await?;
    let mut query = Query::read(given)?;
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

pub(in crate::analysis::api) async fn create(
    State(services): State<Arc<Services>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = administrator(&services, &headers).await?;
    let mut fields = Fields::read(request).await?;
    let id = fields.typed("id", "must be a UUID", |id| id.as_str()?.parse().ok());
    let edit = edit(&mut fields, Part::Whole);
    fields.finish()?;
    let edit = Edit {
        name: Some(edit.name.unwrap_or_default()),
        ..edit
    };
    let made = services.admin.make_application(&caller, id, edit).await?;
    let response = whole(StatusCode::CREATED, &made)?;
    Ok(response::located(
        response,
        &format!("/applications/{}", made.id),
    ))
}

pub(in crate::analysis::api) async fn one(
    State(services): State<Arc<Services>>,
    id: Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = settings_reader(&services, &headers).await?;
    let application = services
        .admin
        .one_application(&caller, application_id(id)?)
        .await?;
    whole(StatusCode::OK, &application)
}

/// PUT: what is left out has its default.
pub(in crate::analysis::api) async fn replace(
    State(services): State<Arc<Services>>,
    id: Id,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = administrator(&services, &headers).await?;
    let id = application_id(id)?;
    let mut fields = Fields::read(request).await?;
    let version = stated(&mut fields, &headers);
    let edit = edit(&mut fields, Part::Whole);
    if edit.name.is_none() {
        fields.refuse("name", "missing");
    }
    fields.finish()?;
    let edit = Edit {
        name: edit.name,
        description: Some(edit.description.unwrap_or_default()),
        rules: edit.rules.or(Some(Part::Whole(json!({})))),
        policy: edit.policy.or(Some(Part::Whole(Value::Null))),
    };
    let version = version.settle()?;
    let basis = Basis { id, version };
    let changed = services
        .admin
        .change_application(&caller, basis, edit)
        .await?;
    whole(StatusCode::OK, &changed)
}

/// PATCH: what is left out stays.
pub(in crate::analysis::api) async fn change(
    State(services): State<Arc<Services>>,
    id: Id,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = administrator(&services, &headers).await?;
    let id = application_id(id)?;
    let mut fields = Fields::read(request).await?;
    let version = stated(&mut fields, &headers);
    let edit = edit(&mut fields, Part::Over);
    fields.finish()?;
    let version = version.settle()?;
    let basis = Basis { id, version };
    let changed = services
        .admin
        .change_application(&caller, basis, edit)
        .await?;
    whole(StatusCode::OK, &changed)
}

pub(in crate::analysis::api) async fn remove(
    State(services): State<Arc<Services>>,
    id: Id,
    given: Given,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let caller = administrator(&services, &headers).await?;
    let id = application_id(id)?;
    let mut query = Query::read(given)?;
    let version = query.typed("version", "must be an integer", |text| text.parse().ok())?;
    query.finish()?;
    let version = stated_in_query(version, &headers).settle()?;
    services
        .admin
        .remove_application(&caller, Basis { id, version })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The whole application with its version as ETag.
pub(in crate::analysis::api) fn whole(
    status: StatusCode,
    application: &Application,
) -> Result<Response, ApiError> {
    let view = Whole {
        item: Item::from(application),
        rules: &application.rules,
        policy: PolicyView::from(application),
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

impl<'a> From<&'a Application> for PolicyView<'a> {
    fn from(application: &'a Application) -> Self {
        let (policy, problems) = match &application.policy {
            None => (None, None),
            Some(Ok(policy)) => (Some(policy), None),
            Some(Err(problems)) => (None, Some(problems)),
        };
        let texts = |problems: &monitor_model::PolicyProblems| {
            problems.0.iter().map(ToString::to_string).collect()
        };
        Self {
            policy,
            policy_problems: problems.map(texts).unwrap_or_default(),
        }
    }
}
