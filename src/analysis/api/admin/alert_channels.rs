//! `/alert_channels` and below: where alerts are sent. Addresses and secrets are not shown again.

use crate::analysis::ApiError;
use crate::analysis::alerts::KnownChannel;
use crate::analysis::alerts::channel::{ChannelEdit, ChannelKind};
use crate::analysis::api::extract::{Administrator, Api, Body, Fields, PathId, ReadFields};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::Secret;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Serialize, ToSchema)]
#[schema(as = AlertChannels)]
struct List<'a> {
    channels: Vec<View<'a>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AlertChannel)]
struct View<'a> {
    id: Uuid,
    name: &'a str,
    kind: &'static str,
    /// The server. The rest of the address may be a secret, and is not shown.
    host: String,
    chat: &'a str,
    /// Whether there is a secret.
    has_secret: bool,
    /// Milliseconds since 1970.
    created_at_ms: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AlertTest)]
struct Tested {
    sent: bool,
    /// Why the channel did not take it.
    failure: Option<String>,
}

impl<'a> From<&'a KnownChannel> for View<'a> {
    fn from(known: &'a KnownChannel) -> Self {
        let channel = &known.channel;
        Self {
            id: known.id,
            name: &channel.name,
            kind: channel.kind.as_str(),
            host: channel.host(),
            chat: &channel.chat,
            has_secret: !channel.secret.expose().is_empty(),
            created_at_ms: known.created_at_ms,
        }
    }
}

impl ReadFields for ChannelEdit {
    fn read(fields: &mut Fields) -> Self {
        let kind = fields.take("kind");
        let kind = kind.as_ref().and_then(Value::as_str);
        let kind = kind.and_then(ChannelKind::from_name);
        if kind.is_none() {
            let words = ChannelKind::ALL.map(ChannelKind::as_str).join(", ");
            fields.refuse("kind", format!("must be one of {words}"));
        }
        let mut text = |name| fields.text(name).unwrap_or_default();
        Self {
            name: text("name"),
            kind: kind.unwrap_or(ChannelKind::Webhook),
            url: Secret::new(text("url")),
            secret: Secret::new(text("secret")),
            chat: text("chat"),
        }
    }
}

/// List the channels of alerts
#[utoipa::path(
    get,
    path = "/alert_channels",
    operation_id = "listAlertChannels",
    description = "Without addresses and secrets. Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    responses((status = 200, description = "Every channel.", body = List)),
)]
pub(crate) async fn list(State(services): Api, Administrator(caller): Administrator) -> Outcome {
    let channels = services.alerts.channels(&caller).await?;
    let list = List {
        channels: channels.iter().map(View::from).collect(),
    };
    response::unstored(StatusCode::OK, &list)
}

/// Create a channel of alerts
#[utoipa::path(
    post,
    path = "/alert_channels",
    operation_id = "createAlertChannel",
    description = "Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    request_body = schemas::AlertChannelSettings,
    responses((status = 201, description = "The channel.", body = View)),
)]
pub(crate) async fn create(
    State(services): Api,
    Administrator(caller): Administrator,
    Body(edit): Body<ChannelEdit>,
) -> Outcome {
    let known = services.alerts.put_channel(&caller, None, edit).await?;
    response::unstored(StatusCode::CREATED, &View::from(&known))
}

/// Replace a channel of alerts
///
/// An address or a secret that is left out stays. A secret is required again where the address leads to another server.
/// Scope: admin and read, with a token that is not bound to an application.
#[utoipa::path(
    put,
    path = "/alert_channels/{id}",
    operation_id = "replaceAlertChannel",
    tag = "alerts",
    params(schemas::AlertPath),
    request_body = schemas::AlertChannelSettings,
    responses((status = 200, description = "The channel.", body = View)),
)]
pub(crate) async fn replace(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
    Body(edit): Body<ChannelEdit>,
) -> Outcome {
    let known = services.alerts.put_channel(&caller, Some(id), edit).await?;
    response::unstored(StatusCode::OK, &View::from(&known))
}

/// Remove a channel of alerts
#[utoipa::path(
    delete,
    path = "/alert_channels/{id}",
    operation_id = "removeAlertChannel",
    description = "Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    responses((status = 204, description = "It is removed.")),
)]
pub(crate) async fn remove(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
) -> Result<StatusCode, ApiError> {
    services.alerts.remove_channel(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send a test to a channel
#[utoipa::path(
    post,
    path = "/alert_channels/{id}/test",
    operation_id = "testAlertChannel",
    description = "At once, and once. Scope: admin and read, with a token that is not bound to an application.",
    tag = "alerts",
    params(schemas::AlertPath),
    responses((status = 200, description = "What became of it.", body = Tested)),
)]
pub(crate) async fn test(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    let sent = services.alerts.test_channel(&caller, id).await?;
    let tested = Tested {
        sent: sent.is_ok(),
        failure: sent.err(),
    };
    response::unstored(StatusCode::OK, &tested)
}
