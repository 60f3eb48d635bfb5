//! Reads an OpenAPI document in tests: its references and all of its values, and whether it has an answer that came.
//! What a document must contain is tested beside the document.

use super::http::Response;
use serde_json::Value;

/// Headers that a program reads, which the document has to name where an answer has them.
const OWN: [&str; 7] = [
    "x-request-id",
    "x-upstream-request-id",
    "x-should-retry",
    "x-monitor-budget",
    "x-monitor-replaced",
    "retry-after",
    "allow",
];

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

/// Asserts that the document has this answer of an operation, a path and a method: its status, its headers and its body.
///
/// # Panics
/// When it has not.
#[track_caller]
pub fn assert_documented(document: &Value, (path, method): (&str, &str), answer: &Response) {
    let responses = &document["paths"][path][method]["responses"];
    let status = answer.status().to_string();
    let named = responses.get(&status).unwrap_or(&responses["default"]);
    let response = resolved(document, named);
    let what = format!("{method} {path}: {status} {}", answer.text());
    assert!(response.is_object(), "no such status: {what}");
    let headers = response["headers"].as_object();
    for name in OWN.into_iter().filter(|name| answer.head.has(name)) {
        let mut known = headers.into_iter().flatten();
        let header = known.find(|(one, _)| one.eq_ignore_ascii_case(name));
        let header = header.map(|(_, header)| resolved(document, header));
        let Some(header) = header else {
            panic!("no header {name}: {what}");
        };
        for value in answer.head.values(name) {
            let found = faults(document, &header["schema"], &value.into());
            assert!(found.is_empty(), "{name}: {found:?}: {what}");
        }
    }
    let kind = answer.head.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    let content = &response["content"][kind];
    assert!(content.is_object(), "no body of {kind}: {what}");
    let body = match kind {
        "application/json" => answer.json(),
        _ => answer.text().into(),
    };
    let found = faults(document, &content["schema"], &body);
    assert!(found.is_empty(), "{found:?}: {what}");
}

/// What in a value a schema does not allow, by the keywords that documents of ours have.
pub fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let schema = resolved(document, schema);
    let mut found = Vec::new();
    if !is_of_type(&schema["type"], value) {
        found.push(format!("{value} is not {}", schema["type"]));
    }
    let listed = schema["enum"].as_array();
    if listed.is_some_and(|listed| !listed.contains(value)) {
        found.push(format!("{value} is none of {}", schema["enum"]));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if value.get(name).is_none() {
            found.push(format!("{value} has no {name}"));
        }
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, inner) in properties {
        let member = value.get(name);
        found.extend(
            member
                .into_iter()
                .flat_map(|it| faults(document, inner, it)),
        );
    }
    if let (Some(inner), Some(items)) = (schema.get("items"), value.as_array()) {
        found.extend(items.iter().flat_map(|it| faults(document, inner, it)));
    }
    found
}

/// Whether the value is of the type, or of one of several.
fn is_of_type(kind: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => false,
    };
    match kind {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    }
}
