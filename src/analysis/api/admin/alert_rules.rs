//! `/alert_rules` and `/alert_rules/{id}`: what alerts fire on. Only for those who administer the whole server.

use crate::analysis::ApiError;
use crate::analysis::alerts::KnownRule;
use crate::analysis::alerts::rule::{Rule, RuleKind};
use crate::analysis::api::extract::{Administrator, Api, Body, Fields, PathId, ReadFields};
use crate::analysis::api::refusals::Conflict;
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::ApplicationId;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

const NOT_BOOLEAN: &str = "must be true or false";
const NOT_COUNT: &str = "must be an integer that is not negative";
const NOT_TEXT: &str = "must be text or null";

#[derive(Serialize, ToSchema)]
#[schema(as = AlertRules)]
struct List<'a> {
    rules: Vec<View<'a>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AlertRule)]
struct View<'a> {
    id: Uuid,
    name: &'a str,
    kind: &'static str,
    /// Empty where the kind has none.
    verdict: &'a str,
    application_id: Option<ApplicationId>,
    user_id: Option<&'a str>,
    r#type: Option<&'a str>,
    /// How far back the rule looks, in seconds.
    window: u64,
    threshold: u64,
    minimum: u64,
    per_user: bool,
    include_user: bool,
    channels: Vec<Uuid>,
    /// Seconds after which channels are told of an open alert again.
    repeat_after: u64,
    send_resolved: bool,
    enabled: bool,
    /// Whether the configuration file has it: it is changed there only.
    in_file: bool,
    /// Milliseconds since 1970; 0 where the file has it.
    created_at_ms: i64,
}

impl<'a> From<&'a KnownRule> for View<'a> {
    fn from(known: &'a KnownRule) -> Self {
        let rule = &known.rule;
        Self {
            id: known.id,
            name: &rule.name,
            kind: rule.kind.as_str(),
            verdict: &rule.verdict,
            application_id: rule.application_id,
            user_id: rule.user_id.as_deref(),
            r#type: rule.r#type.as_deref(),
            window: rule.window_s,
            threshold: rule.threshold,
            minimum: rule.minimum,
            per_user: rule.per_user,
            include_user: rule.include_user,
            channels: rule.channels.clone(),
            repeat_after: rule.repeat_after_s,
            send_resolved: rule.send_resolved,
            enabled: rule.is_enabled,
            in_file: known.is_in_file,
            created_at_ms: known.created_at_ms,
        }
    }
}

impl ReadFields for Rule {
    fn read(fields: &mut Fields) -> Self {
        let usual = Self::default();
        let kind = fields.take("kind");
        let kind = kind.as_ref().and_then(Value::as_str);
        let kind = kind.and_then(RuleKind::from_name);
        if kind.is_none() {
            let words = RuleKind::ALL.map(RuleKind::as_str).join(", ");
            fields.refuse("kind", format!("must be one of {words}"));
        }
        Self {
            name: fields.text("name").unwrap_or_default(),
            kind: kind.unwrap_or(usual.kind),
            verdict: fields.text("verdict").unwrap_or_default(),
            application_id: application(fields),
            user_id: optional_text(fields, "user_id"),
            r#type: optional_text(fields, "type"),
            window_s: seconds(fields, "window")
                .unwrap_or_else(|| kind.unwrap_or(usual.kind).usual_window()),
            threshold: count(fields, "threshold").unwrap_or(usual.threshold),
            minimum: count(fields, "minimum").unwrap_or(usual.minimum),
            per_user: flag(fields, "per_user").unwrap_or(usual.per_user),
            include_user: flag(fields, "include_user").unwrap_or(usual.include_user),
            channels: channels(fields),
            repeat_after_s: seconds(fields, "repeat_after").unwrap_or(usual.repeat_after_s),
            send_resolved: flag(fields, "send_resolved").unwrap_or(usual.send_resolved),
            is_enabled: flag(fields, "enabled").unwrap_or(usual.is_enabled),
        }
    }
}

fn flag(fields: &mut Fields, name: &'static str) -> Option<bool> {
    fields.typed(name, NOT_BOOLEAN, |value| value.as_bool())
}

fn count(fields: &mut Fields, name: &'static str) -> Option<u64> {
    fields.typed(name, NOT_COUNT, |value| value.as_u64())
}

fn seconds(fields: &mut Fields, name: &'static str) -> Option<u64> {
    fields.duration(name).map(|duration| duration.as_secs())
}

fn optional_text(fields: &mut Fields, name: &'static str) -> Option<String> {
    let text = fields.typed(name, NOT_TEXT, |value| match value {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text)),
        _ => None,
    });
    text.flatten()
}

fn application(fields: &mut Fields) -> Option<ApplicationId> {
    let problem = "must be a UUID or null";
    let id = fields.typed("application_id", problem, |value| match value {
        Value::Null => Some(None),
        value => value.as_str()?.parse().ok().map(Some),
    });
    id.flatten()
}

fn channels(fields: &mut Fields) -> Vec<Uuid> {
    let problem = "must be a list of identifiers of channels";
    let ids = fields.typed("channels", problem, |value| {
        let ids = value.as_array()?.iter();
        ids.map(|id| id.as_str()?.parse().ok())
            .collect::<Option<Vec<Uuid>>>()
    });
    ids.unwrap_or_default()
}

/// List the rules of alerts
#[utoipa::path(
    get,
    path = "/alert_rules",
    operation_id = "listAlertRules",
    description = "Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    responses((status = 200, description = "Every rule.", body = List)),
)]
pub(crate) async fn list(State(services): Api, Administrator(caller): Administrator) -> Outcome {
    let rules = services.alerts.rules(&caller).await?;
    let list = List {
        rules: rules.iter().map(View::from).collect(),
    };
    response::unstored(StatusCode::OK, &list)
}

/// Create a rule of alerts
#[utoipa::path(
    post,
    path = "/alert_rules",
    operation_id = "createAlertRule",
    description = "Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    request_body = schemas::AlertRuleSettings,
    responses((status = 201, description = "The rule.", body = View)),
)]
pub(crate) async fn create(
    State(services): Api,
    Administrator(caller): Administrator,
    Body(rule): Body<Rule>,
) -> Outcome {
    let known = services.alerts.put_rule(&caller, None, rule).await?;
    response::unstored(StatusCode::CREATED, &View::from(&known))
}

/// Replace a rule of alerts
#[utoipa::path(
    put,
    path = "/alert_rules/{id}",
    operation_id = "replaceAlertRule",
    description = "Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    request_body = schemas::AlertRuleSettings,
    responses((status = 200, description = "The rule.", body = View), Conflict),
)]
pub(crate) async fn replace(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
    Body(rule): Body<Rule>,
) -> Outcome {
    let known = services.alerts.put_rule(&caller, Some(id), rule).await?;
    response::unstored(StatusCode::OK, &View::from(&known))
}

/// Remove a rule of alerts
#[utoipa::path(
    delete,
    path = "/alert_rules/{id}",
    operation_id = "removeAlertRule",
    description = "Its alerts end. Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    responses((status = 204, description = "It is removed."), Conflict),
)]
pub(crate) async fn remove(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
) -> Result<StatusCode, ApiError> {
    services.alerts.remove_rule(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
