//! Decisions about findings.

use super::words::words;
use monitor_store::{FindingReason, FindingState};
use utoipa::ToSchema;
use utoipa::openapi::SchemaFormat;
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, Object, ObjectBuilder, Schema, Type};

#[derive(ToSchema)]
pub(crate) struct ChangeFinding {
    #[schema(schema_with = state)]
    state: Option<String>,
    #[schema(schema_with = reason)]
    reason: Option<String>,
    /// The name of the account that looks after it; null: nobody.
    #[schema(min_length = 1)]
    assignee: Option<String>,
    /// For the history.
    #[schema(nullable = false, min_length = 1, max_length = 1000)]
    note: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct ChangeFindings {
    #[schema(schema_with = records)]
    ids: Option<String>,
    #[schema(schema_with = record)]
    alike_to: Option<String>,
    #[schema(schema_with = state)]
    state: Option<String>,
    #[schema(schema_with = reason)]
    reason: Option<String>,
    /// The name of the account that looks after them; null: nobody.
    #[schema(min_length = 1)]
    assignee: Option<String>,
    /// For the history.
    #[schema(nullable = false, min_length = 1, max_length = 1000)]
    note: Option<String>,
}

fn state() -> Object {
    words(FindingState::ALL.map(FindingState::as_str))
}

/// Required to close a finding, and only then.
fn reason() -> Object {
    words(FindingReason::ALL.map(FindingReason::as_str))
}

fn id() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
}

fn record() -> Object {
    let text = "In place of ids: the record of one finding.";
    id().description(Some(text)).build()
}

fn records() -> Schema {
    ArrayBuilder::new()
        .items(id().build())
        .min_items(Some(1))
        .max_items(Some(200))
        .description(Some("The records of the findings."))
        .into()
}
