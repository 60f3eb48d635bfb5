//! Rules and channels of alerts.

use super::words::words;
use crate::analysis::alerts::channel::{ChannelKind, MailTls};
use crate::analysis::alerts::rule::{HIGHEST_COUNT, RuleKind};
use monitor_model::ApplicationId;
use utoipa::openapi::Object;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct AlertPath {
    /// The id of the alert, the rule or the channel.
    id: Uuid,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AlertPage {
    /// `next_before` of the previous page.
    #[param(pattern = "^[0-9]{1,18}\\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    before: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct AlertRuleSettings {
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    name: String,
    #[schema(schema_with = rule_kind)]
    kind: String,
    /// What `count` and `share` look for.
    #[schema(schema_with = verdict)]
    verdict: Option<String>,
    /// Only this application.
    application_id: Option<ApplicationId>,
    /// Only this user; of `count`, and of `first_time` with `per_user`.
    #[schema(min_length = 1, max_length = 512)]
    user_id: Option<String>,
    /// Only messages in which this type was found; of `count`.
    #[schema(min_length = 1, max_length = 512)]
    r#type: Option<String>,
    #[schema(schema_with = window)]
    window: Option<String>,
    /// Messages; of `share` percent; of `budget` percent that are spent, up to 1000.
    #[schema(nullable = false, minimum = 1, maximum = 10000)]
    threshold: Option<u64>,
    /// Messages below which a share says nothing; by default 100.
    #[schema(nullable = false, minimum = 1, maximum = 1000000000)]
    minimum: Option<u64>,
    /// An alert for each user.
    #[schema(nullable = false)]
    per_user: Option<bool>,
    /// Whether messages name the user.
    #[schema(nullable = false)]
    include_user: Option<bool>,
    /// Ids of the channels that are told, 20 at most.
    #[schema(nullable = false)]
    channels: Option<Vec<Uuid>>,
    #[schema(schema_with = repeat_after)]
    repeat_after: Option<String>,
    /// Whether the channels are told that it is over; by default they are.
    #[schema(nullable = false)]
    send_resolved: Option<bool>,
    /// By default it is.
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

#[derive(ToSchema)]
pub(crate) struct AlertChannelSettings {
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    name: String,
    #[schema(schema_with = channel_kind)]
    kind: String,
    /// The address; of a mail server host and port, such as smtp.example.com:587. If missing, the one of
    /// before is kept; for Telegram it is https://api.telegram.org.
    #[schema(nullable = false, max_length = 2000)]
    url: Option<String>,
    /// The key of a webhook's signatures, the token of a Telegram bot, or the password at a mail server. If
    /// missing, the one of before is kept.
    #[schema(nullable = false, max_length = 2000)]
    secret: Option<String>,
    /// The id of a chat; of Telegram.
    #[schema(nullable = false, max_length = 2000)]
    chat: Option<String>,
    /// The name to sign in by; of a mail server that wants one.
    #[schema(nullable = false, max_length = 2000)]
    user: Option<String>,
    /// The address of the sender; of a mail server.
    #[schema(nullable = false, max_length = 254)]
    from: Option<String>,
    /// The addresses of the recipients, 1 to 20; of a mail server. All of them take a letter, or it has failed.
    #[schema(nullable = false)]
    to: Option<Vec<String>>,
    #[schema(schema_with = mail_tls)]
    tls: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct Mute {
    #[schema(schema_with = muted)]
    r#for: String,
}

// The bound of `threshold`.
const _: () = assert!(HIGHEST_COUNT == 10_000);

fn rule_kind() -> Object {
    words(RuleKind::ALL.map(RuleKind::as_str))
}

fn channel_kind() -> Object {
    words(ChannelKind::ALL.map(ChannelKind::as_str))
}

/// How a connection to a mail server is encrypted; `none` is for addresses that the configuration allows.
fn mail_tls() -> Object {
    words(MailTls::ALL.map(MailTls::as_str))
}

fn verdict() -> Object {
    words(RuleKind::Count.verdicts().iter().copied())
}

fn window() -> Schema {
    duration("A duration such as 10m, or whole seconds; of `share` whole hours.")
}

fn repeat_after() -> Schema {
    duration(
        "After which the channels are told again of what still holds; 5m to 7d, by default 4h.",
    )
}

fn muted() -> Schema {
    duration("A duration up to 30d, or whole seconds; 0 ends it.")
}

fn duration(description: &str) -> Schema {
    let text = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[0-9]{1,6}(ms|s|m|h|d)?$"));
    let seconds = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0));
    let either = AnyOfBuilder::new().item(text).item(seconds);
    either.description(Some(description)).into()
}
