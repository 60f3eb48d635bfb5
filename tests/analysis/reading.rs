//! What was analysed, read back: filters, sessions, statistics, exports (CONTRACT 38).

use serde_json::{Value, json};
use support::KEY;
use support::api::{analyse, authorised, records};
use support::request::Request;
use support::stack::Stack;

const MAIL: &str = "write to a@example.org";

fn get(stack: &Stack, path: &str) -> Value {
    let response = stack.analysis(path, KEY);
    assert_eq!(response.status(), 200, "{path}: {}", response.text());
    response.json()
}

fn refused(stack: &Stack, path: &str) -> String {
    let response = stack.analysis(path, KEY);
    assert_eq!(response.status(), 422, "{path}: {}", response.text());
    response.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn three(stack: &Stack) {
    analyse(stack, MAIL, json!({"user_id": "u1", "session_id": "s1"}));
    analyse(
        stack,
        "from 10.0.0.1 and a@example.org",
        json!({"user_id": "u2", "session_id": "s1"}),
    );
    analyse(
        stack,
        "nothing 100% here_",
        json!({"user_id": "u1", "session_id": "s2"}),
    );
}

#[test]
fn contract_38_records_are_narrowed_by_every_filter() {
    let stack = Stack::all().start();
    three(&stack);
    let all = records(&stack, "");
    let (first, last) = (&all[2], &all[0]);
    let time = |record: &Value| record["created_at_ms"].as_i64().unwrap();
    for (query, expected) in [
        ("user_id=u1", 2),
        ("session_id=s1", 2),
        ("user_id=u1&session_id=s1", 1),
        ("type=EMAILS", 2),
        ("type=IP", 1),
        ("type=INN", 0),
        ("type=EMAILS&user_id=u2", 1),
        ("verdict=dataclean", 2),
        ("verdict=flagged", 2),
        ("verdict=clean", 1),
        ("verdict=guardrails", 0),
        ("verdict=failed", 0),
        ("stage=pre", 3),
        ("stage=post", 0),
        ("text=NOTHING", 1),
        ("text=100%25%20here_", 1),
        ("text=%25", 1),
        ("text=_here", 0),
        (&format!("from={}", time(first)), 3),
        (&format!("from={}", time(last) + 1), 0),
        (&format!("to={}", time(last) + 1), 3),
        (&format!("to={}", time(first)), 0),
        ("from=2020-01-01T00:00:00Z&to=2999-01-01T00:00:00Z", 3),
    ] {
        assert_eq!(records(&stack, query).len(), expected, "{query}");
    }
}

#[test]
fn a_filter_that_cannot_be_meant_is_refused_by_name() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    for (path, word) in [
        ("/records?user=x", "query"),
        ("/records?from=yesterday", "from"),
        ("/records?verdict=bad", "verdict"),
        ("/records?limit=0", "limit"),
        ("/records?limit=201", "limit"),
        ("/records?application_id=x", "application_id"),
        ("/sessions?before=x", "before"),
        ("/sessions?from=2&to=1", "from"),
        ("/sessions?flagged=no", "flagged"),
        ("/statistics?from=2026-02-30", "from"),
        ("/statistics?from=2026-01-02&to=2026-01-01", "from"),
        ("/records/export?format=xls", "format"),
    ] {
        let message = refused(&stack, path);
        assert!(message.starts_with(word), "{path}: {message}");
    }
}

#[test]
fn sessions_group_records_and_page_by_a_cursor() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    three(&stack);
    let sessions = get(&stack, "/sessions")["sessions"].clone();
    let names: Vec<_> = sessions
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["session_id"].clone())
        .collect();
    assert_eq!(names, ["s2", "s1"], "the latest first");
    assert_eq!(sessions[1]["messages"], 2);
    assert_eq!(sessions[1]["flagged"], 2);
    assert_eq!(sessions[1]["user_id"], "u2");
    for (query, expected) in [
        ("to=2020-01-01T00:00:00Z".to_owned(), 0),
        (
            "from=2020-01-01T00:00:00Z&to=2999-01-01T00:00:00Z".to_owned(),
            2,
        ),
        ("flagged=true&from=2999-01-01T00:00:00Z".to_owned(), 0),
        (
            "flagged=true&application_id=".to_owned() + &stack.application_id(),
            1,
        ),
    ] {
        let page = get(&stack, &format!("/sessions?{query}"));
        assert_eq!(
            page["sessions"].as_array().unwrap().len(),
            expected,
            "{query}"
        );
    }
    let page = get(&stack, "/sessions?limit=1");
    assert_eq!(page["sessions"][0]["session_id"], "s2");
    let next = page["next_before"].as_str().unwrap();
    let page = get(&stack, &format!("/sessions?limit=1&before={next}"));
    assert_eq!(page["sessions"][0]["session_id"], "s1");
    assert_eq!(page["next_before"], Value::Null);
}

#[test]
fn statistics_count_each_day_application_and_stage() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    three(&stack);
    let statistics = get(&stack, "/statistics");
    let days = statistics["days"].as_array().unwrap();
    // Midnight may fall between two of the messages.
    let sum = |pointer: &str| {
        days.iter()
            .map(|day| day.pointer(pointer).unwrap().as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        (sum("/messages"), sum("/flagged/dataclean"), sum("/blocked")),
        (3, 2, 0)
    );
    assert!(sum("/tokens") > 3 && sum("/total_us") > 0);
    let mails: u64 = days
        .iter()
        .flat_map(|day| day["types"].as_array().unwrap())
        .filter(|kind| kind["type"] == "EMAILS")
        .map(|kind| kind["count"].as_u64().unwrap())
        .sum();
    assert_eq!(mails, 2);
    let mut pages = Vec::new();
    let mut after = String::new();
    loop {
        let page = get(&stack, &format!("/statistics?limit=1{after}"));
        assert_eq!(page["days"].as_array().unwrap().len(), 1);
        pages.extend(page["days"].as_array().unwrap().clone());
        let Some(next) = page["next_after"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(&pages, days);
    assert_eq!(
        get(&stack, "/statistics?from=2020-01-01&to=2020-01-02")["days"],
        json!([])
    );
}

#[test]
fn an_export_streams_every_record_in_both_formats() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    for number in 0..450 {
        analyse(
            &stack,
            &format!("=HYPERLINK({number}), \"a@example.org\""),
            json!({"user_id": "u"}),
        );
    }
    let export = |query: &str| {
        let request = authorised(Request::get(&format!("/records/export?{query}")));
        let response = request.call(stack.analysis_addr);
        assert_eq!(response.status(), 200, "{}", response.text());
        response.text()
    };
    let lines: Vec<Value> = export("format=jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 450);
    let mut seqs: Vec<_> = lines
        .iter()
        .map(|line| line["seq"].as_i64().unwrap())
        .collect();
    assert!(seqs.is_sorted_by(|a, b| a > b));
    seqs.dedup();
    assert_eq!(seqs.len(), 450);
    let table = export("format=csv&user_id=u");
    assert_eq!(table.matches("\r\n").count(), 451);
    assert!(
        table.contains("\"'=HYPERLINK(7), \"\"[EMAILS]\"\"\""),
        "a formula is text"
    );
    assert_eq!(
        export("format=csv&user_id=nobody").matches("\r\n").count(),
        1
    );
    assert_eq!(export("limit=3").lines().count(), 3);
}

#[test]
fn the_documentation_needs_no_token() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    for path in [
        "/openapi.json",
        "/docs",
        "/redoc",
        "/docs/init.js",
        "/redoc/",
    ] {
        let response = Request::get(path).without_key().call(stack.analysis_addr);
        assert_eq!(response.status(), 200, "{path}");
    }
    let response = Request::get("/docs/none.js")
        .without_key()
        .call(stack.analysis_addr);
    assert_eq!(response.status(), 404);
    let document: Value = Request::get("/openapi.json")
        .without_key()
        .call(stack.analysis_addr)
        .json();
    assert_eq!(document["openapi"], "3.1.0");
}
