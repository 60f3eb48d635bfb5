//! `POST /process_batch/` (CONTRACT 39).

use serde_json::{Value, json};
use support::api::{post, records};
use support::http::Response;
use support::request::Request;
use support::stack::Stack;
use support::{KEY, assert_envelope};

fn send(stack: &Stack, kind: &str, lines: &str) -> Response {
    let mut request = Request::post("/process_batch/", lines).without_key();
    request = request.header("Authorization", &format!("Bearer {KEY}"));
    request.content_type(kind).call(stack.analysis_addr)
}

/// Sends these lines; the verdicts come back in their order.
#[track_caller]
pub(crate) fn batch(stack: &Stack, lines: &[String]) -> Vec<Value> {
    let response = send(stack, "application/x-ndjson", &lines.join("\n"));
    assert_eq!(response.status(), 200, "{}", response.text());
    assert_eq!(
        response.head.header("content-type"),
        Some("application/x-ndjson")
    );
    let text = response.text();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn line(stack: &Stack, stage: &str, message: &str, exchange: &str) -> String {
    json!({"stage": stage, "body": {"application_id": stack.application_id(), "message": message,
        "additional_parameters": {"request_id": exchange, "session_id": "batch"}}})
    .to_string()
}

#[test]
fn every_line_gets_its_own_verdict_in_its_place() {
    // CONTRACT 39.
    let stack = Stack::all().start();
    let lines = [
        line(&stack, "pre", "write to a@example.org", "one"),
        line(&stack, "post", "done", "one"),
        "{\"stage\":".to_owned(),
        json!({"stage": "mid", "body": {}}).to_string(),
        json!({"stage": "pre"}).to_string(),
        "[\"pre\",{}]".to_owned(),
        String::new(),
        json!({"stage": "pre", "body": {"message": 7}}).to_string(),
        line(&stack, "pre", "write to a@example.org", "one"),
        line(&stack, "pre", "cut", "two").replace("cut", "cut \\ud83d"),
    ];
    let verdicts = batch(&stack, &lines);
    let statuses: Vec<_> = verdicts
        .iter()
        .map(|line| line["status"].as_u64().unwrap())
        .collect();
    assert_eq!(statuses, [200, 200, 400, 422, 422, 422, 422, 200, 200]);
    assert_eq!(
        verdicts[0]["body"]["dataclean"]["cleaned_text"],
        "write to [EMAILS]"
    );
    assert_eq!(verdicts[7]["body"], verdicts[0]["body"]);
    for (verdict, field) in verdicts[3..7]
        .iter()
        .zip(["stage", "body", "line", "message"])
    {
        let message = verdict["body"]["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
        assert_envelope(
            verdict["body"].to_string().as_bytes(),
            "invalid_request_error",
            422,
        );
    }
    let list = records(&stack, "session_id=batch");
    let order: Vec<_> = list.iter().rev().map(|item| &item["record"]).collect();
    assert_eq!(order, ["user_prompt", "llm_answer", "user_prompt"]);
}

#[test]
fn a_batch_is_bounded_in_lines_and_bytes_and_has_its_own_type() {
    // CONTRACT 39.
    let stack = Stack::all().start();
    let full: Vec<_> = (0..1000)
        .map(|number| line(&stack, "pre", "hello", &format!("{number}")))
        .collect();
    let verdicts = batch(&stack, &full);
    assert!(verdicts.len() == 1000 && verdicts.iter().all(|line| line["status"] == 200));
    let one_more = format!("{}\n{}", full.join("\n"), full[0]);
    for (status, kind, lines) in [
        (413, "application/x-ndjson", one_more.as_str()),
        (413, "application/x-ndjson", &"x".repeat(17 << 20)),
        (415, "application/json", "{}"),
    ] {
        let mut request = Request::post("/process_batch", lines).without_key();
        request = request.header("Authorization", &format!("Bearer {KEY}"));
        let mut connection = support::http::Conn::open(stack.analysis_addr);
        // A body over the limit is refused before its end.
        let _ = connection.try_send(&request.content_type(kind).bytes());
        let response = connection.response();
        assert_eq!(response.status(), status, "{}", response.text());
        assert_envelope(&response.body, "invalid_request_error", status);
    }
    assert!(batch(&stack, &[]).is_empty());
}

#[test]
fn the_process_endpoints_say_that_batches_and_parts_are_taken() {
    // CONTRACT 39, 46.
    let stack = Stack::all().start();
    let known = json!({"application_id": stack.application_id(), "message": "x"});
    for (path, body) in [
        ("/process_request/", &known),
        ("/process_response/", &known),
        ("/api/process_request", &json!({})),
        ("/process_response/override/", &json!({})),
    ] {
        let response = post(&stack, path, body);
        for offer in ["x-monitor-batch", "x-monitor-tools"] {
            assert_eq!(response.head.header(offer), Some("1"), "{path}");
        }
    }
}

#[test]
fn a_batch_whose_verdicts_find_no_memory_is_answered_in_part() {
    let limits = "  max_body: 1MiB\n  limits: {buffered_bytes: 4MiB, client_bytes: 1MiB}";
    let stack = Stack::all().yaml(limits).start();
    // The verdict on it is several times as long as the message.
    let message = "1.1.1.1 ".repeat(2_000);
    let lines: Vec<_> = (0..38)
        .map(|number| line(&stack, "pre", &message, &number.to_string()))
        .collect();
    let verdicts = batch(&stack, &lines);
    assert_eq!(verdicts.len(), lines.len());
    let stored = verdicts.iter().take_while(|it| it["status"] == 200).count();
    assert!((1..lines.len()).contains(&stored), "{stored}");
    for refused in &verdicts[stored..] {
        assert_eq!(refused["status"], 503, "{refused}");
        assert_eq!(refused["retry_after"], 1);
        let text = refused["body"]["error"]["message"].as_str().unwrap();
        assert!(
            text.contains("memory") || text.contains("limits."),
            "{text}"
        );
    }
    // What it had is given back.
    let again = batch(&stack, &lines[stored..=stored]);
    assert_eq!(again[0]["status"], 200);
}
