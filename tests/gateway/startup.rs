//! What the binary refuses to start with, and says: CONTRACT 32 and 33.

use std::process::{Command, Output};
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

fn monitor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_monitor"))
        .args(arguments)
        .env_clear()
        .output()
        .unwrap()
}

#[test]
fn a_gateway_without_an_upstream_does_not_start() {
    // CONTRACT 32: only `monitor all` has a demo upstream.
    let (status, stderr) = Stack::gateway().refused();
    assert!(!status.success());
    assert!(stderr.contains("UPSTREAM_URL"), "{stderr}");
}

#[test]
fn every_mistake_is_reported_at_once_with_file_line_and_key() {
    // CONTRACT 33.
    let yaml = "upstream:\n  url: http://127.0.0.1:9\n  timeout: soon\nstraem: {heartbeat: 1s}\nlimits: {idle_timeout: -3s}";
    let (status, stderr) = Stack::gateway()
        .yaml(yaml)
        .env("MONITOR_TIMEOUT", "never")
        .refused();
    assert!(!status.success());
    for (line, key) in [
        ("3", "upstream.timeout"),
        ("4", "straem"),
        ("5", "limits.idle_timeout"),
    ] {
        let found = stderr
            .lines()
            .any(|text| text.contains(&format!("monitor.yaml:{line}")) && text.contains(key));
        assert!(found, "line {line}, {key} in:\n{stderr}");
    }
    assert!(stderr.contains("MONITOR_TIMEOUT"), "{stderr}");
}

#[test]
fn the_environment_wins_over_the_file() {
    // CONTRACT 33.
    let (right, wrong) = (Upstream::ok(), Upstream::ok());
    let yaml = format!("upstream: {{url: \"{}\"}}", wrong.url());
    let stack = Stack::gateway().yaml(&yaml).upstream(&right).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(right.heads(), 1);
    wrong.assert_untouched();
}

#[test]
fn check_judges_a_file_and_starts_nothing() {
    // CONTRACT 32: `monitor check`.
    let folder = Folder::new();
    let good = folder.write("good.yaml", "upstream: {url: http://127.0.0.1:9}\n");
    let bad = folder.write("bad.yaml", "upstream: {url: ftp://127.0.0.1:9}\n");
    let check = |path: &std::path::Path| {
        monitor(&[
            "check",
            "--role",
            "gateway",
            "--config",
            path.to_str().unwrap(),
        ])
    };
    assert!(check(&good).status.success());
    let output = check(&bad);
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        text.contains("bad.yaml:1") && text.contains("upstream.url"),
        "{text}"
    );
}

#[test]
fn help_lists_every_variable_of_the_specification() {
    // CONTRACT 33, §8.
    let output = monitor(&["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let named = [
        "UPSTREAM_URL",
        "MONITOR_URL",
        "MONITOR_APPLICATION_ID",
        "MONITOR_TIMEOUT",
        "GATEWAY_UPSTREAM_TIMEOUT",
        "GATEWAY_STREAM_HEARTBEAT_SECONDS",
        "GATEWAY_LISTEN",
        "ANALYSIS_LISTEN",
        "OPERATIONS_LISTEN",
        "MONITOR_DATA_DIR",
        "MONITOR_CONFIG",
    ];
    for name in named {
        assert!(help.contains(name), "{name} in:\n{help}");
    }
}

#[test]
fn the_printed_contract_is_the_served_one() {
    // §1.8: `monitor openapi` and GET /openapi.json.
    let output = monitor(&["openapi"]);
    assert!(output.status.success());
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let served = Stack::before(&Upstream::ok()).call(&Request::get("/openapi.json").without_key());
    assert_eq!(served.json(), printed);
}
