//! Attached files are as safe as the record they belong to (CONTRACT 23, 29, 31, 39): what a crash, an
//! outage or a slow host does to them, in every way a record can go to the backend.

use crate::attachments::{HEADER, await_outcome, call_with, local};
use crate::sync::{SYNC, sync};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::api::patch;
use support::backend::{ANALYSIS, Backend, Call, Manner};
use support::eventually;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{ANSWER, Upstream, response};
use support::{KEY, PATIENCE};

/// A host of files that answers nobody before it is told to.
fn reluctant() -> (Upstream, Arc<AtomicBool>) {
    let opened = Arc::new(AtomicBool::new(false));
    let is_open = opened.clone();
    let store = Upstream::scripted(move |peer| {
        peer.read_request();
        match is_open.load(Ordering::Relaxed) {
            true => peer.send(response(200, "Connection: close\r\n", b"kept")),
            false => drop(peer.closed_within(PATIENCE)),
        }
    });
    (store, opened)
}

fn on_disk(builder: Builder, folder: &Arc<Folder>) -> Stack {
    let durable = builder.yaml("spool: {durability: before_upstream}");
    durable.folder(folder).start()
}

/// Prompts by exchange.
fn prompts(backend: &Backend) -> Vec<String> {
    let calls = backend.calls();
    let prompts = calls.iter().filter(|call| call.is_pre());
    prompts.map(|call| call.exchange().to_owned()).collect()
}

#[test]
fn contract_23_files_of_a_killed_process_are_fetched_by_the_next_one() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (store, opened) = reluctant();
    let folder = Folder::new();
    let mut stack = on_disk(local(&upstream, &backend, ""), &folder);
    let inline = json!({"content_base64": "aW5saW5l", "name": "b"});
    call_with(
        &stack,
        &json!([{"url": format!("{}/a", store.url())}, inline]),
    );
    store.await_heads(1);
    stack.process.signal("KILL");
    stack.process.await_exit();
    opened.store(true, Ordering::Relaxed);
    let stack = on_disk(local(&upstream, &backend, ""), &folder);
    await_outcome(&stack, "attached", 2.0);
    let files = backend.files();
    // One that had arrived comes again; the backend takes the same file twice as one (CONTRACT 29).
    let contents: HashSet<_> = files.iter().map(|file| file.content.as_slice()).collect();
    assert_eq!(contents, HashSet::from([&b"kept"[..], b"inline"]));
    let path = format!("/user_prompt_analysis/{ANALYSIS}/attach_files");
    assert!(
        files
            .iter()
            .all(|file| file.path == path && file.key == KEY)
    );
    let exchanges: HashSet<_> = prompts(&backend).into_iter().collect();
    assert_eq!(exchanges.len(), 1);
    eventually("nothing is owed any more", || {
        (stack.metric("monitor_spool_records") == 0.0).then_some(())
    });
}

#[test]
fn contract_23_files_of_a_checked_call_survive_the_process_too() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (store, opened) = reluctant();
    let folder = Folder::new();
    let start = || {
        let stack = sync(&upstream, "").monitor(&backend);
        on_disk(
            stack.yaml("files: {allow_networks: [127.0.0.0/8]}"),
            &folder,
        )
    };
    let mut stack = start();
    let list = json!([{"url": store.url()}]).to_string();
    let request = Request::chat(HELLO).header("X-Application-Id", SYNC);
    assert_eq!(stack.call(&request.header(HEADER, &list)).status(), 200);
    store.await_heads(1);
    stack.process.signal("KILL");
    stack.process.await_exit();
    opened.store(true, Ordering::Relaxed);
    let stack = start();
    await_outcome(&stack, "attached", 1.0);
    assert_eq!(backend.files()[0].content, b"kept");
    assert_eq!(prompts(&backend).len(), 1, "its prompt was registered once");
}

#[test]
fn contract_39_files_follow_records_that_go_in_batches() {
    const CALLS: usize = 40;
    let upstream = Upstream::ok();
    let well = Arc::new(AtomicBool::new(false));
    let is_well = well.clone();
    let status = move |_: &Call| {
        if is_well.load(Ordering::Relaxed) {
            200
        } else {
            500
        }
    };
    let backend = Backend::batching(&Arc::new(AtomicBool::new(true)), status);
    let stack = local(&upstream, &backend, "")
        .yaml("queue: {concurrency: 1}")
        .start();
    for number in 0..CALLS {
        call_with(
            &stack,
            &json!([{"content_base64": "aGk=", "name": format!("{number:02}")}]),
        );
    }
    well.store(true, Ordering::Relaxed);
    await_outcome(&stack, "attached", CALLS as f64);
    let batched = backend.batches().concat();
    assert!(
        batched.iter().any(Call::is_pre),
        "no prompt went in a batch"
    );
    let names: HashSet<_> = backend.files().into_iter().map(|file| file.name).collect();
    assert_eq!(names.len(), CALLS);
}

#[test]
fn contract_23_a_file_is_sent_again_until_the_backend_takes_or_refuses_it() {
    let upstream = Upstream::ok();
    let backend = Backend::answering_files(|before, file| match (file.name.as_str(), before) {
        ("never", _) => 413,
        (_, 0) => 500,
        (_, 1) => 503,
        (_, 2) => 429,
        _ => 200,
    });
    let stack = local(&upstream, &backend, ", max_concurrency: 1").start();
    call_with(
        &stack,
        &json!([{"content_base64": "MQ==", "name": "1"}, {"content_base64": "Mg==", "name": "never"},
                {"content_base64": "Mw==", "name": "3"}]),
    );
    await_outcome(&stack, "attached", 2.0);
    await_outcome(&stack, "refused", 1.0);
    let names: Vec<_> = backend.files().into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["1", "1", "1", "1", "3", "never"]);
}

#[test]
fn slow_files_hold_up_no_record() {
    const CALLS: usize = 80;
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (store, _never) = reluctant();
    let stack = local(&upstream, &backend, "")
        .yaml("queue: {concurrency: 1}")
        .start();
    for _ in 0..CALLS {
        call_with(&stack, &json!([{"url": store.url()}]));
    }
    backend.await_posts(CALLS);
    let prompts: HashSet<_> = prompts(&backend).into_iter().collect();
    assert_eq!(prompts.len(), CALLS);
    assert_eq!(backend.files(), []);
}

#[test]
fn lists_that_wait_take_half_of_the_memory_and_what_is_beyond_is_counted() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (store, opened) = reluctant();
    let stack = local(&upstream, &backend, "")
        .yaml("queue: {concurrency: 1, max_bytes: 1MiB}")
        .start();
    // Until a backend has accepted the key, its records have less of the memory.
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    backend.await_exchange();
    let long = "AAAA".repeat(50_000);
    for _ in 0..4 {
        call_with(
            &stack,
            &json!([{"url": store.url()}, {"content_base64": long, "name": "b"}]),
        );
    }
    // Two lists of 200 kB are half a mebibyte.
    await_outcome(&stack, "dropped", 2.0);
    backend.await_posts(5);
    opened.store(true, Ordering::Relaxed);
    let log = stack.stderr();
    assert!(log.contains("attachments of a call dropped"), "{log}");
    assert!(!log.contains("AAAA"), "{log}");
}

#[test]
fn contract_23_a_dead_letter_that_is_put_back_brings_its_files() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(422)));
    let folder = Folder::new();
    let stack = local(&upstream, &backend, "").folder(&folder).start();
    call_with(&stack, &json!([{"content_base64": "aGk=", "name": "a"}]));
    await_outcome(&stack, "no_record", 1.0);
    eventually("both records are dead letters", || {
        (stack.metric("monitor_spool_dead_letters") == 2.0).then_some(())
    });
    backend.recovers();
    let mut replay = Command::new(env!("CARGO_BIN_EXE_monitor"));
    replay.env_clear().args(["spool", "replay", "--dir"]);
    let replayed = replay.arg(stack.data_dir().join("spool")).output().unwrap();
    assert!(replayed.status.success(), "{replayed:?}");
    await_outcome(&stack, "attached", 1.0);
    assert_eq!(backend.files()[0].content, b"hi");
}

#[test]
fn section_4_1_5_answers_are_exact_whatever_becomes_of_the_files() {
    let backend = Backend::start();
    let (store, _never) = reluctant();
    let frames = ["data: {\"a\":1}\n\n", "data: [DONE]\n\n"];
    let upstream = Upstream::sse(&frames);
    let stack = local(&upstream, &backend, "").start();
    let plain = stack.call(&Request::chat(HELLO_STREAM));
    let list = json!([{"url": store.url()}, {"content_base64": "%"}, 7]).to_string();
    let listed = stack.call(&Request::chat(HELLO_STREAM).header(HEADER, &list));
    assert_eq!(listed.body, plain.body);
    assert_eq!(listed.status(), plain.status());
    store.await_heads(1);
}

#[test]
fn contract_31_a_list_as_long_as_a_head_may_be_is_taken() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = local(&upstream, &backend, "").start();
    let text = "AAAA".repeat(200_000);
    call_with(&stack, &json!([{"content_base64": text, "name": "long"}]));
    await_outcome(&stack, "attached", 1.0);
    assert_eq!(backend.files()[0].content.len(), 600_000);
}

#[test]
fn section_4_1_4_in_one_process_the_record_has_the_file() {
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).start();
    let path = format!("/applications/{}/rules", stack.application_id());
    let keeps = json!({"version": 1, "rules": {"keep_original": true}});
    patch(&stack, &path, &keeps);
    let list =
        json!([{"content_base64": "bWFpbCBhQGV4YW1wbGUub3Jn", "name": "note.txt"}]).to_string();
    let answer = stack.call(&Request::chat(HELLO).header(HEADER, &list));
    assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
    await_outcome(&stack, "attached", 1.0);
    let listed = stack.analysis("/records", KEY).json();
    let records = listed["records"].as_array().unwrap();
    let prompt = records
        .iter()
        .find(|record| record["record"] == "user_prompt");
    let id = prompt.expect("a prompt")["request_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let record: Value = stack.analysis(&format!("/records/{id}"), KEY).json();
    let file = &record["attachments"][0];
    assert_eq!(file["name"], "note.txt", "{record}");
    let hash = file["sha256"].as_str().unwrap();
    let content = stack.analysis(&format!("/records/{id}/attachments/{hash}"), KEY);
    assert_eq!(content.text(), "mail a@example.org");
}
