//! The analysis API held to its own OpenAPI document: schemathesis makes calls from it, right and
//! wrong ones, sends them to the real binary and judges each answer. `run.sh` installs it;
//! `MONITOR_TEST_CONTRACT_CASES` is the number of cases for each operation, 50 unless it is set.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

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

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}

#[test]
fn the_analysis_api_keeps_its_document() {
    let Ok(python) = std::env::var("MONITOR_TEST_PYTHON") else {
        println!("skipped: MONITOR_TEST_PYTHON is not set; tests/run.sh sets it");
        return;
    };
    let stack = Stack::all().start();
    let application = text(&post(&stack, "/applications", &json!({"name": "a"})), "id");
    let message = json!({"application_id": application, "message": "to a@example.org"});
    let record = text(&post(&stack, "/process_request", &message), "request_id");
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
        .env("CONTRACT_SPARE_TOKEN", &spare)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    println!("{text}");
}
