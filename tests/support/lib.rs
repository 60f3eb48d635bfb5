//! The test world: the real binary on free ports, a model server and a monitoring backend that are
//! scripted to the byte, and a client that speaks raw HTTP/1.1. Blocking sockets and threads only,
//! so that a test decides what is on the wire and when. No mock of our own code stands here. A tool that
//! is missing is a panic: tests that need one are ignored unless they are asked for, with their reason.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

pub mod api;
pub mod backend;
pub mod bed;
pub mod browser;
pub mod bucket;
pub mod compressed;
pub mod fault;
pub mod frames;
pub mod http;
pub mod identity_provider;
pub mod judge;
pub mod line;
pub mod markdown;
pub mod message;
pub mod openapi;
pub mod postgres;
pub mod process;
pub mod received;
pub mod request;
pub mod secrets;
pub mod server;
pub mod slow_disk;
pub mod slow_search;
pub mod smtp;
pub mod snippets;
pub mod sqlite;
pub mod stack;
pub mod tls;
pub mod upstream;
pub mod visitor;

use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The access key that tests send unless they are about access keys.
pub const KEY: &str = "mon_test_key_2f6c1b7e";

/// How long anything that must happen may take before a test fails. Generous: it is only reached
/// by a failure.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Asks until there is an answer, at most [`PATIENCE`] long; for states that nothing announces.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a case that holds within one day of the calendar (UTC); again, once, where it failed while the day changed.
///
/// # Panics
/// Where the case does.
pub fn within_a_day(case: impl Fn()) {
    let day = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap().as_secs() / 86_400
    };
    let began = day();
    match catch_unwind(AssertUnwindSafe(&case)) {
        Err(_) if day() != began => case(),
        Err(failure) => resume_unwind(failure),
        Ok(()) => {}
    }
}

/// Makes a pipe at this path, whose readers and writers wait for each other.
///
/// # Panics
/// Where it cannot be made.
#[track_caller]
pub fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
}

/// What `run.sh`, or a script of the campaign, names in the environment once it has installed it; the tests that need it
/// are ignored unless they are asked for.
///
/// # Panics
/// Where the variable is not set.
#[track_caller]
pub fn tool(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set; tests/run.sh, or the script that the test names, sets it")
    })
}

/// `PATH` with the tools of the contract tests before those of the system: of Python, then of Node.js.
///
/// # Panics
/// Where the variables of both are not set.
#[track_caller]
pub fn contract_path() -> std::ffi::OsString {
    let python = std::path::PathBuf::from(tool("MONITOR_TEST_CONTRACT_PYTHON"));
    let node = std::path::PathBuf::from(tool("MONITOR_TEST_CONTRACT_NODE_DIR"));
    let own = [python.with_file_name(""), node.join("node_modules/.bin")];
    let system = std::env::var_os("PATH").unwrap_or_default();
    let system: Vec<_> = std::env::split_paths(&system).collect();
    std::env::join_paths(own.into_iter().chain(system)).unwrap()
}

/// The program under test, which cargo puts beside the tests.
pub fn monitor() -> std::path::PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("monitor")
}

/// Asserts the envelope of §2.6 and nothing beside it.
#[track_caller]
pub fn assert_envelope(body: &[u8], kind: &str, code: u16) {
    let value: Value = serde_json::from_slice(body)
        .unwrap_or_else(|e| panic!("no JSON ({e}): {}", String::from_utf8_lossy(body)));
    assert_eq!(value["error"]["type"], kind, "{value}");
    assert_eq!(value["error"]["code"], code, "{value}");
    let message = value["error"]["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty(), "an error says what is wrong: {value}");
}

/// Whether `part` occurs in `whole`.
pub fn contains(whole: &[u8], part: &[u8]) -> bool {
    find(whole, part).is_some()
}

/// Where `part` begins in `whole`.
pub fn find(whole: &[u8], part: &[u8]) -> Option<usize> {
    whole.windows(part.len()).position(|window| window == part)
}
