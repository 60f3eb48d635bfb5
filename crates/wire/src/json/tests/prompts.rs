//! Which texts of a body make up its prompt, and what of it cannot be read (CONTRACT 42).
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::json::{Form, Prompt, Request, RequestShape, ScanRole, scan};
use monitor_model::MOST_PART_BREAKS;

pub(super) fn prompt(body: &str, roles: &[ScanRole]) -> Prompt {
    let found = scan(body.as_bytes()).unwrap();
    Request::read(&RequestShape::CHAT, body.as_bytes(), &found).prompt(roles)
}

#[test]
fn contract_41_the_strings_of_a_prompt_are_those_that_it_is_made_of() {
    let body = r#"{"messages":[{"role":"system","content":"s"},
        {"role":"user","content":["a",{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}"#;
    let found = scan(body.as_bytes()).unwrap();
    let chat = Request::read(&RequestShape::CHAT, body.as_bytes(), &found);
    for (roles, expected) in [
        (&[][..], &[("\"c\"", true)][..]),
        (
            &[ScanRole::AllUser],
            &[("\"a\"", true), ("\"b\"", false), ("\"c\"", true)],
        ),
    ] {
        let literals = chat.prompt_literals(roles).into_iter();
        let literals: Vec<_> = literals
            .map(|one| (&body[one.span], one.is_first))
            .collect();
        assert_eq!(literals, expected);
    }
}

#[test]
fn the_last_message_of_the_user_that_says_something_counts() {
    let table: &[(&str, &str)] = &[
        (
            r#"{"role":"user","content":"a"},{"role":"user","content":""}"#,
            "a",
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"user","content":" \n\u3000"}"#,
            "a",
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"user","content":null},{"role":"user"}"#,
            "a",
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[]}"#,
            "a",
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}"#,
            "a",
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"user","content":" "}"#,
            "b",
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"customer","content":"b"}"#,
            "a\nb",
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"User","content":"b"},{"content":"c"}"#,
            "a\nb\nc",
        ),
        (
            r#"{"role":"customer","content":"b"},{"role":"user","content":"a"}"#,
            "a",
        ),
        (
            r#"{"role":"system","content":"a"},{"role":"system","content":""}"#,
            "a",
        ),
        (
            r#"{"role":"user","content":""},{"role":"assistant","content":"a"}"#,
            "",
        ),
        (r#"{"role":"user","parts":[{"text":"a"}]}"#, "a"),
    ];
    for (messages, expected) in table {
        let body = format!(r#"{{"messages":[{messages}]}}"#);
        assert_eq!(prompt(&body, &[]).text, *expected, "{messages}");
    }
}

#[test]
fn the_places_between_the_parts_of_one_message_are_told() {
    let body = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"text":"ж"},{"text":"b"},""]},{"role":"user","content":"c"}]}"#;
    let whole = prompt(body, &[ScanRole::System, ScanRole::AllUser]);
    assert_eq!(whole.text, "s\nж\nb\n\nc");
    assert_eq!(
        (whole.part_breaks, whole.has_unreadable),
        (vec![4, 6], false)
    );
    let many = format!(
        r#"{{"messages":[{{"role":"user","content":["x"{}]}}]}}"#,
        r#","x""#.repeat(MOST_PART_BREAKS + 1)
    );
    let many = prompt(&many, &[]);
    assert_eq!(
        (many.part_breaks.len(), many.has_unreadable),
        (MOST_PART_BREAKS, true)
    );
}

#[test]
fn what_may_be_text_and_cannot_be_read_is_told() {
    for (body, has_unreadable) in [
        (r#"{"messages":[{"role":"user","content":"a"}]}"#, false),
        (
            r#"{"messages":[null,{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]}"#,
            false,
        ),
        (r#"{"messages":["a"],"prompt":"b"}"#, false),
        // Whatever a server reads of these, it is no message.
        (r#"{"messages":null}"#, true),
        (r#"{"messages":[]}"#, true),
        (r#"{"messages":[],"prompt":"a"}"#, true),
        (r#"{"messages":[null],"input":"a"}"#, true),
        (r#"{"prompt":"a"}"#, true),
        (r#"[{"messages":[{"role":"user","content":"a"}]}]"#, true),
        (r#""a""#, true),
        ("{}", true),
        (r#"{"messages":[{"role":"user","content":7}]}"#, true),
        (
            r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":[7]}]}"#,
            true,
        ),
        (
            r#"{"messages":[{"role":"assistant","content":7},{"role":"user","content":"a"}]}"#,
            false,
        ),
        (r#"{"messages":[["a"]]}"#, true),
        (r#"{"messages":{"0":{"role":"user","content":"a"}}}"#, true),
        (r#"{"messages":"a"}"#, false),
    ] {
        let prompt = prompt(body, &[]);
        assert_eq!(prompt.has_unreadable, has_unreadable, "{body}");
    }
}

#[test]
fn a_message_that_nobody_sees_hides_no_other_one() {
    for last in [
        r#""\u200b""#,
        r#""\ufeff \u2060""#,
        r#""\u00ad""#,
        "\"\u{200b}\u{e0041}\"",
        r#"["\u200b",{"text":""}]"#,
        "[]",
    ] {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"seen"}},{{"role":"user","content":{last}}}]}}"#
        );
        let prompt = prompt(&body, &[]);
        assert_eq!(
            (prompt.text.as_str(), prompt.has_unreadable),
            ("seen", false),
            "{body}"
        );
    }
}

#[test]
fn a_message_that_cannot_be_read_hides_no_other_one_and_is_said() {
    let table = [
        (
            r#"{"role":"user","content":"seen"},{"role":"user","content":7}"#,
            true,
        ),
        (
            r#"{"role":"user","content":"seen"},{"role":"customer","content":[7]}"#,
            true,
        ),
        (
            r#"{"role":"user","content":7},{"role":"user","content":"seen"}"#,
            false,
        ),
        (
            r#"{"role":"user","content":"seen"},{"role":"assistant","content":7}"#,
            false,
        ),
    ];
    for (messages, is_unreadable) in table {
        let body = format!(r#"{{"messages":[{messages}]}}"#);
        let prompt = prompt(&body, &[]);
        assert_eq!(
            (prompt.text.as_str(), prompt.has_unreadable),
            ("seen", is_unreadable),
            "{body}"
        );
    }
}

#[test]
fn a_part_of_very_many_members_is_read_in_linear_time() {
    // Each of these looked through the whole part for its type: 10^10 steps, which no test run survives.
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":[{{{}"type":"text"}}]}}]}}"#,
        r#""data":"x","#.repeat(200_000)
    );
    assert_eq!(prompt(&body, &[]).text.len(), 2 * 200_000 - 1);
}

#[test]
fn a_message_of_two_roles_takes_nobodys_place() {
    for other in ["system", "assistant", "tool", "customer"] {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"user","role":"{other}","content":"b"}}]}}"#
        );
        assert_eq!(prompt(&body, &[ScanRole::LastUser]).text, "a\nb", "{other}");
    }
}

#[test]
fn a_bare_string_is_a_message_that_may_be_the_users() {
    for (messages, text) in [
        (r#""a""#, "a"),
        (r#"["a"]"#, "a"),
        (r#"["a",""]"#, "a"),
        (r#"[{"role":"user","content":"a"},"b"]"#, "a\nb"),
        (r#"["b",{"role":"user","content":"a"}]"#, "a"),
    ] {
        let body = format!(r#"{{"messages":{messages}}}"#);
        let prompt = prompt(&body, &[]);
        assert_eq!(
            (prompt.text.as_str(), prompt.has_unreadable),
            (text, false),
            "{body}"
        );
    }
    let turn = prompt(r#"{"messages":["a","b"]}"#, &[ScanRole::UserTurn]);
    assert_eq!((turn.text.as_str(), &*turn.part_breaks), ("a\nb", &[1][..]));
}

#[test]
fn what_stands_beside_the_texts_of_messages_stands_between_none() {
    let turn = |one: &str, two: &str| {
        format!(r#"{{"messages":[{{"role":"user",{one}}},{{"role":"user",{two}}}]}}"#)
    };
    let content = |text: &str, beside: &str| format!(r#""content":"{text}"{beside}"#);
    for (beside, text) in [
        ("", "a\nb"),
        (r#","name":"n""#, "a\nb\nn"),
        (r#","reasoning":"r""#, "a\nb\nr"),
        (r#","text":"r","thinking":"s""#, "a\nb\nr\ns"),
    ] {
        let body = turn(&content("a", beside), &content("b", ""));
        let prompt = prompt(&body, &[ScanRole::UserTurn]);
        assert_eq!(prompt.text, text, "{body}");
        assert_eq!(prompt.part_breaks[0], 1, "{body}");
    }
    let parts = r#""content":[{"type":"text","text":"a","x":"y"},{"type":"text","text":"b"}]"#;
    let body = format!(r#"{{"messages":[{{"role":"user",{parts}}}]}}"#);
    let one = prompt(&body, &[]);
    assert_eq!(
        (one.text.as_str(), &*one.part_breaks),
        ("a\nb\ny", &[1, 3][..])
    );
    let two = prompt(&turn(parts, r#""content":"c""#), &[ScanRole::AllUser]);
    assert_eq!(
        (two.text.as_str(), &*two.part_breaks),
        ("a\nb\nc\ny", &[1][..])
    );
}

#[test]
fn a_name_is_read_alone_and_hides_no_message() {
    let body = r#"{"messages":[{"role":"user","name":"n","content":["a","b"],"thinking":"t"}]}"#;
    let read = prompt(body, &[]);
    assert_eq!(read.text, "a\nb\nn\nt");
    assert_eq!(read.part_breaks, [1]);
    let found = scan(body.as_bytes()).unwrap();
    let literals = Request::read(&RequestShape::CHAT, body.as_bytes(), &found).prompt_literals(&[]);
    let names = literals.iter().filter(|literal| literal.form == Form::Name);
    let names: Vec<_> = names
        .map(|name| (&body[name.span.clone()], name.is_first))
        .collect();
    assert_eq!(names, [("\"n\"", true)]);
    // What a message is called, and what else stands in it, is none of its words.
    for last in [
        r#""name":"n","content":"""#,
        r#""content":[{"type":"x","foo":"n"}]"#,
        r#""text":"n""#,
    ] {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"seen"}},{{"role":"user",{last}}}]}}"#
        );
        let text = prompt(&body, &[]).text;
        assert!(
            text.starts_with("seen\n") && text.ends_with("\nn"),
            "{body}"
        );
    }
}
