//! The memory that frames of a stream take while they are held. CONTRACT 34, 41.

use super::Api;
use super::orders::{call_of, item, of_part, response};
use crate::memory::{BUFFERED, empty};
use crate::sync::sync;
use serde_json::json;
use support::backend::Backend;
use support::eventually;
use support::upstream::{SSE_HEAD, Upstream, sse};

const HELD: &str = ", stream_in_sync: hold_back, on_backend_failure: closed";

#[test]
fn a_call_of_a_tool_that_is_held_counts_in_the_memory_of_all_calls() {
    // CONTRACT 34, 13: without room for it, it is as unreadable as what is too large.
    let piece = "a word of it, ".repeat(4_000);
    let arguments = |text: &str| {
        of_part(
            "function_call_arguments.delta",
            (0, 0),
            "delta",
            text.into(),
        )
    };
    let mut frames = vec![
        response("created", &json!([])),
        item("added", 0, &call_of("")),
    ];
    frames.extend((0..18).map(|_| arguments(&piece)));
    let held = frames.len();
    let whole = piece.repeat(18);
    frames.extend([
        item("done", 0, &call_of(&whole)),
        response("completed", &json!([])),
    ]);
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = sync(&upstream, HELD).monitor(&backend).start();
    let mut conn = Api::Responses
        .checked("hello", true)
        .send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    feed.chunk(frames[..held].concat());
    let bytes = whole.len() as f64;
    eventually("it counts", || {
        (stack.metric(BUFFERED) >= bytes).then_some(())
    });
    feed.chunk(frames[held..].concat());
    feed.end();
    assert_eq!(conn.response().text(), frames.concat());
    empty(&stack);
    let short = Upstream::raw(sse(&frames.iter().map(String::as_str).collect::<Vec<_>>()));
    let yaml = "limits: {buffered_bytes: 1MiB}";
    let stack = sync(&short, HELD).yaml(yaml).monitor(&backend).start();
    let text = stack.call(&Api::Responses.checked("hello", true)).text();
    assert!(
        !text.contains("function_call") && text.contains("\"error\""),
        "{}",
        text.len()
    );
    empty(&stack);
}
