//! What of a stream is text for `hold_back`, whatever it is called, and of an answer that is no stream: CONTRACT 41,
//! 42, 43.

use crate::hold_back::{CARD, CLOSED, ON, held, raw, text_of};
use crate::sync::{PHRASE, blocked, chat, sync};
use support::backend::Backend;
use support::request::HELLO_STREAM;
use support::upstream::{ANSWER, DONE, Upstream, delta};

#[test]
fn every_text_of_an_answer_that_is_no_stream_is_checked() {
    // CONTRACT 41, 43: the client asked for a stream and gets the phrase as one.
    let text = r#""content":"general greeting""#;
    let called = |call: &str| format!(r#""content":"ok","tool_calls":[{call}]"#);
    let messages = [
        text.replace("greeting", CARD),
        text.replace("greeting", "") + &format!(r#","reasoning_content":"{CARD}""#),
        text.replace("greeting", "") + &format!(r#","thinking":{{"of":["{CARD}"]}}"#),
        r#""content":["card 2200 1244 6450 ","7773"]"#.to_owned(),
        called(&format!(
            r#"{{"type":"custom","custom":{{"name":"f","input":"card {CARD}"}}}}"#
        )),
        called(&format!(
            r#"{{"function":{{"name":"f","arguments":"{{}}","note":"card {CARD}"}}}}"#
        )),
        format!(r#""function_call":{{"name":"f","note":"card {CARD}"}}"#),
    ];
    let bodies = messages.iter().map(|said| ANSWER.replace(text, said));
    // No chat completions.
    let others = [
        format!(r#"{{"message":{{"role":"assistant","content":"card {CARD}"}},"done":true}}"#),
        format!(
            r#"{{"output":[{{"type":"message","content":[{{"type":"output_text","text":"card {CARD}"}}]}}]}}"#
        ),
        format!(r#"{{"output_text":"card {CARD}"}}"#),
        format!(r#"{{"choices":[{{"text":"card {CARD}"}}]}}"#),
        format!(r#"{{"choices":[],"x":"card {CARD}"}}"#),
        format!(r#""card {CARD}""#),
    ];
    for said in bodies.chain(others) {
        let (upstream, backend) = (Upstream::json(200, &said), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(text_of(&answer), PHRASE, "{said}");
        assert!(!answer.text().contains("7773") && answer.text().ends_with(DONE));
        let (_, post) = backend.await_exchange();
        assert_eq!(post.message(), PHRASE);
        assert_eq!(post.parameter("response_replaced"), true);
        let series = r#"monitor_verdicts_total{stage="post_call",type="dataclean"}"#;
        assert_eq!(stack.metric(series), 1.0);
    }
}

#[test]
fn texts_under_any_name_are_held_back() {
    // CONTRACT 41, 42.
    let event = |delta: &str, beside: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{{delta}}}{beside}}}]}}\n\n")
    };
    type Piece = fn(&str) -> (String, String);
    let forms: [Piece; 9] = [
        |text| (format!(r#""thinking":"{text}""#), String::new()),
        |text| {
            (
                format!(r#""reasoning_details":[{{"type":"t","text":"{text}"}}]"#),
                String::new(),
            )
        },
        |text| {
            (
                format!(r#""audio":{{"transcript":"{text}","data":"AAAA"}}"#),
                String::new(),
            )
        },
        |text| {
            (
                format!(r#""tomorrow":{{"words":["{text}"]}}"#),
                String::new(),
            )
        },
        |text| {
            let call = format!(
                r#"{{"index":0,"type":"custom","custom":{{"name":"f","input":"{text}"}}}}"#
            );
            (format!(r#""tool_calls":[{call}]"#), String::new())
        },
        |text| {
            let call = format!(r#"{{"index":0,"function":{{"note":"{text}"}}}}"#);
            (format!(r#""tool_calls":[{call}]"#), String::new())
        },
        |text| {
            (
                format!(r#""function_call":{{"note":"{text}"}}"#),
                String::new(),
            )
        },
        |text| (String::new(), format!(r#","text":"{text}""#)),
        |text| {
            (
                String::new(),
                format!(r#","message":{{"content":"{text}"}}"#),
            )
        },
    ];
    for form in forms {
        let frames: Vec<String> = ["card 2200 1244 ", "6450 77", "73 and more"]
            .iter()
            .map(|text| form(text))
            .map(|(delta, beside)| event(&delta, &beside))
            .chain([delta(0, "the end"), DONE.to_owned()])
            .collect();
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(text_of(&answer), PHRASE, "{}", frames[0]);
        assert!(!answer.text().contains("2200"), "{}", answer.text());
    }
}

#[test]
fn a_call_of_a_tool_with_a_finding_does_not_begin() {
    // CONTRACT 41. Programs refuse a stream in which arguments come without the id of their call, and show nothing of it.
    let event = |delta: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{{delta}}},\"finish_reason\":null}}]}}\n\n"
        )
    };
    let begun = r#""tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":""}}]"#;
    let more = |part: &str| {
        let function = serde_json::json!({"arguments": part});
        event(&format!(
            r#""tool_calls":[{{"index":0,"function":{function}}}]"#
        ))
    };
    for said in ["", "Paying now."] {
        let frames = [
            event(r#""role":"assistant","content":"""#),
            delta(0, said),
            event(begun),
            more(r#"{"command":"echo one; pay with card "#),
            more(&format!(r#"{CARD}"}}"#)),
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned()
                + "\n\n",
            DONE.to_owned(),
        ];
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert!(text_of(&answer).ends_with(PHRASE), "{}", answer.text());
        assert!(!answer.text().contains("tool_calls"), "{}", answer.text());
        assert!(answer.text().contains("content_filter"), "{said}");
    }
}

#[test]
fn reasoning_and_attributes_that_are_over_do_not_delay_the_answer() {
    // CONTRACT 41. The upstream sends the next frame only when the client has the one before.
    let (_stack, feed, mut conn, _upstream, _backend) = held(ON, "");
    let first = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","provider":"some"}}]}"#;
    feed.chunk(format!("{first}\n\n"));
    let thought = delta(0, "so I say ivan").replace("content", "reasoning_content");
    feed.chunk(&thought);
    feed.settled();
    let answer = delta(0, "Hello, ");
    feed.chunk(&answer);
    let expected = format!("{first}\n\n{thought}{answer}");
    assert_eq!(
        conn.read_until(b"Hello, \"},"),
        expected
            .split_inclusive("Hello, \"},")
            .next()
            .unwrap()
            .as_bytes()
    );
}

#[test]
fn a_value_that_goes_on_behind_what_was_over_still_ends_the_stream() {
    // CONTRACT 41.
    let thought = |text| delta(0, text).replace("content", "reasoning_content");
    let frames = [
        thought("card 2200 1244 "),
        delta(0, "Hello, "),
        thought("6450 7773."),
        delta(0, "never"),
        DONE.to_owned(),
    ];
    let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!(text_of(&answer), format!("Hello, {PHRASE}"));
    assert!(!answer.text().contains("6450"), "{}", answer.text());
}

#[test]
fn who_asked_for_no_stream_gets_no_block_in_the_form_of_one() {
    // CONTRACT 12, 43: some model server may take the value for true, the client does not.
    for stream in [
        r#""stream":0"#,
        r#""stream":"false""#,
        r#""stream":true,"stream":false"#,
    ] {
        let body = HELLO_STREAM.replace(r#""stream":true"#, stream);
        assert!(body.contains(stream));
        let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        blocked(&stack.call(&chat(&body)));
        let answer = ANSWER.replace("greeting", CARD);
        let (upstream, backend) = (Upstream::json(200, &answer), Backend::start());
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        let answer = blocked(&stack.call(&chat(&body)));
        assert_eq!(answer["choices"][0]["message"]["content"], PHRASE);
        // A stream is checked all the same.
        let frames = [delta(0, &format!("card {CARD}.")), DONE.to_owned()];
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        assert_eq!(text_of(&stack.call(&chat(&body))), format!("card {PHRASE}"));
    }
}

#[test]
fn a_text_in_very_many_parts_is_one_text() {
    // CONTRACT 41: at most 256 texts of a stream are followed.
    let parts = vec![r#"{"type":"text","text":"a "}"#; 300].join(",");
    let event = |content: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{content}}}}}]}}\n\n")
    };
    let frames = [
        event(&format!("[{parts}]")),
        delta(0, "end"),
        DONE.to_owned(),
    ];
    let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!((answer.status(), answer.text()), (200, frames.concat()));
}
