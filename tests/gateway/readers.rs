//! Other servers as second readers of HTTP/1: generated framings are read by the gateway, by the analysis API, and by
//! nginx, HAProxy, Node.js and Python's h11. `tests/campaign/framings.py` is the whole campaign; this is its short form.

use std::path::Path;
use std::process::Command;

const CASES: &str = "500";

/// CONTRACT 10. The seed is fixed: a failure names cases that fail again.
#[track_caller]
fn assert_read_alike(port: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/campaign/framings.py");
    let output = Command::new(support::tool("MONITOR_TEST_PYTHON"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(script)
        .args(["--monitor", env!("CARGO_BIN_EXE_monitor"), "--port", port])
        .args(["--cases", CASES, "--seed", "readers"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\n0 read differently"), "{text}");
}

#[test]
#[ignore = "needs Python with h11, nginx, HAProxy and Node.js"]
fn no_framing_is_read_by_another_server_as_other_requests() {
    assert_read_alike("gateway");
}

#[test]
#[ignore = "needs Python with h11, nginx, HAProxy and Node.js"]
fn no_framing_is_read_by_another_server_as_other_requests_of_the_analysis_api() {
    assert_read_alike("analysis");
}
