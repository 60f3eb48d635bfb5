//! The official libraries of the Responses and the Messages API against the real binary: text, streams and their
//! helpers, blocked and cut answers, errors. The scripts hold the assertions.

use crate::script;
use std::path::Path;
use std::process::Command;
use support::KEY;
use support::stack::Stack;

const SYNC: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8e";
const HELD: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8f";

/// A gateway with the demo model and two applications in synchronous mode. Prompts are not what the second one checks.
fn stack() -> Stack {
    let phrase = "phrase: This is not allowed here.";
    let yaml = format!(
        "applications:\n- {{id: {SYNC}, app_mode: sync, {phrase}}}\n\
         - {{id: {HELD}, app_mode: sync, {phrase}, scan_roles: [system], stream_in_sync: hold_back}}"
    );
    Stack::all().yaml(&yaml).start()
}

#[track_caller]
fn run(command: &mut Command, stack: &Stack) {
    let base = format!("http://{}", stack.gateway_addr);
    let output = command.args([&base, KEY, SYNC, HELD]).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}\n{}", stack.stderr());
    println!("{text}");
}

#[test]
#[ignore = "needs Python and its packages"]
fn official_python_libraries_show_answers_and_phrases_of_agent_routes() {
    let stack = stack();
    for (environment, packages) in [
        ("MONITOR_TEST_PYTHON", &["openai", "anthropic"][..]),
        ("MONITOR_TEST_PYTHON_OPENAI_2", &["openai"]),
        ("MONITOR_TEST_PYTHON_OPENAI_1", &["openai", "anthropic"]),
    ] {
        let python = support::tool(environment);
        for package in packages {
            let script = script("agent_routes.py");
            run(Command::new(&python).arg(script).arg(package), &stack);
        }
    }
}

#[test]
#[ignore = "needs Node.js and its packages"]
fn official_npm_libraries_show_answers_and_phrases_of_agent_routes() {
    // The script is copied beside the installed libraries, where module resolution finds it.
    let folder = support::tool("MONITOR_TEST_NODE_DIR");
    let copy = Path::new(&folder).join(format!("agents-{}.mjs", std::process::id()));
    std::fs::copy(script("agent_routes.mjs"), &copy).unwrap();
    run(Command::new("node").arg(&copy), &stack());
    std::fs::remove_file(copy).unwrap();
}
