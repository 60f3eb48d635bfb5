//! What regexes of requests may take: the memory of compiling them, and what their searches keep.

use serde_json::{Value, json};
use std::thread::scope;
use support::PATIENCE;
use support::api::{analyse, authorised};
use support::request::Request;
use support::stack::Stack;

/// Nobody is refused on a busy machine.
const PATIENT: &str = "limits: {longest_wait: 10m}";

/// The status of a message that is checked by these rules.
fn checked(stack: &Stack, message: &str, dataclean: &Value) -> u16 {
    let body = json!({
        "application_id": stack.application_id(),
        "message": message,
        "validation_config": {"source": "inline", "inline": {"dataclean": dataclean}},
    });
    let request = Request::post("/process_request/override/", body.to_string());
    let sent = authorised(request).send(stack.analysis_addr);
    sent.patient(8 * PATIENCE).response().status()
}

#[test]
fn the_memory_of_compiling_does_not_grow_with_the_requests() {
    const MOST: u64 = 64 << 20;
    let stack = Stack::analysis_server().yaml(PATIENT).start();
    analyse(&stack, "hello", json!({}));
    let before = stack.process.peak_memory();
    scope(|scope| {
        for request in 0..16 {
            let stack = &stack;
            scope.spawn(move || {
                // Each is over the bound, which shows when it is compiled that far.
                let regexes = (0..3).map(|number| {
                    json!({"name": "N", "regex": format!("[\\w@]{{220}}x{request}_{number}")})
                });
                let patterns: Vec<_> = regexes.collect();
                let status = checked(stack, "hello", &json!({"patterns": patterns}));
                assert_eq!(status, 422);
            });
        }
    });
    let grown = stack.process.peak_memory() - before;
    println!("compiling: {} MiB", grown >> 20);
    assert!(grown < MOST, "{} MiB", grown >> 20);
}

#[test]
fn what_the_searches_of_cached_rules_keep_is_bounded() {
    // The cache, what an allocator adds to it, and what runs.
    const MOST: u64 = 128 << 20;
    let stack = Stack::analysis_server().yaml(PATIENT).start();
    analyse(&stack, "hello", json!({}));
    let before = stack.process.peak_memory();
    // Every regex is tried on each of the four words, and makes a state of its automaton for every letter.
    let mut number = 1_u32;
    let mut letter = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if number >> 31 == 0 { 'a' } else { 'b' }
    };
    let mut word = || (0..1000).map(|_| letter()).collect::<String>();
    let message = [word(), word(), word(), word()].join(" ");
    for set in 0..6 {
        let regexes = (0..100).map(|number| {
            let length = 30 + number % 10;
            let regex = format!("(?:[ab]*a[ab]{{{length}}}b){{2}}[ab]*c{number}_{set}");
            json!({"name": "N", "regex": regex})
        });
        let allowed: Vec<_> = regexes.collect();
        let found = json!([{"name": "WORD", "regex": "[ab]{1000}"}]);
        let rules = json!({"patterns": found, "allowed_patterns": allowed});
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| assert_eq!(checked(&stack, &message, &rules), 200));
            }
        });
    }
    let grown = stack.process.peak_memory() - before;
    println!("searching: {} MiB", grown >> 20);
    assert!(grown < MOST, "{} MiB", grown >> 20);
}
