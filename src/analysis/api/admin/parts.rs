//! `/applications/{id}/rules` and `/applications/{id}/policy` (CONTRACT 16, 38): one document of an
//! application beside the application's version, `{"version", "rules"}` and `{"version", "policy"}`.

use super::applications::PolicyView;
use crate::analysis::Services;
use crate::analysis::admin::applications::Basis;
use crate::analysis::admin::draft::{Edit, Part};
use crate::analysis::api::extract::{
    Admin, Api, Fields, PathId, ReadFields, SettingsReader, Versioned,
};
use crate::analysis::api::response::{Outcome, versioned};
use crate::analysis::api::schemas;
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::ApplicationId;
use monitor_store::Application;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationRules)]
struct Rules<'a> {
    version: i64,
    #[schema(value_type = schemas::StoredRules)]
    rules: &'a Value,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationPolicy)]
struct OfPolicy<'a> {
    version: i64,
    #[serde(flatten)]
    policy: PolicyView<'a>,
}

/// The body of a change of the rules.
pub(crate) struct RulesBody(Value);

/// The body of a change of the policy.
pub(crate) struct PolicyBody(Value);

impl ReadFields for RulesBody {
    fn read(fields: &mut Fields) -> Self {
        Self(required(fields, "rules"))
    }
}

impl ReadFields for PolicyBody {
    fn read(fields: &mut Fields) -> Self {
        Self(required(fields, "policy"))
    }
}

/// Show an application's rules
///
/// Scope: read or admin.
#[utoipa::path(
    get,
    path = "/applications/{id}/rules",
    operation_id = "getRules",
    tag = "applications",
    params(schemas::ApplicationPath),
    responses((status = 200, description = "The rules.", body = Rules, headers(("ETag")))),
)]
pub(crate) async fn rules(
    State(services): Api,
    SettingsReader(caller): SettingsReader,
    PathId(id): PathId<ApplicationId>,
) -> Outcome {
    show_rules(&services.admin.find_application(&caller, id).await?)
}

/// Show an application's policy
///
/// Scope: read or admin.
#[utoipa::path(
    get,
    path = "/applications/{id}/policy",
    operation_id = "getPolicy",
    tag = "applications",
    params(schemas::ApplicationPath),
    responses((status = 200, description = "The policy.", body = OfPolicy, headers(("ETag")))),
)]
pub(crate) async fn policy(
    State(services): Api,
    SettingsReader(caller): SettingsReader,
    PathId(id): PathId<ApplicationId>,
) -> Outcome {
    show_policy(
        &services,
        &services.admin.find_application(&caller, id).await?,
    )
}

/// Replace an application's rules
#[utoipa::path(
    put,
    path = "/applications/{id}/rules",
    operation_id = "replaceRules",
    description = "Scope: admin.",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch),
    request_body = schemas::ReplaceRules,
    responses((status = 200, description = "The result.", body = Rules, headers(("ETag")))),
)]
pub(crate) async fn replace_rules(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    Versioned { version, edit }: Versioned<RulesBody>,
) -> Outcome {
    let (basis, edit) = (Basis { id, version }, rules_edit(Part::Replace(edit.0)));
    let changed = services.admin.change_application(&caller, basis, edit);
    show_rules(&changed.await?)
}

/// Change fields of an application's rules
#[utoipa::path(
    patch,
    path = "/applications/{id}/rules",
    operation_id = "changeRules",
    description = "Scope: admin.",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch),
    request_body = schemas::ChangeRules,
    responses((status = 200, description = "The result.", body = Rules, headers(("ETag")))),
)]
pub(crate) async fn change_rules(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    Versioned { version, edit }: Versioned<RulesBody>,
) -> Outcome {
    let (basis, edit) = (Basis { id, version }, rules_edit(Part::Merge(edit.0)));
    let changed = services.admin.change_application(&caller, basis, edit);
    show_rules(&changed.await?)
}

/// Replace an application's policy
#[utoipa::path(
    put,
    path = "/applications/{id}/policy",
    operation_id = "replacePolicy",
    description = "Scope: admin.",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch),
    request_body = schemas::ReplacePolicy,
    responses((status = 200, description = "The result.", body = OfPolicy, headers(("ETag")))),
)]
pub(crate) async fn replace_policy(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    Versioned { version, edit }: Versioned<PolicyBody>,
) -> Outcome {
    let (basis, edit) = (Basis { id, version }, policy_edit(Part::Replace(edit.0)));
    let changed = services.admin.change_application(&caller, basis, edit);
    show_policy(&services, &changed.await?)
}

/// Change fields of an application's policy
#[utoipa::path(
    patch,
    path = "/applications/{id}/policy",
    operation_id = "changePolicy",
    description = "Scope: admin.",
    tag = "applications",
    params(schemas::ApplicationPath, schemas::IfMatch),
    request_body = schemas::ChangePolicy,
    responses((status = 200, description = "The result.", body = OfPolicy, headers(("ETag")))),
)]
pub(crate) async fn change_policy(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<ApplicationId>,
    Versioned { version, edit }: Versioned<PolicyBody>,
) -> Outcome {
    let (basis, edit) = (Basis { id, version }, policy_edit(Part::Merge(edit.0)));
    let changed = services.admin.change_application(&caller, basis, edit);
    show_policy(&services, &changed.await?)
}

fn required(fields: &mut Fields, name: &'static str) -> Value {
    let given = fields.take(name);
    if given.is_none() {
        fields.refuse(name, "missing");
    }
    given.unwrap_or_default()
}

fn rules_edit(part: Part) -> Edit {
    Edit {
        rules: Some(part),
        ..Edit::default()
    }
}

fn policy_edit(part: Part) -> Edit {
    Edit {
        policy: Some(part),
        ..Edit::default()
    }
}

fn show_rules(application: &Application) -> Outcome {
    let (version, rules) = (application.version, &application.rules);
    versioned(StatusCode::OK, version, &Rules { version, rules })
}

fn show_policy(services: &Services, application: &Application) -> Outcome {
    let (version, policy) = (application.version, PolicyView::of(services, application));
    versioned(StatusCode::OK, version, &OfPolicy { version, policy })
}
