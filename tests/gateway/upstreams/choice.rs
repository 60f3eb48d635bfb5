//! Which group of model servers a call goes to: by its route, by the model of its body, else `upstream`.

use super::{chat, entry, named, stack};
use support::compressed::gzip;
use support::request::{EMBEDDINGS, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Upstream, delta, json, sse};

#[test]
fn a_call_goes_to_the_first_entry_that_takes_its_model_and_else_to_upstream() {
    let (rest, claude, gpt, late) = (named("rest"), named("claude"), named("gpt"), named("late"));
    let entries = [
        entry("anthropic", &claude.url(), "models: [\"claude-*\"]"),
        entry("openai", &gpt.url(), "models: [gpt-4, o1]"),
        entry("late", &late.url(), "models: [\"gpt-*\"]"),
    ];
    let stack = stack(&rest, &entries).start();
    for (model, server) in [
        (r#""claude-3""#, "claude"),
        (r#""claude-""#, "claude"),
        (r#""cl\u0061ude-3""#, "claude"),
        (r#""gpt-4""#, "gpt"),
        (r#""o1""#, "gpt"),
        (r#""gpt-4o""#, "late"),
        // Another case, another name, no name.
        (r#""Claude-3""#, "rest"),
        (r#""CLAUDE-3""#, "rest"),
        (r#""claude""#, "rest"),
        (r#""my-claude-3""#, "rest"),
        (r#""o1-mini""#, "rest"),
        (r#""""#, "rest"),
        ("4", "rest"),
        ("null", "rest"),
        (r#"["claude-3"]"#, "rest"),
        // Readers of JSON may differ: the last one counts.
        (r#""gpt-4","model":"claude-3""#, "claude"),
        (r#""claude-3","model":"gpt-4""#, "gpt"),
        (r#""claude-3","model":null"#, "rest"),
    ] {
        let answer = stack.call(&chat(model));
        assert_eq!(
            (answer.status(), answer.text().as_str()),
            (200, server),
            "{model}"
        );
    }
    let call = Request::chat(r#"{"messages":[{"role":"user","content":"hello"}]}"#);
    assert_eq!(stack.call(&call).text(), "rest");
    // What it gets is the call, to the byte, and nothing of the gateway's own.
    let call = chat(r#""cl\u0061ude-3""#).header("Authorization", "Bearer of-the-client");
    stack.call(&call);
    let seen = claude.last();
    assert!(call.bytes().ends_with(&seen.body));
    assert_eq!(
        seen.head.header("host"),
        Some(claude.address().to_string().as_str())
    );
    assert_eq!(
        seen.head.header("authorization"),
        Some("Bearer of-the-client")
    );
    assert!(!seen.head.has("x-monitor-api-key"));
}

#[test]
fn a_stream_and_a_compressed_call_go_by_their_model_too() {
    let rest = named("rest");
    let claude = Upstream::answering(|request| {
        match String::from_utf8_lossy(&request.body).contains("\"stream\":true") {
            true => sse(&[&delta(0, "x"), DONE]),
            false => json(200, "claude"),
        }
    });
    let entries = [entry("anthropic", &claude.url(), "models: [\"claude-*\"]")];
    let stack = stack(&rest, &entries).start();
    let stream = HELLO_STREAM.replace("test-model", "claude-3");
    assert_eq!(
        stack.call(&Request::chat(stream)).text(),
        delta(0, "x") + DONE
    );
    let body = gzip(HELLO.replace("test-model", "claude-3").as_bytes());
    let call = Request::chat(&body).header("Content-Encoding", "gzip");
    assert_eq!(stack.call(&call).text(), "claude");
    assert_eq!(claude.last().body, body, "to the byte");
    assert_eq!(rest.heads(), 0);
}

#[test]
fn routes_whose_body_is_not_read_go_by_route_alone() {
    let (rest, claude, vectors) = (named("rest"), named("claude"), named("vectors"));
    let by_model = entry("anthropic", &claude.url(), "models: [\"claude-*\"]");
    let embedding = Request::post(EMBEDDINGS, r#"{"model":"claude-3","input":"hello"}"#);
    let only_models = stack(&rest, std::slice::from_ref(&by_model)).start();
    assert_eq!(only_models.call(&embedding).text(), "rest");
    assert_eq!(only_models.call(&Request::get(MODELS)).text(), "rest");
    let by_route = entry("vectors", &vectors.url(), "routes: [embeddings]");
    let listed = entry("listed", &claude.url(), "routes: models");
    let stack = stack(&rest, &[by_model, by_route, listed]).start();
    assert_eq!(stack.call(&embedding).text(), "vectors");
    assert_eq!(
        vectors.last().body,
        br#"{"model":"claude-3","input":"hello"}"#
    );
    assert_eq!(stack.call(&Request::get(MODELS)).text(), "claude");
    assert_eq!(stack.call(&chat(r#""m""#)).text(), "rest");
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "claude");
}

#[test]
fn the_apis_of_agents_go_to_servers_of_their_own() {
    let [rest, openai, anthropic] = ["rest", "openai", "anthropic"].map(named);
    let entries = [
        entry("openai", &openai.url(), "routes: [responses]"),
        entry(
            "anthropic",
            &anthropic.url(),
            "routes: [messages, completions]",
        ),
    ];
    let stack = stack(&rest, &entries).start();
    for (path, server) in [
        ("/v1/responses", "openai"),
        ("/v1/responses/input_tokens", "openai"),
        ("/v1/messages", "anthropic"),
        ("/v1/messages/count_tokens", "anthropic"),
        ("/v1/completions", "anthropic"),
        ("/v1/chat/completions", "rest"),
        ("/v1/embeddings", "rest"),
    ] {
        let answer = stack.call(&Request::post(
            path,
            r#"{"model":"m","input":"x","messages":[]}"#,
        ));
        assert_eq!(answer.text(), server, "{path}");
    }
}

#[test]
fn calls_of_agents_go_by_their_model_and_what_is_below_them_by_route_alone() {
    let [rest, claude, gpt] = ["rest", "claude", "gpt"].map(named);
    let [openai, anthropic] = ["openai", "anthropic"].map(named);
    let by_model = [
        entry("claude", &claude.url(), "models: [\"claude-*\"]"),
        entry(
            "gpt",
            &gpt.url(),
            "models: [\"gpt-*\"], routes: [responses]",
        ),
    ];
    let by_route = [
        entry("openai", &openai.url(), "routes: [responses]"),
        entry("anthropic", &anthropic.url(), "routes: [messages]"),
    ];
    let call = |path: &str, model: &str| {
        let body = format!("{{\"model\":\"{model}\",\"input\":\"x\",\"messages\":[]}}");
        Request::post(path, body)
    };
    let alone = stack(&rest, &by_model).start();
    let with_routes = stack(&rest, &[by_model, by_route].concat()).start();
    for (path, model, server, server_with_routes) in [
        ("/v1/messages", "claude-3", "claude", "claude"),
        ("/v1/responses", "claude-3", "claude", "claude"),
        ("/v1/responses", "gpt-5", "gpt", "gpt"),
        ("/v1/messages", "gpt-5", "rest", "anthropic"),
        ("/v1/responses", "m", "rest", "openai"),
        // Nobody reads the bodies of these.
        ("/v1/messages/count_tokens", "claude-3", "rest", "anthropic"),
        ("/v1/messages/batches", "claude-3", "rest", "anthropic"),
        ("/v1/messages/batches/b_1/cancel", "", "rest", "anthropic"),
        ("/v1/responses/input_tokens", "gpt-5", "rest", "openai"),
        ("/v1/responses/compact", "gpt-5", "rest", "openai"),
        ("/v1/responses/resp_1/cancel", "", "rest", "openai"),
    ] {
        let call = call(path, model);
        assert_eq!(alone.call(&call).text(), server, "{path} {model}");
        let server = server_with_routes;
        assert_eq!(with_routes.call(&call).text(), server, "{path} {model}");
    }
    for (method, path, server) in [
        ("GET", "/v1/responses/resp_1", "openai"),
        ("DELETE", "/v1/responses/resp_1", "openai"),
        ("GET", "/v1/responses/resp_1/input_items", "openai"),
        ("GET", "/v1/messages/batches", "anthropic"),
        ("GET", "/v1/messages/batches/b_1", "anthropic"),
        ("GET", "/v1/messages/batches/b_1/results", "anthropic"),
    ] {
        let call = Request::new(method, path);
        assert_eq!(alone.call(&call).text(), "rest", "{method} {path}");
        assert_eq!(with_routes.call(&call).text(), server, "{method} {path}");
    }
}

#[test]
fn an_entry_with_routes_and_models_takes_what_fits_both() {
    let (rest, first, second) = (named("rest"), named("first"), named("second"));
    let entries = [
        entry(
            "first",
            &first.url(),
            "routes: [messages, responses], models: [\"claude-*\"]",
        ),
        entry(
            "second",
            &second.url(),
            "routes: [chat, completions], models: [\"claude-*\"]",
        ),
    ];
    let stack = stack(&rest, &entries).start();
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "second");
    assert_eq!(stack.call(&chat(r#""m""#)).text(), "rest");
    assert_eq!(first.heads(), 0);
}

#[test]
fn monitor_all_answers_with_the_demo_model_what_no_entry_takes() {
    let claude = Upstream::json(200, ANSWER);
    let entries = format!(
        "upstreams:\n  - {{{}}}",
        entry("anthropic", &claude.url(), "models: [\"claude-*\"]")
    );
    let stack = Stack::all().yaml(&entries).start();
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), ANSWER);
    let answer = stack.call(&chat(r#""demo-small""#));
    assert_eq!((answer.status(), claude.heads()), (200, 1));
    let line = format!("{}  (anthropic: claude-*)", claude.url());
    stack
        .process
        .await_stdout("the group", |text| text.contains(&line).then_some(()));
}
