//! `monitor spool status | dead | replay` and the spool in `/status`: CONTRACT 23 and 35.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use support::backend::{Backend, Manner};
use support::request::{HELLO, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::Upstream;
use support::{KEY, eventually};

const APPLICATION: &str = "4b0c1f8e-98a5-4f6e-9d57-0f2f6a5f0c11";

fn registering(upstream: &Upstream, backend: &Backend) -> Builder {
    Stack::gateway().upstream(upstream).monitor(backend)
}

/// A call whose text no output may show.
fn call(stack: &Stack) {
    let request = Request::chat(HELLO)
        .header("X-User-Id", "somebody")
        .header("X-Application-Id", APPLICATION);
    assert_eq!(stack.call(&request).status(), 200);
}

/// What the command prints about the spool in this data folder.
#[track_caller]
fn spool(action: &str, data_dir: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
    command.env_clear().args(["spool", action, "--dir"]);
    let output = command.arg(data_dir.join("spool")).args(more).output();
    let output = output.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for secret in [KEY, "hello", "Hello"] {
        assert!(
            !printed.contains(secret) && !said.contains(secret),
            "{printed}"
        );
    }
    printed
}

pub(crate) fn shown(action: &str, data_dir: &Path) -> Value {
    serde_json::from_str(&spool(action, data_dir, &["--json"])).unwrap()
}

/// A gateway with that many dead letters.
fn with_dead_letters(
    upstream: &Upstream,
    backend: &Backend,
    folder: &Arc<Folder>,
    calls: usize,
) -> Stack {
    let stack = registering(upstream, backend).folder(folder).start();
    for _ in 0..calls {
        call(&stack);
    }
    eventually("they are dead letters", || {
        let count = shown("status", &stack.data_dir())["dead_letters"].clone();
        (count == 2 * calls).then_some(())
    });
    stack
}

#[test]
fn contract_23_status_counts_what_is_owed_beside_a_gateway_and_without_one() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(500)));
    let mut stack = registering(&upstream, &backend).start();
    for _ in 0..3 {
        call(&stack);
    }
    let owed = |stack: &Stack| {
        eventually("six records are owed", || {
            let found = shown("status", &stack.data_dir());
            (found["records"] == 6).then_some(found)
        })
    };
    let found = owed(&stack);
    assert_eq!(found["segments"], 1);
    assert!(found["bytes"].as_u64() > Some(100) && found["oldest_seconds"].is_u64());
    let status = stack.operations("/status").json()["spool"].clone();
    assert_eq!(
        (&status["records"], &status["dead_letters"]),
        (&json!(6), &json!(0))
    );
    assert_eq!(status["degraded"], false);
    assert_eq!(status["in_memory"], 6);
    eventually("the outage shows", || {
        let status = stack.operations("/status").json();
        (status["spool"]["backend_answers"] == false).then_some(())
    });
    stack.process.signal("KILL");
    stack.process.await_exit();
    assert_eq!(owed(&stack)["dead_letters"], 0);
    let lines = spool("status", &stack.data_dir(), &[]);
    assert!(lines.contains("records owed: 6\n"), "{lines}");
}

#[test]
fn contract_23_status_owes_nothing_once_the_backend_has_all() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = registering(&upstream, &backend).start();
    call(&stack);
    backend.await_posts(1);
    eventually("nothing is owed", || {
        (shown("status", &stack.data_dir())["records"] == 0).then_some(())
    });
}

#[test]
fn contract_23_dead_letters_are_listed_without_their_texts() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(422)));
    let stack = with_dead_letters(&upstream, &backend, &Folder::new(), 1);
    let letters = shown("dead", &stack.data_dir());
    assert_eq!(letters[0]["stage"], "pre_call");
    assert_eq!(letters[1]["stage"], "post_call");
    for letter in letters.as_array().unwrap() {
        assert_eq!(letter["status"], 422);
        assert_eq!(letter["application_id"], APPLICATION);
        assert_eq!(letter["user_id"], "somebody");
        assert!(letter["at_ms"].as_i64() > Some(0));
        assert!(letter["message_bytes"].as_u64() > Some(0));
    }
    let calls = backend.calls();
    assert_eq!(letters[0]["request_id"], calls[0].exchange());
    let lines = spool("dead", &stack.data_dir(), &[]);
    assert_eq!(lines.lines().count(), 2);
    assert!(lines.contains("pre_call status=422"), "{lines}");
}

#[test]
fn contract_23_replay_sends_dead_letters_again_beside_a_running_gateway() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(422)));
    let stack = with_dead_letters(&upstream, &backend, &Folder::new(), 5);
    eventually("the gateway says so", || {
        (stack.metric("monitor_spool_dead_letters") == 10.0).then_some(())
    });
    backend.recovers();
    backend.forget();
    assert_eq!(
        spool("replay", &stack.data_dir(), &[]),
        "10 dead letters put back\n"
    );
    let calls = backend.await_posts(5);
    assert_eq!(calls.len(), 10);
    for post in calls.iter().filter(|call| !call.is_pre()) {
        let pre = |call: &&_| support::backend::Call::is_pre(call);
        let pres = calls.iter().take_while(|call| !std::ptr::eq(*call, post));
        assert!(
            pres.filter(pre)
                .any(|call| call.exchange() == post.exchange()),
            "pre comes before post"
        );
    }
    eventually("nothing is left", || {
        let found = shown("status", &stack.data_dir());
        let none = ["records", "put_back", "dead_letters", "damaged_files"];
        none.iter().all(|name| found[*name] == 0).then_some(())
    });
    eventually("the gateway says that too", || {
        (stack.metric("monitor_spool_dead_letters") == 0.0).then_some(())
    });
    assert_eq!(shown("replay", &stack.data_dir())["put_back"], 0);
}

#[test]
fn contract_23_what_is_put_back_without_a_gateway_is_sent_by_the_next_one() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(403)));
    let folder = Folder::new();
    let mut stack = with_dead_letters(&upstream, &backend, &folder, 2);
    stack.process.signal("TERM");
    stack.process.await_exit();
    assert_eq!(shown("replay", &stack.data_dir())["put_back"], 4);
    let found = shown("status", &stack.data_dir());
    assert_eq!(
        (&found["put_back"], &found["dead_letters"]),
        (&json!(4), &json!(0))
    );
    backend.recovers();
    backend.forget();
    let _next = registering(&upstream, &backend).folder(&folder).start();
    assert_eq!(backend.await_posts(2).len(), 4);
}

#[test]
fn a_spool_that_is_not_there_is_an_error_and_no_empty_one() {
    let folder = Folder::new();
    for action in ["status", "dead", "replay"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
        command.env_clear().args(["spool", action, "--dir"]);
        let output = command
            .arg(folder.path().join("mistyped"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{action}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("mistyped"), "{said}");
        assert!(!folder.path().join("mistyped").exists());
    }
}
