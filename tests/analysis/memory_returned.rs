//! The memory of a burst goes back to the system when the burst is over.

use serde_json::json;
use std::thread::scope;
use support::PATIENCE;
use support::api::{analyse, authorised};
use support::request::Request;
use support::stack::Stack;

const MIB: u64 = 1 << 20;
/// Messages at once, and the bytes of each.
const MESSAGES: usize = 8;
const LARGE: usize = 2 << 20;

#[test]
fn the_memory_of_a_burst_is_returned() {
    for tunables in [
        "",
        "glibc.malloc.mmap_threshold=262144",
        "glibc.malloc.arena_max=2",
        "glibc.malloc.arena_max=2:glibc.malloc.mmap_threshold=262144:glibc.malloc.trim_threshold=1048576",
        "glibc.malloc.arena_max=1:glibc.malloc.trim_threshold=1048576",
    ] {
        let stack = Stack::analysis_server()
            .env("GLIBC_TUNABLES", tunables)
            .start();
        analyse(&stack, "hello", json!({}));
        let before = stack.process.memory();
        let text = "слово и ещё одно, a@example.org, ".repeat(LARGE / 48);
        let body = json!({"application_id": stack.application_id(), "message": text});
        let body = body.to_string();
        scope(|scope| {
            for _ in 0..MESSAGES {
                scope.spawn(|| {
                    let sent = authorised(Request::post("/process_request/", &body));
                    let sent = sent.send(stack.analysis_addr).patient(8 * PATIENCE);
                    let answer = { sent }.response();
                    assert_eq!(answer.status(), 200);
                });
            }
        });
        let after = stack.process.memory();
        let peak = stack.process.peak_memory();
        std::thread::sleep(std::time::Duration::from_secs(3));
        eprintln!(
            "MEASURED {tunables:?}: before {} MiB, peak {}, after {}, 3 s later {}",
            before / MIB,
            peak / MIB,
            after / MIB,
            stack.process.memory() / MIB
        );
    }
}
