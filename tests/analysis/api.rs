//! The API over a real connection: answer, idempotency, and the refusals that depend on the listener.

use serde_json::json;
use support::api::{analyse, authorised, post, records};
use support::request::Request;
use support::stack::Stack;
use support::{KEY, assert_envelope};

#[test]
fn the_answer_has_every_field_of_2_9() {
    // CONTRACT 28, 37.
    let stack = Stack::all().start();
    let answer = analyse(&stack, "write to a@example.org from 10.0.0.1", json!({}));
    for (pointer, value) in [
        ("/schema_version", json!("2.0.0")),
        ("/status", json!("success")),
        ("/errors", json!([])),
        ("/tokens/usage_severity", json!(null)),
        ("/guardrails/flagged", json!(false)),
        ("/custom_policy/flagged", json!(false)),
        ("/dataclean/flagged", json!(true)),
        (
            "/dataclean/cleaned_text",
            json!("write to [EMAILS] from [IP]"),
        ),
        (
            "/dataclean/types",
            json!([{"type": "EMAILS", "count": 1}, {"type": "IP", "count": 1}]),
        ),
    ] {
        assert_eq!(answer.pointer(pointer), Some(&value), "{pointer}");
    }
    assert!(answer["tokens"]["count"].as_u64().unwrap() > 0);
    assert_eq!(answer["request_id"].as_str().unwrap().len(), 36);
}

#[test]
fn a_registration_delivered_twice_is_one_record() {
    // CONTRACT 23.
    let stack = Stack::all().start();
    let parameters =
        json!({"request_id": "9b0e5a0e-6ad1-4a3c-8f4e-1f2d3c4b5a69", "session_id": "s"});
    let first = analyse(&stack, "once", parameters.clone());
    assert_eq!(analyse(&stack, "once", parameters), first);
    assert_eq!(records(&stack, "session_id=s").len(), 1);
}

#[test]
fn a_token_that_is_missing_or_unknown_gives_401_on_every_path() {
    // CONTRACT 27.
    let stack = Stack::all().start();
    for request in [
        Request::post("/process_request/", "{}"),
        Request::post("/process_response/", "{}"),
        Request::get("/records"),
        Request::get("/records/9b0e5a0e-6ad1-4a3c-8f4e-1f2d3c4b5a69"),
    ] {
        // The gateway's header is no token here.
        for request in [
            request.clone(),
            request.header("Authorization", "Bearer mon_invented"),
        ] {
            let response = request.call(stack.analysis_addr);
            assert_eq!(response.status(), 401, "{}", request.path());
            assert_eq!(response.head.header("www-authenticate"), Some("Bearer"));
            assert_envelope(&response.body, "invalid_request_error", 401);
        }
    }
}

#[test]
fn refusals_over_the_wire_carry_their_status_and_the_envelope() {
    // CONTRACT 27.
    let stack = Stack::all().start();
    let large = "x".repeat(17 << 20);
    let typed = |body: &str| authorised(Request::post("/process_request/", body));
    let untyped = authorised(Request::new("POST", "/process_request/"));
    for (status, request) in [
        (400, typed("{\"message\":")),
        (404, authorised(Request::get("/nothing"))),
        (405, authorised(Request::get("/process_request/"))),
        (413, typed(&large)),
        (413, typed(&large).chunked(64 << 10)),
        (415, untyped),
        (422, typed("{\"message\":\"no application\"}")),
        (422, authorised(Request::get("/records?limit=0"))),
    ] {
        let mut connection = support::http::Conn::open(stack.analysis_addr);
        // A body over the limit is refused before its end.
        let _ = connection.try_send(&request.bytes());
        let response = connection.response();
        assert_eq!(response.status(), status, "{}", response.text());
        assert_envelope(&response.body, "invalid_request_error", status);
    }
    assert!(records(&stack, "").is_empty());
}

#[test]
fn a_header_with_one_value_and_two_different_ones_is_refused_on_api_and_ui() {
    let stack = Stack::all().start();
    for path in ["/records", "/ui/sign-in", "/ui", "/none"] {
        for name in [
            "Host",
            "Content-Type",
            "Sec-Fetch-Site",
            "X-Monitor-Gateway",
        ] {
            let one = authorised(Request::get(path)).header(name, "gateway.test");
            let two = one.clone().header(name, "another");
            let answer = two.call(stack.analysis_addr);
            assert_eq!(answer.status(), 400, "{path} {name}");
            assert_envelope(&answer.body, "invalid_request_error", 400);
            let same = one.header(name, "gateway.test").call(stack.analysis_addr);
            assert_ne!(same.status(), 400, "{path} {name}");
        }
    }
}

#[test]
fn a_message_may_be_empty_long_or_cut_inside_an_emoji() {
    // CONTRACT 27, 37.
    let stack = Stack::all().start();
    assert_eq!(
        analyse(&stack, "", json!({}))["dataclean"]["cleaned_text"],
        ""
    );
    let long = format!("{}10.0.0.1", "слово ".repeat(50_000));
    let answer = analyse(&stack, &long, json!({}));
    assert_eq!(
        answer["dataclean"]["entities"],
        json!([{"type": "IP", "start": 300_000, "end": 300_008}])
    );
    let id = stack.application_id();
    let body = format!(r#"{{"application_id":"{id}","message":"cut \ud83d here"}}"#);
    let answer = authorised(Request::post("/process_request/", body))
        .call(stack.analysis_addr)
        .json();
    assert_eq!(answer["dataclean"]["cleaned_text"], "cut \u{fffd} here");
}

#[test]
fn an_application_that_does_not_exist_is_named_as_the_wrong_field() {
    // CONTRACT 27.
    let stack = Stack::all().start();
    for id in ["not-a-uuid", "00000000-0000-4000-8000-000000000000"] {
        let response = post(
            &stack,
            "/process_response/",
            &json!({"application_id": id, "message": "x"}),
        );
        assert_eq!(response.status(), 422);
        assert!(
            response.text().contains("application_id"),
            "{}",
            response.text()
        );
    }
    let known = json!({"application_id": stack.application_id(), "message": "x"});
    assert_eq!(post(&stack, "/api/process_response", &known).status(), 200);
    assert_eq!(stack.analysis("/api/records/", KEY).status(), 200);
}

#[test]
fn sigterm_lets_a_call_to_the_api_finish() {
    // CONTRACT 35. The interim answer shows that the call is under way before the signal.
    let mut stack = Stack::all().start();
    let body = json!({"application_id": stack.application_id(), "message": "late"}).to_string();
    let request = authorised(Request::post("/process_request/", &body));
    let mut connection = support::http::Conn::open(stack.analysis_addr);
    connection.send(&request.header("Expect", "100-continue").head());
    assert_eq!(connection.head().status(), 100);
    stack.process.signal("TERM");
    stack.process.await_stderr("the process drains", |text| {
        text.contains("drain").then_some(())
    });
    connection.send(body.as_bytes());
    assert_eq!(connection.response().status(), 200);
    let (status, _) = stack.process.await_exit();
    assert_eq!(status.code(), Some(0), "{}", stack.stderr());
}

#[test]
fn an_unknown_path_is_answered_with_the_one_that_was_meant() {
    let stack = Stack::all().start();
    let gateway = "calls of models go to the gateway";
    for (path, said) in [
        ("/process_requests", "did you mean /process_request?"),
        ("/v1/process_request/", "did you mean /process_request?"),
        ("/api/proces_response", "did you mean /process_response?"),
        ("/process_tool_calls/", "did you mean /process_tool_call?"),
        (
            "/user_prompt_analysis/by_request/r-1/attach_file",
            "did you mean /user_prompt_analysis/by_request/{request_id}/attach_files?",
        ),
        ("/record", "did you mean /records?"),
        ("/v1/chat/completions", gateway),
        ("/chat/completions", gateway),
        ("/v1/embeddings", gateway),
        ("/v1/models", gateway),
        ("/v1/responses", gateway),
        ("/nothing", "see /openapi.json"),
    ] {
        // Nobody needs a token to be told.
        for request in [Request::post(path, "{}"), Request::get(path).without_key()] {
            let answer = request.call(stack.analysis_addr);
            assert_eq!(answer.status(), 404, "{path}");
            assert_envelope(&answer.body, "invalid_request_error", 404);
            assert!(answer.text().contains(said), "{path}: {}", answer.text());
        }
    }
    // A record that there is not is no path.
    let id = "9b0e5a0e-6ad1-4a3c-8f4e-1f2d3c4b5a69";
    let answer = stack.analysis(&format!("/records/{id}"), KEY);
    assert_eq!(answer.json()["error"]["message"], "not found");
}

#[test]
fn every_path_beyond_those_of_the_specification_says_so_in_the_document() {
    // §4.3, §4.4.
    let specified = [
        "/process_request",
        "/process_response",
        "/process_request/override",
        "/process_response/override",
    ];
    let stack = Stack::all().start();
    let document = Request::get("/openapi.json").without_key();
    let document = document.call(stack.analysis_addr).json();
    let paths = document["paths"].as_object().unwrap();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            let description = operation["description"].as_str().unwrap();
            let says_so = description.ends_with(" An addition to the specification.");
            let is_beyond = !specified.contains(&path.as_str());
            assert_eq!(says_so, is_beyond, "{method} {path}: {description}");
        }
    }
    let introduction = document["info"]["description"].as_str().unwrap();
    let (_, additions) = introduction.split_once("**Additions.**").unwrap();
    for addition in ["process_tool_call", "attach_files", "check_blocking"] {
        assert!(additions.contains(addition), "{addition}: {introduction}");
        assert!(paths.keys().any(|path| path.contains(addition)));
    }
}
