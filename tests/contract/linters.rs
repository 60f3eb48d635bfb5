//! Both documents under the linters that others put them through: not one finding, warnings and hints included.

use crate::tools::{DOCUMENTS, beside, documents, tool};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn spectral(document: &Path) -> Command {
    let mut command = tool("spectral");
    command.args(["lint", "--fail-severity", "hint", "--ruleset"]);
    command.arg(beside("spectral.yaml")).arg(document);
    command
}

fn redocly(document: &Path) -> Command {
    let mut command = tool("redocly");
    command.args(["lint", "--format", "json", "--config"]);
    command.arg(beside("redocly.yaml")).arg(document);
    command
}

fn validator(document: &Path) -> Command {
    let mut command = tool("openapi-spec-validator");
    command.arg(document);
    command
}

/// Whether a linter found nothing, and what it wrote.
fn found_nothing(mut command: Command) -> (bool, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = String::from_utf8_lossy(&[&stdout[..], &stderr[..]].concat()).into_owned();
    // Warnings do not change the status of redocly.
    let is_clean = match serde_json::from_slice::<Value>(&stdout) {
        Ok(report) => report["totals"] == json!({"errors": 0, "warnings": 0, "ignored": 0}),
        Err(_) => true,
    };
    (status.success() && is_clean, text)
}

#[track_caller]
fn clean_under(linter: fn(&Path) -> Command) {
    let folder = documents();
    for (name, _) in DOCUMENTS {
        let document = folder.path().join(name).with_extension("json");
        let (is_clean, text) = found_nothing(linter(&document));
        assert!(is_clean, "{name}: {text}");
        // A linter that finds nothing anywhere has not run.
        let mut broken: Value = serde_json::from_slice(&std::fs::read(&document).unwrap()).unwrap();
        let paths = broken["paths"].as_object_mut().unwrap();
        let item = paths.values_mut().next().unwrap().as_object_mut().unwrap();
        item.values_mut().next().unwrap()["responses"] = json!({});
        broken["components"]["schemas"]["Unused"] = json!({"type": "array"});
        broken["info"].as_object_mut().unwrap().remove("title");
        let broken = folder.write("broken.json", &broken.to_string());
        let (is_clean, text) = found_nothing(linter(&broken));
        assert!(!is_clean, "nothing found in a document with faults: {text}");
    }
}

#[test]
#[ignore = "needs spectral"]
fn both_documents_are_clean_under_spectral() {
    clean_under(spectral);
}

#[test]
#[ignore = "needs redocly"]
fn both_documents_are_clean_under_redocly() {
    clean_under(redocly);
}

#[test]
#[ignore = "needs openapi-spec-validator"]
fn both_documents_are_valid_for_openapi_spec_validator() {
    clean_under(validator);
}
