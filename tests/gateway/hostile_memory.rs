//! The memory that one client can take whose access key no backend has accepted (`limits.client_bytes`): a part of
//! `limits.buffered_bytes` for its address, however many calls it makes.

use crate::memory::{BUFFERED, SPILLED, empty, held_alone, of_size};
use std::sync::Barrier;
use support::backend::{Backend, Manner, verdict};
use support::http::Conn;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{Upstream, json};
use support::{KEY, PATIENCE, eventually};

const MIB: usize = 1 << 20;
/// What one client may take, on any port.
const MOST: u64 = 64 << 20;
/// Bodies that arrive at a time from one client: half of `limits.client_bytes` for what each has on its way, 32 KiB.
const ARRIVING: usize = 256;

fn invented(request: Request) -> Request {
    let request = request.without_key();
    request.header("X-Monitor-Api-Key", "invented")
}

/// So many clients that send a body but for its last bytes, which come beside them.
fn begun(stack: &Stack, request: &Request, count: usize) -> (Vec<Conn>, Vec<u8>) {
    let bytes = request.bytes();
    let (first, rest) = bytes.split_at(bytes.len() - 10);
    let conns = (0..count).map(|_| {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(first);
        conn
    });
    (conns.collect(), rest.to_vec())
}

fn all_held(stack: &Stack, count: usize, size: usize) {
    eventually("all of them have come", || {
        let held = stack.metric(BUFFERED) + stack.metric(SPILLED);
        (held >= (count * (size - 100)) as f64).then_some(())
    });
}

#[test]
fn one_invented_key_takes_a_bounded_part_of_the_memory() {
    // The backend refuses the key, or never answers.
    for (manner, clients, size) in [
        (Manner::Refuses(401), 60, 7 * MIB),
        (Manner::Hangs, 60, 7 * MIB),
        (Manner::Refuses(401), 400, MIB),
        (Manner::Hangs, 400, MIB),
        (Manner::Hangs, 500, 60_000),
    ] {
        let (upstream, backend) = (Upstream::ok(), Backend::that(manner));
        let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
        // On a busy machine a client of the test falls silent for longer than by default.
        let stack = held_alone(stack.yaml("limits: {header_timeout: 60s}")).start();
        let hello = invented(Request::chat(HELLO));
        assert_eq!(stack.call(&hello).status(), 200);
        let before = stack.process.peak_memory();
        let grown = || stack.process.peak_memory() - before;
        let request = invented(of_size(size)).bytes();
        let have_come = Barrier::new(clients + 1);
        let (arrived, served) = std::thread::scope(|scope| {
            let client = || {
                let mut conn = Conn::open(stack.gateway_addr).patient(8 * PATIENCE);
                let (first, rest) = request.split_at(request.len() - 10);
                // Beyond what may arrive at a time the gateway reads nothing, then refuses.
                let is_sent = conn.try_send(first).is_ok();
                have_come.wait();
                let is_sent = is_sent && conn.try_send(rest).is_ok();
                conn.try_head()
                    .map_or((!is_sent).then_some(503), |head| Some(head.status()))
            };
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            all_held(&stack, clients.len().min(ARRIVING - 16), size);
            let arrived = grown();
            have_come.wait();
            let statuses = clients.into_iter().map(|client| client.join().unwrap());
            let statuses: Vec<_> = statuses.collect();
            let served = statuses
                .iter()
                .filter(|status| **status == Some(200))
                .count();
            let refused = statuses
                .iter()
                .filter(|status| **status == Some(503))
                .count();
            assert_eq!(served + refused, statuses.len(), "{statuses:?}");
            (arrived, served)
        });
        println!(
            "{clients} bodies of {size} bytes, {manner:?}: {} MiB while they arrive, {} MiB in all, {served} served",
            arrived >> 20,
            grown() >> 20
        );
        assert!(served >= clients.min(ARRIVING) / 2, "{served}");
        assert!(arrived < MOST, "{arrived} bytes while they arrive");
        assert!(grown() < MOST, "{} bytes in all", grown());
        empty(&stack);
    }
}

#[test]
fn what_an_address_has_without_an_accepted_key_is_bounded_and_a_larger_body_comes_alone() {
    const BOUND: f64 = MIB as f64;
    let backend = Backend::judging(|call| match call.head.header("authorization") {
        Some(key) if key.ends_with(KEY) => verdict(&[]),
        _ => json(401, "{}"),
    });
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack
        .yaml("limits: {client_bytes: 1MiB, header_timeout: 60s}")
        .start();
    let (conns, _) = begun(&stack, &invented(of_size(400_000)), 10);
    all_held(&stack, 10, 400_000);
    // One of them does not count in the bound: it is over a quarter of it. The last ones move to files just now.
    assert!(stack.metric(BUFFERED) <= BOUND + 400_000.0);
    eventually("the others are in files", || {
        (stack.metric(BUFFERED) <= BOUND).then_some(())
    });
    drop(conns);
    empty(&stack);
    // One body that is larger than all that an address may have is completed, two at a time one after the other.
    for _ in 0..2 {
        let (mut conns, rest) = begun(&stack, &invented(of_size(3 * MIB)), 2);
        all_held(&stack, 2, 3 * MIB);
        assert!(stack.metric(BUFFERED) <= 3.0 * BOUND + BOUND);
        for conn in &mut conns {
            conn.send(&rest);
        }
        for conn in &mut conns {
            assert_eq!(conn.response().status(), 200);
        }
        empty(&stack);
    }
    // The bound is none for a key that the backend has accepted.
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    backend.await_exchange();
    eventually("both records are accepted", || {
        (stack.metric("monitor_spool_records") == 0.0).then_some(())
    });
    let (conns, _) = begun(&stack, &of_size(400_000), 10);
    all_held(&stack, 10, 400_000);
    assert!(stack.metric(BUFFERED) > 3.0 * BOUND);
    assert_eq!(stack.metric(SPILLED), 0.0);
    drop(conns);
    empty(&stack);
}

#[test]
fn without_a_backend_no_key_is_ever_accepted_and_all_share_the_memory() {
    let upstream = Upstream::ok();
    let yaml = "limits: {client_bytes: 1MiB, header_timeout: 60s}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let (conns, _) = begun(&stack, &of_size(400_000), 10);
    eventually("all of them are in memory", || {
        (stack.metric(BUFFERED) >= 3_999_000.0).then_some(())
    });
    drop(conns);
    empty(&stack);
}
