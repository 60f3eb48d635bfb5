//! What a process that takes over is to its surroundings: its supervisor, who reloads, who reads what it says.

use support::eventually;
use support::http::Conn;
use support::line::{Line, await_end, has_ended, order, signal};
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{DONE, Feed, Upstream, delta};

/// The number of a process's parent.
fn parent(process: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let behind_name = stat.rsplit(')').next().unwrap();
    behind_name
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_supervisor_has_the_next_process_as_its_own_while_the_old_one_drains() {
    // systemd ends a main process that is another one's child with SIGKILL right behind SIGTERM.
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream).start();
    let (mut line, first) = (Line::default(), stack.process.id() as i32);
    // A kept connection may bring one more call, which the old process waits for.
    let mut kept = Request::chat(HELLO).send(stack.gateway_addr);
    assert_eq!(kept.response().status(), 200);
    let idle = Conn::open(stack.gateway_addr);
    let next = line.upgrade(&stack, "gateway");
    let its = parent(next);
    assert!(
        its != first && its != 0,
        "{its} of {next}, before it {first}"
    );
    let third = line.upgrade(&stack, "gateway");
    assert!(![first, next].contains(&parent(third)));
    drop((kept, idle));
    await_end(first);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
}

/// A stack with a stream under way that ends when the feed says so.
pub(crate) fn streaming() -> (Stack, Upstream, Feed, Conn) {
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::before(&upstream);
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    let mut stream = Request::chat(body).send(stack.gateway_addr);
    upstream.await_heads(1);
    feed.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    feed.chunk(format!("data: {}\n\n", delta(0, "first ")));
    stream.read_head_once_and_until(b"first ");
    (stack, upstream, feed, stream)
}

/// The stream comes to its end, and the process that it was in with it.
#[track_caller]
pub(crate) fn ends(feed: &Feed, mut stream: Conn, process: i32) {
    feed.chunk(format!("data: {DONE}\n\n"));
    feed.end();
    stream.read_until(b"[DONE]");
    drop(stream);
    await_end(process);
}

#[test]
fn a_stop_lets_the_old_process_finish_its_streams_too() {
    let (stack, _upstream, feed, stream) = streaming();
    let (mut line, first) = (Line::default(), stack.process.id() as i32);
    let next = line.upgrade(&stack, "gateway");
    // As systemd does it: both, and once more what is left of them.
    signal(first, "TERM");
    signal(next, "TERM");
    await_end(next);
    signal(first, "TERM");
    ends(&feed, stream, first);
}

#[test]
fn a_stop_lets_the_first_of_three_processes_finish_its_streams_too() {
    let (stack, _upstream, feed, mut stream) = streaming();
    let (mut line, first) = (Line::default(), stack.process.id() as i32);
    let second = line.upgrade(&stack, "gateway");
    let third = line.upgrade(&stack, "gateway");
    // The one that followed it has ended, and all is well.
    await_end(second);
    signal(third, "TERM");
    await_end(third);
    signal(first, "TERM");
    feed.chunk(format!("data: {}\n\n", delta(0, "second ")));
    stream.read_until(b"second ");
    ends(&feed, stream, first);
}

#[test]
fn an_old_process_does_not_keep_a_dead_service_from_being_started_again() {
    let (stack, _upstream, _feed, _stream) = streaming();
    let (mut line, first) = (Line::default(), stack.process.id() as i32);
    let second = line.upgrade(&stack, "gateway");
    let third = line.upgrade(&stack, "gateway");
    await_end(second);
    signal(third, "KILL");
    await_end(third);
    assert!(!has_ended(first), "its stream goes on until it is asked");
    // systemd starts the service again once everything of it is gone.
    signal(first, "TERM");
    await_end(first);
}

#[test]
fn a_configuration_that_changed_during_an_upgrade_is_in_force_behind_it() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("stream: {heartbeat: 30s}")
        .start();
    let (path, text) = (stack.configuration(), "stream: {heartbeat: 30s}\n");
    // The next process reads what it is given here, and waits until then.
    std::fs::remove_file(&path).unwrap();
    support::make_pipe(&path);
    let mut line = Line::default();
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| line.upgrade(&stack, "gateway"));
        std::fs::write(&path, text).unwrap();
        let changed = path.with_extension("new");
        std::fs::write(&changed, "stream: {heartbeat: 40s}\n").unwrap();
        std::fs::rename(&changed, &path).unwrap();
        upgrade.join().unwrap();
    });
    await_end(stack.process.id() as i32);
    eventually("the change is in force", || {
        (stack.metric("monitor_reloads_total{result=\"ok\"}") == 1.0).then_some(())
    });
    // And nothing is read again where nothing has changed.
    let next = line.upgrade(&stack, "gateway");
    let reload = order(&stack, "reload", "gateway");
    assert!(reload.status.success());
    eventually("the third process answers", || {
        (stack.metric("monitor_upgrades_total{result=\"ok\"}") == 1.0).then_some(())
    });
    assert_eq!(
        stack.metric("monitor_reloads_total{result=\"ok\"}"),
        1.0,
        "of {next}"
    );
}

#[test]
fn nobody_has_to_read_what_it_says_at_its_start() {
    let upstream = Upstream::ok();
    for streams in [
        "exec 1>/dev/full",
        "exec 1>&- 2>&-",
        "exec 1>/dev/full 2>/dev/full",
    ] {
        let stack = Stack::gateway().upstream(&upstream).under(streams).start();
        let (mut line, first) = (Line::default(), stack.process.id() as i32);
        line.upgrade(&stack, "gateway");
        await_end(first);
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200, "{streams}");
    }
}
