//! What is kept of a stream takes no more memory than its bound, however many choices, calls and texts it begins. One
//! test in a process of its own, since it measures the memory of the process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use monitor_wire::sse::Accumulator;

const MIB: usize = 1 << 20;
const BOUND: usize = 16 * MIB;

/// The memory of the process now.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim_matches(|c: char| !c.is_ascii_digit());
    kib.parse::<usize>().unwrap() * 1024
}

#[test]
fn what_is_kept_of_a_stream_takes_no_more_than_its_bound() {
    let reason = "r".repeat(300);
    let events: [&dyn Fn(usize) -> String; 4] = [
        &|at| format!(r#"{{"choices":[{{"index":{at},"delta":{{"content":"a"}}}}]}}"#),
        &|at| format!(r#"{{"choices":[{{"index":{at},"finish_reason":"{reason}"}}]}}"#),
        &|at| {
            let function = r#"{"name":"f","arguments":"{}"}"#;
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{at},"function":{function}}}]}}}}]}}"#
            )
        },
        &|at| format!(r#"{{"choices":[{{"index":{at},"delta":{{"thinking":"a"}}}}]}}"#),
    ];
    // Kept to the end, so that nobody uses the memory of another again.
    let mut kept = Vec::new();
    for (case, event) in events.iter().enumerate() {
        let mut said = match case {
            3 => Accumulator::of_every_text(BOUND),
            _ => Accumulator::new(BOUND),
        };
        let before = resident();
        (0..200_000).for_each(|at| said.push(event(at).as_bytes()));
        let taken = resident().saturating_sub(before);
        assert!(said.kept() > BOUND / 2, "{case}: {}", said.kept());
        // Within what the allocator adds.
        assert!(taken <= BOUND + BOUND / 4, "{case}: {} KiB", taken / 1024);
        kept.push(said);
    }
}
