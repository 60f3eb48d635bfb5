//! Small schemas that many others use.

use utoipa::openapi::Object;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};

/// One of a few words.
pub(in crate::analysis::api) fn words(words: impl IntoIterator<Item = &'static str>) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
        .build()
}

/// A type, or null.
pub(super) fn or_null(kind: Type) -> SchemaType {
    SchemaType::from_iter([kind, Type::Null])
}

/// Null and nothing else.
pub(super) fn null() -> Schema {
    ObjectBuilder::new().schema_type(Type::Null).into()
}
