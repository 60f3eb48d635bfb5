//! Clients of the analysis port and the operations port that send nothing, too slowly, too much or in the wrong
//! order, or that read nothing: each is bounded in time and memory, and others are served.

use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use support::http::{Conn, Response};
use support::request::Request;
use support::stack::Stack;
use support::{KEY, PATIENCE, assert_envelope, eventually};

const MIB: usize = 1 << 20;
/// More than two kernels take without anybody reading.
const LARGE: usize = 4 * MIB;
/// For a program that is not optimized, and allocators that keep what they had.
const FEW_BYTES: u64 = 64 << 20;

/// An analysis server with these lines below `limits:`.
fn server(limits: &str) -> Stack {
    let yaml = format!("max_body: 256KiB\nlimits: {{{limits}}}");
    Stack::analysis_server().yaml(&yaml).start()
}

fn head(method: &str, path: &str, headers: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: monitor\r\n{headers}\r\n")
}

/// A message of the API whose body of this length is still to come.
fn message(length: usize) -> String {
    let headers = format!(
        "Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    );
    head("POST", "/process_request/", &headers)
}

fn form(path: &str, length: usize) -> String {
    let headers =
        format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n");
    head("POST", path, &headers)
}

/// Sends everything before it reads, as simple clients do.
fn sent_whole(address: SocketAddr, head: &str, body: &[u8]) -> Response {
    let mut conn = Conn::open(address);
    conn.send(head.as_bytes());
    conn.send(body);
    conn.response()
}

fn ended(stack: &Stack, reason: &str) -> f64 {
    stack.metric(&format!(
        "monitor_connections_ended_total{{reason=\"{reason}\"}}"
    ))
}

fn await_ended(stack: &Stack, reason: &str) {
    eventually(reason, || (ended(stack, reason) >= 1.0).then_some(()));
}

#[test]
fn an_answer_that_comes_before_the_body_was_read_reaches_a_client_that_still_sends() {
    // RFC 9112 9.6: a close with unread bytes would reset the connection.
    let stack = Stack::analysis_server().start();
    let body = vec![b'x'; LARGE];
    let json = format!("Content-Type: application/json\r\nContent-Length: {LARGE}\r\n");
    let wrong = format!("Authorization: Bearer mon_wrong_key_0000\r\n{json}");
    let right = format!("Authorization: Bearer {KEY}\r\nContent-Length: {LARGE}\r\n");
    let too_large = format!(
        "Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n"
    );
    for (method, path, headers, status) in [
        ("POST", "/process_request/", &wrong, 401),
        ("POST", "/process_request/", &json, 401),
        ("POST", "/process_request/", &right, 415),
        ("POST", "/process_request/", &too_large, 413),
        ("POST", "/process_batch/", &wrong, 401),
        ("POST", "/applications", &wrong, 401),
        ("POST", "/nothing/", &json, 404),
        ("PUT", "/records", &json, 405),
        ("POST", "/ui/tokens", &json, 303),
        ("POST", "/ui/sign-in", &json, 413),
    ] {
        let answer = sent_whole(stack.analysis_addr, &head(method, path, headers), &body);
        assert_eq!(answer.status(), status, "{method} {path}");
        assert!(answer.complete, "{method} {path}");
    }
    for (path, status) in [("/livez", 405), ("/nothing", 404)] {
        let answer = sent_whole(stack.operations_addr, &head("POST", path, &json), &body);
        assert_eq!(answer.status(), status, "{path}");
    }
}

#[test]
fn a_body_that_stops_or_drips_gets_408_and_its_connection_ends() {
    // limits.header_timeout for each silence, and a pace behind it.
    let stack = server("header_timeout: 400ms");
    for (head, is_api) in [(message(100), true), (form("/ui/sign-in", 100), false)] {
        let mut conn = Conn::open(stack.analysis_addr);
        conn.send(head.as_bytes());
        conn.send(b"{");
        let answer = conn.response();
        assert_eq!(answer.status(), 408, "{}", answer.text());
        if is_api {
            assert_envelope(&answer.body, "invalid_request_error", 408);
            assert!(answer.text().contains("limits.header_timeout"));
        }
        assert!(conn.is_closed());
    }
    let mut conn = Conn::open(stack.analysis_addr);
    conn.send(message(100_000).as_bytes());
    eventually("a byte now and then is not enough", || {
        std::thread::sleep(Duration::from_millis(50));
        conn.try_send(b" ").is_err().then_some(())
    });
    await_ended(&stack, "slow_body");
    assert_eq!(stack.analysis("/records", KEY).status(), 200);
}

#[test]
fn a_client_that_reads_no_answer_is_left() {
    // limits.idle_timeout; what is unread is far more than the kernels take.
    let stack = server("idle_timeout: 400ms");
    let get = head("GET", "/openapi.json", "");
    for address in [stack.analysis_addr, stack.operations_addr] {
        let before = ended(&stack, "unread_answer");
        let get = match address == stack.operations_addr {
            true => head("GET", "/metrics", ""),
            false => get.clone(),
        };
        let mut conn = Conn::open(address);
        let _ = conn.try_send(get.repeat(1_500).as_bytes());
        eventually("it is left", || {
            (ended(&stack, "unread_answer") > before).then_some(())
        });
    }
}

#[test]
fn an_export_that_nobody_reads_is_counted_once_and_ends() {
    // limits.client_bytes is less than the pages of seven exports.
    const RECORDS: usize = 64;
    const EXPORTS: usize = 7;
    let stack =
        server("buffered_bytes: 64MiB, client_bytes: 12MiB, idle_timeout: 8s, header_timeout: 60s");
    for _ in 0..RECORDS {
        support::api::analyse(&stack, &"word ".repeat(40 << 10), json!({}));
    }
    let export = head(
        "GET",
        "/records/export?format=jsonl",
        &format!("Authorization: Bearer {KEY}\r\n"),
    );
    let counted = || {
        let bytes = stack.metric("monitor_api_buffered_bytes");
        assert!(bytes <= 12.0 * MIB as f64, "{bytes}");
        bytes
    };
    let answered = |status: u16| {
        let series =
            format!(r#"monitor_api_requests_total{{route="/records/export",status="{status}"}}"#);
        stack.metric(&series)
    };
    let mut first = Conn::open(stack.analysis_addr);
    // Requests that are sent ahead hold no page of their own.
    first.send(export.repeat(8).as_bytes());
    eventually("its page is counted", || {
        (counted() >= 2.0 * MIB as f64).then_some(())
    });
    let open = |_| {
        let mut conn = Conn::open(stack.analysis_addr);
        conn.send(export.as_bytes());
        conn
    };
    let others: Vec<_> = (1..EXPORTS).map(open).collect();
    eventually("one address has its share", || {
        (counted() >= 0.0 && answered(503) >= 1.0).then_some(())
    });
    eventually("everything is returned", || {
        (counted() == 0.0).then_some(())
    });
    assert_eq!(answered(200) + answered(503), EXPORTS as f64);
    assert!(ended(&stack, "unread_answer") >= 1.0);
    drop((first, others));
    let read = sent_whole(stack.analysis_addr, &export, b"");
    assert_eq!(read.text().lines().count(), RECORDS);
}

#[test]
fn forms_of_nobody_in_particular_take_little_memory() {
    let stack = Stack::analysis_server().start();
    assert_eq!(
        Request::get("/ui/sign-in")
            .without_key()
            .call(stack.analysis_addr)
            .status(),
        200
    );
    let before = stack.process.memory();
    let announced = form("/ui/sign-in", LARGE);
    let chunked = head("POST", "/ui/sign-in", "Transfer-Encoding: chunked\r\n");
    let chunk = [
        format!("{:x}\r\n", LARGE).into_bytes(),
        vec![b'a'; LARGE - 1],
    ]
    .concat();
    let body = vec![b'a'; LARGE - 1];
    let mut open = Vec::new();
    for number in 0..60 {
        let mut conn = Conn::open(stack.analysis_addr);
        let (head, body) = match number % 2 {
            0 => (&announced, &body),
            _ => (&chunked, &chunk),
        };
        // Whoever is refused need not be read to the end.
        let _ = conn
            .try_send(head.as_bytes())
            .and_then(|()| conn.try_send(body));
        open.push(conn);
    }
    let grown = stack.process.memory().saturating_sub(before);
    assert!(grown < FEW_BYTES, "{grown} bytes more");
    for conn in &mut open {
        let answer = conn.try_head();
        assert!(answer.is_none_or(|head| head.status() == 413));
    }
}

#[test]
fn requests_of_one_client_share_a_bounded_memory() {
    // limits.client_bytes; the gauge is of limits.buffered_bytes.
    let stack = server("buffered_bytes: 1MiB, client_bytes: 512KiB, header_timeout: 60s");
    let body = json!({"application_id": stack.application_id(), "message": "x".repeat(200 << 10)});
    let body = body.to_string();
    let (begun, rest) = body.as_bytes().split_at(body.len() - 10);
    let mut slow: Vec<_> = (1..=2)
        .map(|count| {
            let mut conn = Conn::open(stack.analysis_addr);
            conn.send(message(body.len()).as_bytes());
            conn.send(begun);
            eventually("it is in memory", || {
                let held = stack.metric("monitor_api_buffered_bytes");
                (held >= (count * begun.len()) as f64).then_some(())
            });
            conn
        })
        .collect();
    let refused = sent_whole(stack.analysis_addr, &message(body.len()), body.as_bytes());
    assert_eq!(refused.status(), 503, "{}", refused.text());
    assert_eq!(refused.head.header("retry-after"), Some("1"));
    assert!(refused.text().contains("limits.client_bytes"));
    assert_eq!(
        stack.metric(r#"monitor_overloaded_total{room="api_memory"}"#),
        1.0
    );
    for conn in &mut slow {
        conn.send(rest);
        let answer = conn.response();
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let taken = sent_whole(stack.analysis_addr, &message(body.len()), body.as_bytes());
    assert_eq!(taken.status(), 200, "{}", taken.text());
    eventually("everything is returned", || {
        (stack.metric("monitor_api_buffered_bytes") == 0.0).then_some(())
    });
    assert_eq!(stack.metric("monitor_api_buffered_bytes_limit"), MIB as f64);
}

#[test]
fn uploads_take_no_more_memory_than_what_is_on_its_way() {
    // A file is many times as large as what its client may have in memory.
    let stack = server("client_bytes: 256KiB");
    let prompt = support::api::analyse(&stack, "hello", json!({}));
    let file = "x".repeat(LARGE);
    let body = format!(
        "--x\r\ncontent-disposition: form-data; name=\"attached_files\"; filename=\"a.txt\"\r\n\r\n{file}\r\n--x--\r\n"
    );
    let path = format!(
        "/user_prompt_analysis/{}/attach_files",
        prompt["request_id"].as_str().unwrap()
    );
    let attached = Request::post(&path, body)
        .content_type("multipart/form-data; boundary=x")
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .send(stack.analysis_addr)
        .patient(4 * PATIENCE)
        .response();
    assert_eq!(attached.status(), 200, "{}", attached.text());
}

#[test]
fn a_client_with_a_token_for_messages_is_not_bounded_by_its_address() {
    // limits.client_connections: a gateway calls from one address.
    let stack = server("client_connections: 3, header_timeout: 60s");
    let body = json!({"application_id": stack.application_id(), "message": "hello"}).to_string();
    let request = message(body.len()) + &body;
    let mut open = Vec::new();
    for number in 0..12 {
        let mut conn = Conn::open(stack.analysis_addr);
        conn.send(request.as_bytes());
        assert_eq!(conn.response().status(), 200, "connection {number}");
        open.push(conn);
    }
    let ended = r#"monitor_connections_ended_total{reason="client_connections"}"#;
    assert_eq!(stack.metric(ended), 0.0);
    for conn in &mut open {
        conn.send(request.as_bytes());
        assert_eq!(conn.response().status(), 200, "all of them are open");
    }
}

#[test]
fn one_address_has_its_share_of_the_connections() {
    // limits.client_connections, and eight times as many that wait.
    let stack = server("client_connections: 1, header_timeout: 60s");
    let open: Vec<_> = (0..12).map(|_| Conn::open(stack.analysis_addr)).collect();
    eventually("further ones are closed", || {
        (ended(&stack, "client_connections") >= 3.0).then_some(())
    });
    let conns = open.into_iter();
    let mut open: Vec<_> = conns
        .map(|conn| conn.patient(Duration::from_millis(50)))
        .collect();
    open.retain_mut(|conn| !conn.is_closed());
    // One less where the look for readiness had the place when these came.
    assert!((8..=9).contains(&open.len()), "{}", open.len());
    drop(open);
    eventually("there is room again", || {
        Request::get("/ui/sign-in")
            .without_key()
            .try_status(stack.analysis_addr)
    });
    assert_eq!(
        stack.operations("/livez").status(),
        200,
        "a limit of its own"
    );
}

#[test]
fn connections_that_wait_for_a_place_end_with_the_process() {
    // limits.client_connections, and eight times as many that wait.
    let mut stack = server("client_connections: 1, header_timeout: 60s");
    let body = "name=nobody&password=none";
    let mut first = Conn::open(stack.analysis_addr);
    // Answered, so it has the place.
    first.send(head("GET", "/ui/sign-in", "").as_bytes());
    assert_eq!(first.response().status(), 200);
    first.send(form("/ui/sign-in", body.len()).as_bytes());
    first.send(&body.as_bytes()[..4]);
    eventually("its body is read", || {
        (stack.metric("monitor_api_buffered_bytes") > 0.0).then_some(())
    });
    let waiting: Vec<_> = (0..11).map(|_| Conn::open(stack.analysis_addr)).collect();
    eventually("eight wait", || {
        (ended(&stack, "client_connections") >= 3.0).then_some(())
    });
    stack.process.signal("TERM");
    for mut conn in waiting {
        assert!(conn.is_closed());
    }
    assert!(stack.process.exited().is_none(), "a request is in progress");
    first.send(&body.as_bytes()[4..]);
    assert!(first.response().status() < 500);
    let (status, _) = stack.process.await_exit();
    assert!(status.success(), "{status}");
}

#[test]
fn the_operations_port_has_an_end_to_its_connections_and_goes_on() {
    let stack = server("header_timeout: 60s");
    let get = head("GET", "/livez", "");
    // One address has 24 of them.
    let clients = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
    let from = |number: usize| Conn::open_from(clients[number % 3], stack.operations_addr);
    let mut open: Vec<_> = (0..64).map(from).collect();
    for conn in &mut open {
        // Answered, so accepted.
        conn.send(get.as_bytes());
        assert_eq!(conn.response().status(), 200);
    }
    let mut waiting = Conn::open(stack.operations_addr);
    waiting.send(get.as_bytes());
    waiting.assert_quiet(Duration::from_millis(300));
    open.pop();
    assert_eq!(waiting.response().status(), 200);
    drop(open);
    assert!(stack.metric("monitor_accept_pauses_total") >= 1.0);
}
