//! `GET /audit` (scopes admin and read, which administrators have): who changed or read what, newest first
//! (CONTRACT 30, 38).

use crate::analysis::ApiError;
use crate::analysis::api::extract::{Administrator, Api, Query};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use crate::analysis::audit::Action;
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::ApplicationId;
use monitor_store::{AuditEntry, AuditFilter};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::Object;
use uuid::Uuid;

#[derive(Serialize, ToSchema)]
#[schema(as = AuditList)]
struct List<'a> {
    entries: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
struct Item<'a> {
    seq: i64,
    /// Milliseconds since 1970.
    at_ms: i64,
    /// The name of the token or the person; empty if nobody was recognized.
    actor: &'a str,
    /// Null on the command line and for people.
    token_id: Option<Uuid>,
    #[schema(schema_with = action)]
    action: &'a str,
    /// The identifier of the application, the token, the account, the record, or the tombstone of an erasure; `records`
    /// for an export, `findings` for many findings; empty for a failed sign-in without an account.
    target: &'a str,
    application_id: Option<ApplicationId>,
    /// Names, versions and counts. For an application: changed names the fields, switched_off and switched_on those
    /// that were switched, weakened those whose change weakens protection. For a failed sign-in: reason and address,
    /// and subject and email from a verified token of the identity provider. Beyond about twenty failures a minute
    /// there is one entry for all: more is their number, reasons their number by reason. For an export: its filter,
    /// where users, sessions, tools and texts are only said to be given; incomplete when it begins, records (their
    /// number) when it ends.
    #[schema(value_type = Object)]
    details: &'a Value,
}

/// List changes, newest first
///
/// Scope: admin, together with read.
#[utoipa::path(
    get,
    path = "/audit",
    operation_id = "listAudit",
    tag = "audit",
    params(schemas::ApplicationFilter, schemas::AuditFilter, schemas::Page, schemas::Limit),
    responses(
        (
            status = 200,
            description = "One page. It contains no token value, phrase or rule.",
            body = List,
        ),
    ),
)]
pub(crate) async fn list(
    State(services): Api,
    Administrator(caller): Administrator,
    query: Query,
) -> Outcome {
    let filter = filter(query)?;
    let (entries, next_before) = services.admin.audit_log(&caller, filter).await?;
    let list = List {
        entries: entries.iter().map(Item::from).collect(),
        next_before,
    };
    response::unstored(StatusCode::OK, &list)
}

fn filter(mut query: Query) -> Result<AuditFilter, ApiError> {
    let uuid = |text: &str| text.parse().ok();
    let known = |text: &str| {
        Action::ALL
            .into_iter()
            .find(|action| action.as_str() == text)
    };
    let actions: Vec<_> = Action::ALL.into_iter().map(Action::as_str).collect();
    let problem = format!("must be one of {}", actions.join(", "));
    let action = query.typed("action", &problem, known)?;
    let plain = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let filter = AuditFilter {
        actor: query.typed("actor", "must not be empty", plain)?,
        application_id: query.typed("application_id", "must be a UUID", uuid)?,
        action: action.map(|action| action.as_str().to_owned()),
        before: query.typed("before", "must be an integer", |text| text.parse().ok())?,
        limit: query.limit()?,
        ..AuditFilter::default()
    };
    query.finish()?;
    Ok(filter)
}

fn action() -> Object {
    schemas::words(Action::ALL.map(Action::as_str))
}

impl<'a> From<&'a AuditEntry> for Item<'a> {
    fn from(entry: &'a AuditEntry) -> Self {
        Self {
            seq: entry.seq,
            at_ms: entry.at_ms,
            actor: &entry.actor,
            token_id: entry.token_id.map(|id| id.0),
            action: &entry.action,
            target: &entry.target,
            application_id: entry.application_id,
            details: &entry.details,
        }
    }
}
