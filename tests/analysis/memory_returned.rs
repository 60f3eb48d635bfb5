//! The memory of a burst goes back to the system when the burst is over, while the process idles.

use serde_json::json;
use std::thread::scope;
use std::time::{Duration, Instant};
use support::PATIENCE;
use support::api::{analyse, authorised};
use support::request::Request;
use support::stack::Stack;

/// Messages at once, and about how many bytes each has.
const MESSAGES: usize = 8;
const LARGE: usize = 2 << 20;
const LINE: &str = "слово и ещё одно, a@example.org, ";
/// The allocator returns unused pages over ten seconds; a busy machine takes longer.
const DECAY: Duration = Duration::from_secs(60);

#[test]
fn the_memory_of_a_burst_is_returned() {
    // The messages take turns: on a busy machine the last one waits for long.
    let stack = Stack::analysis_server()
        .yaml("limits: {longest_wait: 10m}")
        .start();
    analyse(&stack, "hello", json!({}));
    let before = stack.process.memory();
    let text = LINE.repeat(LARGE / LINE.len());
    let body = json!({"application_id": stack.application_id(), "message": text});
    let body = body.to_string();
    scope(|scope| {
        for _ in 0..MESSAGES {
            scope.spawn(|| {
                let request = authorised(Request::post("/process_request/", &body));
                let sent = request.send(stack.analysis_addr);
                let answer = sent.patient(8 * PATIENCE).response();
                assert_eq!(answer.status(), 200, "{}", answer.text());
            });
        }
    });
    let burst = stack.process.peak_memory() - before;
    // Some of it is in use: dictionaries that the first large text opens, pages of the store.
    let stays = || stack.process.memory().saturating_sub(before);
    let over = Instant::now();
    while stays() > burst / 2 {
        assert!(over.elapsed() < DECAY, "{} of {burst} bytes stay", stays());
        std::thread::sleep(Duration::from_millis(100));
    }
}
