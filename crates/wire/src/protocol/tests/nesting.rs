//! Readers take a bounded number of steps for each byte, however deep values are nested. Steps are counted, not timed:
//! bytes that a cursor walks over, and its jumps.

use super::read;
use crate::json::{CallTexts, Request, ScanRole, scan, steps};
use crate::protocol::{Chat, Messages, Protocol, Responses, Texts, Wanted};
use std::fmt::Write;

const KIB: usize = 1024;
/// Steps that one reader takes for a byte of a body whose texts stand in few large values.
const MOST_STEPS: usize = 24;
/// The same where each value of a few bytes is nested by itself.
const MOST_SMALL_STEPS: usize = 120;

/// Short strings of so many bytes.
fn strings(bytes: usize) -> String {
    vec![r#""x y""#; bytes.div_ceil(6).max(1)].join(",")
}

/// A part whose strings stand so many levels deep.
fn deep(levels: usize, bytes: usize) -> String {
    let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
    format!(r#"{{"type":"x","a":{open}[{}]{close}}}"#, strings(bytes))
}

/// The same with lists.
fn listed(levels: usize, bytes: usize) -> String {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!(r#"{{"type":"x","a":{open}{}{close}}}"#, strings(bytes))
}

/// A part that has strings on each level.
fn spread(levels: usize, bytes: usize) -> String {
    let on_level = strings(bytes / levels);
    let mut part = String::from(r#"{"type":"x""#);
    for _ in 0..levels {
        let _ = write!(part, r#","s":[{on_level}],"a":{{"b":"c""#);
    }
    part + &"}".repeat(levels + 1)
}

/// Parts of few bytes, each of them so many levels deep.
fn small(levels: usize, bytes: usize) -> String {
    let part = deep(levels, 1);
    vec![part.as_str(); (bytes / part.len()).max(1)].join(",")
}

/// Requests with such a part where readers look for texts.
fn requests(part: &str) -> Vec<(&'static dyn Protocol, String)> {
    let call = format!(
        r#"{{"role":"assistant","tool_calls":[{{"id":"c","function":{{"name":"f","arguments":[{part}]}}}}]}}"#
    );
    let result = format!(r#"{{"role":"tool","tool_call_id":"c","content":[{part}]}}"#);
    let user = format!(r#"{{"role":"user","content":[{part}]}}"#);
    let unknown = format!(r#"{{"role":"user","content":"a","x":[{part}]}}"#);
    let used = format!(
        r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"f","input":[{part}]}}]}}"#
    );
    let tool = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":[{part}]}}]}}"#
    );
    let item =
        format!(r#"{{"type":"function_call","call_id":"c","name":"f","arguments":[{part}]}}"#);
    let output = format!(r#"{{"type":"function_call_output","call_id":"c","output":[{part}]}}"#);
    vec![
        (&Chat, format!(r#"{{"messages":[{user},{unknown}]}}"#)),
        (
            &Chat,
            format!(r#"{{"messages":[{unknown},{call},{result}]}}"#),
        ),
        (
            &Messages,
            format!(r#"{{"system":[{part}],"messages":[{user}]}}"#),
        ),
        (
            &Messages,
            format!(r#"{{"messages":[{user},{used},{tool}]}}"#),
        ),
        (
            &Responses,
            format!(r#"{{"input":[{user},{item},{output}]}}"#),
        ),
    ]
}

/// Answers with such a part.
fn answers(part: &str) -> Vec<(&'static dyn Protocol, String)> {
    let message = format!(
        r#"{{"role":"assistant","content":[{part}],"x":[{part}],"tool_calls":[{{"index":0,"id":"c","function":{{"name":"f","arguments":[{part}]}}}}]}}"#
    );
    vec![
        (
            &Chat,
            format!(r#"{{"choices":[{{"index":0,"message":{message},"x":[{part}]}}]}}"#),
        ),
        (
            &Messages,
            format!(
                r#"{{"type":"message","content":[{part},{{"type":"tool_use","id":"c","name":"f","input":[{part}]}}],"x":[{part}]}}"#
            ),
        ),
        (
            &Responses,
            format!(
                r#"{{"output":[{{"type":"message","content":[{part}]}},{{"type":"function_call","call_id":"c","name":"f","arguments":[{part}]}},{{"type":"shell_call","call_id":"d","action":{{"a":[{part}]}}}},{{"type":"reasoning","content":[{part}]}}]}}"#
            ),
        ),
    ]
}

/// Events with such a part.
fn events(part: &str) -> Vec<(&'static dyn Protocol, String)> {
    let named = |kind: &str, members: String| {
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{members}}}\n\n")
    };
    let answer = &answers(part)[2].1;
    vec![
        (
            &Chat,
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":[{part}],\"x\":[{part}]}}}}]}}\n\n"
            ),
        ),
        (
            &Messages,
            named(
                "content_block_start",
                format!(r#""index":0,"content_block":{part},"x":[{part}]"#),
            ),
        ),
        (
            &Messages,
            named(
                "content_block_start",
                format!(
                    r#""index":0,"content_block":{{"type":"tool_use","id":"c","name":"f","input":[{part}]}}"#
                ),
            ),
        ),
        (
            &Responses,
            named("response.completed", format!(r#""response":{answer}"#)),
        ),
    ]
}

/// Reads a request; in how many ways.
fn read_request(protocol: &dyn Protocol, body: &str) -> usize {
    let body = body.as_bytes();
    let scan = scan(body).unwrap();
    let request = Request::read(protocol.request(), body, &scan);
    let every = [ScanRole::UserTurn, ScanRole::Assistant, ScanRole::Tool];
    let _ = request.prompt(&[]);
    let _ = request.prompt_literals(&every);
    let _ = request.with_calls(CallTexts::Names).prompt(&every);
    3
}

fn read_answer(protocol: &dyn Protocol, body: &str) -> usize {
    let body = body.as_bytes();
    assert!(protocol.answer(body, CallTexts::Whole).is_some());
    assert!(protocol.checked_answer(body, CallTexts::Names).is_some());
    let _ = protocol.tool_calls(body, usize::MAX);
    let _ = (protocol.answer_literals(body), protocol.answer_end(body, 8));
    let _ = crate::sse::replay(body, true, u64::MAX, usize::MAX);
    6
}

fn read_stream(protocol: &dyn Protocol, stream: &str) -> usize {
    for wanted in [Wanted::Next, Wanted::Known] {
        let _ = protocol.read_frame(stream.as_bytes(), wanted);
    }
    for texts in [Texts::Record, Texts::Every] {
        let _ = read(protocol, texts, stream.as_bytes()).checked_text();
    }
    4
}

type Bodies = fn(&str) -> Vec<(&'static dyn Protocol, String)>;
type Reader = fn(&dyn Protocol, &str) -> usize;
type Part = fn(usize, usize) -> String;

/// Asserts how many steps readers take over bodies of so many bytes.
fn assert_few_steps(part: Part, levels: usize, bytes: usize, most: usize) {
    let kinds: [(Bodies, Reader); 3] = [
        (requests, read_request),
        (answers, read_answer),
        (events, read_stream),
    ];
    let part = part(levels, bytes / 4);
    for (bodies, reader) in kinds {
        for (protocol, body) in bodies(&part) {
            let mut ways = 0;
            let steps = steps::of(|| ways = reader(protocol, &body)) / ways / body.len();
            let begin = body.get(..200).unwrap_or(&body);
            assert!(
                steps <= most,
                "{steps} steps a byte, {levels} levels: {begin}"
            );
        }
    }
}

#[test]
fn steps_grow_with_the_bytes_and_not_with_the_levels() {
    for levels in [1, 2, 4, 8, 12, 15, 16, 20, 26, 32] {
        for part in [deep as Part, listed, spread] {
            assert_few_steps(part, levels, 16 * KIB, MOST_STEPS);
        }
        assert_few_steps(small, levels, 16 * KIB, MOST_SMALL_STEPS);
    }
    assert_few_steps(deep, 12, KIB * KIB, MOST_STEPS);
    assert_few_steps(small, 26, KIB * KIB, MOST_SMALL_STEPS);
}

#[test]
fn strings_at_any_depth_are_found_in_one_pass() {
    let (open, close) = (r#"[{"no":"#.repeat(50_000), "}]".repeat(50_000));
    let input = format!(r#"{{"a":{open}"x"{close},"no" : ["y",{{"no":"z"}}]}}"#);
    let body =
        format!(r#"{{"content":[{{"type":"tool_use","id":"c","name":"f","input":{input}}}]}}"#);
    let mut found = None;
    let steps = steps::of(|| found = Messages.answer_literals(body.as_bytes()));
    let found = found.unwrap();
    let texts: Vec<&str> = found.iter().map(|one| &body[one.span.clone()]).collect();
    assert_eq!(texts, [r#""x""#, r#""y""#, r#""z""#]);
    assert!(steps <= 10 * body.len(), "{steps} steps");
}
