//! `/alerts` and below: what fired, and who was told.

use crate::analysis::ApiError;
use crate::analysis::alerts::message::Facts;
use crate::analysis::api::extract::{Administrator, Api, Body, Fields, PathId, Query, ReadFields};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::ApplicationId;
use monitor_store::{Alert, AlertDelivery};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Serialize, ToSchema)]
#[schema(as = Alerts)]
struct List {
    alerts: Vec<View>,
    /// `before` of the next page; null on the last one.
    next_before: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Alert)]
struct View {
    id: Uuid,
    rule_id: Uuid,
    /// The name of the rule when it fired.
    rule: String,
    /// firing; closed by somebody while the condition lasts; ended.
    state: &'static str,
    /// What was found, in words.
    found: String,
    application_id: Option<ApplicationId>,
    /// Only where the rule includes users.
    user_id: Option<String>,
    r#type: Option<String>,
    gateway: Option<Uuid>,
    count: u64,
    /// How often it was found again.
    updates: i64,
    /// Milliseconds since 1970.
    first_ms: i64,
    /// Milliseconds since 1970.
    last_ms: i64,
    /// Milliseconds since 1970.
    muted_until_ms: Option<i64>,
    /// Milliseconds since 1970.
    resolved_ms: Option<i64>,
    resolved_by: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AlertDeliveries)]
struct Deliveries<'a> {
    deliveries: Vec<Delivery<'a>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AlertDelivery)]
struct Delivery<'a> {
    id: Uuid,
    channel_id: Uuid,
    /// The name of the channel at that time.
    channel: &'a str,
    kind: &'a str,
    /// waiting, sent, or dead: not tried any more.
    state: &'static str,
    attempts: i64,
    /// Why the last attempt failed.
    failure: Option<&'a str>,
    /// Milliseconds since 1970.
    created_at_ms: i64,
    /// Milliseconds since 1970.
    done_ms: Option<i64>,
}

impl From<&Alert> for View {
    fn from(alert: &Alert) -> Self {
        let facts = Facts::stored(&alert.facts);
        Self {
            id: alert.id,
            rule_id: alert.rule_id,
            state: alert.state.as_str(),
            found: facts.sentence(),
            rule: facts.rule,
            application_id: alert.application_id,
            user_id: facts.user,
            r#type: facts.r#type,
            gateway: facts.gateway,
            count: facts.count,
            updates: alert.updates,
            first_ms: alert.first_ms,
            last_ms: alert.last_ms,
            muted_until_ms: alert.muted_until_ms,
            resolved_ms: alert.resolved_ms,
            resolved_by: alert.resolved_by.clone(),
        }
    }
}

impl<'a> From<&'a AlertDelivery> for Delivery<'a> {
    fn from(delivery: &'a AlertDelivery) -> Self {
        Self {
            id: delivery.id,
            channel_id: delivery.channel_id,
            channel: &delivery.channel_name,
            kind: &delivery.channel_kind,
            state: delivery.state.as_str(),
            attempts: delivery.attempts,
            failure: delivery.failure.as_deref(),
            created_at_ms: delivery.created_at_ms,
            done_ms: delivery.done_ms,
        }
    }
}

/// How long an alert is muted.
pub(crate) struct Mute(i64);

impl ReadFields for Mute {
    fn read(fields: &mut Fields) -> Self {
        let span = fields.duration("for");
        if span.is_none() {
            fields.refuse("for", "must be a duration up to 30d; 0 ends the silence");
        }
        let ms = span.unwrap_or_default().as_millis();
        Self(i64::try_from(ms).unwrap_or(i64::MAX))
    }
}

/// The place of an alert in the list.
fn read_position(text: &str) -> Option<(i64, Uuid)> {
    let (at_ms, id) = text.split_once('.')?;
    Some((at_ms.parse().ok()?, id.parse().ok()?))
}

/// List alerts, the latest first
#[utoipa::path(
    get,
    path = "/alerts",
    operation_id = "listAlerts",
    description = "Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPage, schemas::Limit),
    responses((status = 200, description = "One page.", body = List)),
)]
pub(crate) async fn list(
    State(services): Api,
    Administrator(caller): Administrator,
    mut query: Query,
) -> Outcome {
    let problem = "must be the next_before of the previous page";
    let before = query.typed("before", problem, read_position)?;
    let limit = query.limit()?;
    query.finish()?;
    let alerts = services
        .alerts
        .list(&caller, before, limit.saturating_add(1))
        .await?;
    let shown = alerts.iter().take(limit as usize);
    let is_last = alerts.len() <= limit as usize;
    let last = shown.clone().next_back().filter(|_| !is_last);
    let list = List {
        next_before: last.map(|alert| format!("{}.{}", alert.first_ms, alert.id)),
        alerts: shown.map(View::from).collect(),
    };
    response::unstored(StatusCode::OK, &list)
}

/// List who was told of an alert
#[utoipa::path(
    get,
    path = "/alerts/{id}/deliveries",
    operation_id = "listAlertDeliveries",
    description = "Empty for an alert that does not exist. Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    responses((status = 200, description = "Every message, the earliest first.", body = Deliveries)),
)]
pub(crate) async fn told(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    let deliveries = services.alerts.told(&caller, id).await?;
    let list = Deliveries {
        deliveries: deliveries.iter().map(Delivery::from).collect(),
    };
    response::unstored(StatusCode::OK, &list)
}

/// Close a firing alert
#[utoipa::path(
    post,
    path = "/alerts/{id}/resolve",
    operation_id = "resolveAlert",
    description = "It fires again once its condition has ended and begins anew. Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    responses((status = 204, description = "It is closed.")),
)]
pub(crate) async fn resolve(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
) -> Result<StatusCode, ApiError> {
    services.alerts.close(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Mute a firing alert
#[utoipa::path(
    post,
    path = "/alerts/{id}/mute",
    operation_id = "muteAlert",
    description = "Nobody is told of it for this time. Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    request_body = schemas::Mute,
    responses((status = 204, description = "It is muted.")),
)]
pub(crate) async fn mute(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
    Body(Mute(ms)): Body<Mute>,
) -> Result<StatusCode, ApiError> {
    services.alerts.mute(&caller, id, ms).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Try a dead message again
#[utoipa::path(
    post,
    path = "/alert_deliveries/{id}/retry",
    operation_id = "retryAlertDelivery",
    description = "Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    responses((status = 204, description = "It waits for its delivery.")),
)]
pub(crate) async fn retry(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
) -> Result<StatusCode, ApiError> {
    services.alerts.retry(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
