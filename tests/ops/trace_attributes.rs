//! What the spans of a call say of its request and its answer, by OpenTelemetry's conventions.

use super::traces::{attribute, await_spans, collector, gateway, of_kind};
use serde_json::Value;
use support::request::{EMBEDDINGS, HELLO, Request};
use support::stack::Folder;
use support::tls;
use support::upstream::{DONE, Upstream};

/// The values of an attribute that is a list of texts.
pub(crate) fn texts(span: &Value, name: &str) -> Vec<String> {
    let values = attribute(span, name)["values"].as_array().cloned();
    let texts = values.unwrap_or_default().into_iter();
    texts
        .map(|text| text["stringValue"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_model_call_tells_what_was_asked_for_and_how_the_answer_ended() {
    let answer = r#"{"id":"chatcmpl-7","object":"chat.completion","model":"m-1","choices":[
        {"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},
        {"index":1,"message":{"role":"assistant","content":"b"},"finish_reason":"length"}],
        "usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,
        "prompt_tokens_details":{"cached_tokens":8}}}"#;
    let chunk = r#"data: {"id":"chatcmpl-7","model":"m-1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    let end = r#"data: {"id":"chatcmpl-7","choices":[{"index":1,"delta":{},"finish_reason":"length"},{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let usage = r#"data: {"id":"chatcmpl-7","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}"#;
    let frames = [chunk, end, usage].map(|frame| format!("{frame}\n\n"));
    let frames: Vec<&str> = frames.iter().map(String::as_str).chain([DONE]).collect();
    for (upstream, stream) in [
        (Upstream::json(200, answer), "false"),
        (Upstream::sse(&frames), "true"),
    ] {
        let collector = collector();
        let stack = gateway(&upstream, &collector, ", ratio: 1").start();
        let body = format!(
            r#"{{"model":"m","stream":{stream},"max_completion_tokens":50,"max_tokens":1,"temperature":0.2,
            "top_p":1,"messages":[{{"role":"user","content":"hello"}}]}}"#
        );
        let call = Request::chat(body).header("X-Session-Id", "anna@example.org");
        assert_eq!(stack.call(&call).status(), 200);
        let spans = await_spans(&collector, 2);
        let (server, client) = (of_kind(&spans, 2), of_kind(&spans, 3));
        for (name, value) in [
            ("gen_ai.response.id", Value::from("chatcmpl-7")),
            ("gen_ai.request.max_tokens", "50".into()),
            ("gen_ai.request.temperature", 0.2.into()),
            ("gen_ai.request.top_p", 1.0.into()),
            ("gen_ai.usage.cache_read.input_tokens", "8".into()),
            // printf %s anna@example.org | openssl dgst -sha256 -hmac mon_test_key_2f6c1b7e -r | cut -c 1-32
            (
                "gen_ai.conversation.id",
                "9a5d976cd5532c0276ee35245752145f".into(),
            ),
        ] {
            assert_eq!(*attribute(client, name), value, "{name} of {client}");
        }
        let reasons = texts(client, "gen_ai.response.finish_reasons");
        assert_eq!(reasons, ["stop", "length"]);
        assert_eq!(*attribute(server, "url.path"), "/v1/chat/completions");
        assert_eq!(*attribute(server, "url.scheme"), "http");
    }
}

#[test]
fn what_a_request_and_its_answer_do_not_say_or_say_wrongly_is_no_attribute() {
    let answer = r#"{"id":7,"model":"m-1","choices":[{"finish_reason":null},{"finish_reason":3}],
        "usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":"many"}}"#;
    let (upstream, collector) = (Upstream::json(200, answer), collector());
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    let body = r#"{"model":"m","max_tokens":"1","temperature":null,"top_p":1e999,"messages":[]}"#;
    assert_eq!(stack.call(&Request::chat(body)).status(), 200);
    assert_eq!(stack.call(&Request::get("/v1/secret-path")).status(), 404);
    let spans = await_spans(&collector, 3);
    let client = of_kind(&spans, 3);
    assert_eq!(*attribute(client, "gen_ai.usage.input_tokens"), "9");
    for name in [
        "gen_ai.response.id",
        "gen_ai.response.finish_reasons",
        "gen_ai.request.max_tokens",
        "gen_ai.request.temperature",
        "gen_ai.request.top_p",
        "gen_ai.conversation.id",
        "gen_ai.usage.cache_read.input_tokens",
    ] {
        assert_eq!(*attribute(client, name), Value::Null, "{name} of {client}");
    }
    let all = Value::from(spans).to_string();
    assert!(!all.contains("secret-path"), "{all}");
}

#[test]
fn the_scheme_of_a_call_over_tls_is_https() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let (folder, identity) = (Folder::new(), tls::Identity::new());
    let cert = folder.write("cert.pem", &identity.cert_pem);
    let key = folder.write("key.pem", &identity.key_pem);
    let [encrypted, plain] = [(); 2].map(|()| support::fault::free_port());
    let listen = format!(
        "listen:\n  - {{address: \"127.0.0.1:{encrypted}\", tls: {{cert: \"{}\", key: \"{}\"}}}}\n  - 127.0.0.1:{plain}",
        cert.display(),
        key.display()
    );
    let stack = gateway(&upstream, &collector, ", ratio: 1").yaml(&listen);
    let _stack = stack.listening_by_yaml(plain).folder(&folder).start();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], encrypted));
    let (mut connection, _) = identity.connect(address, &["http/1.1"]);
    connection.send(&Request::chat(HELLO).bytes());
    assert_eq!(connection.response().status(), 200);
    let spans = await_spans(&collector, 2);
    assert_eq!(*attribute(of_kind(&spans, 2), "url.scheme"), "https");
}

#[test]
fn completions_and_embeddings_are_operations_of_their_own() {
    for (path, body, name, operation) in [
        (
            "/v1/completions",
            r#"{"model":"m","prompt":"s3cret"}"#,
            "text_completion m",
            "text_completion",
        ),
        // Nobody reads the model of a body that passes.
        (
            EMBEDDINGS,
            r#"{"model":"m","input":"s3cret"}"#,
            "embeddings",
            "embeddings",
        ),
    ] {
        let (upstream, collector) = (Upstream::json(200, "{}"), collector());
        let stack = gateway(&upstream, &collector, ", ratio: 1").start();
        assert_eq!(stack.call(&Request::post(path, body)).status(), 200);
        let spans = await_spans(&collector, 2);
        let (server, client) = (of_kind(&spans, 2), of_kind(&spans, 3));
        assert_eq!(server["name"], format!("POST {path}"));
        assert_eq!(client["name"], name);
        for (attribute_name, value) in [
            ("gen_ai.operation.name", operation),
            ("gen_ai.provider.name", "openai"),
        ] {
            assert_eq!(attribute(client, attribute_name), value, "{client}");
        }
        assert!(!Value::from(spans).to_string().contains("s3cret"));
    }
}
