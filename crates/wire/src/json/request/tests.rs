//! What requests of chat completions ask for, with names in any case and duplicates.

use super::{Request, RequestShape, ScanRole};
use crate::json::scan;

fn prompt(body: &str, roles: &[ScanRole]) -> String {
    let found = scan(body.as_bytes()).unwrap();
    Request::read(&RequestShape::CHAT, body.as_bytes(), &found)
        .prompt(roles)
        .text
}

const PROMPTS: &[(&str, &str)] = &[
    (
        r#"{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"},{"role":"tool","content":"four"}]}"#,
        "three",
    ),
    (
        r#"{"messages":[{"role":"system","content":"s"},{"role":"assistant","content":"last"}]}"#,
        "last",
    ),
    (r#"{"messages":[{"content":"no role"}]}"#, "no role"),
    (
        r#"{"messages":[{"role":"us\u0065r","content":"\u043f\ud83d\ude00\ud800"}]}"#,
        "п😀\u{fffd}",
    ),
    (
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}},{"text":"b","type":"text"}]}]}"#,
        "a\nb",
    ),
    (r#"{"messages":[{"role":"user","content":null}]}"#, ""),
    (r#"{"messages":[]}"#, ""),
    (
        r#"{"messages":[1,"y",null,[{"role":"user","content":"deep"}],{"role":"user","content":{"text":"x"}}]}"#,
        "x",
    ),
    (
        r#"{"messages":[{"role":"user","content":[1,"x",["y"],{"type":"text","text":5},{"type":"text","text":"ok"}]}, 17]}"#,
        "x\ny\nok",
    ),
    (r#"{"messages":{"role":"user","content":"x"}}"#, ""),
    (
        r#"{"prompt":"x","inner":{"messages":[{"role":"user","content":"x"}]}}"#,
        "",
    ),
    (r#"[{"messages":[{"role":"user","content":"x"}]}]"#, ""),
    ("7", ""),
];

#[test]
fn the_last_user_message_is_the_recorded_prompt() {
    for (body, expected) in PROMPTS {
        assert_eq!(prompt(body, &[]), *expected, "{body}");
        assert_eq!(prompt(body, &[ScanRole::LastUser]), *expected, "{body}");
    }
}

#[test]
fn duplicates_hide_nothing() {
    let table: &[(&str, &str)] = &[
        (
            r#"{"messages":[{"role":"user","content":"a"}],"m\u0065ssages":[{"role":"user","content":"b"}]}"#,
            "a\nb",
        ),
        (
            r#"{"messages":[{"role":"user","content":"a","content":"b"}]}"#,
            "a\nb",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"image","type":"text","text":"a","text":"b"}]}]}"#,
            "b\na",
        ),
        (
            r#"{"messages":[{"role":"user","content":"a"},{"role":"user","role":"assistant","content":"b"}]}"#,
            "a\nb",
        ),
        (
            r#"{"messages":[{"role":"assistant","role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#,
            "a\nb",
        ),
        (
            r#"{"messages":[{"role":"assistant","role":"user","content":"a"}]}"#,
            "a",
        ),
        (
            r#"{"messages":[{"role":"user","role":"tool","content":"a"},{"role":"user","role":"user","content":"b"}]}"#,
            "b",
        ),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"messages":null}"#,
            "a",
        ),
        (
            r#"{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"}],"Messages":[{"role":"user"}]}"#,
            "a\nb",
        ),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"system","content":"b"},{"role":"user","content":"c"}]}"#,
            "a\nb\nc",
        ),
    ];
    for (body, expected) in table {
        assert_eq!(prompt(body, &[]), *expected, "{body}");
    }
}

#[test]
fn names_in_another_case_hide_nothing() {
    let table: &[(&str, &str)] = &[
        (r#"{"Messages":[{"Role":"user","Content":"a"}]}"#, "a"),
        (
            r#"{"messages":[{"role":"user","content":"a","CONTENT":"b"}]}"#,
            "a\nb",
        ),
        (
            r#"{"messages":[{"role":"user","Content":"a","content":""},{"role":"assistant","content":"b"}]}"#,
            "a\n",
        ),
        (
            r#"{"messages":[{"role":"assistant","Role":"user","content":"a"}]}"#,
            "a",
        ),
        (
            r#"{"me\u017f\u017fages":[{"role":"user","content":[{"Type":"text","TEXT":"a"}]}]}"#,
            "a",
        ),
    ];
    for (body, expected) in table {
        assert_eq!(prompt(body, &[]), *expected, "{body}");
    }
}

#[test]
fn scan_roles_widen_the_prompt_in_the_order_of_the_body() {
    use ScanRole::{AllUser, Assistant, LastUser, System, Tool};
    let body = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u1"},
        {"role":"assistant","content":"a"},{"role":"tool","content":"t"},
        {"role":"developer","content":"d"},{"role":"user","content":"u2"},{"role":"function","content":"f"}]}"#;
    let table: &[(&[ScanRole], &str)] = &[
        (&[LastUser], "u2"),
        (&[AllUser], "u1\nu2"),
        (&[AllUser, LastUser], "u1\nu2"),
        (&[System], "s\nd"),
        (&[Tool, LastUser], "t\nu2\nf"),
        (&[Assistant, System, LastUser], "s\na\nd\nu2"),
    ];
    for (roles, expected) in table {
        assert_eq!(prompt(body, roles), *expected, "{roles:?}");
    }
    let no_user = r#"{"messages":[{"role":"system","content":"s"},{"role":"tool","content":"t"}]}"#;
    assert_eq!(prompt(no_user, &[System, LastUser]), "s\nt");
    assert_eq!(prompt(no_user, &[Tool, LastUser]), "t");
    assert_eq!(prompt(no_user, &[AllUser]), "");
}

#[test]
fn the_last_top_level_stream_decides() {
    let table: &[(&str, bool, usize)] = &[
        (r#"{"stream":true}"#, true, 1),
        (r#"{"stream":false,"stre\u0061m":true}"#, true, 1),
        (r#"{"stream":true,"stream":false}"#, false, 1),
        (r#"{"stream":true,"stream":true}"#, true, 2),
        (r#"{"stream":"true"}"#, false, 0),
        (r#"{"Stream":true}"#, true, 1),
        (r#"{"stream":false,"STREAM":true}"#, true, 1),
        (r#"{"\u017ftream":true,"stream":false}"#, false, 1),
        (r#"{"options":{"stream":true}}"#, false, 0),
        (r#"[true]"#, false, 0),
    ];
    for (body, wants, spans) in table {
        let found = scan(body.as_bytes()).unwrap();
        let chat = Request::read(&RequestShape::CHAT, body.as_bytes(), &found);
        assert_eq!(
            (chat.wants_stream(), chat.stream_true_spans().len()),
            (*wants, *spans),
            "{body}"
        );
    }
}

#[test]
fn what_some_server_takes_for_true_may_stream() {
    for (body, may) in [
        (r#"{"stream":true,"stream":false}"#, true),
        (r#"{"Stream":1}"#, true),
        (r#"{"stream":"yes"}"#, true),
        (r#"{"stream":false,"STREAM":null}"#, false),
        ("{}", false),
    ] {
        let found = scan(body.as_bytes()).unwrap();
        let chat = Request::read(&RequestShape::CHAT, body.as_bytes(), &found);
        assert_eq!(chat.may_stream(), may, "{body}");
    }
}

#[test]
fn usage_is_asked_for_in_the_options_of_a_stream() {
    for (body, wants, options) in [
        (r#"{"stream_options":{"include_usage":true}}"#, true, 1),
        (r#"{"stream_options":{"include_usage":1}}"#, false, 1),
        (r#"{"Stream_options":{},"stream_options":null}"#, false, 1),
        (r#"{"include_usage":true}"#, false, 0),
    ] {
        let found = scan(body.as_bytes()).unwrap();
        let chat = Request::read(&RequestShape::CHAT, body.as_bytes(), &found);
        let spans = chat.stream_options_spans().len();
        assert_eq!((chat.wants_usage(), spans), (wants, options), "{body}");
    }
}

#[test]
fn model_and_request_id_are_strings_or_absent() {
    let table: &[(&str, Option<&str>, Option<&str>)] = &[
        (
            r#"{"model":"a","model":"b","metadata":{"request_id":"r"}}"#,
            Some("b"),
            Some("r"),
        ),
        (
            r#"{"model":"a","model":7,"metadata":{"request_id":7}}"#,
            None,
            None,
        ),
        (r#"{"model":"\u0061\"","metadata":"r"}"#, Some("a\""), None),
        (
            r#"{"metadata":{"request_id":"a"},"metadata":{"request_id":"b","request\u005fid":"c"}}"#,
            None,
            Some("c"),
        ),
        (
            r#"{"metadata":{"x":{"request_id":"a"}},"request_id":"b"}"#,
            None,
            None,
        ),
        (r#""model""#, None, None),
    ];
    for (body, model, id) in table {
        let found = scan(body.as_bytes()).unwrap();
        let chat = Request::read(&RequestShape::CHAT, body.as_bytes(), &found);
        assert_eq!(
            (chat.model().as_deref(), chat.request_id().as_deref()),
            (*model, *id),
            "{body}"
        );
    }
}

#[test]
fn parameters_have_the_names_of_chat_completions() {
    for (body, numbers, stops, format) in [
        ("{}", (None, None), vec![], None),
        (
            r#"{"max_tokens":1,"max_completion_tokens":5e1,"n":2,"stop":"a","response_format":{"type":"text"}}"#,
            (Some(50), Some(2)),
            vec!["a"],
            Some("text"),
        ),
        (
            r#"{"max_tokens":7,"stop":["x"],"stop":["b",1,"\u0063","d"],"response_format":"text"}"#,
            (Some(7), None),
            vec!["b", "c"],
            None,
        ),
        (
            r#"{"max_completion_tokens":1.5,"max_tokens":-1,"n":"2","stop":null,"response_format":{"type":7}}"#,
            (None, None),
            vec![],
            None,
        ),
    ] {
        let found = scan(body.as_bytes()).unwrap();
        let chat = Request::read(&RequestShape::CHAT, body.as_bytes(), &found);
        assert_eq!((chat.token_limit(), chat.answers()), numbers, "{body}");
        assert_eq!(chat.stops(3), stops, "{body}");
        assert_eq!(chat.output_format().as_deref(), format, "{body}");
    }
}

#[test]
fn strings_and_nested_values_of_a_prompt_cost_more_than_their_bytes() {
    let cost = |messages: &str, beside: &str| {
        let body = format!(r#"{{"messages":[{messages}]{beside}}}"#);
        let scan = scan(body.as_bytes()).unwrap();
        let cost = Request::read(&RequestShape::CHAT, body.as_bytes(), &scan).reading_cost();
        (cost, body.len())
    };
    let text = format!(
        r#"{{"role":"user","content":"{}"}}"#,
        "words ".repeat(5_000)
    );
    let short = vec![r#""x y""#; 5_000].join(",");
    let (open, close) = (r#"{"a":"#.repeat(20), "}".repeat(20));
    let flat = format!(r#"{{"role":"user","content":[{short}]}}"#);
    let nested = format!(r#"{{"role":"user","content":[{open}[{short}]{close}]}}"#);
    let (of_text, bytes) = cost(&text, "");
    assert!(of_text < bytes + bytes / 50, "{of_text}");
    let (of_flat, bytes) = cost(&flat, "");
    assert!(of_flat > 4 * bytes, "{of_flat}");
    let (of_nested, bytes) = cost(&nested, "");
    assert!(of_nested > of_flat + 15 * bytes, "{of_nested}");
    // What no prompt is read from costs its bytes, unless nobody knows what it is.
    let (of_tools, bytes) = cost(&text, &format!(r#","tools":[{short}]"#));
    assert!(of_tools < bytes + bytes / 50, "{of_tools}");
    let many = r#","a":1"#.repeat(70);
    let (of_many, bytes) = cost(&text, &format!(r#"{many},"messages":[{short}]"#));
    assert!(of_many > 2 * bytes, "{of_many}");
}
