//! The analysis API held to its own OpenAPI document: schemathesis makes calls from it, right and
//! wrong ones, sends them to the real binary and judges each answer. `run.sh` installs it;
//! `MONITOR_TEST_CONTRACT_CASES` is the number of cases for each operation, 50 unless it is set.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use support::KEY;
use support::request::Request;
use support::stack::Stack;

#[track_caller]
fn post(stack: &Stack, path: &str, body: &Value) -> Value {
    let response = Request::post(path, body.to_string())
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert!(response.status() < 300, "{path}: {}", response.text());
    response.json()
}

/// Attaches a file and gives its hash.
#[track_caller]
fn attach(stack: &Stack, record: &str) -> String {
    let body = "--xyz\r\nContent-Disposition: form-data; name=\"attached_files\"; filename=\"a.txt\"\r\n\
         Content-Type: text/plain\r\n\r\nto a@example.org\r\n--xyz--\r\n";
    let path = format!("/user_prompt_analysis/{record}/attach_files");
    let response = Request::post(&path, body)
        .content_type("multipart/form-data; boundary=xyz")
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert_eq!(response.status(), 200, "{}", response.text());
    text(&response.json()[0], "sha256")
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs schemathesis"]
fn the_analysis_api_keeps_its_document() {
    let python = support::tool("MONITOR_TEST_PYTHON");
    let stack = Stack::all().start();
    let made = json!({"name": "a", "rules": {"keep_original": true}});
    let application = text(&post(&stack, "/applications", &made), "id");
    let message = json!({"application_id": application, "message": "to a@example.org"});
    let record = text(&post(&stack, "/process_request", &message), "request_id");
    let answer = text(&post(&stack, "/process_response", &message), "request_id");
    let file = attach(&stack, &record);
    let spare = json!({"name": "spare", "scopes": ["ingest"]});
    let spare = text(&post(&stack, "/tokens", &spare), "id");
    let cases = std::env::var("MONITOR_TEST_CONTRACT_CASES").unwrap_or("50".to_owned());
    let output = Command::new(python)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-m", "schemathesis.cli", "--config-file"])
        .arg(Path::new("tests/contract/schemathesis.toml"))
        .args([
            "run",
            &format!("http://{}/openapi.json", stack.analysis_addr),
        ])
        .args(["--phases", "examples,coverage,fuzzing", "--checks", "all"])
        .args(["--max-examples", &cases, "--warnings", "off"])
        .env("CONTRACT_TOKEN", KEY)
        .env("CONTRACT_APPLICATION", &application)
        .env("CONTRACT_RECORD", &record)
        .env("CONTRACT_ANSWER", &answer)
        .env("CONTRACT_FILE", &file)
        .env("CONTRACT_SPARE_TOKEN", &spare)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    println!("{text}");
}
