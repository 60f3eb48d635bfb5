//! The OpenAPI document against the readers of requests: it names the fields and parameters that they accept, and no
//! others. An unknown one is refused with a list of those that are known.

use super::World;
use crate::analysis::openapi_json;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use support::openapi::resolved;

/// Parameters that a reader knows only to say why it refuses them.
const REFUSED: [(&str, &str); 1] = [("/statistics/users", "text")];

fn document() -> Value {
    serde_json::from_slice(openapi_json()).unwrap()
}

/// The names between two texts in a message.
fn listed<'m>(message: &'m str, (before, after): (&str, &str)) -> BTreeSet<&'m str> {
    let rest = message
        .split_once(before)
        .unwrap_or_else(|| panic!("{message}"));
    let list = rest.1.split(after).next().unwrap();
    list.split(", ").collect()
}

fn names(fields: &Value) -> BTreeSet<&str> {
    let fields = fields.as_object().unwrap();
    fields.keys().map(String::as_str).collect()
}

impl World {
    /// The message of the refusal of a request to an operation.
    async fn refusal(&self, method: &str, path: &str, body: Option<Value>) -> String {
        let path = path.replace("{id}", &self.application());
        let path = path.replace("{version}", "1");
        let path = path.replace("{sha256}", &"0".repeat(64));
        let mut request = Request::builder()
            .method(method.to_uppercase().as_str())
            .uri(path)
            .header("authorization", format!("Bearer {}", self.key()));
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or(Body::empty(), |body| body.to_string().into());
        let answer = self.send(request.body(body).unwrap()).await;
        answer.assert_envelope(422);
        answer.body["error"]["message"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn queries_have_the_parameters_of_the_document() {
    let (world, document) = (World::new().await, document());
    let mut compared = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let mut described: BTreeSet<&str> = parameters
                .filter(|parameter| parameter["in"] == "query")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            if described.is_empty() {
                continue;
            }
            let message = world
                .refusal(method, &format!("{path}?nosuch=1"), None)
                .await;
            let refused = REFUSED.iter().filter(|(at, _)| at == path);
            described.extend(refused.map(|(_, name)| *name));
            let accepted = listed(&message, ("query: takes ", " only"));
            assert_eq!(accepted, described, "{method} {path}");
            compared += 1;
        }
    }
    assert!(compared > 10);
}

#[tokio::test]
async fn bodies_have_the_fields_of_the_document() {
    let (world, document) = (World::new().await, document());
    let mut compared = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            let body = resolved(&document, body);
            if body["additionalProperties"] != false {
                continue;
            }
            let unknown = Some(json!({"nosuch": 1}));
            let message = world.refusal(method, path, unknown).await;
            let accepted = listed(&message, ("nosuch: is an unknown field; allowed: ", ";"));
            assert_eq!(accepted, names(&body["properties"]), "{method} {path}");
            compared += 1;
        }
    }
    assert!(compared > 10);
}

#[tokio::test]
async fn rules_and_policies_have_the_fields_of_the_document() {
    let (world, document) = (World::new().await, document());
    let unknown = || json!({"nosuch": 1});
    let rules = json!({"rules": {
        "nosuch": 1,
        "retention": unknown(),
        "pre": {
            "nosuch": 1,
            "dataclean": {"nosuch": 1, "allowed_patterns": [unknown()]},
            "guardrails": unknown(),
            "custom_policies": [unknown()],
            "tokens": unknown(),
        },
        "post": unknown(),
    }});
    let path = "/applications/{id}/replay";
    let message = world.refusal("post", path, Some(rules)).await;
    for (field, schema) in [
        ("rules", "Rules"),
        ("rules.retention", "Retention"),
        ("rules.pre", "PreRules"),
        ("rules.pre.dataclean", "Dataclean"),
        ("rules.pre.dataclean.allowed_patterns[0]", "CustomPattern"),
        ("rules.pre.guardrails", "Guardrails"),
        ("rules.pre.custom_policies[0]", "CustomPolicy"),
        ("rules.pre.tokens", "Thresholds"),
        ("rules.post", "PostRules"),
    ] {
        let before = format!("{field}.nosuch: unknown; allowed: ");
        let accepted = listed(&message, (&before, ";"));
        let schema = &document["components"]["schemas"][schema];
        assert_eq!(accepted, names(&schema["properties"]), "{field}");
    }
    let policy = json!({"version": 1, "policy": {
        "nosuch": 1, "app_mode": "async", "block_on": unknown(), "limits": unknown()}});
    let path = "/applications/{id}/policy";
    let message = world.refusal("put", path, Some(policy)).await;
    let schemas = &document["components"]["schemas"];
    let kinds = schemas["PolicyInput"]["anyOf"].as_array().unwrap();
    let limits = schemas["CallLimitsInput"]["anyOf"].as_array().unwrap();
    let is_object = |schema: &&Value| schema["properties"].is_object();
    let kinds: Vec<_> = kinds.iter().map(|kind| resolved(&document, kind)).collect();
    let of = |before: &str| listed(&message, (before, ";"));
    for kind in kinds.into_iter().filter(is_object) {
        let accepted = of("policy.nosuch: is an unknown field; allowed: ");
        assert_eq!(accepted, names(&kind["properties"]));
        let block_on = &kind["properties"]["block_on"]["properties"];
        let accepted = of("policy.block_on.nosuch: is an unknown field; allowed: ");
        assert_eq!(accepted, names(block_on));
    }
    for kind in limits.iter().filter(is_object) {
        let accepted = of("policy.limits.nosuch: is an unknown field; allowed: ");
        assert_eq!(accepted, names(&kind["properties"]));
    }
}
