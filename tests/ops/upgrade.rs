//! One process after the other without a dropped call (CONTRACT 35), and what fails leaves the old
//! one as it was.

use crate::crowd::{Crowd, model};
use crate::successor::{ends, streaming};
use crate::tls::{Files, listening};
use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::Ordering;
use support::backend::{Backend, Manner};
use support::http::Conn;
use support::line::{Line, await_end, has_ended, order, signal};
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::tls::Authority;
use support::upstream::{Upstream, delta};
use support::{KEY, eventually};

/// With the first access key of an analysis server.
fn authorised(request: Request) -> Request {
    let bearer = format!("Bearer {KEY}");
    request.without_key().header("Authorization", &bearer)
}

/// Upgrades under load; `MONITOR_UPGRADES` asks for more.
const UPGRADES: u64 = 3;
/// Calls between two upgrades; `MONITOR_UPGRADE_CALLS` asks for more.
const CALLS: u64 = 400;

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap())
}

#[test]
fn contract_35_upgrades_under_load_drop_no_call_and_no_stream() {
    let upstream = model();
    let stack = Stack::gateway().upstream(&upstream).start();
    let (mut line, first) = (Line::default(), stack.process.id() as i32);
    let crowd = Crowd::start(stack.gateway_addr);
    let (upgrades, calls) = (
        number("MONITOR_UPGRADES", UPGRADES),
        number("MONITOR_UPGRADE_CALLS", CALLS),
    );
    for round in 1..=upgrades {
        let done = || crowd.tally.calls.load(Ordering::Relaxed);
        let until = done() + calls;
        while done() < until {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        line.upgrade(&stack, "gateway");
        eprintln!("upgrade {round} of {upgrades}: {} calls", done());
    }
    await_end(first);
    let (calls, streams) = crowd.end();
    assert!(
        calls > upgrades * 100 && streams > 0,
        "{calls} calls, {streams} streams"
    );
    eprintln!("{upgrades} upgrades, {calls} calls, {streams} streams, none failed");
}

#[test]
fn contract_35_upgrades_under_load_over_tls_drop_no_call_and_no_stream() {
    let (upstream, authority, files) = (model(), Authority::new(), Files::new());
    let (cert, key) = files.put("server", &authority.identity());
    let gateway = |list: &str| {
        let yaml = format!("listen:\n  {list}");
        Stack::gateway().upstream(&upstream).yaml(&yaml)
    };
    let (stack, secure) = listening(gateway, &format!("cert: \"{cert}\", key: \"{key}\""));
    let mut line = Line::default();
    let crowd = Crowd::over_tls(secure, authority.client(None));
    for _ in 0..2 {
        let until = crowd.tally.calls.load(Ordering::Relaxed) + 100;
        eventually("calls", || {
            (crowd.tally.calls.load(Ordering::Relaxed) > until).then_some(())
        });
        line.upgrade(&stack, "gateway");
    }
    await_end(stack.process.id() as i32);
    let (calls, streams) = crowd.end();
    eprintln!("{calls} calls and {streams} streams over TLS, none failed");
}

#[test]
fn contract_35_a_connection_that_has_sent_nothing_yet_gets_its_first_request_served() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let mut line = Line::default();
    let mut waiting = Conn::open(stack.gateway_addr);
    // Accepted by the old process: it answers others that came later.
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let mut kept = Request::chat(HELLO).send(stack.gateway_addr);
    assert_eq!(kept.response().status(), 200);
    line.upgrade(&stack, "gateway");
    waiting.send(&Request::chat(HELLO).bytes());
    assert_eq!(waiting.response().status(), 200);
    // So does a kept one that was idle; that was its last.
    kept.send(&Request::chat(HELLO).bytes());
    let answer = kept.response();
    assert_eq!(
        (answer.status(), answer.head.header("connection")),
        (200, Some("close"))
    );
    await_end(stack.process.id() as i32);
}

#[test]
fn contract_35_an_analysis_server_too_serves_whoever_it_has_accepted() {
    let stack = Stack::analysis_server().start();
    let mut line = Line::default();
    let records = authorised(Request::get("/records"));
    let mut waiting = Conn::open(stack.analysis_addr);
    // Accepted by the old process: it answers others that came later.
    let mut kept = records.send(stack.analysis_addr);
    assert_eq!(kept.response().status(), 200);
    line.upgrade(&stack, "analysis");
    // Neither is closed while it may still ask.
    for conn in [&mut waiting, &mut kept] {
        conn.assert_quiet(std::time::Duration::from_millis(500));
    }
    waiting.send(&records.bytes());
    assert_eq!(waiting.response().status(), 200);
    kept.send(&records.bytes());
    let answer = kept.response();
    assert_eq!(
        (answer.status(), answer.head.header("connection")),
        (200, Some("close"))
    );
    await_end(stack.process.id() as i32);
}

#[test]
fn contract_35_upgrades_of_an_analysis_server_under_load_drop_no_request() {
    let stack = Stack::analysis_server().start();
    let (mut line, first) = (Line::default(), stack.process.id() as i32);
    let crowd = Crowd::asking(stack.analysis_addr, &authorised(Request::get("/records")));
    for _ in 0..number("MONITOR_UPGRADES", UPGRADES) {
        let until = crowd.tally.calls.load(Ordering::Relaxed) + 100;
        eventually("requests", || {
            (crowd.tally.calls.load(Ordering::Relaxed) > until).then_some(())
        });
        line.upgrade(&stack, "analysis");
    }
    await_end(first);
    let (calls, _) = crowd.end();
    eprintln!("{calls} requests of the API, none failed");
}

#[test]
fn contract_35_who_waits_for_a_place_is_served_by_the_next_process() {
    // limits.connections of CONTRACT 34.
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream);
    let stack = stack.yaml("limits: {connections: 1}").start();
    let mut line = Line::default();
    let mut kept = Request::chat(HELLO).send(stack.gateway_addr);
    assert_eq!(kept.response().status(), 200);
    let mut waiting = Request::chat(HELLO).send(stack.gateway_addr);
    waiting.assert_quiet(std::time::Duration::from_millis(200));
    line.upgrade(&stack, "gateway");
    assert_eq!(waiting.response().status(), 200);
    kept.send(&Request::chat(HELLO).bytes());
    assert_eq!(kept.response().status(), 200);
    await_end(stack.process.id() as i32);
}

#[test]
fn contract_35_a_long_stream_ends_in_the_process_it_began_in() {
    let (stack, _upstream, feed, mut stream) = streaming();
    let mut line = Line::default();
    line.upgrade(&stack, "gateway");
    feed.chunk(format!("data: {}\n\n", delta(0, "second ")));
    stream.read_until(b"second ");
    assert!(
        !has_ended(stack.process.id() as i32),
        "with a stream under way"
    );
    ends(&feed, stream, stack.process.id() as i32);
}

#[test]
fn contract_35_what_does_not_start_leaves_the_old_process_serving() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("stream: {heartbeat: 30s}")
        .start();
    std::fs::write(stack.configuration(), "stream: {heartbeat: never}").unwrap();
    let out = order(&stack, "upgrade", "gateway");
    assert!(!out.status.success());
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("before it was ready"), "{said}");
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(
        stack.metric("monitor_upgrades_total{result=\"failed\"}"),
        1.0
    );
    // And the next try, mended, works.
    std::fs::write(stack.configuration(), "stream: {heartbeat: 40s}").unwrap();
    Line::default().upgrade(&stack, "gateway");
}

#[test]
fn contract_35_the_process_that_serves_has_counted_its_upgrade() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let done = "monitor_upgrades_total{result=\"ok\"}";
    assert_eq!(stack.metric(done), 0.0);
    let _line = {
        let mut line = Line::default();
        line.upgrade(&stack, "gateway");
        line
    };
    await_end(stack.process.id() as i32);
    assert_eq!(stack.metric(done), 1.0);
}

#[test]
fn contract_35_a_successor_that_dies_with_the_sockets_in_its_hands_changes_nothing() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    // A process that takes the sockets and ends: nobody accepts on them but the old one.
    let path = stack.data_dir().join("control-gateway.sock");
    let mut taker = std::os::unix::net::UnixStream::connect(path).unwrap();
    std::io::Write::write_all(&mut taker, b"take\n").unwrap();
    let mut byte = [0];
    std::io::Read::read_exact(&mut taker, &mut byte).unwrap();
    drop(taker);
    eventually("the failure is counted", || {
        (stack.metric("monitor_upgrades_total{result=\"failed\"}") == 1.0).then_some(())
    });
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    Line::default().upgrade(&stack, "gateway");
}

#[test]
fn contract_35_sigquit_starts_the_next_process() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let mut line = Line::default();
    signal(stack.process.id() as i32, "QUIT");
    await_end(stack.process.id() as i32);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    // Who serves now says its number when it is asked to be followed; its own follower is known then.
    let status = stack.operations("/status").json();
    line.announced(i32::try_from(status["process"].as_i64().unwrap()).unwrap());
}

#[test]
fn contract_23_records_of_both_processes_reach_the_backend_once() {
    let upstream = model();
    let backend = Backend::start();
    let folder = Folder::new();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .folder(&folder)
        .start();
    let mut line = Line::default();
    let crowd = Crowd::start(stack.gateway_addr);
    for _ in 0..2 {
        let before = crowd.tally.calls.load(Ordering::Relaxed);
        eventually("calls", || {
            (crowd.tally.calls.load(Ordering::Relaxed) > before + 100).then_some(())
        });
        line.upgrade(&stack, "gateway");
    }
    let (calls, _) = crowd.end();
    await_end(stack.process.id() as i32);
    let posts = backend.await_calls(2 * calls as usize);
    let mut seen: HashMap<String, usize> = HashMap::new();
    for post in &posts {
        *seen.entry(post.exchange().to_owned()).or_default() += 1;
    }
    assert_eq!(seen.len(), calls as usize);
    assert!(
        seen.values().all(|count| *count == 2),
        "a record came twice or never"
    );
}

#[test]
fn contract_23_an_upgrade_hands_encrypted_records_on_also_to_a_process_with_a_new_key() {
    let (upstream, backend) = (model(), Backend::that(Manner::Refuses(500)));
    let folder = Folder::new();
    let key = |name: &str| {
        let path = folder.path().join(name);
        let mut make = Command::new(env!("CARGO_BIN_EXE_monitor"));
        let made = make.args(["spool", "key"]).arg(&path).output().unwrap();
        assert!(made.status.success());
        path.display().to_string()
    };
    let (one, two) = (key("one.key"), key("two.key"));
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.folder(&folder).yaml(&format!(
        "spool: {{durability: before_upstream, encryption: {{key_file: \"{one}\"}}}}"
    ));
    let stack = stack.start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let old = format!("key_file: \"{one}\"");
    let new = format!("key_file: \"{two}\", old_key_files: [\"{one}\"]");
    let yaml = std::fs::read_to_string(stack.configuration()).unwrap();
    std::fs::write(stack.configuration(), yaml.replace(&old, &new)).unwrap();
    let mut line = Line::default();
    line.upgrade(&stack, "gateway");
    await_end(stack.process.id() as i32);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("the records of both wait", || {
        (stack.metric("monitor_spool_records") == 4.0).then_some(())
    });
    backend.recovers();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for post in backend.await_accepted(4) {
        *seen.entry(post.exchange().to_owned()).or_default() += 1;
    }
    assert_eq!(Vec::from_iter(seen.into_values()), [2, 2]);
}

#[test]
fn contract_23_dead_letters_of_the_process_before_are_the_next_ones() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(422)));
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.start();
    let mut line = Line::default();
    let letters = || {
        let shown = stack.operations("/status").json();
        shown["spool"]["dead_letters"].as_u64()
    };
    let await_letters = |count: u64| {
        eventually("so many dead letters", || {
            let counted = stack.metric("monitor_spool_dead_letters");
            (letters() == Some(count) && counted == count as f64).then_some(())
        });
    };
    for round in 1..=3 {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
        // Those of this process, with those of the processes before it.
        await_letters(2 * round);
        line.upgrade(&stack, "gateway");
        await_letters(2 * round);
    }
    await_end(stack.process.id() as i32);
    backend.recovers();
    let replay = Command::new(env!("CARGO_BIN_EXE_monitor"))
        .env_clear()
        .args(["spool", "replay", "--dir"])
        .arg(stack.data_dir().join("spool"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&replay.stdout),
        "6 dead letters put back\n"
    );
    assert_eq!(backend.await_accepted(6).len(), 6);
    await_letters(0);
}

#[test]
fn contract_35_an_upgrade_leaks_no_descriptor() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let mut line = Line::default();
    let open = |process: i32| {
        std::fs::read_dir(format!("/proc/{process}/fd"))
            .unwrap()
            .count()
    };
    let second = line.upgrade(&stack, "gateway");
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let before = open(second);
    let third = line.upgrade(&stack, "gateway");
    let fourth = line.upgrade(&stack, "gateway");
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    await_end(third);
    eventually("as few descriptors as before", || {
        (open(fourth) <= before).then_some(())
    });
}

#[test]
fn contract_35_all_in_one_hands_over_its_store_and_its_api_too() {
    let stack = Stack::all().start();
    let mut line = Line::default();
    let application = stack.application_id();
    for _ in 0..2 {
        let call = Request::chat(HELLO).header("X-Application-Id", &application);
        assert_eq!(stack.call(&call).status(), 200);
        line.upgrade(&stack, "all");
    }
    await_end(stack.process.id() as i32);
    eventually("both calls are kept", || {
        let page = stack.analysis("/records", support::KEY).json();
        (page["records"].as_array()?.len() == 4).then_some(())
    });
}
