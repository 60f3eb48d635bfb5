//! Memory and descriptors under many held streams, many kept connections, and many calls. The bounds
//! are generous, since an unoptimized program takes more; figures come from `cargo bench --bench ops`
//! and from the case `held` of `cargo bench --bench gateway`.

use crate::crowd::{Crowd, model};
use std::sync::atomic::Ordering;
use support::backend::Backend;
use support::http::Conn;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{SSE_HEAD, Upstream, delta};
use support::{PATIENCE, eventually};

const MIB: u64 = 1 << 20;
/// Streams held at once.
const STREAMS: usize = 200;
/// Connections kept at once; `MONITOR_CONNECTIONS` asks for more.
const CONNECTIONS: usize = 400;
/// Calls while memory is watched; `MONITOR_SOAK_CALLS` asks for more.
const CALLS: u64 = 6_000;

fn number(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap())
}

fn descriptors(stack: &Stack) -> usize {
    let folder = format!("/proc/{}/fd", stack.process.id());
    std::fs::read_dir(folder).unwrap().count()
}

fn grown(stack: &Stack, before: u64) -> u64 {
    stack.process.memory().saturating_sub(before)
}

#[test]
fn a_held_stream_costs_little_memory_and_leaves_nothing_open() {
    let upstream = Upstream::scripted(|peer| {
        if peer.read_request().is_some() {
            peer.send(SSE_HEAD);
            peer.send_chunk(delta(0, "first "));
            peer.closed_within(PATIENCE * 4);
        }
    });
    let stack = Stack::before(&upstream);
    let hold = || {
        let mut stream = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
        stream.read_head_once_and_until(b"first ");
        stream
    };
    let idle = descriptors(&stack);
    drop(hold());
    let before = stack.process.memory();
    let streams: Vec<Conn> = (0..STREAMS).map(|_| hold()).collect();
    let grown = grown(&stack, before);
    let bound = STREAMS as u64 * MIB / 4;
    assert!(grown < bound, "{STREAMS} streams take {grown} bytes");
    assert!(descriptors(&stack) >= 2 * STREAMS);
    drop(streams);
    eventually("both ends of every stream are closed", || {
        (descriptors(&stack) <= idle + 2).then_some(())
    });
}

#[test]
fn many_connections_are_kept_and_each_goes_on_being_served() {
    let upstream = model();
    let stack = Stack::before(&upstream);
    let count = number("MONITOR_CONNECTIONS", CONNECTIONS);
    let request = Request::chat(HELLO).bytes();
    let before = stack.process.memory();
    let mut kept: Vec<Conn> = (0..count).map(|_| Conn::open(stack.gateway_addr)).collect();
    for _ in 0..2 {
        for conn in &mut kept {
            conn.send(&request);
            assert_eq!(conn.response().status(), 200);
        }
    }
    assert!(descriptors(&stack) >= count);
    let grown = grown(&stack, before);
    let bound = count as u64 * MIB / 8 + 16 * MIB;
    assert!(grown < bound, "{count} connections take {grown} bytes");
    // One after another, they needed no more than a few connections to the model server.
    assert!(upstream.connections() < 20, "{}", upstream.connections());
}

#[test]
fn memory_stays_where_it_is_while_calls_go_on() {
    let (upstream, backend) = (model(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let calls = number("MONITOR_SOAK_CALLS", CALLS as usize) as u64;
    let crowd = Crowd::start(stack.gateway_addr);
    let until = |count: u64| {
        while crowd.tally.calls.load(Ordering::Relaxed) < count {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        stack.process.memory()
    };
    let warm = until(calls / 3);
    let grown = until(calls).saturating_sub(warm);
    let (calls, streams) = crowd.end();
    assert!(streams > 0);
    eprintln!("{calls} calls, {grown} bytes more after the last than after a third of them");
    assert!(grown < 32 * MIB, "{calls} calls left {grown} bytes");
}
