//! `monitor all` on embedded defaults: one command, a streamed answer, a stored record.
//! CONTRACT 30 and 32.

use serde_json::Value;
use support::backend::Backend;
use support::request::{CHAT, HELLO, Request};
use support::stack::{Folder, Stack};
use support::upstream::Upstream;
use support::{KEY, contains, eventually};

const CARD: &str = "4111 1111 1111 1111";

fn card_prompt(stream: bool) -> String {
    format!(
        r#"{{"model":"demo-small","stream":{stream},"messages":[{{"role":"user","content":"my card is {CARD}, thanks"}}]}}"#
    )
}

/// The stored records, newest first, once there are that many.
#[track_caller]
fn records(stack: &Stack, count: usize, key: &str) -> Vec<Value> {
    eventually("the records are stored", || {
        let answer = stack.analysis("/records", key);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let list = answer.json()["records"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        (list.len() >= count).then_some(list)
    })
}

#[track_caller]
fn whole_record(stack: &Stack, record: &Value) -> Value {
    let id = record["request_id"].as_str().expect("a record has an id");
    let answer = stack.analysis(&format!("/records/{id}"), KEY);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(
        !contains(&answer.body, CARD.as_bytes()),
        "unmasked: {}",
        answer.text()
    );
    answer.json()
}

#[test]
fn a_call_is_answered_by_the_demo_and_stored_with_its_card_number_masked() {
    // CONTRACT 25, 32. One header is enough.
    for stream in [true, false] {
        let stack = Stack::all().start();
        let answer = stack.call(&Request::chat(card_prompt(stream)));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert!(answer.complete && !answer.body.is_empty());
        assert_eq!(answer.text().ends_with("data: [DONE]\n\n"), stream);
        let list = records(&stack, 2, KEY);
        assert!(
            !list
                .iter()
                .any(|record| record.to_string().contains("4111 1111"))
        );
        let named = |name: &str| {
            list.iter()
                .find(|record| record["record"] == name)
                .expect("both records")
        };
        let prompt = whole_record(&stack, named("user_prompt"));
        let cleaned = prompt["cleaned_text"]
            .as_str()
            .expect("CONTRACT 27: dataclean ran");
        assert_eq!(cleaned, "my card is [BANK_CARD_NUMBER], thanks");
        assert_eq!(prompt["application_id"], stack.application_id());
        let reply = whole_record(&stack, named("llm_answer"));
        assert_eq!(prompt["exchange_id"], reply["exchange_id"], "CONTRACT 5");
        assert_eq!(reply["failed"], false);
    }
}

#[test]
fn the_first_start_prints_all_that_a_newcomer_needs_and_the_second_keeps_the_key_to_itself() {
    // CONTRACT 30, 32.
    let folder = Folder::new();
    let key_pattern = regex::Regex::new(r"mon_[A-Za-z0-9_-]{20,}").unwrap();
    let (key, application) = {
        let stack = Stack::all_with_printed_key().folder(&folder).start();
        let application = stack.application_id();
        let text = stack
            .process
            .await_stdout("a curl line", |t| t.contains("curl").then(|| t.to_owned()));
        let key = key_pattern
            .find(&text)
            .expect("the access key")
            .as_str()
            .to_owned();
        let line = text.lines().find(|line| line.contains("curl ")).unwrap();
        for part in [CHAT, &stack.gateway_addr.to_string(), &key] {
            assert!(line.contains(part), "{part} in {line}");
        }
        for address in [
            stack.gateway_addr,
            stack.analysis_addr,
            stack.operations_addr,
        ] {
            assert!(text.contains(&address.to_string()), "{address} in:\n{text}");
        }
        assert!(
            stack.stderr().to_lowercase().contains("demo"),
            "said on stderr: {}",
            stack.stderr()
        );
        assert!(!stack.stderr().contains(&key));
        (key, application)
    };
    let mut stack = Stack::all_with_printed_key().folder(&folder).start();
    assert_eq!(stack.application_id(), application);
    let request = Request::chat(HELLO)
        .without_key()
        .header("X-Monitor-Api-Key", &key);
    assert_eq!(stack.call(&request).status(), 200);
    records(&stack, 2, &key);
    assert!(!stack.process.stdout().contains(&key));
    stack.process.signal("TERM");
    assert_eq!(
        stack.process.await_exit().0.code(),
        Some(0),
        "{}",
        stack.stderr()
    );
}

#[test]
fn records_need_a_key_that_the_server_knows() {
    // CONTRACT 27, 30.
    let stack = Stack::all().start();
    assert_eq!(stack.analysis("/records", "mon_invented").status(), 401);
    let bare = Request::get("/records")
        .without_key()
        .call(stack.analysis_addr);
    assert_eq!(bare.status(), 401);
}

#[test]
fn an_invented_key_that_is_forwarded_stores_nothing() {
    // §4.1 rule 1 asks for a key, not for a known one; the backend refuses it and that is counted. CONTRACT 44.
    let stack = Stack::all().yaml("monitor: {unknown_key: forward}").start();
    let request = Request::chat(HELLO)
        .without_key()
        .header("X-Monitor-Api-Key", "mon_invented");
    assert_eq!(stack.call(&request).status(), 200);
    let series = r#"monitor_telemetry_records_total{outcome="refused",stage="llm_answer"}"#;
    eventually("the refusal is counted", || {
        (stack.metric(series) == 1.0).then_some(())
    });
    let answer = stack.analysis("/records", KEY);
    assert_eq!(answer.json()["records"], Value::Array(Vec::new()));
}

#[test]
fn a_named_upstream_takes_the_demos_place() {
    // CONTRACT 32.
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).start();
    assert_eq!(
        stack.call(&Request::chat(HELLO)).text(),
        support::upstream::ANSWER
    );
    let list = records(&stack, 2, KEY);
    let reply = list
        .iter()
        .find(|record| record["record"] == "llm_answer")
        .unwrap();
    assert_eq!(
        whole_record(&stack, reply)["cleaned_text"],
        "general greeting"
    );
}

#[test]
fn records_survive_kill_9() {
    // What is acknowledged is on disk.
    let folder = Folder::new();
    let before = {
        let stack = Stack::all().folder(&folder).start();
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
        records(&stack, 2, KEY)
        // Dropping the stack kills the process without a warning.
    };
    let stack = Stack::all().folder(&folder).start();
    assert_eq!(records(&stack, 2, KEY), before);
}

#[test]
fn a_named_backend_is_not_told_of_the_local_application() {
    // CONTRACT 32: with MONITOR_URL set it registers there, where other applications live.
    let backend = Backend::start();
    let stack = Stack::all().monitor(&backend).start();
    assert_eq!(stack.call(&Request::chat(card_prompt(false))).status(), 200);
    let (pre, post) = backend.await_exchange();
    for call in [pre, post] {
        assert!(call.json.get("application_id").is_none(), "{}", call.json);
    }
}
