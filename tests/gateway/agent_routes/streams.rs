//! Streams that are checked on their way (`stream_in_sync: hold_back`), and redacted calls (`redact_upstream`),
//! CONTRACT 41.

use super::blocked::assert_phrase_streamed;
use super::{Api, Program, frame, streaming};
use crate::sync::{PHRASE, SYNC, sync};
use serde_json::{Value, json};
use support::backend::Backend;
use support::http::Response;
use support::stack::Stack;
use support::upstream::{SSE_HEAD, Upstream};

const ON: &str = ", stream_in_sync: hold_back, on_backend_failure: closed";
pub(super) const CARD: &str = "2200 1244 6450 7773";

contract! {
    a_stream_without_findings_passes_to_the_byte;
    a_finding_in_the_text_ends_the_stream_with_the_phrase_and_no_tool_runs;
    a_finding_in_a_call_of_a_tool_keeps_the_tool_from_running only [chat, responses, messages]
        because "completions call no tools";
    a_whole_answer_is_checked_too only [completions, responses, messages]
        because "only a stream of chat completions is held back (CONTRACT 41): hold_back.rs";
    an_answer_that_is_no_stream_though_one_was_asked_for_is_checked;
    a_finding_before_any_event_is_answered_like_a_block;
    silence_over_text_that_waits_shows_life;
    words_of_two_blocks_are_checked_as_one_text only [responses, messages]
        because "the texts of the other APIs have no parts";
    what_cannot_be_read_is_no_silent_pass;
    a_redacted_prompt_gets_its_values_back_in_every_form_of_the_answer;
}

/// What a program gets of a stream that is held back.
pub(super) fn held(api: Api, stream: &[String]) -> (Response, Backend) {
    let (upstream, backend) = (streaming(stream), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let answer = stack.call(&api.checked("hello", true));
    backend.await_exchange();
    (answer, backend)
}

fn a_stream_without_findings_passes_to_the_byte(api: Api) {
    let stream = api.stream(
        "Version 1.2.3.4, nothing else to see here.",
        "ls -la \\ \"x\"",
    );
    let (answer, backend) = held(api, &stream);
    assert_eq!(answer.text(), stream.concat());
    let (_, post) = backend.await_exchange();
    assert!(post.parameter("unchecked").is_null());
}

fn a_finding_in_the_text_ends_the_stream_with_the_phrase_and_no_tool_runs(api: Api) {
    let text = format!("Hello, your card is {CARD}, take care.");
    let (answer, backend) = held(api, &api.stream(&text, "ls"));
    let events = api.events(&answer);
    let expected = Program {
        text: format!("Hello, your card is {PHRASE}"),
        runs: Vec::new(),
        is_complete: true,
    };
    assert_eq!(Program::of(&events), expected, "{}", answer.text());
    assert!(!answer.text().contains("2200"), "{}", answer.text());
    if !api.names_events() {
        let last = &events[events.len() - 2]["choices"][0]["finish_reason"];
        assert_eq!(*last, "content_filter");
    }
    let (_, post) = backend.await_exchange();
    assert_eq!(post.parameter("response_replaced"), true);
}

/// A program runs a tool as soon as its item or block has ended, whatever the answer ends with.
fn a_finding_in_a_call_of_a_tool_keeps_the_tool_from_running(api: Api) {
    let (answer, _backend) = held(api, &api.stream("Fine.", &format!("pay with card {CARD}")));
    let events = api.events(&answer);
    let program = Program::of(&events);
    assert!(program.is_complete, "{}", answer.text());
    assert_eq!(program.runs, [""; 0], "{}", answer.text());
    // A text of chat completions has no end of its own, so words may wait behind which an address could go on.
    let said = program.text.strip_suffix(PHRASE).unwrap();
    let is_all = said == "Fine." || (!api.names_events() && "Fine.".starts_with(said));
    assert!(is_all, "{}", answer.text());
    assert!(!answer.text().contains("2200"), "{}", answer.text());
    let begun = ["tool_use", "tool_calls", "\"function_call\""];
    let has_begun = begun.map(|mark| answer.text().contains(mark));
    let why = "a call that has begun cannot be taken back";
    assert_eq!(has_begun, [false; 3], "{why}");
    if api == Api::Responses {
        let output = events.last().unwrap()["response"]["output"].clone();
        let items = output.as_array().unwrap().iter();
        let kinds: Vec<&Value> = items.map(|item| &item["type"]).collect();
        assert_eq!(kinds, ["reasoning", "message", "message"]);
    }
}

/// CONTRACT 41, 46: a program asks for the whole answer where a stream broke.
fn a_whole_answer_is_checked_too(api: Api) {
    let cases = [(CARD, "ls"), ("Fine.", CARD)];
    let cases = cases.into_iter().take(1 + usize::from(api.has_tools()));
    for (text, command) in cases {
        let (upstream, backend) = (
            Upstream::json(200, &api.answer(text, command)),
            Backend::start(),
        );
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&api.checked("hello", false));
        assert!(!answer.text().contains("2200"), "{}", answer.text());
        assert_eq!(api.shown(&answer), PHRASE);
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("response_replaced"), true);
    }
    let fine = api.answer("Version 1.2.3.4.", "ls");
    let (upstream, backend) = (Upstream::json(200, &fine), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let answer = stack.call(&api.checked("hello", false));
    assert_eq!(answer.text(), fine);
}

/// CONTRACT 41, 43.
fn an_answer_that_is_no_stream_though_one_was_asked_for_is_checked(api: Api) {
    let (upstream, backend) = (
        Upstream::json(200, &api.answer(CARD, "ls")),
        Backend::start(),
    );
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let answer = stack.call(&api.checked("hello", true));
    assert_phrase_streamed(api, &answer);
}

/// The whole text in the first event that has any.
fn a_finding_before_any_event_is_answered_like_a_block(api: Api) {
    let (answer, _backend) = held(api, &api.stream(CARD, "ls"));
    let program = Program::of(&api.events(&answer));
    assert_eq!(
        (program.text.as_str(), program.is_complete),
        (PHRASE, true),
        "{}",
        answer.text()
    );
}

/// §6.2, CONTRACT 18: what waits is behind a border of the client's.
fn silence_over_text_that_waits_shows_life(api: Api) {
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = sync(&upstream, ON)
        .yaml("stream: {heartbeat: 100ms}")
        .monitor(&backend)
        .start();
    // A telephone number may go on behind the last digit.
    let frames = api.stream("call 8 916", "ls");
    let last = frames.iter().position(|frame| frame.contains("\"6\""));
    let (begun, rest) = frames.split_at(last.unwrap() + 1);
    let mut conn = api.checked("hello", true).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    feed.chunk(begun.concat());
    let beat = api.heartbeat();
    let mut got = conn.read_head_once_and_until(beat.as_bytes());
    feed.chunk(rest.concat());
    feed.end();
    got.extend(conn.rest().0);
    // One before the first event is a comment.
    let without_beats = |text: &str| text.replace(beat, "").replace(": keepalive\n\n", "");
    let got = String::from_utf8(got).unwrap();
    assert_eq!(without_beats(&got), without_beats(&frames.concat()));
}

/// A stream whose words come in two blocks or items, or behind the end of the first one.
fn in_two(api: Api, words: [&str; 2], second: u64) -> Vec<String> {
    let begin = |index: u64| match api {
        Api::Messages => json!({"type": "content_block_start", "index": index,
            "content_block": {"type": "text", "text": ""}}),
        _ => json!({"type": "response.output_item.added", "output_index": index,
            "item": {"type": "message", "id": format!("msg_{index}"), "content": []}}),
    };
    let say = |index: u64, text: &str| match api {
        Api::Messages => json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "text_delta", "text": text}}),
        _ => json!({"type": "response.output_text.delta", "output_index": index,
            "content_index": 0, "item_id": format!("msg_{index}"), "delta": text}),
    };
    let end = |index: u64, text: &str| match api {
        Api::Messages => json!({"type": "content_block_stop", "index": index}),
        _ => json!({"type": "response.output_item.done", "output_index": index,
            "item": {"type": "message", "id": format!("msg_{index}"),
                "content": [{"type": "output_text", "text": text}]}}),
    };
    let last = match api {
        Api::Messages => json!({"type": "message_stop"}),
        _ => json!({"type": "response.completed", "response": {"output": []}}),
    };
    let first = match api {
        Api::Messages => json!({"type": "message_start", "message": {"id": "m", "content": []}}),
        _ => json!({"type": "response.created", "response": {"id": "r", "output": []}}),
    };
    let mut events = vec![first, begin(0), say(0, words[0]), end(0, words[0])];
    if second > 0 {
        events.push(begin(second));
    }
    events.push(say(second, words[1]));
    if second > 0 {
        events.push(end(second, words[1]));
    }
    events.push(last);
    events.iter().map(frame).collect()
}

/// CONTRACT 41: clients show the words of all blocks as one text, and some show those behind a block's end.
fn words_of_two_blocks_are_checked_as_one_text(api: Api) {
    for second in [0, 1, 7] {
        let stream = in_two(api, ["Your card 2200 1244", " 6450 7773."], second);
        let (answer, backend) = held(api, &stream);
        let got = answer.text();
        assert!(
            !got.contains("2200") && !got.contains("6450"),
            "{second}: {got}"
        );
        let program = Program::of(&api.events(&answer));
        assert!(program.is_complete, "{second}: {got}");
        assert_eq!(program.text, format!("Your card {PHRASE}"), "{second}");
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("response_replaced"), true);
        let stream = in_two(api, ["Your card 2200 1244", " is short."], second);
        let (answer, _backend) = held(api, &stream);
        assert_eq!(answer.text(), stream.concat(), "{second}");
    }
}

/// CONTRACT 13.
fn what_cannot_be_read_is_no_silent_pass(api: Api) {
    let mut stream = api.stream("Hello", "ls");
    let odd = "event: x\ndata: not json\n\n";
    stream.insert(3, odd.into());
    let (answer, backend) = held(api, &stream);
    let text = answer.text();
    assert!(!text.contains(odd), "{text}");
    assert!(text.contains("\"error\":{"), "{text}");
    let (_, post) = backend.await_exchange();
    assert!(!post.parameter("error").is_null());
}

#[test]
fn what_some_client_reads_otherwise_is_no_silent_pass() {
    // CONTRACT 13: names of events, arguments as an object, parts of other kinds, an answer that begins with text.
    let message = |event: Value| vec![frame(&event)];
    let begun = |block: Value| {
        message(json!({"type": "content_block_start", "index": 0, "content_block": block}))
    };
    let input = json!({"url": format!("your card {CARD}")});
    let call = json!({"type": "tool_use", "id": "t", "name": "fetch", "input": input});
    let item = json!({"type": "message", "role": "assistant", "content": CARD});
    let created = json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": CARD}]}]});
    for (api, frames) in [
        (
            Api::Messages,
            vec!["data: {\"type\":\"ping\"}\n\n".to_owned()],
        ),
        (
            Api::Messages,
            vec!["event: ping\ndata: {\"type\":\"message_stop\"}\n\n".to_owned()],
        ),
        (
            Api::Messages,
            [
                begun(call),
                message(json!({"type": "content_block_stop", "index": 0})),
            ]
            .concat(),
        ),
        (
            Api::Messages,
            begun(json!({"type": "tool_use", "id": "t", "name": "fetch", "input": {}})),
        ),
        (
            Api::Responses,
            message(json!({"type": "response.output_item.done", "output_index": 0, "item": item})),
        ),
        (
            Api::Responses,
            message(json!({"type": "response.created", "response": created})),
        ),
    ] {
        let (answer, backend) = held(api, &frames);
        let (_, post) = backend.await_exchange();
        let is_ended = !post.parameter("error").is_null();
        let is_replaced = post.parameter("response_replaced") == true;
        assert!(is_ended || is_replaced, "{frames:?}: {}", answer.text());
        assert!(
            !answer.text().contains(CARD),
            "{frames:?}: {}",
            answer.text()
        );
    }
}

fn a_redacted_prompt_gets_its_values_back_in_every_form_of_the_answer(api: Api) {
    let answer = api.answer("To [EMAILS_1], not [EMAILS_2].", "mail [EMAILS_1]");
    let stream = api.stream("To [EMAILS_1], not [EMAILS_2].", "mail [EMAILS_1]");
    let yaml = format!("applications:\n- {{id: {SYNC}, app_mode: async, redact_upstream: true}}");
    let (whole, streamed) = (Upstream::json(200, &answer), streaming(&stream));
    let call = |upstream: &Upstream, streams: bool| {
        let backend = Backend::start();
        let stack = Stack::gateway()
            .upstream(upstream)
            .monitor(&backend)
            .yaml(&yaml)
            .start();
        let got = stack.call(&api.checked("Write to anna@example.com.", streams));
        let sent = api.body("Write to [EMAILS_1].", streams);
        assert_eq!(upstream.last().body, sent.as_bytes());
        got
    };
    let expected = answer.replace("[EMAILS_1]", "anna@example.com");
    assert_eq!(call(&whole, false).text(), expected);
    let got = call(&streamed, true);
    let program = Program::of(&api.events(&got));
    let runs = match api.has_tools() {
        true => vec![r#"{"command":"mail anna@example.com"}"#.to_owned()],
        false => Vec::new(),
    };
    assert_eq!(program.text, "To anna@example.com, not [EMAILS_2].");
    assert_eq!(program.runs, runs);
    assert!(!got.text().contains("[EMAILS_1]"), "{}", got.text());
}
