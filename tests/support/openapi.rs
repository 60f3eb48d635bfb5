//! Reads an OpenAPI document in tests: its references and all of its values. What a document must contain is
//! tested beside the document.

use serde_json::Value;

/// What a value is or refers to.
///
/// # Panics
/// When a reference leads out of the document or nowhere.
pub fn resolved<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    while let Some(target) = value.get("$ref").and_then(Value::as_str) {
        let pointed = target.strip_prefix('#').and_then(|at| document.pointer(at));
        value = pointed.unwrap_or_else(|| panic!("{target} leads nowhere"));
    }
    value
}

/// Shows every value in it, itself first.
pub fn visit(value: &Value, see: &mut impl FnMut(&Value)) {
    see(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|field| visit(field, see)),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        _ => {}
    }
}
