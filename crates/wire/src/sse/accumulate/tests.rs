//! Streams and the texts that are kept of them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::super::choice_text::{ChoiceText, entry_bytes};
use super::{Accumulator, Usage};
use crate::sse::Parser;

/// What a choice costs of the bound besides its text.
const CHOICE: usize = entry_bytes::<ChoiceText>();

fn told(events: &[&str]) -> Accumulator {
    let mut answer = Accumulator::new(10_000);
    events
        .iter()
        .for_each(|event| answer.push(event.as_bytes()));
    answer
}

fn content(index: usize, text: &str) -> String {
    format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":{text}}}}}]}}"#)
}

#[test]
fn what_is_kept_is_counted_and_behind_the_end_nothing_is() {
    let mut answer = told(&[&content(0, r#""abc""#)]);
    // An entry counts besides its text.
    let kept = answer.kept();
    assert_eq!(kept, CHOICE + 3);
    answer.close();
    answer.push(content(0, r#""d""#).as_bytes());
    assert_eq!((answer.text().as_str(), answer.kept()), ("abc", kept));
    assert!(answer.is_truncated());
}

const STREAMS: &[(&[&str], &str)] = &[
    (
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"He"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"y\n\u0416"}}]}"#,
        ],
        "Hey\nЖ",
    ),
    (
        &[
            r#"{"choices":[{"index":1,"delta":{"content":"b1"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"a1"}},{"index":1,"delta":{"content":"b2"}}]}"#,
        ],
        "a1\nb1b2",
    ),
    (
        &[r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}"#],
        "a\nb",
    ),
    (
        &[
            r#"{"choices":[{"index":0,"delta":{"content":null,"refusal":"I can"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"refusal":"not"}}]}"#,
        ],
        "I cannot",
    ),
    (
        &[r#"{"choices":[{"index":0,"delta":{"refusal":"no","content":"yes"}}]}"#],
        "yes",
    ),
    (
        &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":""}},{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\""}},{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
        ],
        "f\n{\"x\":1}\ng\n",
    ),
    (
        &[
            r#"{"choices":[{"delta":{"content":[{"type":"text","text":"p"},{"type":"image_url","image_url":"x"},{"type":"output_text","text":"q"}]}}]}"#,
        ],
        "p\nq",
    ),
    (
        &[
            r#"{"choices":[]}"#,
            r#"{"choices":null}"#,
            "{}",
            r#"{"choices":[{"index":0}]}"#,
            r#"{"choices":[null,{"delta":null}]}"#,
        ],
        "",
    ),
    (
        &[
            r#"{"x":[[[[[[{"deep":1e400}]]]]]],"choices":[{"logprobs":{"content":"x"},"delta":{"content":"a","y":{}}}]}"#,
        ],
        "a",
    ),
];

#[test]
fn deltas_become_the_text_of_every_choice() {
    for (events, text) in STREAMS {
        let answer = told(events);
        assert_eq!(
            (answer.text().as_str(), answer.skipped()),
            (*text, 0),
            "{events:?}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_counted_and_costs_nothing_else() {
    let bad = [
        "",
        "{",
        "nonsense",
        "[]",
        "7",
        r#"{"choices":5}"#,
        r#"{"choices":[7]}"#,
        r#"{"choices":[{"delta":7}]}"#,
    ];
    for event in bad {
        let answer = told(&[&content(0, "\"a\""), event, &content(0, "\"b\"")]);
        assert_eq!(
            (answer.text().as_str(), answer.skipped()),
            ("ab", 1),
            "{event}"
        );
    }
    for odd in ["7", "true", "{}", "[1]", r#"[{"type":"image"}]"#] {
        let answer = told(&[&content(0, "\"a\""), &content(0, odd), &content(0, "\"b\"")]);
        assert_eq!(answer.text(), "ab", "{odd}");
    }
}

#[test]
fn half_characters_do_not_lose_the_rest() {
    let answer = told(&[&content(0, r#""a\ud83d""#), &content(0, r#""\ude00b""#)]);
    let text = answer.text();
    assert!(
        text.starts_with('a') && text.ends_with('b') && answer.skipped() == 0,
        "{text}"
    );
    let mut answer = Accumulator::new(1000);
    answer.push(b"{\"choices\":[{\"delta\":{\"content\":\"a\xffb\"}}]}");
    assert_eq!(answer.text(), "a\u{fffd}b");
}

#[test]
fn the_rest_of_a_stream_is_remembered() {
    let answer = told(&[
        r#"{"id":"c-1","model":"m-1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null}"#,
        r#"{"model":"m-2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"index":2,"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"x":{}}}"#,
        " [DONE] ",
    ]);
    assert_eq!((answer.id(), answer.model()), (Some("c-1"), Some("m-1")));
    let usage = Usage {
        prompt_tokens: Some(3),
        completion_tokens: Some(4),
        total_tokens: Some(7),
        ..Usage::default()
    };
    assert_eq!(answer.usage(), Some(usage));
    let reasons: Vec<_> = answer.finish_reasons().collect();
    assert_eq!(reasons, [(0, "stop"), (2, "length")]);
    assert!(answer.is_done() && !answer.error_seen() && !answer.is_truncated());
    let failed = told(&[r#"{"error":{"message":"m","code":500}}"#]);
    assert!(failed.error_seen() && !failed.is_done());
    assert!(!told(&[r#"{"error":null}"#]).error_seen());
}

#[test]
fn text_beyond_the_bound_is_left_out_and_marked() {
    let mut answer = Accumulator::new(CHOICE + 4);
    for piece in ["\"ab\"", "\"cжd\"", "\"e\""] {
        answer.push(content(0, piece).as_bytes());
    }
    assert_eq!(
        (answer.text().as_str(), answer.is_truncated()),
        ("abc", true)
    );
    answer.push(br#"{"choices":[{"index":0,"finish_reason":"stop"}]}"#);
    assert_eq!(answer.finish_reasons().count(), 1);
    let mut many = Accumulator::new(1000);
    for index in 0..1000 {
        many.push(content(index, "\"x\"").as_bytes());
    }
    assert!(many.choices.len() < 16 && many.is_truncated());
    let mut exact = Accumulator::new(CHOICE + 2);
    exact.push(content(0, "\"ab\"").as_bytes());
    assert_eq!((exact.text().as_str(), exact.is_truncated()), ("ab", false));
}

#[test]
fn every_cut_of_a_stream_gives_the_same_text() {
    let stream = format!(
        ": keepalive\n\ndata: {}\n\ndata: {}\r\n\r\ndata: {}\r\rdata: [DONE]\n\n",
        content(0, "\"é😀\""),
        content(1, "\"b\\n\""),
        content(0, "\"я\"")
    );
    let bytes = stream.as_bytes();
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let mut parser = Parser::new(4096);
            let mut answer = Accumulator::new(4096);
            for part in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                parser.push(part, |event| answer.push(event.data));
            }
            assert_eq!(
                (answer.text().as_str(), answer.is_done()),
                ("é😀я\nb\n", true),
                "{first}, {second}"
            );
        }
    }
}

/// The texts of a stream for its check, and whether something of it is unreadable.
fn checked(events: &[&str]) -> (String, Vec<usize>, bool) {
    let mut answer = Accumulator::of_every_text(10_000);
    events
        .iter()
        .for_each(|event| answer.push(event.as_bytes()));
    let checked = answer.checked_text().expect("it is wanted");
    let has_unreadable = checked.has_unreadable || answer.skipped() > 0 || answer.is_truncated();
    (checked.text, checked.part_breaks, has_unreadable)
}

#[test]
fn every_text_of_a_stream_stands_behind_what_a_record_keeps() {
    let delta = |delta: &str| {
        format!(r#"{{"id":"no","model":"no","choices":[{{"index":0,"delta":{delta}}}]}}"#)
    };
    let table: &[(&[String], &str)] = &[
        (
            &[
                delta(r#"{"role":"no","reasoning_content":"b"}"#),
                delta(r#"{"reasoning_content":"c"}"#),
                delta(r#"{"content":"a"}"#),
                delta(r#"{"refusal":"d"}"#),
            ],
            "a\nd\nbc",
        ),
        (
            &[
                delta(r#"{"tool_calls":[{"index":0,"id":"no","type":"custom","custom":{"name":"f","input":"a"}}]}"#),
                delta(r#"{"tool_calls":[{"index":0,"custom":{"name":"f","input":"b"}},{"index":1,"function":{"name":"g","arguments":"{}"}}]}"#),
                delta(r#"{"function_call":{"name":"h","arguments":"c"},"audio":{"transcript":"d","data":"no"}}"#),
            ],
            "f\nab\ng\n{}\nh\nc\nd\nff",
        ),
        (
            &[
                r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"text":"c","message":{"content":"d"}}],"x":"e"}"#.to_owned(),
                delta(r#"{"content":"a"}"#),
            ],
            "a\nb\nc\nd\ne",
        ),
        (
            &[
                r#"{"type":"response.output_text.delta","item_id":"no","delta":"a"}"#.to_owned(),
                r#"{"type":"response.output_text.delta","item_id":"no","delta":"b"}"#.to_owned(),
            ],
            "ab",
        ),
    ];
    for (events, text) in table {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let (found, _, has_unreadable) = checked(&events);
        assert_eq!((found.as_str(), has_unreadable), (*text, false));
    }
}

#[test]
fn the_texts_of_one_member_of_a_stream_are_read_as_one() {
    let event = r#"{"choices":[{"delta":{"reasoning_details":[{"index":0,"text":"a"},{"index":1,"text":"b"}],"thinking":"c"}}]}"#;
    assert_eq!(
        checked(&[event, event]),
        ("aa\nbb\ncc".to_owned(), vec![2], false)
    );
}

#[test]
fn the_parts_of_a_content_in_one_event_are_read_as_one() {
    let parts = r#"{"choices":[{"delta":{"content":[{"type":"text","text":"ж "},{"type":"text","text":"b"}],"refusal":["c","d"]}}]}"#;
    assert_eq!(
        checked(&[&content(0, "\"a\""), parts, parts]),
        (
            "aж \nbж \nb\nc\ndc\nd".to_owned(),
            vec![4, 9, 13, 16],
            false
        )
    );
    // Behind the bound nothing is a part.
    let mut answer = Accumulator::of_every_text(CHOICE + 3);
    answer.push(parts.as_bytes());
    let checked = answer.checked_text().unwrap();
    assert_eq!((&*checked.text, &*checked.part_breaks), ("ж ", &[][..]));
    // A record keeps the same text.
    assert_eq!(told(&[parts]).text(), "ж \nb");
}

#[test]
fn only_the_name_of_a_tool_may_come_again_and_again() {
    let delta = |delta: &str| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    for (member, text) in [
        (
            r#"{"tool_calls":[{"index":0,"function":{"name":"22"}}]}"#,
            "22\n2222",
        ),
        (
            r#"{"tool_calls":[{"index":0,"function":{"arguments":{"name":"22"}}}]}"#,
            "name\nname\n2222",
        ),
        (
            r#"{"tool_calls":[{"index":0,"custom":{"input":{"name":"22"}}}]}"#,
            "name\nname\n2222",
        ),
        (r#"{"thinking":{"words":"22"}}"#, "2222"),
    ] {
        let event = delta(member);
        assert_eq!(checked(&[&event, &event]).0, text, "{member}");
    }
}

#[test]
fn a_name_that_comes_again_is_read_as_clients_read_it_that_append_it() {
    let name = |name: &str| {
        let call = format!(r#"{{"index":0,"function":{{"name":"{name}"}}}}"#);
        format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#)
    };
    let [first, last] = ["5555", "4444"].map(name);
    let (text, ..) = checked(&[&first, &first, &first, &last]);
    assert_eq!(text, "55554444\n5555555555554444");
    // Of one that comes very often a part is kept, behind which nothing else may come.
    let (again, other) = (name("search"), name("er"));
    let mut pieces = vec![&*again; 1_000];
    let (text, _, has_unreadable) = checked(&pieces);
    assert!(text.len() < 400 && !has_unreadable, "{text}");
    pieces.push(&other);
    assert!(checked(&pieces).2);
}

#[test]
fn text_behind_an_end_hides_nothing_of_what_stands_before_it() {
    let (card, more) = (content(0, r#""4111""#), content(0, r#""23""#));
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let none = r#"{"choices":[{"index":0,"delta":{},"finish_reason":""}]}"#;
    for (events, text, breaks, has_unreadable) in [
        (vec![&*card, &*more, end], "411123", vec![], false),
        (vec![&*card, none, &*more], "411123", vec![], false),
        // Clients read it with the break, and without.
        (vec![&*card, end, &*more], "4111\n23", vec![4], false),
        (vec![&*card, "[DONE]", "[DONE]"], "4111", vec![], false),
        (vec![&*card, "[DONE]", &*more], "4111", vec![], true),
    ] {
        let expected = (text.to_owned(), breaks, has_unreadable);
        assert_eq!(checked(&events), expected, "{events:?}");
    }
    assert_eq!(told(&[&card, end, &more]).text(), "411123");
}

#[test]
fn the_texts_of_very_many_choices_are_put_together_in_order() {
    let choices = (0..2_000)
        .rev()
        .map(|at| format!(r#"{{"index":{at},"delta":{{}},"a":"x{at}","b":"y"}}"#));
    let event = format!(
        r#"{{"choices":[{}]}}"#,
        choices.collect::<Vec<_>>().join(",")
    );
    let mut answer = Accumulator::of_every_text(1 << 21);
    answer.push(event.as_bytes());
    let expected: Vec<_> = (0..2_000).map(|at| format!("x{at}\ny")).collect();
    assert!(answer.checked_text().unwrap().text == expected.join("\n"));
    assert!(!answer.is_truncated());
    // Each of them is looked at once.
    let texts = answer.stream_texts.unwrap();
    assert_eq!(texts.looked_at.get(), 4_000);
}

#[test]
fn a_stream_that_cannot_be_read_for_certain_is_told() {
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    for (events, has_unreadable) in [
        (&[end, "[DONE]"][..], false),
        (&["[DONE]"], true),
        (&[r#"{"choices":[]}"#], true),
        (&[end, r#"{"Choices":[{"delta":{"content":"a"}}]}"#], true),
        (&[end, r#"{"choices":[{"Delta":{"content":"a"}}]}"#], true),
        (&[end, r#"{"choices":[{"delta":{"Content":"a"}}]}"#], true),
        (&[end, r#"{"choices":[{"delta":{"content":7}}]}"#], true),
        (&[end, r#"{"choices":["a"]}"#], true),
        (&[end, r#"["a"]"#], true),
    ] {
        assert_eq!(checked(events).2, has_unreadable, "{events:?}");
    }
    assert!(Accumulator::new(1).checked_text().is_none());
}
