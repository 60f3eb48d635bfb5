//! The document against the router, the readers of requests, and its own examples.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::analysis::api::routes::routes;
use monitor_model::{AnalysisResponse, ErrorEnvelope, GATEWAY_VERSION};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};
use support::openapi::{resolved, visit};

/// Methods a router can be asked for by an OpenAPI document.
const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "patch", "options", "head", "trace",
];

fn document() -> Value {
    serde_json::from_slice(openapi_json()).unwrap()
}

/// Every operation with its path and method.
fn operations(document: &Value) -> Vec<(&String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            let methods: &Map<String, Value> = item.as_object().unwrap();
            methods
                .iter()
                .map(move |(method, operation)| (path, method, operation))
        })
        .collect()
}

#[test]
fn the_document_is_openapi_3_1_of_this_version() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], GATEWAY_VERSION);
}

#[test]
fn exactly_the_routers_paths_and_methods_are_there() {
    let document = document();
    let described: BTreeSet<String> = operations(&document)
        .iter()
        .map(|(path, method, _)| format!("{method} {path}"))
        .collect();
    let mut served = BTreeSet::from(["get /".to_owned()]);
    for (path, methods) in routes() {
        // The router's own words for what a path takes: `MethodRouter { get: BoxedHandler, … }`.
        let text = format!("{methods:?}");
        for method in METHODS {
            if !text.contains(&format!("{method}: None")) {
                served.insert(format!("{method} {path}"));
            }
        }
    }
    assert_eq!(described, served);
}

#[test]
fn operation_ids_are_there_and_differ() {
    let document = document();
    let operations = operations(&document);
    let ids: HashSet<&str> = operations
        .iter()
        .map(|(.., operation)| operation["operationId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), operations.len());
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let document = document();
    let mut seen = HashSet::new();
    visit(&document, &mut |value| {
        resolved(&document, value);
        seen.extend(value.get("$ref").and_then(Value::as_str).map(str::to_owned));
    });
    let components = document["components"].as_object().unwrap();
    for (kind, named) in components
        .iter()
        .filter(|(kind, _)| *kind != "securitySchemes")
    {
        for name in named.as_object().unwrap().keys() {
            let used = seen.contains(&format!("#/components/{kind}/{name}"));
            assert!(used, "{kind} {name}");
        }
    }
}

#[test]
fn a_path_names_its_parameters_and_no_others() {
    let document = document();
    for (path, method, operation) in operations(&document) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let described: BTreeSet<&str> = parameters
            .map(|parameter| resolved(&document, parameter))
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let named: BTreeSet<&str> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        assert_eq!(described, named, "{method} {path}");
    }
}

#[test]
fn everything_but_the_home_page_takes_a_token_and_says_which_scope() {
    let document = document();
    assert_eq!(document["security"], serde_json::json!([{"Token": []}]));
    let scheme = &document["components"]["securitySchemes"]["Token"];
    assert_eq!(
        (&scheme["type"], &scheme["scheme"]),
        (&"http".into(), &"bearer".into())
    );
    for (path, method, operation) in operations(&document) {
        if path == "/" {
            assert_eq!(operation["security"], serde_json::json!([]));
            continue;
        }
        assert!(operation.get("security").is_none(), "{method} {path}");
        let text = operation["description"].as_str().unwrap();
        assert!(text.contains("Scope: "), "{method} {path}");
        for status in ["401", "403", "405", "429", "500", "503"] {
            let response = resolved(&document, &operation["responses"][status]);
            assert!(
                response["description"].is_string(),
                "{method} {path} {status}"
            );
        }
    }
}

#[test]
fn examples_of_errors_are_envelopes_of_their_status() {
    let document = document();
    let mut codes = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            if status.starts_with('2') {
                continue;
            }
            let response = resolved(&document, response);
            let example = &response["content"]["application/json"]["example"];
            let envelope: ErrorEnvelope = serde_json::from_value(example.clone()).unwrap();
            let code = envelope.error.code.to_string();
            assert_eq!(&code, status, "{method} {path}");
            codes.insert(envelope.error.code);
        }
    }
    let all = [
        400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 428, 429, 500, 503,
    ];
    assert_eq!(codes, BTreeSet::from(all));
}

#[test]
fn the_example_of_a_verdict_is_one() {
    let document = document();
    let post = &document["paths"]["/process_request"]["post"];
    let example = &post["responses"]["200"]["content"]["application/json"]["example"];
    let answer: AnalysisResponse = serde_json::from_value(example.clone()).unwrap();
    assert_eq!(&serde_json::to_value(answer).unwrap(), example);
}

/// Whether a value is what a schema says: its type, its fields, its words.
fn fits(document: &Value, schema: &Value, value: &Value) -> bool {
    let schema = resolved(document, schema);
    for kind in ["oneOf", "anyOf"] {
        if let Some(schemas) = schema[kind].as_array() {
            return schemas.iter().any(|schema| fits(document, schema, value));
        }
    }
    let own = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_type = match &schema["type"] {
        Value::Null => true,
        Value::Array(types) => types.iter().any(|name| name == own),
        name => name == own || (name == "number" && own == "integer"),
    };
    let is_word = schema["enum"]
        .as_array()
        .is_none_or(|words| words.contains(value));
    let contents = match value {
        Value::Array(items) => items
            .iter()
            .all(|item| fits(document, &schema["items"], item)),
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let mut required = required.map(|name| name.as_str().unwrap());
            let is_open = schema["additionalProperties"] != false;
            required.all(|name| fields.contains_key(name))
                && fields
                    .iter()
                    .all(|(name, value)| match schema["properties"].get(name) {
                        Some(schema) => fits(document, schema, value),
                        None => is_open,
                    })
        }
        _ => true,
    };
    is_type && is_word && contents
}

#[test]
fn examples_fit_their_schemas() {
    let document = document();
    let mut checked = 0;
    for (path, method, operation) in operations(&document) {
        let answers = operation["responses"].as_object().unwrap().values();
        for part in answers.chain([&operation["requestBody"]]) {
            let contents = resolved(&document, part)["content"].as_object();
            for content in contents.into_iter().flat_map(|contents| contents.values()) {
                let named = content["examples"].as_object().into_iter().flatten();
                let examples = named.map(|(_, example)| &example["value"]);
                for example in examples.chain(content.get("example")) {
                    let fits = fits(&document, &content["schema"], example);
                    assert!(fits, "{method} {path}: {example}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 300);
}

#[test]
fn every_operation_that_answers_with_json_has_an_example() {
    let document = document();
    for (path, method, operation) in operations(&document) {
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let content = &resolved(&document, answer)["content"]["application/json"];
            let has_example = content.is_null() || content.get("example").is_some();
            assert!(has_example, "{method} {path} {status}");
        }
    }
}
