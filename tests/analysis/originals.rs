//! Who reads originals stands in the audit log, and whoever reads cleaned texts only gets none, on any path.

use crate::admin_world::{assert_refused, call, call_as, expect, token};
use crate::attachments::attach;
use serde_json::{Value, json};
use support::KEY;
use support::http::Response;
use support::stack::Stack;

const SECRET: &str = "anna@example.org";
const USER: &str = "ivanov-7";
const MOST: usize = 20;

/// An application that keeps originals and only detects, so that its cleaned texts are the originals.
#[track_caller]
fn detecting(stack: &Stack) -> String {
    let side = json!({"dataclean": {"patterns": ["EMAILS"], "clean_type": "DETECTION"}});
    let rules = json!({"keep_original": true, "pre": side, "post": side});
    let body = json!({"name": "detecting", "rules": rules});
    let made = expect(stack, 201, ("POST", "/applications"), body);
    made["id"].as_str().unwrap().to_owned()
}

/// A prompt with the secret in every place of it.
#[track_caller]
fn prompt(stack: &Stack, application: &str) -> Value {
    let escaped = SECRET.replace('@', "\\u0040");
    let part = |id: &str, text: String| json!({"call_id": id, "name": "send", "text": text});
    let parameters = json!({
        "user_id": USER, "session_id": "s", "note": format!("of {SECRET}"),
        "error": {"type": "timeout", "code": 504, "message": format!("for {SECRET}"), "closed_by": "upstream"},
        "tool_results": [part("a", format!("to {SECRET}")), part("b", format!("{{\"to\":\"{escaped}\"}}"))],
    });
    let body = json!({"application_id": application, "message": format!("write to {SECRET}, please"),
        "additional_parameters": parameters});
    expect(stack, 200, ("POST", "/process_request/"), body)["request_id"].clone()
}

fn is_secret(text: &str) -> bool {
    text.contains("anna") || text.contains("example.org")
}

/// The entries about reading, oldest first: who, what, about what, and the details.
#[track_caller]
fn reads(stack: &Stack) -> Vec<(String, String, String, Value)> {
    let page = expect(stack, 200, ("GET", "/audit?limit=200"), Value::Null);
    let text = page.to_string();
    assert!(!is_secret(&text) && !text.contains(USER), "{text}");
    let entries = page["entries"].as_array().unwrap().iter().rev();
    let word = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    let of = |entry: &Value| {
        let (who, what) = (word(entry, "actor"), word(entry, "action"));
        (who, what, word(entry, "target"), entry["details"].clone())
    };
    let is_read = |action: &str| {
        [
            "record.read_original",
            "records.export",
            "attachment.download",
        ]
        .contains(&action)
    };
    entries.map(of).filter(|entry| is_read(&entry.1)).collect()
}

#[test]
fn who_reads_an_original_exports_records_or_saves_a_file_stands_in_the_audit_log() {
    let stack = Stack::all().start();
    let application = detecting(&stack);
    let record = prompt(&stack, &application);
    let name = format!("{SECRET}.txt");
    let file = &attach(&stack, &record, &[(&name, "text/plain", b"text")])[0];
    let record = record.as_str().unwrap();
    let path = format!("/records/{record}");
    let whole = expect(&stack, 200, ("GET", &path), Value::Null);
    assert!(is_secret(whole["message"].as_str().unwrap()));
    let query = format!(
        "format=csv&user_id={USER}&text={SECRET}&verdict=dataclean&application_id={application}"
    );
    let exported = call(
        &stack,
        "GET",
        &format!("/records/export?{query}"),
        Value::Null,
    );
    assert!(is_secret(&exported.text()));
    let file = format!("{path}/attachments/{}", file["sha256"].as_str().unwrap());
    assert_eq!(call(&stack, "GET", &file, Value::Null).text(), "text");
    expect(
        &stack,
        200,
        ("POST", &format!("{path}/explain")),
        Value::Null,
    );
    // What keeps no original has none to read, and what is not found was not read.
    let body = json!({
        "application_id": stack.application_id(),
        "message": format!("write to {SECRET}")
    });
    let other = expect(&stack, 200, ("POST", "/process_request/"), body);
    let other = format!("/records/{}", other["request_id"].as_str().unwrap());
    expect(&stack, 200, ("GET", &other), Value::Null);
    let none = format!("{path}/attachments/{}", "0".repeat(64));
    expect(&stack, 404, ("GET", &none), Value::Null);

    let found = reads(&stack);
    let said: Vec<_> = found
        .iter()
        .map(|(who, what, target, _)| (who.as_str(), what.as_str(), target.as_str()))
        .collect();
    let read = ("first", "record.read_original", record);
    let export = ("first", "records.export", "records");
    let saved = ("first", "attachment.download", record);
    assert_eq!(said, [read, export, export, saved, read]);
    let filter = json!({"format": "csv", "originals": true, "user_id": "[given]", "text": "[given]", "verdict": "dataclean"});
    let mut begun = filter.clone();
    begun["incomplete"] = true.into();
    let mut ended = filter;
    ended["records"] = 1.into();
    assert_eq!((&found[1].3, &found[2].3), (&begun, &ended));
    assert_eq!(found[3].3["size"], 4);
}

#[test]
fn whoever_reads_cleaned_texts_only_gets_no_original_on_any_path() {
    let stack = Stack::all().start();
    let application = detecting(&stack);
    let record = prompt(&stack, &application);
    let name = format!("{SECRET}.txt");
    let file = &attach(&stack, &record, &[(&name, "text/plain", b"text")])[0];
    let path = format!("/records/{}", record.as_str().unwrap());
    let (_, key) = token(
        &stack,
        json!({"name": "reviewer", "scopes": ["read_cleaned"]}),
    );
    let get = |path: &str| call_as(&key, &stack, ("GET", path), Value::Null);
    for path in [
        path.as_str(),
        "/records",
        "/records/export?format=csv",
        "/records/export?format=jsonl",
        "/sessions",
        "/statistics",
        "/statistics/users",
        "/statistics/costs",
    ] {
        let answer = get(path);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        assert!(!is_secret(&answer.text()), "{path}: {}", answer.text());
    }
    let shown = get(&path).json();
    assert_eq!(shown["message"], Value::Null);
    assert_eq!(shown["cleaned_text"], "write to [EMAILS], please");
    assert_eq!(
        shown["answer"]["dataclean"]["cleaned_text"],
        shown["cleaned_text"]
    );
    assert_eq!(shown["tool_results"][0]["text"], "to [EMAILS]");
    assert_eq!(
        shown["tool_results"][1]["text"],
        Value::Null,
        "its find stands behind escapes"
    );
    assert_eq!(
        shown["error"],
        json!({"type": "timeout", "code": 504, "closed_by": "upstream"})
    );
    assert_eq!(shown["user_id"], USER);
    let of_file = format!("{path}/attachments/{}", file["sha256"].as_str().unwrap());
    let refused = |answer: Response, words: &str| assert_refused(&answer, 403, words);
    refused(get(&of_file), "`read`");
    refused(
        call_as(
            &key,
            &stack,
            ("POST", &format!("{path}/explain")),
            Value::Null,
        ),
        "`read`",
    );
    refused(get("/audit"), "`admin`");
    for list in ["/records?text=anna", "/records/export?text=anna"] {
        assert_refused(&get(list), 422, "text: ");
    }
    // Nor by making a token that may more.
    let scopes = json!(["read_cleaned", "admin"]);
    let (_, maker) = token(&stack, json!({"name": "maker", "scopes": scopes}));
    let wanted = json!({"name": "more", "scopes": ["read"]});
    refused(
        call_as(&maker, &stack, ("POST", "/tokens"), wanted),
        "`read`",
    );
    let exports = reads(&stack);
    assert!(
        exports
            .iter()
            .all(|(who, what, ..)| who == "reviewer" && what == "records.export")
    );
    assert_eq!(exports.len(), 4, "two exports, begun and complete");
    assert!(exports.iter().all(|entry| entry.3["originals"] == false));
}

#[test]
fn those_of_one_application_read_a_bounded_number_of_originals_apart_from_its_changes() {
    let yaml = format!("limits: {{application_changes: {MOST}}}");
    let stack = Stack::analysis_server().yaml(&yaml).start();
    let application = detecting(&stack);
    let record = prompt(&stack, &application);
    let path = format!("/records/{}", record.as_str().unwrap());
    let bound =
        json!({"name": "bound", "scopes": ["read", "admin"], "application_id": application});
    let (id, key) = token(&stack, bound);
    let answers: Vec<Response> = (0..MOST + 10)
        .map(|_| call_as(&key, &stack, ("GET", &path), Value::Null))
        .collect();
    let read = answers
        .iter()
        .filter(|answer| answer.status() == 200)
        .count();
    // One comes back every half a minute.
    assert!((MOST..MOST + 3).contains(&read), "{read} reads");
    assert_refused(answers.last().unwrap(), 429, "limits.application_changes");
    assert_eq!(reads(&stack).len(), read);
    let export = call_as(&key, &stack, ("GET", "/records/export"), Value::Null);
    assert_eq!(export.status(), 429, "an export has an entry too");
    let rename = call_as(
        &key,
        &stack,
        ("PATCH", &format!("/tokens/{id}")),
        json!({"name": "x"}),
    );
    assert_eq!(rename.status(), 200, "changes have a limit of their own");
    let all = call_as(KEY, &stack, ("GET", &path), Value::Null);
    assert_eq!(all.status(), 200, "and so have those who are bound to none");
}
