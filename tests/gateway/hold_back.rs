//! Sync mode that keeps streaming: `stream_in_sync: hold_back`, CONTRACT 41 with 12, 13, 15, 18 to 21.

use crate::sync::{PHRASE, chat, sync};
use serde_json::Value;
use std::time::Duration;
use support::backend::Backend;
use support::http::{Conn, Response};
use support::request::{HELLO, HELLO_STREAM, chunk};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Feed, SSE_HEAD, Upstream, delta, sse};
use support::{contains, find};

pub(crate) const ON: &str = ", stream_in_sync: hold_back";
pub(crate) const CLOSED: &str = ", stream_in_sync: hold_back, on_backend_failure: closed";
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// A card number behind its label, in a long sentence with words that are nearly finds.
const SAID: &str = "Пишите 😀 на адрес ivan@ или зайдите: в 2024 году было 1 000 000 обращений, \
                    версия 1.2.3.4, заказ 4276549360344563. Ваша карта 2200 1244 6450 7773, и ещё слова.";
pub(crate) const CARD: &str = "2200 1244 6450 7773";

/// What the client's own library would put together of a stream.
pub(crate) fn text_of(answer: &Response) -> String {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(answer.complete, "{}", answer.text());
    let whole = answer.text();
    let events = whole
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "));
    let events = events.filter(|data| *data != "[DONE]");
    let text = |event: &str| {
        let event: Value = serde_json::from_str(event).unwrap_or_else(|_| panic!("{whole}"));
        let text = event["choices"][0]["delta"]["content"].as_str();
        text.unwrap_or_default().to_owned()
    };
    events.map(text).collect()
}

fn events(text: &str, length: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(length).map(String::from_iter);
    let frames = pieces.map(|piece| delta(0, &piece));
    frames.chain([DONE.to_owned()]).collect()
}

pub(crate) fn raw(frames: &[String]) -> Vec<u8> {
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    sse(&frames)
}

/// An upstream that sends what `body` makes of the number in the request's `metadata.n`.
fn numbered(body: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> Upstream {
    Upstream::answering(move |request| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        body(asked["metadata"]["n"].as_u64().unwrap().try_into().unwrap())
    })
}

fn ask(stack: &Stack, n: usize) -> Response {
    let metadata = format!(r#","metadata":{{"n":{n}}},"stream""#);
    stack.call(&chat(HELLO_STREAM.replace(r#","stream""#, &metadata)))
}

/// A held stream whose head is with the client.
pub(crate) fn held(fields: &str, yaml: &str) -> (Stack, Feed, Conn, Upstream, Backend) {
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = sync(&upstream, fields).yaml(yaml).monitor(&backend).start();
    let mut conn = chat(HELLO_STREAM).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    assert_eq!(conn.final_head().status(), 200);
    (stack, feed, conn, upstream, backend)
}

#[test]
fn a_request_for_a_stream_gets_one_after_its_verdict_with_its_body_untouched() {
    // CONTRACT 41, 12, 2.
    let frames = events("Hello, my friend", 4);
    let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let request = chat(HELLO_STREAM).header("Accept-Encoding", "gzip, br");
    let answer = stack.call(&request);
    assert_eq!(answer.text(), frames.concat());
    assert_eq!(
        answer.head.header("content-type"),
        Some("text/event-stream")
    );
    let sent = upstream.last();
    assert_eq!(sent.body, HELLO_STREAM.as_bytes());
    assert_eq!(sent.head.values("accept-encoding"), ["identity"]);
    let (pre, post) = backend.await_exchange();
    assert_eq!(
        (pre.message(), post.message()),
        ("hello", "Hello, my friend")
    );
    assert!(post.parameter("response_replaced").is_null());
    assert!(post.parameter("unchecked").is_null());
}

#[test]
fn a_request_for_no_stream_is_plain_sync_mode() {
    // CONTRACT 41: only a stream is held back.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let request = chat(HELLO).header("Accept-Encoding", "gzip");
    assert_eq!(stack.call(&request).text(), ANSWER);
    assert_eq!(upstream.last().head.values("accept-encoding"), ["gzip"]);
}

#[test]
fn an_answer_that_is_no_stream_passes_to_the_byte_where_nothing_is_found() {
    // CONTRACT 41.
    for (status, body) in [(200, ANSWER), (200, ""), (429, ANSWER)] {
        let (upstream, backend) = (Upstream::json(status, body), Backend::start());
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        let got = stack.call(&chat(HELLO_STREAM));
        assert_eq!(got.status(), status);
        assert!(status != 200 || got.text() == body);
    }
}

#[test]
fn a_clean_stream_is_the_same_to_the_byte_whatever_its_events() {
    // CONTRACT 41, 18.
    let clean = SAID.replace(CARD, "пуста");
    let streams: Vec<String> = (1..40).map(|n| events(&clean, n).concat()).collect();
    let expected = streams.clone();
    let upstream = numbered(move |n| sse(&[&streams[n]]));
    let backend = Backend::start();
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    for (n, expected) in expected.iter().enumerate() {
        let answer = ask(&stack, n);
        assert_eq!(answer.text(), *expected, "{n}");
        assert_eq!(text_of(&answer), clean);
    }
}

#[test]
fn whatever_the_events_the_client_sees_the_same_text_up_to_the_find() {
    // CONTRACT 41.
    let upstream = numbered(|n| raw(&events(SAID, n + 1)));
    let backend = Backend::start();
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    let before = &SAID[..SAID.find(CARD).unwrap()];
    for n in 0..60 {
        assert_eq!(text_of(&ask(&stack, n)), format!("{before}{PHRASE}"), "{n}");
    }
}

#[test]
fn whatever_the_cut_of_the_bytes_the_client_sees_the_same_text_up_to_the_find() {
    // CONTRACT 41: every split point of the stream.
    let stream = events("Карта 2200 1244 6450 7773, ясно?", 6).concat();
    let length = stream.len();
    let upstream = Upstream::scripted(move |peer| {
        while let Some(request) = peer.read_request() {
            let asked: Value = serde_json::from_slice(&request.body).unwrap();
            let split = usize::try_from(asked["metadata"]["n"].as_u64().unwrap()).unwrap();
            let (first, second) = stream.as_bytes().split_at(split);
            peer.send([SSE_HEAD.as_bytes(), &chunk(first)].concat());
            peer.send([chunk(second).as_slice(), b"0\r\n\r\n"].concat());
        }
    });
    let backend = Backend::start();
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    for split in 1..length {
        assert_eq!(
            text_of(&ask(&stack, split)),
            format!("Карта {PHRASE}"),
            "{split}"
        );
    }
}

#[test]
fn a_find_ends_the_stream_lets_the_upstream_go_and_is_recorded_and_counted() {
    // CONTRACT 41, 15: the record has what the client got.
    let (stack, feed, mut conn, _upstream, backend) = held(ON, "");
    feed.chunk(delta(0, "Ваша карта 2200 1244 6450 7773\n"));
    let seen = String::from_utf8(conn.read_until(b"[DONE]\n\n")).unwrap();
    assert_eq!(conn.rest(), (Vec::new(), true));
    assert!(feed.closed_within(SOON).is_some(), "the upstream is let go");
    let last = seen.trim_end_matches(DONE).rsplit("data: ").next().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "content_filter");
    assert_eq!(
        (&last["id"], &last["model"]),
        (&"c-1".into(), &"test-model".into())
    );
    assert!(!seen.contains("2200"), "{seen}");
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), format!("Ваша карта {PHRASE}"));
    assert_eq!(post.parameter("response_replaced"), true);
    let replacement = serde_json::json!({"stage": "post_call", "type": "dataclean"});
    assert_eq!(*post.parameter("response_replacement"), replacement);
    assert!(post.parameter("error").is_null() && post.parameter("incomplete").is_null());
    let series = r#"monitor_verdicts_total{stage="post_call",type="dataclean"}"#;
    assert_eq!(stack.metric(series), 1.0);
    let stderr = stack.stderr();
    assert!(
        stderr.contains("outcome=blocked") && !stderr.contains("2200"),
        "{stderr}"
    );
}

#[test]
fn text_that_cannot_be_part_of_a_find_is_not_delayed() {
    // CONTRACT 41. The upstream sends the next frame only when the client has the one before.
    let (_stack, feed, mut conn, _upstream, _backend) = held(ON, "");
    for text in [
        "Hello, ",
        "world. ",
        "In 2024, we ",
        "😀",
        "\n",
        "см. (п. 5), ",
    ] {
        let frame = delta(0, text);
        feed.chunk(&frame);
        assert_eq!(conn.read_until(b"\n\n"), frame.as_bytes());
    }
    let (waits, ends) = (delta(0, "write to ivan"), delta(0, ", please "));
    feed.chunk(&waits);
    feed.settled();
    feed.chunk(&ends);
    assert_eq!(
        conn.read_until(b"please \"},"),
        (waits + &ends)
            .split_inclusive("please \"},")
            .next()
            .unwrap()
            .as_bytes()
    );
}

#[test]
fn the_patterns_of_the_policy_are_those_that_count() {
    // CONTRACT 41.
    let frames = events("Почта ivan@example.ru и адрес 10.0.0.1, конец", 5);
    for (patterns, expected) in [
        ("[IP]", "Почта ivan@example.ru и адрес "),
        ("[IP, EMAILS]", "Почта "),
    ] {
        let upstream = Upstream::raw(raw(&frames));
        let fields = format!("{ON}, local_patterns: {patterns}");
        let backend = Backend::start();
        let stack = sync(&upstream, &fields).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(text_of(&answer), format!("{expected}{PHRASE}"));
    }
}

#[test]
fn the_arguments_of_a_tool_and_every_choice_are_judged() {
    // CONTRACT 41.
    let tool = |arguments: &str| {
        let delta =
            serde_json::json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]});
        let event = serde_json::json!({"choices": [{"index": 0, "delta": delta}]});
        format!("data: {event}\n\n")
    };
    for frames in [
        [
            tool("{\"to\":\"ivan@exa"),
            tool("mple.ru\"}"),
            DONE.to_owned(),
        ],
        [delta(1, "ivan@exa"), delta(1, "mple.ru "), DONE.to_owned()],
    ] {
        let upstream = Upstream::raw(raw(&frames));
        let backend = Backend::start();
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let two_choices = HELLO_STREAM.replacen('{', r#"{"n":2,"#, 1);
        let body = stack.call(&chat(&two_choices)).body;
        assert!(!contains(&body, b"ivan") && contains(&body, b"content_filter"));
        assert!(find(&body, DONE.as_bytes()).is_some_and(|at| at + DONE.len() == body.len()));
    }
}

#[test]
fn more_choices_than_were_asked_for_are_no_verdict() {
    // CONTRACT 13, 41: a client that asked for one joins the texts of all.
    let frames = [delta(0, "ivan@exa"), delta(1, "mple.ru "), DONE.to_owned()];
    let upstream = Upstream::raw(raw(&frames));
    let backend = Backend::start();
    let closed = format!("{ON}, on_backend_failure: closed");
    let stack = sync(&upstream, &closed).monitor(&backend).start();
    for n in ["", r#""n":1,"#, r#""n":null,"#, r#""n":"2","#] {
        let request = HELLO_STREAM.replacen('{', &format!("{{{n}"), 1);
        let body = stack.call(&chat(&request)).body;
        assert!(!contains(&body, b"mple.ru"), "{n}");
        assert!(contains(&body, b"on_backend_failure"), "{n}");
    }
    // What can be checked of them is, where the policy lets them pass.
    let frames = [delta(1, "ivan@example.ru "), DONE.to_owned()];
    let upstream = Upstream::raw(raw(&frames));
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let body = stack.call(&chat(HELLO_STREAM)).body;
    assert!(!contains(&body, b"ivan") && contains(&body, b"content_filter"));
}

#[test]
fn in_one_process_with_the_backend_it_is_the_same() {
    // CONTRACT 32, 41.
    let upstream = Upstream::raw(raw(&events(SAID, 7)));
    let phrase = serde_json::json!(PHRASE);
    let application = crate::sync::SYNC;
    let yaml =
        format!("applications:\n- {{id: {application}, app_mode: sync, phrase: {phrase}{ON}}}");
    let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
    let before = &SAID[..SAID.find(CARD).unwrap()];
    assert_eq!(
        text_of(&stack.call(&chat(HELLO_STREAM))),
        format!("{before}{PHRASE}")
    );
}
