//! Attached files (§2.2, §4.1.4, §4.1.5, §7.3.2, §8, CONTRACT 29 and 31): what reaches the backend,
//! and that no fault of a file reaches the client or another file.

use crate::sync::{SYNC, sync};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use support::backend::{ANALYSIS, Attached, Backend, Manner};
use support::fault::refusing_address;
use support::request::{HELLO, Request, chunk};
use support::stack::{Builder, Stack};
use support::upstream::{ANSWER, Upstream, response};
use support::{KEY, PATIENCE, eventually};

pub(crate) const HEADER: &str = "X-Attached-Files";

/// A gateway that may fetch from this machine.
pub(crate) fn local(upstream: &Upstream, backend: &Backend, fields: &str) -> Builder {
    Stack::gateway()
        .upstream(upstream)
        .monitor(backend)
        .yaml(&format!("files: {{allow_networks: [127.0.0.0/8]{fields}}}"))
}

/// Calls with these files; the answer has to be the upstream's own.
#[track_caller]
pub(crate) fn call_with(stack: &Stack, files: &Value) {
    call_with_text(stack, &files.to_string());
}

#[track_caller]
fn call_with_text(stack: &Stack, files: &str) {
    let answer = stack.call(&Request::chat(HELLO).header(HEADER, files));
    assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
}

/// Waits until that many files came to this outcome.
#[track_caller]
pub(crate) fn await_outcome(stack: &Stack, outcome: &str, count: f64) {
    let series = format!("monitor_attachments_total{{outcome=\"{outcome}\"}}");
    eventually(&format!("{count} {outcome}"), || {
        (stack.metric(&series) >= count).then_some(())
    });
    assert_eq!(stack.metric(&series), count, "{outcome}");
}

/// Files that the backend has, each posted to the record with the client's key.
#[track_caller]
fn files(backend: &Backend) -> Vec<(String, String, Vec<u8>)> {
    let checked = |file: Attached| {
        let path = format!("/user_prompt_analysis/{ANALYSIS}/attach_files");
        assert_eq!((file.path, file.key.as_str()), (path, KEY));
        assert_eq!(file.field, "attached_files");
        (file.name, file.kind, file.content)
    };
    backend.files().into_iter().map(checked).collect()
}

fn file(name: &str, kind: &str, content: &str) -> (String, String, Vec<u8>) {
    (name.into(), kind.into(), content.into())
}

#[test]
fn section_4_1_4_files_are_downloaded_or_decoded_and_attached_to_the_record() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let store = Upstream::raw(response(200, "Content-Type: text/csv\r\n", b"a,b"));
    let stack = local(&upstream, &backend, "").start();
    call_with(
        &stack,
        &json!([
            {"url": format!("{}/x/1.csv?token=t", store.url())},
            {"url": "data:text/html;base64,PGI+", "name": "2.html"},
            {"content_base64": "aGVs\nbG8=", "name": "../3.txt"},
            {"content_base64": "aGVsbG8", "name": "4", "type": "application/x-own"},
            {"url": format!("{}/5", store.url())},
        ]),
    );
    await_outcome(&stack, "attached", 5.0);
    assert_eq!(
        files(&backend),
        [
            file("1.csv", "text/csv", "a,b"),
            file("2.html", "text/html", "<b>"),
            file("3.txt", "text/plain", "hello"),
            file("4", "application/x-own", "hello"),
            file("5", "text/csv", "a,b"),
        ]
    );
    let asked = store.last().head;
    for name in [
        "authorization",
        "cookie",
        "x-monitor-api-key",
        "proxy-authorization",
    ] {
        assert!(!asked.has(name), "{name} went to the file's host");
    }
    let sent = upstream.last();
    assert_eq!(sent.body, HELLO.as_bytes());
    assert!(!sent.head.has(HEADER));
}

#[test]
fn section_2_1_the_alias_lists_files_too() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = local(&upstream, &backend, "").start();
    let alias = json!([{"content_base64": "Mg==", "name": "2"}]).to_string();
    let own = json!([{"content_base64": "MQ==", "name": "1"}]).to_string();
    let request = Request::chat(HELLO)
        .header("X-AttachedFiles", &alias)
        .header(HEADER, &own);
    assert_eq!(stack.call(&request).status(), 200);
    await_outcome(&stack, "attached", 2.0);
    let names: Vec<_> = backend.files().into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["1", "2"]);
}

#[test]
fn section_7_3_2_a_faulty_file_is_skipped_and_the_others_are_attached() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let refusing = format!("http://{}/a", refusing_address());
    let missing = Upstream::json(404, "{}");
    let broken = Upstream::json(500, "{}");
    let cut = Upstream::scripted(|peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    });
    let stack = local(&upstream, &backend, "").start();
    call_with(
        &stack,
        &json!([
            {"content_base64": "Zmlyc3Q=", "name": "first"},
            {"url": missing.url()}, {"url": broken.url()}, {"url": cut.url()}, {"url": refusing},
            {"content_base64": "%%%"}, {"url": "data:text/plain,hello"}, {"url": "file:///etc/passwd"},
            {}, "text", 7, null, {"url": "http://a.example/", "content_base64": "aGk="},
            {"content_base64": "bGFzdA==", "name": "last"},
        ]),
    );
    await_outcome(&stack, "attached", 2.0);
    await_outcome(&stack, "status", 2.0);
    await_outcome(&stack, "unreachable", 2.0);
    await_outcome(&stack, "malformed", 8.0);
    let names: Vec<_> = backend.files().into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["first", "last"]);
    let line = eventually("a warning", || {
        let log = stack.stderr();
        let line = log
            .lines()
            .find(|line| line.contains("attachments skipped: 12 of 14"));
        line.map(str::to_owned)
    });
    assert!(line.contains("#2 status: 404; #3 status: 500"), "{line}");
    assert!(!line.contains("passwd"), "{line}");
}

#[test]
fn section_8_a_file_over_the_limit_is_skipped_however_its_length_is_told() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let sized = Upstream::raw(response(200, "", &[b'x'; 11]));
    let endless = Upstream::scripted(|peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        peer.send(chunk(b"123456"));
        peer.send(chunk(b"789012"));
        peer.closed_within(PATIENCE);
    });
    let fits = Upstream::raw(response(200, "", &[b'x'; 10]));
    let stack = local(&upstream, &backend, ", max_bytes: 10").start();
    call_with(
        &stack,
        &json!([
            {"url": sized.url()}, {"url": endless.url()}, {"content_base64": "MTIzNDU2Nzg5MDE="},
            {"url": format!("{}/ten", fits.url())},
        ]),
    );
    await_outcome(&stack, "attached", 1.0);
    await_outcome(&stack, "too_large", 3.0);
    assert_eq!(files(&backend)[0].2.len(), 10);
}

#[test]
fn section_8_a_slow_download_ends_at_its_timeout_and_holds_nobody() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let silent = Upstream::scripted(|peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
        peer.closed_within(PATIENCE);
    });
    let stack = local(&upstream, &backend, ", timeout: 200ms").start();
    call_with(
        &stack,
        &json!([{"url": silent.url()}, {"content_base64": "aGk=", "name": "a"}]),
    );
    await_outcome(&stack, "late", 1.0);
    await_outcome(&stack, "attached", 1.0);
}

#[test]
fn section_8_one_call_downloads_no_more_than_so_many_at_once() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let store = Upstream::scripted(move |peer| {
        peer.read_request();
        let _ = gate.lock().unwrap().recv();
        peer.send(response(200, "Connection: close\r\n", b"x"));
    });
    let stack = local(&upstream, &backend, ", max_concurrency: 2").start();
    let all: Vec<Value> = (0..5)
        .map(|n| json!({"url": format!("{}/{n}", store.url())}))
        .collect();
    call_with(&stack, &json!(all));
    store.await_heads(2);
    for done in 1..=5 {
        assert!(store.heads() < done + 2, "two at once");
        open.send(()).unwrap();
        await_outcome_at_least(&backend, done);
    }
    await_outcome(&stack, "attached", 5.0);
}

#[track_caller]
fn await_outcome_at_least(backend: &Backend, count: usize) {
    eventually("the next file", || {
        (backend.files().len() >= count).then_some(())
    });
}

#[test]
fn contract_31_a_file_is_what_was_sent_and_not_decompressed() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let bytes = b"\x1f\x8b not even gzip";
    let headers = "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n\
                   Content-Disposition: attachment; filename=\"a/b\"\r\n";
    let store = Upstream::raw(response(200, headers, bytes));
    let stack = local(&upstream, &backend, "").start();
    call_with(&stack, &json!([{"url": store.url()}]));
    await_outcome(&stack, "attached", 1.0);
    let (name, kind, content) = files(&backend).remove(0);
    assert_eq!((name.as_str(), kind.as_str()), ("b", "application/gzip"));
    assert_eq!(content, bytes);
    assert_eq!(
        store.last().head.header("accept-encoding"),
        Some("identity")
    );
}

#[test]
fn contract_31_at_most_64_files() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = local(&upstream, &backend, "").start();
    let all: Vec<Value> = (0..70)
        .map(|n| json!({"content_base64": "aGk=", "name": format!("{n:02}")}))
        .collect();
    call_with(&stack, &json!(all));
    await_outcome(&stack, "attached", 64.0);
    await_outcome(&stack, "too_many", 6.0);
    assert_eq!(backend.files().last().unwrap().name, "63");
}

#[test]
fn section_4_1_5_a_header_that_is_no_list_changes_nothing() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = local(&upstream, &backend, "").start();
    for (count, wrong) in (1..).zip(["{}", "[", "text", "[{]", "\"x\"", "[\u{fffd}"]) {
        call_with_text(&stack, wrong);
        await_outcome(&stack, "malformed", f64::from(count));
    }
    assert_eq!(backend.files(), []);
}

#[test]
fn section_4_1_4_in_sync_mode_files_go_to_the_record_of_the_check() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let list = json!([{"content_base64": "aGk=", "name": "a"}]).to_string();
    let request = Request::chat(HELLO)
        .header("X-Application-Id", SYNC)
        .header(HEADER, &list);
    assert_eq!(stack.call(&request).status(), 200);
    upstream.assert_untouched();
    await_outcome(&stack, "attached", 1.0);
    assert_eq!(
        files(&backend),
        [file("a", "application/octet-stream", "hi")]
    );
}

#[test]
fn a_client_does_not_wait_for_a_backend_that_takes_no_files() {
    let upstream = Upstream::ok();
    let backend = Backend::that(Manner::Hangs);
    let stack = local(&upstream, &backend, "").start();
    call_with(&stack, &json!([{"content_base64": "aGk="}]));
    backend.recovers();
    let refusing = Backend::that(Manner::Refuses(403));
    let stack = local(&upstream, &refusing, "").start();
    call_with(
        &stack,
        &json!([{"content_base64": "aGk="}, {"content_base64": "aGk="}]),
    );
    await_outcome(&stack, "no_record", 1.0);
    assert_eq!(refusing.files(), []);
}

#[test]
fn a_stop_lets_files_under_way_arrive() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let store = Upstream::scripted(move |peer| {
        peer.read_request();
        let _ = gate.lock().unwrap().recv();
        peer.send(response(200, "", b"late"));
    });
    let mut stack = local(&upstream, &backend, "").start();
    call_with(&stack, &json!([{"url": format!("{}/late", store.url())}]));
    store.await_heads(1);
    stack.process.signal("TERM");
    open.send(()).unwrap();
    stack.process.await_exit();
    assert_eq!(
        files(&backend),
        [file("late", "application/octet-stream", "late")]
    );
}

/// A host that begins to send files and goes on once the test ends.
fn slow_host(begun: &'static [u8]) -> (Upstream, std::sync::mpsc::Sender<()>) {
    let (ended, end) = channel::<()>();
    let end = Mutex::new(end);
    let host = Upstream::scripted(move |peer| {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n");
        peer.send(begun);
        // Disconnected when the test ends.
        let _ = end.lock().unwrap().recv();
    });
    (host, ended)
}

#[test]
fn a_key_whose_hosts_are_slow_leaves_places_to_the_files_of_another() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (host, _ended) = slow_host(b"");
    let stack = local(&upstream, &backend, ", max_concurrency: 8").start();
    let slow: Vec<Value> = (0..8).map(|_| json!({"url": host.url()})).collect();
    for _ in 0..6 {
        call_with(&stack, &json!(slow));
    }
    host.await_heads(16);
    let file = json!([{"content_base64": "aGk=", "name": "hi"}]).to_string();
    let other = Request::chat(HELLO)
        .without_key()
        .header("X-Monitor-Api-Key", "mon_of_another_client")
        .header(HEADER, &file);
    assert_eq!(stack.call(&other).status(), 200);
    await_outcome(&stack, "attached", 1.0);
    assert_eq!(host.heads(), 16, "half of the places");
}

#[test]
fn what_a_host_has_sent_is_counted_in_the_memory_of_the_calls() {
    static BEGUN: [u8; 1_000_000] = [b'a'; 1_000_000];
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (host, _ended) = slow_host(&BEGUN);
    let stack = local(&upstream, &backend, ", timeout: 3s").start();
    call_with(&stack, &json!([{"url": host.url()}]));
    eventually("the bytes are counted", || {
        (stack.metric("monitor_buffered_bytes") >= 1_000_000.0).then_some(())
    });
    await_outcome(&stack, "late", 1.0);
    eventually("and given back", || {
        (stack.metric("monitor_buffered_bytes") == 0.0).then_some(())
    });
}

#[test]
fn a_file_without_memory_is_skipped_and_counted() {
    static BEGUN: [u8; 1_000_000] = [b'a'; 1_000_000];
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (host, _ended) = slow_host(&BEGUN);
    let stack = local(&upstream, &backend, "")
        .yaml("limits: {buffered_bytes: 1MiB}")
        .start();
    call_with(
        &stack,
        &json!([{"url": host.url()}, {"content_base64": "aGk=", "name": "hi"}]),
    );
    await_outcome(&stack, "attached", 1.0);
    await_outcome(&stack, "dropped", 1.0);
    let line = "limits.buffered_bytes";
    eventually("a warning", || stack.stderr().contains(line).then_some(()));
}
