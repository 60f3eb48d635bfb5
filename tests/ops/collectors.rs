//! The collector that traces go to: one of a private authority, and another one after a reload.

use crate::traces::{await_spans, collector, gateway, spans as spans_of, tracing};
use support::eventually;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::server::Peer;
use support::stack::Folder;
use support::tls::Authority;
use support::upstream::{DONE, SSE_HEAD, Upstream, json};

const RELOADS: &str = "monitor_reloads_total{result=\"ok\"}";

#[test]
fn a_collector_of_a_private_authority_is_trusted_by_its_file_and_by_no_other() {
    let upstream = Upstream::ok();
    let (ours, other, folder) = (Authority::new(), Authority::new(), Folder::new());
    let script = |peer: &mut Peer| {
        while peer.read_request().is_some() {
            peer.send(json(200, "{}"));
        }
    };
    let collector = Upstream::over("https", ours.identity().wrap(), Box::new(script));
    let ca = folder.write("ca.pem", &other.pem);
    let more = format!(", ratio: 1, ca: \"{}\"", ca.display());
    let stack = gateway(&upstream, &collector, &more).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("an export failed", || {
        (stack.metric("monitor_trace_exports_failed_total") >= 1.0).then_some(())
    });
    assert!(collector.seen().requests.is_empty(), "a stranger");
    // The file is read again by a reload.
    folder.write("ca.pem", &ours.pem);
    stack.process.signal("HUP");
    eventually("it is in force", || {
        (stack.metric(RELOADS) == 1.0).then_some(())
    });
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    await_spans(&collector, 2);
    // What cannot be read changes nothing.
    folder.write("ca.pem", "no certificate");
    stack.process.signal("HUP");
    stack
        .process
        .await_stderr("which key", |text| text.contains("trace.ca").then_some(()));
    collector.forget();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    await_spans(&collector, 2);
}

#[test]
fn contract_35_a_reload_puts_another_collector_and_another_share_in_force() {
    let (upstream, feed) = Upstream::fed();
    let (first, second) = (collector(), collector());
    let mut stack = gateway(&upstream, &first, ", ratio: 1").start();
    let mut stream = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    upstream.await_heads(1);
    for yaml in [
        tracing(&second, ", ratio: 0"),
        tracing(&second, ", ratio: 1"),
    ] {
        let before = stack.metric(RELOADS);
        std::fs::write(stack.configuration(), yaml).unwrap();
        stack.process.signal("HUP");
        eventually("it is in force", || {
            (stack.metric(RELOADS) > before).then_some(())
        });
        // Refused by the gateway itself: a span of its own where it is traced.
        let refused = stack.call(&Request::chat(HELLO).without_key());
        assert_eq!(refused.status(), 401);
    }
    let spans = await_spans(&second, 1);
    assert_eq!(spans.len(), 1, "with a share of 0 there are none");
    assert!(!stack.stderr().contains("needs an upgrade"));
    // The call under way ends with what it began with.
    feed.send(SSE_HEAD);
    feed.chunk(DONE);
    feed.end();
    stream.read_head_once_and_until(b"[DONE]");
    await_spans(&first, 2);
    // And no endpoint is no trace, not even of what a stop would send.
    std::fs::write(stack.configuration(), "trace: {endpoint: null}").unwrap();
    stack.process.signal("HUP");
    eventually("it is in force", || {
        (stack.metric(RELOADS) == 3.0).then_some(())
    });
    let refused = stack.call(&Request::chat(HELLO).without_key());
    assert_eq!(refused.status(), 401);
    stack.process.signal("TERM");
    stack.process.await_exit();
    assert_eq!((spans_of(&first).len(), spans_of(&second).len()), (2, 1));
}
