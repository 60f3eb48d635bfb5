//! From a chat completion at the gateway to the records of prompt and answer.

use serde_json::{Value, json};
use support::api::{analyse, record, records};
use support::request::Request;
use support::stack::{Folder, Stack};
use support::{KEY, contains, eventually};

const CARD: &str = "4111 1111 1111 1111";

fn chat_with_card() -> Request {
    let content = format!("My card is {CARD}, charge it");
    let messages = json!([{"role": "user", "content": content}]);
    Request::chat(json!({"model": "demo", "messages": messages}).to_string())
        .header("X-User-Id", "user-7")
        .header("X-Session-Id", "session-9")
}

#[test]
fn a_call_is_found_as_two_records_with_its_card_number_masked() {
    // CONTRACT 5, 25.
    let stack = Stack::all().start();
    assert_eq!(stack.call(&chat_with_card()).status(), 200);
    let list = eventually("both records of the call", || {
        let list = records(&stack, "session_id=session-9&user_id=user-7");
        (list.len() == 2).then_some(list)
    });
    let of = |name: &str| list.iter().find(|item| item["record"] == name).unwrap();
    let (prompt, answer) = (of("user_prompt"), of("llm_answer"));
    assert_eq!(prompt["exchange_id"], answer["exchange_id"]);
    assert_eq!(prompt["application_id"], stack.application_id());
    assert_eq!(
        prompt["types"],
        json!([{"type": "BANK_CARD_NUMBER", "count": 1}])
    );
    assert_eq!(prompt["flagged"]["dataclean"], true);
    let prompt = record(&stack, &prompt["request_id"]);
    assert_eq!(
        prompt["cleaned_text"],
        "My card is [BANK_CARD_NUMBER], charge it"
    );
    assert_eq!(prompt["message"], Value::Null);
    let answer = record(&stack, &answer["request_id"]);
    assert!(!answer["cleaned_text"].as_str().unwrap().is_empty());
    assert_eq!(answer["answer"]["status"], "success");
}

#[test]
fn neither_the_card_number_nor_the_token_reaches_a_file_or_the_log() {
    let folder = Folder::new();
    let stack = Stack::all().folder(&folder).start();
    analyse(&stack, &format!("card {CARD}"), json!({"session_id": "s"}));
    assert!(!contains(stack.stderr().as_bytes(), CARD.as_bytes()));
    assert!(!contains(stack.stderr().as_bytes(), KEY.as_bytes()));
    let files: Vec<_> = std::fs::read_dir(folder.path().join("data"))
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap_or_default())
        .collect();
    assert!(
        files
            .iter()
            .any(|bytes| contains(bytes, b"[BANK_CARD_NUMBER]"))
    );
    for secret in [CARD.as_bytes(), KEY.as_bytes()] {
        assert!(!files.iter().any(|bytes| contains(bytes, secret)));
    }
}

#[test]
fn a_record_that_was_answered_is_there_after_a_kill() {
    // CONTRACT 23.
    let folder = Folder::new();
    let mut stack = Stack::all().folder(&folder).start();
    let answers: Vec<Value> = (0..20)
        .map(|number| analyse(&stack, &format!("message {number}"), json!({})))
        .collect();
    let application = stack.application_id();
    stack.process.signal("KILL");
    stack.process.await_exit();
    let again = Stack::all().folder(&folder).start();
    assert_eq!(again.application_id(), application);
    for answer in answers {
        assert_eq!(record(&again, &answer["request_id"])["answer"], answer);
    }
}
