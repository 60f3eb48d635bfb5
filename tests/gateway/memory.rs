//! The memory of calls under way (`limits.buffered_bytes` of CONTRACT 34), and the file that a large
//! request body waits in. What a call holds it gives back, however it ends.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use support::backend::{Backend, verdict};
use support::frames::{DATA, END_HEADERS, Frames, HEADERS, frame, head};
use support::http::Conn;
use support::request::{CHAT, HELLO, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{ANSWER, Upstream, json};
use support::{assert_envelope, eventually};

pub(crate) const BUFFERED: &str = "monitor_buffered_bytes";
pub(crate) const SPILLED: &str = "monitor_spilled_bytes";
const MIB: usize = 1 << 20;
const APPLICATION: &str = "57100000-0000-4000-8000-000000000034";

/// A chat body of so many bytes.
fn body(bytes: usize) -> String {
    let rest = r#"{"messages":[{"role":"user","content":""}]}"#.len();
    let text = "m".repeat(bytes - rest);
    format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

pub(crate) fn of_size(bytes: usize) -> Request {
    Request::chat(body(bytes))
}

/// A process whose allocator keeps no free pages: what it takes is what it holds.
pub(crate) fn held_alone(stack: Builder) -> Builder {
    let decay = "dirty_decay_ms:0,muzzy_decay_ms:0";
    stack.env("_RJEM_MALLOC_CONF", decay)
}

/// Nothing is held any more.
pub(crate) fn empty(stack: &Stack) {
    eventually("everything is given back", || {
        let held = stack.metric(BUFFERED) + stack.metric(SPILLED);
        (held == 0.0).then_some(())
    });
}

#[test]
fn a_large_body_waits_in_a_file_while_it_comes_and_arrives_to_the_byte() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in [of_size(13 * MIB), of_size(13 * MIB).chunked(100_000)] {
        let bytes = request.bytes();
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..11 * MIB]);
        eventually("most of it is in a file", || {
            (stack.metric(SPILLED) >= (9 * MIB) as f64).then_some(())
        });
        assert!(stack.metric(BUFFERED) <= (2 * MIB) as f64);
        conn.send(&bytes[11 * MIB..]);
        assert_eq!(conn.response().status(), 200);
        assert_eq!(upstream.last().body, body(13 * MIB).as_bytes());
        empty(&stack);
    }
    let folder = stack.data_dir().join("spill");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "no names");
}

#[test]
fn clients_that_leave_in_the_middle_leave_nothing() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for size in [MIB, 12 * MIB] {
        let bytes = of_size(size).bytes();
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..size - MIB / 2]);
        eventually("it is held", || {
            let held = stack.metric(BUFFERED) + stack.metric(SPILLED);
            (held > 0.0).then_some(())
        });
        drop(conn);
        empty(&stack);
    }
    upstream.assert_untouched();
}

#[test]
fn a_call_that_finds_no_room_gets_503_and_a_time_to_come_back() {
    // What is whole and waits for its verdict can give way to nobody.
    let (sender, judged) = channel::<()>();
    let judged = Mutex::new(judged);
    let backend = Backend::judging(move |_| {
        let _ = judged.lock().unwrap().recv();
        verdict(&[])
    });
    let upstream = Upstream::ok();
    let yaml = format!(
        "limits: {{buffered_bytes: 1MiB, header_timeout: 2s}}\napplications: [{{id: {APPLICATION}, app_mode: sync, phrase: no}}]"
    );
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.yaml(&yaml).start();
    let checked = of_size(900_000).header("X-Application-Id", APPLICATION);
    let mut first = checked.send(stack.gateway_addr);
    eventually("all of it is held", || {
        (stack.metric(BUFFERED) >= 900_000.0).then_some(())
    });
    let refused = stack.call(&of_size(300_000));
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.head.header("retry-after"), Some("1"));
    assert_envelope(&refused.body, "gateway_error", 503);
    let counted = r#"monitor_overloaded_total{room="memory"}"#;
    assert_eq!(stack.metric(counted), 1.0);
    stack.process.await_stderr("why", |text| {
        text.contains("limits.buffered_bytes is exhausted")
            .then_some(())
    });
    // Small calls go on, and so does the first.
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    drop(sender);
    assert_eq!(first.response().status(), 200);
    empty(&stack);
    assert_eq!(stack.call(&of_size(300_000)).status(), 200);
}

/// So many clients that send most of a body, and the bytes that each of them holds back.
fn slow_clients(stack: &Stack, count: usize) -> Vec<(Conn, Vec<u8>)> {
    let bytes = of_size(400_000).bytes();
    let begun = |_| {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..300_000]);
        (conn, bytes[300_000..].to_vec())
    };
    let clients = (0..count).map(begun).collect();
    eventually("what they sent is held", || {
        let held = stack.metric(BUFFERED) + stack.metric(SPILLED);
        (held >= (count * 299_000) as f64).then_some(())
    });
    clients
}

#[test]
fn bodies_that_come_slowly_leave_memory_to_the_calls_of_others() {
    // Twelve times 300 KB beside 2 MiB; with the defaults it is sixty times 8 MiB beside 512.
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 2MiB, header_timeout: 60s}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let slow = slow_clients(&stack, 12);
    for size in [1_000, 300_000, 1_500_000] {
        assert_eq!(stack.call(&of_size(size)).status(), 200);
        assert_eq!(upstream.last().body, body(size).as_bytes());
    }
    assert!(stack.metric("monitor_spilled_early_total") >= 1.0);
    assert_eq!(stack.metric("monitor_buffered_bytes_limit"), 2_097_152.0);
    stack.process.await_stderr("why", |text| {
        text.contains("slow request bodies move to files")
            .then_some(())
    });
    // And none of them is the worse for it.
    for (mut conn, rest) in slow {
        conn.send(&rest);
        assert_eq!(conn.response().status(), 200);
        assert_eq!(upstream.last().body, body(400_000).as_bytes());
    }
    for room in ["memory", "disk"] {
        let counted = format!("monitor_overloaded_total{{room=\"{room}\"}}");
        assert_eq!(stack.metric(&counted), 0.0, "{room}");
    }
    empty(&stack);
}

#[test]
fn bodies_that_come_slowly_over_http2_leave_memory_too() {
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 1MiB, header_timeout: 60s}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let begun = |_| {
        let mut frames = Frames::open(stack.gateway_addr, &[]);
        frames.send(&frame(HEADERS, END_HEADERS, 1, &head("POST", CHAT)));
        // As much as the window of a stream lets through.
        for _ in 0..6 {
            frames.send(&frame(DATA, 0, 1, &[b'm'; 10_000]));
        }
        frames
    };
    let slow: Vec<Frames> = (0..16).map(begun).collect();
    eventually("what they sent is held", || {
        let held = stack.metric(BUFFERED) + stack.metric(SPILLED);
        (held >= 960_000.0).then_some(())
    });
    assert_eq!(stack.call(&of_size(300_000)).status(), 200);
    assert!(stack.metric("monitor_spilled_early_total") >= 1.0);
    drop(slow);
    empty(&stack);
}

#[test]
fn slow_bodies_that_find_no_room_in_files_either_are_refused_for_the_others() {
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 2MiB, spilled_bytes: 64KiB, header_timeout: 60s}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let slow = slow_clients(&stack, 5);
    assert_eq!(stack.call(&of_size(700_000)).status(), 200);
    let counted = r#"monitor_overloaded_total{room="disk"}"#;
    assert!(stack.metric(counted) >= 1.0);
    let refused = slow.into_iter().filter_map(|(mut conn, rest)| {
        let _ = conn.try_send(&rest);
        let answer = conn.response();
        (answer.status() != 200).then_some(answer)
    });
    let refused: Vec<_> = refused.collect();
    for answer in &refused {
        assert_envelope(&answer.body, "gateway_error", 503);
    }
    assert_eq!(stack.metric(counted), refused.len() as f64);
    empty(&stack);
}

#[test]
fn a_reload_changes_how_much_may_wait_in_files() {
    let upstream = Upstream::ok();
    let yaml = |bytes: &str| format!("limits: {{spilled_bytes: {bytes}}}\n");
    let stack = Stack::gateway().upstream(&upstream).yaml(&yaml("1MiB"));
    let stack = stack.start();
    let answer = stack.call(&of_size(12 * MIB));
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.head.header("retry-after"), Some("10"));
    std::fs::write(stack.configuration(), yaml("1GiB")).unwrap();
    stack.process.signal("HUP");
    eventually("it is in force", || {
        (stack.metric("monitor_spilled_bytes_limit") == (1 << 30) as f64).then_some(())
    });
    assert_eq!(stack.call(&of_size(12 * MIB)).status(), 200);
    empty(&stack);
}

#[test]
fn a_body_that_can_never_fit_is_refused_before_it_is_taken_in() {
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 9MiB, threads: 1}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    for (request, sent) in [
        (of_size(12 * MIB), MIB),
        (of_size(12 * MIB).chunked(100_000), 10 * MIB),
    ] {
        let bytes = request.bytes();
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..sent]);
        let refused = conn.response();
        assert_eq!(refused.status(), 413);
        assert_eq!(refused.head.header("retry-after"), None);
        assert_envelope(&refused.body, "invalid_request_error", 413);
        empty(&stack);
    }
    upstream.assert_untouched();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
}

#[test]
fn a_body_in_a_file_waits_for_room_and_others_are_served_meanwhile() {
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 14MiB, threads: 1}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let mut holder = Conn::open(stack.gateway_addr);
    let bytes = of_size(7 * MIB).bytes();
    holder.send(&bytes[..6 * MIB]);
    eventually("most of it is held", || {
        (stack.metric(BUFFERED) > (5 * MIB) as f64).then_some(())
    });
    let mut large = of_size(12 * MIB).send(stack.gateway_addr);
    eventually("the large one is in its file", || {
        (stack.metric(SPILLED) > (11 * MIB) as f64).then_some(())
    });
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    holder.send(&bytes[6 * MIB..]);
    assert_eq!(holder.response().status(), 200);
    assert_eq!(large.response().status(), 200);
    empty(&stack);
}

#[test]
fn files_of_large_bodies_are_bounded_together() {
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 12MiB}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let bytes = of_size(12 * MIB - 4096).bytes();
    let mut conns: Vec<_> = (1..=4)
        .map(|count| {
            let mut conn = Conn::open(stack.gateway_addr);
            conn.send(&bytes[..bytes.len() - 10]);
            eventually("it is in its file", || {
                (stack.metric(SPILLED) > (count * 10 * MIB) as f64).then_some(())
            });
            conn
        })
        .collect();
    let refused = stack.call(&of_size(12 * MIB - 4096));
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.head.header("retry-after"), Some("10"));
    conns[0].send(&bytes[bytes.len() - 10..]);
    assert_eq!(conns[0].response().status(), 200);
    drop(conns);
    empty(&stack);
}

#[test]
fn a_body_takes_no_room_while_the_model_thinks() {
    let (sender, thought) = channel();
    let thought = Mutex::new(thought);
    let upstream = Upstream::scripted(move |peer| {
        while peer.read_request().is_some() {
            thought.lock().unwrap().recv().unwrap();
            peer.send(json(200, ANSWER));
        }
    });
    let yaml = "limits: {buffered_bytes: 1MiB}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let mut waiting: Vec<_> = (1..=3)
        .map(|count| {
            let conn = of_size(700_000).send(stack.gateway_addr);
            upstream.await_heads(count);
            empty(&stack);
            conn
        })
        .collect();
    for conn in &mut waiting {
        sender.send(()).unwrap();
        assert_eq!(conn.response().status(), 200);
    }
}

#[test]
fn a_body_that_the_disk_has_no_room_for_gets_503() {
    // A limit on the size of files stands in for a full disk: the write fails in the middle.
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream);
    let stack = stack.under("trap '' XFSZ && ulimit -f 4096").start();
    let answer = stack.call(&of_size(12 * MIB));
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.head.header("retry-after"), Some("10"));
    assert_envelope(&answer.body, "gateway_error", 503);
    upstream.assert_untouched();
    empty(&stack);
    assert_eq!(
        stack.metric(r#"monitor_overloaded_total{room="disk"}"#),
        1.0
    );
    assert_eq!(stack.call(&of_size(4 * MIB)).status(), 200);
}

#[test]
fn what_a_killed_process_left_is_removed_at_the_start() {
    let (folder, upstream) = (Folder::new(), Upstream::ok());
    let spill = folder.path().join("data/spill");
    std::fs::create_dir_all(&spill).unwrap();
    std::fs::write(spill.join("left"), "a prompt").unwrap();
    let _stack = Stack::gateway().upstream(&upstream).folder(&folder).start();
    assert_eq!(std::fs::read_dir(&spill).unwrap().count(), 0);
}

#[test]
fn an_answer_for_whose_record_there_is_no_room_passes_whole_and_is_marked() {
    let text = "a".repeat(MIB);
    let answer = format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}]}}"#);
    let upstream = Upstream::json(200, &answer);
    let backend = Backend::start();
    let yaml = "limits: {buffered_bytes: 200KiB}";
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.yaml(yaml).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), answer);
    let (_, post) = backend.await_exchange();
    assert_eq!(*post.parameter("incomplete"), true);
    empty(&stack);
}

#[test]
fn a_conversation_of_many_small_messages_takes_a_few_times_its_bytes() {
    let conversation = |message: &str, count| {
        let messages = vec![message; count].join(",");
        format!(r#"{{"model":"m","messages":[{messages}]}}"#)
    };
    let parts = vec![r#"{"text":"x"}"#; 300_000].join(",");
    let parts = format!(r#"{{"role":"user","content":[{parts}]}}"#);
    let said = conversation(r#"{"role":"user","content":"hi"}"#, 300_000);
    // The demo is a reader of its own in this process.
    assert_takes_little(Stack::all().start(), &said);
    let contents = vec![r#""content":"a""#; 200_000].join(",");
    let contents = conversation(&format!(r#"{{"role":"user",{contents}}}"#), 1);
    // Each may be the last one of the user.
    let tiny = conversation(r#"{"text":"x"}"#, 600_000);
    for body in [tiny, conversation(&parts, 1), contents] {
        let upstream = Upstream::ok();
        assert_takes_little(Stack::all().upstream(&upstream).start(), &body);
    }
}

#[track_caller]
fn assert_takes_little(stack: Stack, body: &str) {
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let before = stack.process.peak_memory();
    assert_eq!(stack.call(&Request::chat(body)).status(), 200);
    let grown = stack.process.peak_memory() - before;
    println!("{} MiB for {} bytes", grown >> 20, body.len());
    assert!(grown < 4 * body.len() as u64, "{grown} for {}", body.len());
}
