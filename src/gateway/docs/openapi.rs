//! The OpenAPI 3.1 document (§9.3), written by hand in `openapi.json`: the gateway forwards bodies without
//! types for them, so it cannot be derived. The tests compare it with §2.1, §4.1 and §7.2.

/// The document, JSON in UTF-8.
pub fn openapi_json() -> &'static [u8] {
    include_bytes!("openapi.json")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use monitor_model::{ErrorEnvelope, GATEWAY_VERSION};
    use serde_json::Value;
    use std::collections::HashSet;
    use support::openapi::{resolved, visit};

    /// §4.1, and the APIs of agents.
    const ROUTES: [(&str, &str); 22] = [
        ("/v1/chat/completions", "post"),
        ("/v1/responses", "post"),
        ("/v1/messages", "post"),
        ("/v1/completions", "post"),
        ("/v1/responses/input_tokens", "post"),
        ("/v1/responses/compact", "post"),
        ("/v1/responses/{response_id}", "get"),
        ("/v1/responses/{response_id}", "delete"),
        ("/v1/responses/{response_id}/cancel", "post"),
        ("/v1/responses/{response_id}/input_items", "get"),
        ("/v1/messages/count_tokens", "post"),
        ("/v1/messages/batches", "post"),
        ("/v1/messages/batches", "get"),
        ("/v1/messages/batches/{batch_id}", "get"),
        ("/v1/messages/batches/{batch_id}", "delete"),
        ("/v1/messages/batches/{batch_id}/cancel", "post"),
        ("/v1/messages/batches/{batch_id}/results", "get"),
        ("/v1/embeddings", "post"),
        ("/v1/models", "get"),
        ("/openapi.json", "get"),
        ("/docs", "get"),
        ("/redoc", "get"),
    ];

    fn document() -> Value {
        serde_json::from_slice(openapi_json()).unwrap()
    }

    fn operation(document: &Value, (path, method): (&str, &str)) -> Value {
        document["paths"][path][method].clone()
    }

    fn chat(document: &Value) -> Value {
        operation(document, ROUTES[0])
    }

    #[test]
    fn the_document_is_openapi_3_1_of_this_gateway_version() {
        let document = document();
        assert_eq!(document["openapi"], "3.1.0");
        assert_eq!(document["info"]["version"], GATEWAY_VERSION);
    }

    #[test]
    fn exactly_the_routes_of_4_1_are_there() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let described: HashSet<(&str, &str)> = paths
            .iter()
            .flat_map(|(path, item)| {
                item.as_object()
                    .unwrap()
                    .keys()
                    .map(move |method| (path.as_str(), method.as_str()))
            })
            .collect();
        assert_eq!(described, HashSet::from(ROUTES));
    }

    #[test]
    fn operation_ids_are_there_and_differ() {
        let document = document();
        let ids: HashSet<String> = ROUTES
            .iter()
            .map(|route| {
                operation(&document, *route)["operationId"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(ids.len(), ROUTES.len());
    }

    #[test]
    fn every_reference_resolves_and_every_component_is_used() {
        let document = document();
        let mut seen = HashSet::new();
        visit(&document, &mut |value| {
            resolved(&document, value);
            seen.extend(value.get("$ref").and_then(Value::as_str).map(str::to_owned));
        });
        for kind in ["parameters", "headers", "responses", "schemas", "examples"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                assert!(
                    seen.contains(&format!("#/components/{kind}/{name}")),
                    "{kind} {name}"
                );
            }
        }
    }

    #[test]
    fn every_header_of_2_1_is_described() {
        let document = document();
        let chat = chat(&document);
        let parameters = chat["parameters"].as_array().unwrap();
        let names: HashSet<&str> = parameters
            .iter()
            .map(|parameter| resolved(&document, parameter))
            .filter(|parameter| parameter["in"] == "header")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let expected = [
            "X-Application-Id",
            "X-User-Id",
            "X-Session-Id",
            "X-Attached-Files",
            "X-Request-Id",
        ];
        assert_eq!(names, HashSet::from(expected));
        // Two headers whose names differ by a hyphen would be one parameter in generated clients.
        let files = &document["components"]["parameters"]["X-Attached-Files"];
        let description = files["description"].as_str().unwrap();
        assert!(description.contains("X-AttachedFiles"));
        let schemes = &document["components"]["securitySchemes"];
        assert_eq!(schemes["MonitorApiKey"]["name"], "X-Monitor-Api-Key");
        assert_eq!(schemes["MonitorApiKey"]["in"], "header");
        assert_eq!(schemes["UpstreamKey"]["scheme"], "bearer");
        // OpenAPI has Content-Type and Accept as the media types of body and answer.
        assert!(chat["requestBody"]["content"]["application/json"].is_object());
        assert!(chat["responses"]["200"]["content"]["text/event-stream"].is_object());
    }

    #[test]
    fn the_access_key_is_asked_for_under_v1_and_nowhere_else() {
        let document = document();
        for route in ROUTES {
            let security = operation(&document, route)["security"]
                .as_array()
                .unwrap()
                .clone();
            let needs_key = route.0.starts_with("/v1/");
            assert_eq!(!security.is_empty(), needs_key, "{route:?}");
            assert!(
                security
                    .iter()
                    .all(|way| way.get("MonitorApiKey").is_some())
            );
        }
    }

    #[test]
    fn every_status_of_7_2_is_described_and_names_the_request() {
        let document = document();
        let responses = &chat(&document)["responses"];
        for status in [
            "200", "400", "401", "403", "404", "405", "408", "413", "422", "429", "500", "502",
            "503", "default",
        ] {
            let response = resolved(&document, &responses[status]);
            assert!(response["description"].is_string(), "{status}");
            assert!(response["headers"]["X-Request-Id"].is_object(), "{status}");
        }
        // §7.2: 504 is only ever a frame of a stream.
        assert!(responses["504"].is_null());
        let codes = &document["components"]["schemas"]["StreamError"]["properties"]["error"];
        assert_eq!(
            codes["properties"]["code"]["enum"],
            serde_json::json!([502, 504])
        );
    }

    #[test]
    fn a_wrong_method_is_answered_with_allow_on_every_route() {
        let document = document();
        for route in ROUTES {
            let responses = &operation(&document, route)["responses"];
            let response = resolved(&document, &responses["405"]);
            assert!(response["headers"]["Allow"].is_object(), "{route:?}");
        }
    }

    #[test]
    fn examples_of_the_gateways_own_errors_are_envelopes_of_their_status() {
        let document = document();
        let mut own = 0;
        for (name, example) in document["components"]["examples"].as_object().unwrap() {
            let Some(rest) = name.strip_prefix("Gateway") else {
                continue;
            };
            let envelope: ErrorEnvelope = serde_json::from_value(example["value"].clone()).unwrap();
            assert_eq!(envelope.error.code.to_string(), rest[..3], "{name}");
            own += 1;
        }
        assert!(own >= 10);
    }

    #[test]
    fn example_streams_hold_a_heartbeat_an_error_frame_and_the_end() {
        let document = document();
        let text = |name: &str| {
            let example = &document["components"]["examples"][name]["value"];
            example.as_str().unwrap().to_owned()
        };
        for name in [
            "StreamComplete",
            "StreamBlocked",
            "StreamCut",
            "StreamHeartbeat",
            "StreamTimeout",
            "StreamReset",
        ] {
            for frame in text(name).split_terminator("\n\n") {
                let data = frame.strip_prefix("data: ");
                let json = data.filter(|data| *data != "[DONE]");
                assert!(data.is_some() || frame == ": keepalive", "{name}: {frame}");
                json.map(|json| serde_json::from_str::<Value>(json).unwrap());
            }
        }
        assert!(text("StreamHeartbeat").contains("\n\n: keepalive\n\n"));
        assert!(text("StreamComplete").ends_with("data: [DONE]\n\n"));
        for (name, code) in [("StreamTimeout", 504), ("StreamReset", 502)] {
            assert!(
                text(name).ends_with(&format!("\"code\":{code}}}}}\n\n")),
                "{name}"
            );
        }
    }

    #[test]
    fn the_block_response_of_2_4_is_described() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        let block = &schemas["Replacement"]["properties"]["response_replacement"]["properties"];
        assert_eq!(block["stage"]["enum"][0], "pre_call");
        let kinds = serde_json::json!(["guardrails", "custom_policy", "dataclean"]);
        assert_eq!(block["type"]["enum"], kinds);
        let example = &document["components"]["examples"]["Blocked"]["value"];
        for field in schemas["BlockedCompletion"]["required"].as_array().unwrap() {
            assert!(!example[field.as_str().unwrap()].is_null(), "{field}");
        }
    }
}
