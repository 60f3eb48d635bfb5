//! `GET /audit` (scopes admin and read, which administrators have): who changed what, newest first
//! (CONTRACT 30, 38).

use crate::analysis::ApiError;
use crate::analysis::api::extract::{Administrator, Api, Query};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::audit::Action;
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::ApplicationId;
use monitor_store::{AuditEntry, AuditFilter};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

#[derive(Serialize)]
struct List<'a> {
    entries: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<i64>,
}

#[derive(Serialize)]
struct Item<'a> {
    seq: i64,
    at_ms: i64,
    actor: &'a str,
    token_id: Option<Uuid>,
    action: &'a str,
    target: &'a str,
    application_id: Option<ApplicationId>,
    details: &'a Value,
}

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
    };
    query.finish()?;
    Ok(filter)
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
