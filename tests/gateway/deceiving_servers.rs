//! Model servers that want a text to pass its check: CONTRACT 13, 15, 41, 43.

use crate::hold_back::{CARD, CLOSED, ON, raw, text_of};
use crate::stream_blocks::events;
use crate::sync::{PHRASE, blocked, chat, sync};
use serde_json::json;
use support::PATIENCE;
use support::backend::Backend;
use support::request::{HELLO, HELLO_STREAM};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Upstream, delta, json as answer_of, sse};

const CHECKED: &str = ", replace_response: true";
const UNREADABLE: &str = r#"monitor_unchecked_total{reason="unreadable"}"#;

/// A text as the JSON of arguments may hide it.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|letter| format!("\\u{:04x}", u32::from(letter)))
        .collect()
}

/// A completion with a call of a tool, once as a function and once as a custom tool.
fn calls(arguments: &str) -> [serde_json::Value; 3] {
    let function = json!([{"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}]);
    let custom = json!([{"index": 0, "id": "1", "type": "custom", "custom": {"name": "f", "input": arguments}}]);
    [
        json!({"content": "ok", "tool_calls": function}),
        json!({"content": null, "tool_calls": custom}),
        json!({"content": null, "function_call": {"name": "f", "arguments": arguments}}),
    ]
}

fn completion(message: serde_json::Value) -> String {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).to_string()
}

fn event(delta: serde_json::Value) -> String {
    let chunk = json!({"choices": [{"index": 0, "delta": delta}]});
    format!("data: {chunk}\n\n")
}

#[test]
fn contract_41_escapes_in_arguments_hide_nothing_in_a_held_stream() {
    let arguments = format!("{{\"say\":\"a\\\"b\",\"number\":\"{}\"}}", escaped(CARD));
    // In one event, and cut behind every few letters, in the middle of escapes too.
    for length in [arguments.len(), 7, 1] {
        let letters: Vec<char> = arguments.chars().collect();
        let pieces: Vec<String> = letters.chunks(length).map(String::from_iter).collect();
        for form in 0..3 {
            let mut frames: Vec<String> = pieces
                .iter()
                .map(|piece| event(calls(piece)[form].clone()).replace("\"content\":\"ok\",", ""))
                .collect();
            frames.push(DONE.to_owned());
            let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
            let stack = sync(&upstream, CLOSED).monitor(&backend).start();
            let answer = stack.call(&chat(HELLO_STREAM));
            assert!(text_of(&answer).ends_with(PHRASE), "{form} by {length}");
            // Not a whole number of it, in any form.
            let last = escaped("7773").replace('\\', "\\\\");
            assert!(!answer.text().contains(&last), "{}", answer.text());
            assert!(answer.text().ends_with(DONE));
        }
    }
}

#[test]
fn arguments_with_escapes_that_hide_nothing_pass_unchanged() {
    let arguments = "{\"path\":\"C:\\\\new\",\"say\":\"\\u043f\\ud83d\\ude00\\n\"}";
    for length in [1, 5, 100] {
        let letters: Vec<char> = arguments.chars().collect();
        let pieces = letters.chunks(length).map(String::from_iter);
        let mut frames: Vec<String> = pieces
            .map(|piece: String| event(calls(&piece)[0].clone()))
            .collect();
        frames.push(DONE.to_owned());
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        assert_eq!(stack.call(&chat(HELLO_STREAM)).text(), frames.concat());
        assert_eq!(stack.metric(UNREADABLE), 0.0);
    }
}

#[test]
fn contract_41_escapes_in_arguments_hide_nothing_in_a_whole_answer() {
    let arguments = format!("{{\"number\":\"{}\"}}", escaped(CARD));
    for message in calls(&arguments) {
        let (upstream, backend) = (Upstream::json(200, &completion(message)), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(text_of(&answer), PHRASE);
    }
}

/// The halves of a card with so many characters between them that no reader shows, in pieces.
fn torn_card(unseen: &str, bytes: usize) -> Vec<String> {
    let (first, second) = CARD.split_at(10);
    let piece = unseen.repeat(2_000);
    let count = bytes / piece.len();
    let mut frames = vec![delta(0, &format!("card {first}"))];
    frames.extend(vec![delta(0, &piece); count]);
    frames.extend([delta(0, &format!("{second}.")), DONE.to_owned()]);
    frames
}

#[test]
fn contract_41_no_number_of_unseen_characters_hides_a_card_in_a_held_stream() {
    for unseen in ["\u{200b}", "\u{ad}\u{feff}", "\u{e0041}", "\u{200d}\u{301}"] {
        for bytes in [30_000, 300_000] {
            let frames = torn_card(unseen, bytes);
            let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
            let stack = sync(&upstream, CLOSED).monitor(&backend).start();
            let answer = stack.call(&chat(HELLO_STREAM));
            assert!(text_of(&answer).ends_with(PHRASE), "{unseen:?} {bytes}");
            assert!(!answer.text().contains("7773"), "{unseen:?} {bytes}");
            assert!(!answer.text().contains("1244"), "{unseen:?} {bytes}");
            assert_eq!(stack.metric(UNREADABLE), 0.0);
        }
    }
}

#[test]
fn contract_41_more_unseen_characters_than_are_held_back_give_no_verdict() {
    let frames = torn_card("\u{200b}", 5 << 20);
    for (fields, passes) in [(CLOSED, false), (ON, true)] {
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(answer.text().contains("7773"), passes);
        assert_eq!(stack.metric(UNREADABLE), 1.0);
    }
}

#[test]
fn contract_41_unseen_characters_that_hide_nothing_pass_unchanged() {
    let mut frames = torn_card("\u{200b}", 200_000);
    frames[0] = delta(0, "woman\u{200d}technologist ");
    let last = frames.len() - 2;
    frames[last] = delta(0, "and that is all.");
    let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    assert_eq!(stack.call(&chat(HELLO_STREAM)).text(), frames.concat());
    assert_eq!(stack.metric(UNREADABLE), 0.0);
}

#[test]
fn contract_15_escapes_in_arguments_hide_nothing() {
    let arguments = format!("{{\"{}\":\"forb{}\"}}", escaped("say"), escaped("idden"));
    let broken = format!("{{\"forb{}", escaped("idden"));
    for arguments in [&arguments, &broken] {
        for message in calls(arguments) {
            let stream = sse(&[&event(message.clone()), DONE]);
            let whole = answer_of(200, &completion(message.clone()));
            for sent in [stream, whole] {
                for fields in [
                    CHECKED.to_owned(),
                    format!("{CHECKED}, stream_in_sync: replay"),
                ] {
                    let (upstream, backend) =
                        (Upstream::raw(sent.clone()), Backend::flagging("forbidden"));
                    let stack = sync(&upstream, &fields).monitor(&backend).start();
                    let answer = stack.call(&chat(HELLO));
                    assert!(answer.text().contains("monitor-guardrails-"), "{message}");
                    blocked(&answer);
                }
            }
        }
    }
}

#[test]
fn contract_4_arguments_are_recorded_as_they_read() {
    let arguments = format!("{{\"имя\":\"{}\"}}", escaped("Иван"));
    let [message, ..] = calls(&arguments);
    let mut message = message;
    message["content"] = "".into();
    let stream = sse(&[&event(message.clone()), DONE]);
    for sent in [stream, answer_of(200, &completion(message))] {
        let (upstream, backend) = (Upstream::raw(sent), Backend::start());
        let stack = sync(&upstream, "").monitor(&backend).start();
        assert_eq!(stack.call(&chat(HELLO)).status(), 200);
        let (_, post) = backend.await_exchange();
        assert_eq!(post.message(), "f\n{\"имя\":\"Иван\"}");
    }
}

/// Lines in which some clients find an event that others do not.
fn doubtful_lines() -> Vec<String> {
    let hidden = event(json!({"content": format!("card {CARD}")}));
    let hidden = hidden.trim_end();
    let bare = hidden.trim_start_matches("data: ");
    vec![
        format!(" {hidden}"),
        format!("\t{hidden}"),
        format!("\u{feff}{hidden}"),
        format!(": x\u{2028}{hidden}"),
        format!("event: x\u{85}{hidden}"),
        format!("id: 1\u{b}{hidden}"),
        format!(": x\u{c}{bare}"),
        format!(": x {hidden}"),
        hidden.replacen("data", "Data", 1),
        hidden.replacen("data", "data ", 1),
        bare.to_owned(),
        // Two lines of data, of which one is an event by itself.
        format!("data: {{\"id\":\n{hidden}\ndata: }}"),
    ]
}

#[test]
fn contract_41_a_line_that_only_some_clients_take_for_data_does_not_pass_unchecked() {
    for line in doubtful_lines() {
        let frames = [
            delta(0, "one "),
            format!("{line}\n\n"),
            delta(0, "two"),
            DONE.to_owned(),
        ];
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        let text = answer.text();
        assert!(text.starts_with(&frames[0]), "{line:?}: {text}");
        assert!(!text.contains("7773") && !text.contains("two"), "{line:?}");
        assert_eq!(stack.metric(UNREADABLE), 1.0);
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("error")["closed_by"], "gateway");
        // With `open`, it passes counted and marked.
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        assert_eq!(stack.call(&chat(HELLO_STREAM)).text(), frames.concat());
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("unchecked"), true);
    }
}

#[test]
fn contract_15_a_line_that_only_some_clients_take_for_data_is_no_verdict() {
    let closed = format!("{CHECKED}, on_backend_failure: closed");
    for line in doubtful_lines() {
        let sent = sse(&[&delta(0, "one "), &format!("{line}\n\n"), DONE]);
        let (upstream, backend) = (Upstream::raw(sent), Backend::start());
        let stack = sync(&upstream, &closed).monitor(&backend).start();
        assert_eq!(stack.call(&chat(HELLO)).status(), 502, "{line:?}");
        assert_eq!(stack.metric(UNREADABLE), 1.0, "{line:?}");
    }
}

#[test]
fn contract_15_events_of_different_names_are_no_verdict() {
    // A client that handles the events of one name joins the two halves.
    let closed = format!("{CHECKED}, on_backend_failure: closed");
    let ping = format!("event: ping\n{}", delta(0, "zzz"));
    let halves = [delta(0, "card 2200 1244"), delta(0, " 6450 7773")];
    let ended = [halves.concat(), DONE.to_owned(), delta(0, "23")];
    for frames in [
        [halves[0].clone(), ping, halves[1].clone(), DONE.to_owned()].to_vec(),
        ended.to_vec(),
    ] {
        let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
        let (upstream, backend) = (Upstream::raw(sse(&frames)), Backend::start());
        let stack = sync(&upstream, &closed).monitor(&backend).start();
        assert_eq!(stack.call(&chat(HELLO)).status(), 502, "{frames:?}");
        assert_eq!(stack.metric(UNREADABLE), 1.0, "{frames:?}");
    }
}

#[test]
fn contract_41_texts_outside_the_choices_are_held_back() {
    let text = |text: &str| format!("data: {}\n\n", json!({"choices": [], "x": {"y": text}}));
    let frames = [text("card 2200 1244 "), text("6450 7773"), DONE.to_owned()];
    let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!(text_of(&answer), PHRASE);
    assert!(!answer.text().contains("7773"));
}

#[test]
fn contract_43_choices_that_a_client_of_events_would_join_are_not_replayed() {
    let choice = |index: &str, text: &str| {
        format!(r#"{{"index":{index},"message":{{"content":"{text}"}},"finish_reason":"stop"}}"#)
    };
    let body = |first: &str, second: &str| {
        let choices = [choice(first, "2200 1244 "), choice(second, "6450 7773")];
        format!(r#"{{"choices":[{}]}}"#, choices.join(","))
    };
    let two = HELLO_STREAM.replacen('{', r#"{"n":2,"#, 1);
    for (request, sent, is_replayed) in [
        (two.as_str(), body("0", "1"), true),
        (HELLO_STREAM, body("0", "1"), false),
        (&two, body("0", "0"), false),
        (&two, body("1", "1e0"), false),
        (&two, body("1.0", "1"), false),
    ] {
        let (upstream, backend) = (Upstream::json(200, &sent), Backend::start());
        let fields = ", stream_in_sync: replay, replace_response: true";
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let answer = stack.call(&chat(request));
        match is_replayed {
            true => assert!(events(&answer).len() > 2),
            false => assert_eq!(answer.text(), sent),
        }
        let series = r#"monitor_unreplayed_answers_total{reason="unreadable"}"#;
        assert_eq!(stack.metric(series), f64::from(u8::from(!is_replayed)));
    }
}

#[test]
fn contract_41_one_choice_is_one_text_however_its_index_is_written() {
    let piece = |index: &str, text: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        )
    };
    for (fields, first, second) in [
        (ON, piece("1", "card 2200 1244 "), piece("1e0", "6450 7773")),
        (ON, piece("1.0", "card 2200 1244 "), piece("1", "6450 7773")),
    ] {
        let frames = [first, second, DONE.to_owned()];
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert!(
            answer.text().contains("content_filter"),
            "{}",
            answer.text()
        );
        assert!(!answer.text().contains("7773"));
    }
}

#[test]
fn contract_7_a_head_of_an_answer_over_64_kib_is_refused_also_before_its_end() {
    let head = |bytes: usize, end: &str| {
        let long = "a".repeat(bytes);
        let length = ANSWER.len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nX-Long: {long}{end}")
    };
    for (bytes, end, status) in [
        (60_000, "\r\n\r\n", 200),
        (70_000, "\r\n\r\n", 502),
        (200_000, "", 502),
    ] {
        let sent = format!("{}{ANSWER}", head(bytes, end));
        // Where the head has no end, nothing more comes.
        let upstream = Upstream::scripted(move |peer| {
            if peer.read_request().is_some() {
                peer.send(&sent);
                peer.closed_within(PATIENCE);
            }
        });
        let stack = Stack::gateway().upstream(&upstream).start();
        assert_eq!(stack.call(&chat(HELLO)).status(), status, "{bytes}");
    }
}
