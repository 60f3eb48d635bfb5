//! What strangers can write into the log (CONTRACT 34 `log`): bytes a second are bounded, whoever causes the
//! lines and by whatever port; lines beyond that are counted, and none is lost in silence.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;
use support::backend::{Backend, verdict};
use support::frames::{ACK, Frames, PING, frame};
use support::http::Conn;
use support::request::{HELLO, MODELS, Request};
use support::stack::{Folder, Stack};
use support::upstream::{Upstream, json};
use support::{KEY, eventually};

/// `log.bytes_per_second`, and the seconds of it that may come at once.
const RATE: usize = 16 << 10;
const BURST: usize = 3;
/// Lines about the log itself, and a last line that exceeds the rest of the budget.
const SLACK: usize = 16 << 10;

/// The most that the log may have grown by since `began`.
fn bound(began: Instant) -> usize {
    RATE * (BURST + began.elapsed().as_secs() as usize + 1) + SLACK
}

fn suppressed(stack: &Stack, source: &str) -> usize {
    let series = format!("monitor_log_lines_suppressed_total{{source=\"{source}\"}}");
    stack.metric(&series) as usize
}

/// Sends the request this often over one connection, some at a time, and reads the answers.
fn flood(stack: &Stack, request: &Request, times: usize, status: u16) {
    const AT_ONCE: usize = 50;
    let mut conn = Conn::open(stack.gateway_addr);
    let batch = request.bytes().repeat(AT_ONCE);
    for _ in 0..times / AT_ONCE {
        conn.send(&batch);
        for _ in 0..AT_ONCE {
            assert_eq!(conn.response().status(), status);
        }
    }
}

#[test]
fn calls_without_a_key_cannot_fill_the_log_and_each_is_written_or_counted() {
    const CALLS: usize = 5_000;
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let before = stack.stderr().len();
    let began = Instant::now();
    let id = "x".repeat(200);
    let call = Request::get(MODELS).without_key();
    flood(&stack, &call.header("X-Request-Id", &id), CALLS, 401);
    let text = stack.stderr();
    let grown = text.len() - before;
    assert!(grown < bound(began), "{grown} bytes");
    let written = text.matches("detail=access_key").count();
    assert_eq!(written + suppressed(&stack, "access"), CALLS);
    assert!(written > 50, "the first ones are there: {written}");
    let notice = "log lines suppressed: they exceed log.bytes_per_second (1 since the last line)";
    assert!(text.contains(notice), "{text}");
    upstream.assert_untouched();
}

#[test]
fn answered_calls_keep_their_lines_whatever_strangers_do() {
    const CALLS: usize = 500;
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    flood(&stack, &Request::get("/none").without_key(), 1_000, 404);
    assert!(suppressed(&stack, "access") > 0);
    flood(&stack, &Request::chat(HELLO), CALLS, 200);
    stack.process.await_stderr("a line for each call", |text| {
        (text.matches("route=chat status=200").count() == CALLS).then_some(())
    });
    assert_eq!(suppressed(&stack, "program"), 0);
}

/// A backend that accepts the key of the tests and no other.
fn accepting_one_key() -> Backend {
    Backend::judging(|call| match call.head.header("authorization") {
        Some(key) if key.ends_with(KEY) => verdict(&[]),
        _ => json(401, "{}"),
    })
}

/// A call of the accepted key, which the gateway knows from then on.
fn make_known(stack: &Stack, backend: &Backend) {
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    backend.await_exchange();
    eventually("both records are accepted", || {
        (stack.metric("monitor_spool_records") == 0.0).then_some(())
    });
}

fn invented(request: Request) -> Request {
    let request = request.without_key();
    request.header("X-Monitor-Api-Key", "invented")
}

#[test]
fn calls_of_an_invented_key_that_are_answered_cannot_fill_the_log() {
    const CALLS: usize = 5_000;
    let (upstream, backend) = (Upstream::ok(), accepting_one_key());
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.start();
    make_known(&stack, &backend);
    let before = stack.stderr().len();
    let began = Instant::now();
    let id = "x".repeat(200);
    let call = invented(Request::get(MODELS)).header("X-Request-Id", &id);
    flood(&stack, &call, CALLS, 200);
    let text = stack.stderr();
    let grown = text.len() - before;
    println!("{grown} bytes in {:?}", began.elapsed());
    assert!(grown < bound(began), "{grown} bytes");
    eventually("each is written or counted", || {
        let written = stack.stderr().matches("route=models").count();
        (written + suppressed(&stack, "access") == CALLS).then_some(())
    });
    // The calls of an accepted key keep their lines.
    flood(&stack, &Request::get(MODELS), 500, 200);
    eventually("a line for each", || {
        let text = stack.stderr();
        let lines = text.lines().filter(|line| line.contains("route=models"));
        (lines.filter(|line| !line.contains(&id)).count() == 500).then_some(())
    });
}

#[test]
fn strangers_cannot_fill_the_access_log_and_each_line_is_written_or_counted() {
    const CALLS: usize = 5_000;
    let (upstream, backend, folder) = (Upstream::ok(), accepting_one_key(), Folder::new());
    let file = folder.path().join("access.log");
    let yaml = format!(
        "log: {{access: {{to: file, file: {}, queue: 20000}}}}",
        file.display()
    );
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.yaml(&yaml).start();
    make_known(&stack, &backend);
    let read = || std::fs::read_to_string(&file).unwrap();
    eventually("the first call is written", || {
        (read().lines().count() == 1).then_some(())
    });
    let before = read().len();
    let began = Instant::now();
    let stderr = stack.stderr().len();
    flood(&stack, &Request::get("/none").without_key(), CALLS, 404);
    flood(&stack, &Request::get(MODELS).without_key(), CALLS, 401);
    flood(&stack, &invented(Request::get(MODELS)), CALLS, 200);
    let count = |text: &str| text.lines().count() - 1;
    eventually("each is written or counted", || {
        (count(&read()) + suppressed(&stack, "access_log") == 3 * CALLS).then_some(())
    });
    let grown = read().len() - before;
    println!("{grown} bytes in {:?}", began.elapsed());
    assert!(grown < bound(began), "{grown} bytes");
    assert!(count(&read()) > 50, "the first ones are there");
    let text = stack.stderr();
    let notice = "lines of the access log suppressed";
    assert!(text.contains(notice), "{text}");
    assert!(text.len() - stderr < SLACK, "{text}");
    // The calls of an accepted key keep their lines, however they end.
    let strangers = read().lines().count();
    flood(&stack, &Request::get(MODELS), 500, 200);
    flood(&stack, &Request::chat("no JSON"), 500, 400);
    eventually("a line for each", || {
        (read().lines().count() == strangers + 1_000).then_some(())
    });
}

#[test]
fn a_reload_changes_the_bound() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream);
    let stack = stack.yaml("log: {bytes_per_second: 1GiB}").start();
    let stranger = Request::get("/none").without_key();
    flood(&stack, &stranger, 1_000, 404);
    assert_eq!(suppressed(&stack, "access"), 0);
    std::fs::write(stack.configuration(), "log: {bytes_per_second: 1KiB}\n").unwrap();
    assert!(
        support::line::order(&stack, "reload", "gateway")
            .status
            .success()
    );
    flood(&stack, &stranger, 1_000, 404);
    assert!(suppressed(&stack, "access") > 0);
}

#[test]
fn malformed_input_on_any_port_leaves_next_to_nothing_in_the_log() {
    const CONNECTIONS: usize = 100;
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).start();
    let before = stack.stderr().len();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let broken_settings = frame(4, 0, 1, b"odd");
    let inputs: [&[u8]; 6] = [
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST /ui/sign-in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: odd\r\n\r\n",
        &[&preface[..], b"\0\0\0\0\0\0\0\0\0"].concat(),
        &[&preface[..], &broken_settings].concat(),
    ];
    for address in [
        stack.gateway_addr,
        stack.analysis_addr,
        stack.operations_addr,
    ] {
        for input in inputs {
            for _ in 0..CONNECTIONS {
                let mut stranger = TcpStream::connect(address).unwrap();
                stranger.write_all(input).unwrap();
                let _ = stranger.shutdown(Shutdown::Write);
                let _ = std::io::copy(&mut stranger, &mut std::io::sink());
            }
        }
    }
    let text = stack.stderr();
    let grown = text.len() - before;
    assert!(grown < RATE * BURST, "{grown} bytes: {text}");
    for library in ["h2::", "hyper", "rustls", "pingora"] {
        assert!(!text.contains(library), "{library}: {text}");
    }
}

#[test]
fn libraries_are_silent_unless_log_level_names_them_and_bounded_then() {
    let acks = frame(PING, ACK, 0, b"12345678").repeat(500);
    for (level, is_named) in [("info", false), ("debug", false), ("'info,h2=warn'", true)] {
        let upstream = Upstream::ok();
        let stack = Stack::gateway().upstream(&upstream);
        let stack = stack.yaml(&format!("log: {{level: {level}}}")).start();
        let before = stack.stderr().len();
        let began = Instant::now();
        for _ in 0..10 {
            let mut frames = Frames::open(stack.gateway_addr, &[]);
            let _ = frames.try_send(&acks);
            let _ = frames.try_send(&acks);
            frames.flood(&acks, 10_000);
        }
        let text = stack.stderr();
        let grown = text.len() - before;
        assert!(grown < bound(began), "{level}: {grown} bytes");
        assert_eq!(text.contains("PING ack"), is_named, "{level}");
        assert_eq!(suppressed(&stack, "library") > 0, is_named, "{level}");
    }
}
