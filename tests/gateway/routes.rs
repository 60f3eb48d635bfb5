//! Which paths exist, and where a call goes: §1.8, §4.1, §9, CONTRACT 9.

use support::assert_envelope;
use support::request::{CHAT, EMBEDDINGS, HELLO, MODELS, Request};
use support::stack::Stack;
use support::upstream::Upstream;

#[test]
fn an_unknown_v1_path_gives_401_first_and_then_404() {
    // CONTRACT 9.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for path in [
        "/v1/nothing",
        "/v1/models/gpt",
        "/v1/edits",
        "/v1/chat",
        "/v1/",
    ] {
        for request in [Request::get(path), Request::post(path, HELLO)] {
            let answer = stack.call(&request.clone().without_key());
            assert_eq!(answer.status(), 401, "{path}");
            assert_envelope(&answer.body, "invalid_request_error", 401);
            let answer = stack.call(&request);
            assert_eq!(answer.status(), 404, "{path}");
            assert_envelope(&answer.body, "invalid_request_error", 404);
        }
    }
    upstream.assert_untouched();
}

#[test]
fn only_the_paths_of_the_contract_exist() {
    // CONTRACT 9: not the operations listener's either.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for path in [
        "/",
        "/metrics",
        "/readyz",
        "/V1/models",
        "/openapi.yaml",
        "/v1/../v1/models",
        "//v1/models",
    ] {
        let answer = stack.call(&Request::get(path));
        assert_eq!(answer.status(), 404, "{path}");
        assert_envelope(&answer.body, "invalid_request_error", 404);
    }
    upstream.assert_untouched();
}

#[test]
fn an_unknown_path_is_answered_with_the_one_that_was_meant() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for (path, said) in [
        ("/chat/completions", "did you mean /v1/chat/completions?"),
        (
            "/v1/v1/chat/completions",
            "did you mean /v1/chat/completions?",
        ),
        (
            "/v1/chat/completions/",
            "did you mean /v1/chat/completions?",
        ),
        ("/embeddings", "did you mean /v1/embeddings?"),
        ("/responses", "did you mean /v1/responses?"),
        ("/v1/v1/messages", "did you mean /v1/messages?"),
        ("/completions", "did you mean /v1/completions?"),
        (
            "/api/chat",
            "the native Ollama API: set the client to /v1/chat/completions",
        ),
        ("/v1/nothing", "see /openapi.json"),
    ] {
        let answer = stack.call(&Request::post(path, HELLO));
        assert_eq!(answer.status(), 404, "{path}");
        assert!(answer.text().contains(said), "{path}: {}", answer.text());
    }
    upstream.assert_untouched();
}

#[test]
fn a_wrong_method_gives_405_with_allow() {
    // CONTRACT 9.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let cases = [
        (Request::get(CHAT), "POST"),
        (Request::new("DELETE", CHAT), "POST"),
        (Request::get(EMBEDDINGS), "POST"),
        (Request::post(MODELS, HELLO), "GET"),
        (Request::post("/openapi.json", HELLO), "GET"),
        (Request::post("/docs", HELLO), "GET"),
    ];
    for (request, allowed) in cases {
        let answer = stack.call(&request);
        assert_eq!(answer.status(), 405, "{}", request.path());
        assert_envelope(&answer.body, "invalid_request_error", 405);
        let allow = answer
            .head
            .header("allow")
            .expect("RFC 9110 15.5.6")
            .to_owned();
        assert!(allow.split(", ").any(|method| method == allowed), "{allow}");
    }
    assert_eq!(
        stack.call(&Request::get(CHAT).without_key()).status(),
        401,
        "§4.1 rule 1"
    );
    upstream.assert_untouched();
}

#[test]
fn the_contract_and_its_documentation_need_no_key() {
    // §1.8, §4.1, §9.1, §9.3, CONTRACT 9.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let answer = stack.call(&Request::get("/openapi.json").without_key());
    assert_eq!(answer.status(), 200);
    let document = answer.json();
    assert!(
        document["openapi"].as_str().unwrap().starts_with("3.1"),
        "{}",
        document["openapi"]
    );
    assert_eq!(document["info"]["version"], "4.1.0");
    for (path, method) in [(CHAT, "post"), (EMBEDDINGS, "post"), (MODELS, "get")] {
        let operation = &document["paths"][path][method];
        assert!(operation["responses"]["401"].is_object(), "{path}");
        assert!(
            operation.to_string().contains("X-Monitor-Api-Key")
                || document["components"]
                    .to_string()
                    .contains("X-Monitor-Api-Key")
        );
    }
    for path in ["/docs", "/redoc"] {
        let answer = stack.call(&Request::get(path).without_key());
        assert_eq!(answer.status(), 200, "{path}");
        assert!(
            answer
                .head
                .header("content-type")
                .unwrap()
                .starts_with("text/html")
        );
    }
    upstream.assert_untouched();
}

#[test]
fn documentation_pages_load_nothing_from_elsewhere() {
    // Assets are served by the gateway itself, so that the pages work without a network.
    let stack = Stack::before(&Upstream::ok());
    let link = regex::Regex::new(r#"(?:src|href)\s*=\s*["']([^"']+)["']"#).unwrap();
    for page in ["/docs", "/redoc"] {
        let html = stack.call(&Request::get(page).without_key()).text();
        for found in link.captures_iter(&html) {
            let target = &found[1];
            if target.starts_with("data:") || target.starts_with('#') {
                continue;
            }
            assert!(!target.contains("//"), "{page} loads {target}");
            let path = if target.starts_with('/') {
                target.to_owned()
            } else {
                format!("/{}", target.trim_start_matches("./"))
            };
            let answer = stack.call(&Request::get(&path).without_key());
            assert_eq!(answer.status(), 200, "{page} needs {path}");
            assert!(!answer.body.is_empty());
        }
    }
}

#[test]
fn the_upstream_sees_the_same_path_and_query() {
    // §4.1.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for query in ["", "?", "?api-version=2024-10-21&x=%20%2F&x"] {
        for (method, path) in [("POST", CHAT), ("POST", EMBEDDINGS), ("GET", MODELS)] {
            let target = format!("{path}{query}");
            let request = match method {
                "GET" => Request::get(&target),
                _ => Request::post(&target, HELLO),
            };
            assert_eq!(stack.call(&request).status(), 200, "{target}");
            let line = upstream.last().head.start_line;
            assert_eq!(line, format!("{method} {target} HTTP/1.1"));
        }
    }
}

#[test]
fn upstream_url_may_carry_a_prefix_and_a_trailing_v1_is_not_doubled() {
    // CONTRACT 9.
    let cases = [
        ("/", ""),
        ("/v1", ""),
        ("/v1/", ""),
        ("/openai/deployments/x", "/openai/deployments/x"),
        ("/prefix/", "/prefix"),
        ("/prefix/v1", "/prefix"),
    ];
    for (suffix, prefix) in cases {
        let upstream = Upstream::ok();
        let url = format!("{}{suffix}", upstream.url());
        let stack = Stack::gateway().env("UPSTREAM_URL", url).start();
        for request in Request::every_endpoint() {
            assert_eq!(stack.call(&request).status(), 200);
            let head = upstream.last().head;
            assert_eq!(
                head.target(),
                format!("{prefix}{}", request.path()),
                "with {suffix}"
            );
        }
    }
}
