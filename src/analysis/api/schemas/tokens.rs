//! Changes of tokens (CONTRACT 30).

use monitor_model::ApplicationId;
use monitor_store::Scope;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};

#[derive(ToSchema)]
pub(crate) struct NewToken {
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    name: String,
    #[schema(min_items = 1)]
    scopes: Vec<Scope>,
    /// The only application it is valid for. If null or missing: the one its maker is bound to, else any.
    application_id: Option<ApplicationId>,
    /// In the future; null: never.
    #[schema(minimum = 1, maximum = 253402300799999i64)]
    expires_at_ms: Option<i64>,
    #[schema(schema_with = expires_in)]
    expires_in: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct ChangeToken {
    #[schema(
        nullable = false,
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    name: Option<String>,
    /// In the future; null: never.
    #[schema(minimum = 1, maximum = 253402300799999i64)]
    expires_at_ms: Option<i64>,
    #[schema(schema_with = expires_in)]
    expires_in: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct Rotation {
    #[schema(schema_with = grace)]
    grace: Option<String>,
    /// In the future; null: never.
    #[schema(minimum = 1, maximum = 253402300799999i64)]
    expires_at_ms: Option<i64>,
    #[schema(schema_with = expires_in)]
    expires_in: Option<String>,
}

fn expires_in() -> Schema {
    duration("A duration such as 10m or 90d, or whole seconds; not together with expires_at_ms.")
}

fn grace() -> Schema {
    duration("How long the old value stays valid, at most 30d; not at all if missing.")
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
