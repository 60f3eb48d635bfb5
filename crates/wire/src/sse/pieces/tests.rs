//! Frames of every form, and the pieces that are read of them.
#![allow(clippy::unwrap_used)]

use super::{Field, MOST_PIECES, Reading, TextMembers, read, read_first, read_known};
use crate::json::TextPath;

/// A text under this path of names.
fn other(path: &str) -> Field {
    let mut names = path.split('/');
    let root = TextPath::of(names.next().unwrap());
    Field::Other(names.fold(root, TextPath::member))
}

fn said(frame: &str) -> Vec<(u64, Field, String, String)> {
    let Reading::Said(said) = read_first(frame.as_bytes()) else {
        panic!("not readable: {frame}");
    };
    let pieces = said.pieces.into_iter();
    pieces
        .map(|piece| {
            let raw = frame[piece.span].to_owned();
            (piece.choice, piece.field, raw, piece.text)
        })
        .collect()
}

#[test]
fn every_text_of_a_frame_has_its_place_and_its_meaning() {
    let frame = concat!(
        r#"data: {"choices":[{"index":1,"delta":{"role":"assistant","content":"a\u0416\n"}},"#,
        r#"{"delta":{"refusal":"no","content":null,"reasoning_content":"r","reasoning":"s"}},"#,
        r#"{"index":7,"delta":{"content":[{"type":"text","text":"p"},{"type":"text","text":"q"}],"#,
        r#""tool_calls":[{"index":3,"function":{"name":"f","arguments":"{\"x\""}},"#,
        r#"{"function":{"arguments":""}}],"function_call":{"name":"g","arguments":"1"}}}]}"#,
        "\n\n"
    );
    let expected = [
        (1, Field::Content, r#""a\u0416\n""#, "aЖ\n"),
        (1, Field::Refusal, r#""no""#, "no"),
        (1, Field::Reasoning, r#""s""#, "s"),
        (1, Field::ReasoningContent, r#""r""#, "r"),
        (7, Field::Content, r#""p""#, "p"),
        (7, Field::Content, r#""q""#, "q"),
        (7, Field::ToolName(3), r#""f""#, "f"),
        (7, Field::ToolArguments(3), r#""{\"x\"""#, "{\"x\""),
        (7, Field::ToolArguments(1), r#""""#, ""),
        (7, Field::FunctionName, r#""g""#, "g"),
        (7, Field::FunctionArguments, r#""1""#, "1"),
    ];
    let expected =
        expected.map(|(choice, field, raw, text)| (choice, field, raw.to_owned(), text.to_owned()));
    assert_eq!(said(frame), expected);
}

#[test]
fn texts_under_other_names_are_told_by_their_paths() {
    let frame = concat!(
        r#"data: {"choices":[{"index":2,"delta":{"role":"assistant","thinking":"a","audio":{"transcript":"b"},"#,
        r#""reasoning_details":[{"index":4,"text":"c"}]},"text":"d","message":{"content":"e"},"logprobs":null,"#,
        r#""stop_reason":"no"},{"message":{"content":"f"}}]}"#,
        "\n\n"
    );
    let expected = [
        (2, other("delta/thinking"), r#""a""#, "a"),
        (2, other("delta/audio/transcript"), r#""b""#, "b"),
        (2, other("delta/reasoning_details/4/text"), r#""c""#, "c"),
        (2, other("choice/text"), r#""d""#, "d"),
        (2, other("choice/message/content"), r#""e""#, "e"),
        (1, Field::Content, r#""f""#, "f"),
        (1, other("choice/message/content"), r#""f""#, "f"),
    ];
    let expected =
        expected.map(|(choice, field, raw, text)| (choice, field, raw.to_owned(), text.to_owned()));
    assert_eq!(said(frame), expected);
    let Reading::Said(known) = read_known(frame.as_bytes()) else {
        panic!("not readable");
    };
    let texts = known.pieces.iter().map(|piece| &*piece.text);
    assert_eq!(texts.collect::<Vec<_>>(), ["f"]);
}

#[test]
fn every_string_of_a_call_of_a_tool_is_told() {
    let frame = concat!(
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":2,"id":"no","type":"custom","custom":{"name":"a","input":"b"}},"#,
        r#"{"index":5,"function":{"name":"c","arguments":"d","description":"e"},"note":"f"}],"#,
        r#""function_call":{"name":"g","extra":["h"]}}}]}"#,
        "\n\n"
    );
    let expected = [
        (other("delta/tool_calls/2/custom/name"), "a"),
        (other("delta/tool_calls/2/custom/input"), "b"),
        (other("delta/tool_calls/5/note"), "f"),
        (other("delta/tool_calls/5/function/description"), "e"),
        (Field::ToolName(5), "c"),
        (Field::ToolArguments(5), "d"),
        (other("delta/function_call/extra/0"), "h"),
        (Field::FunctionName, "g"),
    ];
    let expected = expected.map(|(field, text)| (field, text.to_owned()));
    let told = said(frame).into_iter();
    let told = told.map(|(_, field, _, text)| (field, text));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn a_frame_of_very_many_pieces_is_unreadable() {
    for (more, is_readable) in [(0, true), (1, false)] {
        let texts = r#","a""#.repeat(MOST_PIECES - 1 + more);
        let content = format!(r#"{{"choices":[{{"delta":{{"content":["a"{texts}]}}}}]}}"#);
        let choices = r#",{"x":1}"#.repeat(MOST_PIECES - 1 + more);
        let choices = format!(r#"{{"choices":[{{}}{choices}]}}"#);
        for json in [content, choices] {
            let reading = read(format!("data: {json}\n\n").as_bytes());
            assert_eq!(matches!(reading, Reading::Said(_)), is_readable);
        }
    }
}

#[test]
fn lines_line_ends_and_comments_move_no_place() {
    let json = [
        r#"{"choices":[{"index":0,"#,
        r#""delta":{"content":"Жa"}}]}"#,
    ];
    for frame in [
        format!("data:{}{}\n\n", json[0], json[1]),
        format!("\u{feff}data: {}{}\r\n\r\n", json[0], json[1]),
        format!(
            ": note\r\nevent: x\r\ndata: {}\r\nid: 1\r\ndata: {}\r\n\r\n",
            json[0], json[1]
        ),
        format!("\ndata: {}\rdata\r:\rdata: {}\r\r", json[0], json[1]),
    ] {
        let expected = (0, Field::Content, "\"Жa\"".to_owned(), "Жa".to_owned());
        assert_eq!(said(&frame), [expected], "{frame:?}");
    }
}

#[test]
fn the_choices_and_their_ends_are_told() {
    let frame = br#"data: {"choices":[{"index":2,"delta":{},"finish_reason":"stop"},null,{"index":5,"finish_reason":null}]}"#;
    let Reading::Said(said) = read(frame) else {
        panic!("not readable");
    };
    let told = said.choices.iter().map(|one| (one.choice, one.finished));
    assert_eq!(told.collect::<Vec<_>>(), [(2, true), (5, false)]);
}

#[test]
fn what_is_no_text_is_told_from_what_cannot_be_read() {
    for (frame, expected) in [
        (": note\n\n", Reading::Nothing),
        ("\n", Reading::Nothing),
        ("event: ping\ndata:\n\n", Reading::Nothing),
        ("database: x\n\n", Reading::Unreadable),
        ("data: [DONE]\r\n\r\n", Reading::Done),
    ] {
        assert_eq!(read(frame.as_bytes()), expected, "{frame:?}");
    }
    for json in [
        r#"{"choices":[],"usage":{}}"#,
        r#"{"id":"c","model":"m","object":"x","system_fingerprint":"f","choices":null}"#,
        "{}",
    ] {
        assert!(said(&format!("data: {json}\n\n")).is_empty());
    }
    let error = said("data: {\"error\":{\"message\":\"x\",\"type\":\"no\"}}\n\n");
    let expected = (
        0,
        other("chunk/error/message"),
        "\"x\"".to_owned(),
        "x".to_owned(),
    );
    assert_eq!(error, [expected]);
    for json in [
        "nonsense",
        "[]",
        r#"{"choices":[{"delta":{"content":"a"}}]"#,
        r#"{"choices":{}}"#,
        r#"{"choices":[7]}"#,
        r#"{"choices":[{"delta":7}]}"#,
        r#"{"choices":[{"delta":{"content":7}}]}"#,
        r#"{"choices":[{"delta":{"content":{"text":7}}}]}"#,
        r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#,
        r#"{"Choices":[{"delta":{"content":"a"}}]}"#,
        r#" {"choices":[{"Delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"delta":{"content":"a","Content":"b"}}]}"#,
        r#"{"choices":[{"delta":{"rea\u017foning":"a"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"Arguments":"a"}}]}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"NAME":"a"}}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":["a"]}}]}"#,
        r#"["a",[],"b",null,null]"#,
        r#"{"choices":[[0,{"content":"a"},null,null]]}"#,
        r#"{"choices":[{"delta":["a","b",null,null,null,null]}]}"#,
    ] {
        let frame = format!("data: {json}\n\n");
        assert_eq!(read(frame.as_bytes()), Reading::Unreadable, "{json}");
    }
    let broken = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n";
    assert_eq!(read(broken), Reading::Unreadable);
}

#[test]
fn a_frame_with_a_line_that_only_some_clients_read_is_unreadable() {
    let data = r#"data: {"choices":[{"delta":{"content":"a"}}]}"#;
    for line in [
        " data: {}",
        "\u{feff}data: {}",
        ": x\u{2028}data: {}",
        ": x data: {}",
        "event: x\u{85}{}",
        "{}",
        "data: {}",
        "DATA: {}",
    ] {
        for frame in [
            format!("{data}\n{line}\n\n"),
            format!("event: x\r\n{line}\r\n{data}\r\n\r\n"),
            format!(": x\r{line}\r\r"),
        ] {
            // Alone, a line of data is an event like any other.
            let is_event = line == "data: {}" && !frame.contains(data);
            let reading = read(frame.as_bytes());
            assert_eq!(reading == Reading::Unreadable, !is_event, "{frame:?}");
            assert_ne!(read_known(b"event: x\n{}\n\n"), Reading::Unreadable);
        }
    }
}

#[test]
fn a_byte_order_mark_stands_before_the_first_frame_only() {
    let frame = "\u{feff}data: {\"choices\":[]}\n\n".as_bytes();
    assert!(matches!(read_first(frame), Reading::Said(_)));
    assert_eq!(read(frame), Reading::Unreadable);
}

#[test]
fn one_index_is_one_choice_however_it_is_written() {
    let of = |index: &str| {
        let call = format!(r#"{{"index":{index},"function":{{"arguments":"a"}},"note":"b"}}"#);
        read(
            format!(
                r#"data: {{"choices":[{{"index":{index},"delta":{{"tool_calls":[{call}]}}}}]}}"#
            )
            .as_bytes(),
        )
    };
    for index in ["1.0", "1e0", "10e-1"] {
        let (Reading::Said(one), Reading::Said(same)) = (of("1"), of(index)) else {
            panic!("not readable: {index}");
        };
        let keys = |said: super::Said| {
            let keys = said
                .pieces
                .into_iter()
                .map(|piece| (piece.choice, piece.field));
            keys.collect::<Vec<_>>()
        };
        assert_eq!(keys(one), keys(same), "{index}");
    }
    for index in ["\"1\"", "-1", "1.5", "[1]", "1e300"] {
        assert_eq!(of(index), Reading::Unreadable, "{index}");
    }
}

#[test]
fn arguments_are_told_from_other_texts() {
    let frame = concat!(
        r#"data: {"choices":[{"delta":{"content":"c","tool_calls":[{"custom":{"name":"n","input":"a"}},"#,
        r#"{"function":{"name":"n","arguments":"a"}}],"function_call":{"arguments":"a"}}}]}"#,
        "\n\n"
    );
    let Reading::Said(said) = read(frame.as_bytes()) else {
        panic!("not readable");
    };
    assert_eq!(said.pieces.len(), 6);
    for piece in said.pieces {
        assert_eq!(piece.is_arguments, piece.text == "a", "{}", piece.text);
    }
}

#[test]
fn the_members_of_choices_that_have_text_are_told() {
    for (choices, delta, message) in [
        (r#"{"delta":{"content":"a"}}"#, true, false),
        (r#"{"delta":{"content":""},"message":null}"#, false, false),
        (r#"{"message":{"content":"a"}}"#, false, true),
        (r#"{"delta":{},"message":{"content":"a"}}"#, false, true),
        (
            r#"{"delta":{"content":"a"},"message":{"content":"a"}}"#,
            true,
            true,
        ),
        (
            r#"{"delta":{"content":"a"}},{"message":{"refusal":"a"}}"#,
            true,
            true,
        ),
        (r#"{"delta":{},"finish_reason":"stop"}"#, false, false),
    ] {
        let frame = format!("data: {{\"choices\":[{choices}]}}\n\n");
        let Reading::Said(said) = read(frame.as_bytes()) else {
            panic!("not readable: {frame}");
        };
        let expected = TextMembers { delta, message };
        assert_eq!(said.members, expected, "{choices}");
        assert_eq!(said.members.are_mixed(), delta && message);
    }
}

#[test]
fn a_choice_ends_by_a_reason_that_is_one() {
    for (reason, finished) in [("\"stop\"", true), ("\"\"", false), ("null", false)] {
        let frame =
            format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":{reason}}}]}}\n\n");
        let Reading::Said(said) = read(frame.as_bytes()) else {
            panic!("not readable: {frame}");
        };
        assert_eq!(said.choices[0].finished, finished, "{reason}");
    }
}
