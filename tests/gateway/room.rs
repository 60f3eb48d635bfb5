//! How many clients may be connected (`limits.connections` of CONTRACT 34), and a process without
//! descriptors. Who finds no room waits in the system's queue and is served when there is some.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use support::fault::free_port;
use support::http::{Conn, connect};
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::tls::Identity;
use support::upstream::Upstream;
use support::{PATIENCE, eventually};

const PAUSES: &str = "monitor_accept_pauses_total";
const CONNECTIONS: &str = "monitor_connections";
const NO_DESCRIPTORS: &str = r#"monitor_accept_errors_total{reason="descriptors"}"#;
/// Long enough for a call to be answered many times over.
const SILENCE: Duration = Duration::from_millis(300);

/// So many kept connections, each of which has had its answer.
fn clients(stack: &Stack, count: usize) -> Vec<Conn> {
    let mut clients: Vec<Conn> = Vec::new();
    for _ in 0..count {
        let mut conn = Request::chat(HELLO).send(stack.gateway_addr);
        assert_eq!(conn.response().status(), 200);
        clients.push(conn);
    }
    clients
}

/// Connections of the start-up check leave on their own.
fn alone(stack: &Stack) {
    eventually("nobody else is connected", || {
        (stack.metric(CONNECTIONS) == 0.0).then_some(())
    });
}

#[test]
fn contract_34_beyond_the_limit_nobody_is_accepted_until_one_leaves() {
    let upstream = Upstream::ok();
    let yaml = "limits: {connections: 3}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    alone(&stack);
    let mut held = clients(&stack, 3);
    assert_eq!(stack.metric("monitor_connections_limit"), 3.0);
    let mut waiting = Request::chat(HELLO).send(stack.gateway_addr);
    waiting.assert_quiet(SILENCE);
    assert_eq!(stack.metric(CONNECTIONS), 3.0);
    assert!(stack.metric(PAUSES) >= 1.0);
    stack.process.await_stderr("the log line", |text| {
        text.contains("limits.connections").then_some(())
    });
    // Those who are in are served meanwhile.
    held[1].send(&Request::chat(HELLO).bytes());
    assert_eq!(held[1].response().status(), 200);
    drop(held.pop());
    assert_eq!(waiting.response().status(), 200);
}

const CLIENT_CONNECTIONS: &str = r#"monitor_connections_ended_total{reason="client_connections"}"#;

#[test]
fn one_address_has_its_share_of_the_connections_and_a_known_key_has_more() {
    // limits.client_connections, as many as 64 that wait, and eight times as many for a known key.
    let upstream = Upstream::ok();
    let yaml = "limits: {client_connections: 2, header_timeout: 60s}";
    let stack = Stack::all().upstream(&upstream).yaml(yaml).start();
    alone(&stack);
    let mut known = clients(&stack, 12);
    assert_eq!(stack.metric(CLIENT_CONNECTIONS), 0.0);
    // Strangers send nothing.
    let strangers: Vec<_> = (0..2 + 64 + 3)
        .map(|_| Conn::open(stack.gateway_addr))
        .collect();
    eventually("further ones are closed", || {
        (stack.metric(CLIENT_CONNECTIONS) == 3.0).then_some(())
    });
    for conn in &mut known {
        conn.send(&Request::chat(HELLO).bytes());
        assert_eq!(conn.response().status(), 200, "all of them are open");
    }
    drop(strangers);
    eventually("the strangers are gone", || {
        (stack.metric(CONNECTIONS) == 12.0).then_some(())
    });
    let mut next = Request::chat(HELLO).send(stack.gateway_addr);
    assert_eq!(next.response().status(), 200, "there is room again");
    assert_eq!(stack.metric(CLIENT_CONNECTIONS), 3.0);
}

#[test]
fn contract_34_all_listeners_share_the_limit() {
    let upstream = Upstream::ok();
    let (one, two) = (free_port(), free_port());
    let yaml =
        format!("listen: [\"127.0.0.1:{one}\", \"127.0.0.1:{two}\"]\nlimits: {{connections: 2}}");
    let stack = Stack::gateway().upstream(&upstream).yaml(&yaml);
    let stack = stack.listening_by_yaml(one).start();
    alone(&stack);
    let other = SocketAddr::from((Ipv4Addr::LOCALHOST, two));
    let first = clients(&stack, 1);
    let mut second = Request::chat(HELLO).send(other);
    assert_eq!(second.response().status(), 200);
    let mut waiting = [stack.gateway_addr, other].map(|address| Request::chat(HELLO).send(address));
    for conn in &mut waiting {
        conn.assert_quiet(SILENCE);
    }
    assert_eq!(stack.metric(CONNECTIONS), 2.0);
    drop((first, second));
    for conn in &mut waiting {
        assert_eq!(conn.response().status(), 200);
    }
}

#[test]
fn a_burst_of_connections_waits_in_the_systems_queue() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    stack.process.signal("STOP");
    let burst = (0..300).map(|number| {
        let connected = TcpStream::connect_timeout(&stack.gateway_addr, PATIENCE);
        connected.unwrap_or_else(|error| panic!("connection {number}: {error}"))
    });
    let burst: Vec<TcpStream> = burst.collect();
    stack.process.signal("CONT");
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    drop(burst);
}

#[test]
fn contract_35_a_reload_makes_room_for_those_who_wait() {
    let upstream = Upstream::ok();
    let yaml = |connections: usize| format!("limits: {{connections: {connections}}}\n");
    let stack = Stack::gateway().upstream(&upstream).yaml(&yaml(1)).start();
    alone(&stack);
    let _held = clients(&stack, 1);
    let mut waiting = Request::chat(HELLO).send(stack.gateway_addr);
    waiting.assert_quiet(SILENCE);
    std::fs::write(stack.configuration(), yaml(2)).unwrap();
    stack.process.signal("HUP");
    assert_eq!(waiting.response().status(), 200);
}

#[test]
fn a_process_with_few_descriptors_serves_fewer_clients_and_says_so() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream);
    let stack = stack.under("ulimit -n 300").start();
    assert_eq!(stack.metric("monitor_connections_limit"), 86.0);
    let said = stack.stderr();
    assert!(
        said.contains("300 file descriptors") && said.contains("86 client connections"),
        "{said}"
    );
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let (status, said) = Stack::gateway()
        .upstream(&upstream)
        .under("ulimit -n 140")
        .refused();
    assert!(
        !status.success() && said.contains("140 file descriptors are too few"),
        "{said}"
    );
}

#[test]
fn an_analysis_server_with_few_descriptors_lets_others_wait() {
    let stack = Stack::analysis_server().under("ulimit -n 200").start();
    // 200 less the 128 that are reserved, and half of those; one address has half of them at most.
    let from = |number: usize| format!("127.0.0.{}", 2 + number % 4);
    let mut held: Vec<Conn> = (0..136)
        .map(|number| Conn::open_from(&from(number), stack.analysis_addr))
        .collect();
    let contract = Request::get("/openapi.json").without_key();
    let mut waiting = contract.send(stack.analysis_addr);
    waiting.assert_quiet(SILENCE);
    stack.process.await_stderr("the log line", |text| {
        let said = "136 client connections are open (as many as the file descriptors allow";
        text.contains(said).then_some(())
    });
    drop(held.pop());
    assert_eq!(waiting.response().status(), 200);
}

#[test]
fn beside_a_gateway_the_analysis_api_has_a_part_of_few_descriptors() {
    let stack = Stack::all().under("ulimit -n 2000").start();
    // An eighth of 2,000 less the 128 that are reserved; half of those beside it.
    assert_eq!(stack.metric("monitor_connections_limit"), 819.0);
    // One address has half of them at most.
    let from = |number: usize| format!("127.0.0.{}", 2 + number % 4);
    let mut held: Vec<Conn> = (0..250)
        .map(|number| Conn::open_from(&from(number), stack.analysis_addr))
        .collect();
    let contract = Request::get("/openapi.json").without_key();
    assert_eq!(contract.send(stack.analysis_addr).response().status(), 200);
    let last = held.last_mut().unwrap();
    last.send(&contract.bytes());
    assert_eq!(last.response().status(), 200);
}

#[test]
fn contract_34_who_sets_no_number_is_not_warned_of_one() {
    let upstream = Upstream::ok();
    for (yaml, limit, warned) in [
        ("", 936.0, false),
        ("limits: {connections: auto}", 936.0, false),
        ("limits: {connections: 900}", 900.0, false),
        ("limits: {connections: 5000}", 936.0, true),
    ] {
        let stack = Stack::gateway().upstream(&upstream).yaml(yaml);
        let stack = stack.under("ulimit -n 2000").start();
        assert_eq!(stack.metric("monitor_connections_limit"), limit, "{yaml}");
        let said = stack.stderr();
        let of_descriptors = |line: &&str| line.contains("file descriptors");
        let line = said.lines().find(of_descriptors);
        assert_eq!(line.is_some(), limit == 936.0, "{said}");
        let is_warning = line.is_some_and(|line| line.contains("WARN"));
        assert_eq!(is_warning, warned, "{said}");
    }
}

#[test]
fn a_reload_with_more_connections_than_descriptors_says_so() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("limits: {connections: 20}");
    let stack = stack.under("ulimit -n 300").start();
    std::fs::write(stack.configuration(), "limits: {connections: 5000}").unwrap();
    stack.process.signal("HUP");
    eventually("it is in force", || {
        (stack.metric("monitor_connections_limit") == 86.0).then_some(())
    });
    stack.process.await_stderr("which number", |text| {
        text.contains("limits.connections 5000 needs 10128")
            .then_some(())
    });
}

#[test]
fn the_soft_limit_of_descriptors_is_raised_to_the_hard_one() {
    let upstream = Upstream::ok();
    let yaml = "limits: {connections: 400}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml);
    let stack = stack.under("ulimit -Sn 300 && ulimit -Hn 1000").start();
    assert_eq!(stack.metric("monitor_connections_limit"), 400.0);
    assert!(!stack.stderr().contains("file descriptors"));
}

/// Allows a running process so many descriptors beyond those it has.
fn leave_descriptors(stack: &Stack, count: u64) {
    let id = stack.process.id();
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count() as u64;
    let limit = Rlimit {
        current: Some(open + count),
        maximum: Some(4096),
    };
    let process = Pid::from_raw(id as i32);
    prlimit(process, Resource::Nofile, limit).unwrap();
}

#[test]
fn a_process_that_ran_out_of_descriptors_serves_on_when_some_are_free() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream);
    let stack = stack.under("ulimit -n 4096").start();
    alone(&stack);
    let _warm = clients(&stack, 1);
    // Its own connection, because a new one would need a descriptor.
    let mut operations = Conn::open(stack.operations_addr);
    let mut errors = move || {
        operations.send(&Request::get("/metrics").without_key().bytes());
        let text = operations.response().text();
        let line = text.lines().find(|line| line.starts_with(NO_DESCRIPTORS));
        let value = line.and_then(|line| line.rsplit(' ').next()).unwrap();
        value.parse::<f64>().unwrap()
    };
    assert_eq!(errors(), 0.0);
    leave_descriptors(&stack, 8);
    let crowd: Vec<TcpStream> = (0..40).map(|_| connect(stack.gateway_addr)).collect();
    eventually("none is left", || (errors() > 0.0).then_some(()));
    // No busy loop: it is tried again a few times a second.
    let (since, before) = (Instant::now(), errors());
    eventually("it is tried again", || {
        (errors() > before + 2.0).then_some(())
    });
    let allowed = 2.0 + since.elapsed().as_secs_f64() * 10.0;
    assert!(errors() - before <= allowed, "{} errors", errors() - before);
    drop(crowd);
    let answer = stack.call(&Request::chat(HELLO));
    assert_eq!(answer.status(), 200);
    stack.process.await_stderr("the log line", |text| {
        text.contains("cannot accept a connection").then_some(())
    });
}

#[test]
fn a_client_that_says_nothing_in_its_handshake_is_let_go() {
    // limits.header_timeout; pingora's own limit is a minute.
    let (upstream, identity) = (Upstream::ok(), Identity::new());
    let folder = support::stack::Folder::new();
    let cert = folder.write("cert.pem", &identity.cert_pem);
    let key = folder.write("key.pem", &identity.key_pem);
    let port = free_port();
    let yaml = format!(
        "limits: {{header_timeout: 400ms}}\nlisten: [{{address: \"127.0.0.1:{port}\", tls: {{cert: {}, key: {}}}}}]",
        cert.display(),
        key.display()
    );
    let stack = Stack::gateway().upstream(&upstream).yaml(&yaml);
    let stack = stack.listening_by_yaml(port).start();
    let ended = r#"monitor_connections_ended_total{reason="handshake"}"#;
    // Whoever asked whether it listens was accepted before this one, and is gone once nobody is left.
    let (mut first, _) = identity.connect(stack.gateway_addr, &["http/1.1"]);
    first.send(&Request::chat(HELLO).bytes());
    assert_eq!(first.response().status(), 200);
    drop(first);
    alone(&stack);
    let before = stack.metric(ended);
    let mut silent = Conn::open(stack.gateway_addr);
    assert!(silent.is_closed());
    let mut nonsense = Conn::open(stack.gateway_addr);
    nonsense.send(b"GET / HTTP/1.1\r\n\r\n");
    eventually("both are counted", || {
        (stack.metric(ended) == before + 2.0).then_some(())
    });
    let (mut conn, _) = identity.connect(stack.gateway_addr, &["http/1.1"]);
    conn.send(&Request::chat(HELLO).bytes());
    assert_eq!(conn.response().status(), 200);
}
