//! The erasure of a user through the binary: receipt, tombstone, and what comes late.

use crate::admin_world::{application, assert_refused, call, call_as, expect, token};
use crate::attachments::{TEXT, attach, blobs, keep_originals, prompt_of};
use serde_json::{Value, json};
use support::api::{analyse, authorised, records};
use support::request::Request;
use support::stack::{Folder, Stack};
use support::{KEY, contains, eventually};

#[test]
fn an_erased_user_leaves_counts_and_a_tombstone_only() {
    let stack = Stack::all().start();
    keep_originals(&stack);
    let id = prompt_of(&stack, "anna");
    let other = prompt_of(&stack, "boris");
    attach(
        &stack,
        &id,
        &[("a.txt", "text/plain", TEXT), ("b.txt", "text/plain", b"b")],
    );
    attach(&stack, &other, &[("a.txt", "text/plain", TEXT)]);
    let counts = stack.analysis("/statistics", KEY).json();
    let receipt = expect(
        &stack,
        200,
        ("DELETE", "/records?user_id=anna"),
        Value::Null,
    );
    assert_eq!(
        (&receipt["records"], &receipt["attachments"]),
        (&json!(1), &json!(2))
    );
    assert!(receipt["at_ms"].as_i64().unwrap() > 0);
    let path = format!("/records/{}", id.as_str().unwrap());
    assert_eq!(stack.analysis(&path, KEY).status(), 404);
    assert_eq!(blobs(&stack).len(), 1, "boris has one of the two");
    assert_eq!(stack.analysis("/statistics", KEY).json(), counts);
    assert!(records(&stack, "user_id=anna").is_empty());
    let late = analyse(&stack, "write to a@example.org", json!({"user_id": "anna"}));
    assert_eq!(late["dataclean"]["flagged"], true);
    assert_eq!(late["warnings"][0]["code"], "user_erased");
    assert!(records(&stack, "user_id=anna").is_empty());
    let audit = stack.analysis("/audit?action=records.erase", KEY).json();
    assert_eq!(audit["entries"][0]["target"], receipt["tombstone_id"]);
    assert!(!audit.to_string().contains("anna"));
    let again = expect(
        &stack,
        200,
        ("DELETE", "/api/records/?user_id=anna"),
        Value::Null,
    );
    assert_eq!(again["tombstone_id"], receipt["tombstone_id"]);
    assert_eq!(again["records"], 0);
}

#[test]
fn only_an_administrator_erases_and_a_bound_one_his_own_application() {
    let stack = Stack::all().start();
    let own = application(&stack, "own");
    prompt_of(&stack, "anna");
    let scopes = |scope| json!({"name": "t", "scopes": [scope], "application_id": own});
    let (_, reader) = token(&stack, scopes("read"));
    let (_, admin) = token(&stack, scopes("admin"));
    let path = "/records?user_id=anna";
    let refused = call_as(&reader, &stack, ("DELETE", path), Value::Null);
    assert_refused(&refused, 403, "admin");
    let receipt = call_as(&admin, &stack, ("DELETE", path), Value::Null);
    assert_eq!(
        (receipt.status(), &receipt.json()["records"]),
        (200, &json!(0))
    );
    assert_eq!(records(&stack, "user_id=anna").len(), 1);
    let foreign = format!("{path}&application_id={}", stack.application_id());
    let refused = call_as(&admin, &stack, ("DELETE", &foreign), Value::Null);
    assert_refused(&refused, 403, "another application");
    assert_refused(
        &call(&stack, "DELETE", "/records", Value::Null),
        422,
        "user_id",
    );
    let empty = call(&stack, "DELETE", "/records?user_id=", Value::Null);
    assert_refused(&empty, 422, "user_id");
}

#[test]
fn late_records_of_batches_and_of_a_gateways_spool_are_taken_and_not_kept() {
    let stack = Stack::all().start();
    let erase = ("DELETE", "/records?user_id=anna");
    expect(&stack, 200, erase, Value::Null);
    let line = |user: &str| {
        let body = json!({"message": "hello", "additional_parameters": {"user_id": user}});
        let application = stack.application_id();
        let mut body = body;
        body["application_id"] = application.into();
        json!({"stage": "pre", "body": body}).to_string()
    };
    let batch = format!("{}\n{}\n", line("anna"), line("boris"));
    let batch = Request::post("/process_batch/", batch);
    let answer = authorised(batch.content_type("application/x-ndjson")).call(stack.analysis_addr);
    let text = answer.text();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["status"], &lines[1]["status"]),
        (&json!(200), &json!(200))
    );
    let call = |user| {
        let body =
            json!({"model": "m", "messages": [{"role": "user", "content": "x"}]}).to_string();
        let answer = stack.call(&Request::chat(&body).header("X-User-Id", user));
        assert_eq!(answer.status(), 200, "{}", answer.text());
    };
    call("anna");
    call("boris");
    eventually("both records of the other user's call arrive", || {
        (records(&stack, "user_id=boris").len() == 3).then_some(())
    });
    assert!(records(&stack, "user_id=anna").is_empty());
}

#[test]
fn nothing_of_an_erased_text_is_left_in_the_embedded_database() {
    let stack = Stack::all().start();
    let keeps = |words: &str| {
        let folder = std::fs::read_dir(stack.data_dir()).unwrap();
        folder.map(|file| file.unwrap().path()).any(|file| {
            let is_database = file.to_string_lossy().contains("monitor.db");
            is_database && contains(&std::fs::read(file).unwrap(), words.as_bytes())
        })
    };
    // Longer than a page, so that some of it stands outside of the row.
    let text = "zephyrine ".repeat(2_000);
    analyse(&stack, &text, json!({"user_id": "anna-karenina"}));
    assert!(keeps("zephyrine") && keeps("anna-karenina"));
    let erase = ("DELETE", "/records?user_id=anna-karenina");
    expect(&stack, 200, erase, Value::Null);
    assert!(!keeps("zephyrine") && !keeps("anna-karenina"));
}

#[test]
fn the_name_is_gone_from_sessions_that_stay_in_the_embedded_database() {
    let stack = Stack::all().start();
    let keeps = || {
        let folder = std::fs::read_dir(stack.data_dir()).unwrap();
        folder.map(|file| file.unwrap().path()).any(|file| {
            let is_database = file.to_string_lossy().contains("monitor.db");
            is_database && contains(&std::fs::read(file).unwrap(), b"anna-karenina")
        })
    };
    let line = |session: usize, user: Option<&str>| {
        let mut parameters = json!({"session_id": format!("session {session}")});
        if let Some(user) = user {
            parameters["user_id"] = user.into();
        }
        let body = json!({"application_id": stack.application_id(), "message": "hello",
            "additional_parameters": parameters});
        json!({"stage": "pre", "body": body}).to_string()
    };
    // Each session grows by records of hers and of nobody: rows of the table move, and its pages split.
    for round in 0..4 {
        let of_whom = |session| ((session + round) % 2 == 0).then_some("anna-karenina");
        let lines: Vec<String> = (0..400).map(|at| line(at * 7 % 400, of_whom(at))).collect();
        let batch = Request::post("/process_batch/", lines.join("\n"));
        let batch = authorised(batch.content_type("application/x-ndjson"));
        assert_eq!(batch.call(stack.analysis_addr).status(), 200);
    }
    assert!(keeps());
    let erase = ("DELETE", "/records?user_id=anna-karenina");
    expect(&stack, 200, erase, Value::Null);
    assert_eq!(
        stack.analysis("/sessions?limit=1", KEY).json()["sessions"][0]["user_id"],
        Value::Null
    );
    assert!(!keeps(), "the name is still in the file");
}

#[test]
fn a_user_who_was_erased_by_mistake_is_stored_again() {
    let folder = Folder::new();
    let stack = Stack::all().folder(&folder).start();
    let receipt = expect(&stack, 200, ("DELETE", "/records?user_id=ana"), Value::Null);
    assert_eq!(receipt["records"], 0, "nobody has this name");
    let readmit = |id: &str| {
        let output = std::process::Command::new(support::monitor())
            .env_clear()
            .args(["user", "readmit", id, "--data-dir"])
            .arg(stack.data_dir())
            .output()
            .unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text)
    };
    let late = analyse(&stack, "hello", json!({"user_id": "ana"}));
    assert_eq!(late["warnings"][0]["code"], "user_erased");
    let id = receipt["tombstone_id"].as_str().unwrap();
    let (code, said) = readmit(id);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(id) && said.contains("stored again"), "{said}");
    analyse(&stack, "hello", json!({"user_id": "ana"}));
    assert_eq!(records(&stack, "user_id=ana").len(), 1);
    let audit = stack.analysis("/audit?action=records.readmit", KEY).json();
    assert_eq!(audit["entries"][0]["target"], id);
    assert_eq!(audit["entries"][0]["actor"], "command line");
    let (code, said) = readmit(id);
    assert_eq!(code, Some(1), "a second time");
    assert!(
        said.contains("no erasure has the tombstone") && said.contains("audit log"),
        "{said}"
    );
}
