//! Client libraries and browsers against the real binary. The scripts in `clients/` hold the
//! assertions; `run.sh` installs the libraries and names them in the environment.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agent_sdks;
mod agents;
mod coding_agents;
mod documented;
mod matrix;
mod website;

use std::path::Path;
use std::process::Command;
use support::KEY;
use support::fault::refusing_address;
use support::stack::Stack;

fn script(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    folder.join(name).to_string_lossy().into_owned()
}

/// Runs a script against a gateway with the demo model and one whose upstream is down.
#[track_caller]
fn run(command: &mut Command) {
    let stack = Stack::all().start();
    let nowhere = format!("http://{}", refusing_address());
    let broken = Stack::gateway().env("UPSTREAM_URL", nowhere).start();
    let base = |stack: &Stack| format!("http://{}/v1", stack.gateway_addr);
    let output = command
        .args([&base(&stack), KEY, &base(&broken)])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}\n{}", stack.stderr());
    println!("{text}");
}

#[test]
#[ignore = "needs Python and its packages"]
fn the_official_python_library_works_unchanged() {
    // §1.1: calls exactly as the reference chat API format defines them.
    let python = support::tool("MONITOR_TEST_PYTHON");
    run(Command::new(python).arg(script("openai_client.py")));
}

#[test]
#[ignore = "needs Node.js and its packages"]
fn the_official_npm_library_works_unchanged() {
    // §1.1. The script is copied beside the installed library, where module resolution finds it.
    let folder = support::tool("MONITOR_TEST_NODE_DIR");
    let copy = Path::new(&folder).join(format!("client-{}.mjs", std::process::id()));
    std::fs::copy(script("openai_client.mjs"), &copy).unwrap();
    run(Command::new("node").arg(&copy));
    std::fs::remove_file(copy).unwrap();
}
