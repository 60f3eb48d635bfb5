//! What a user said since the assistant's last message, as one message (CONTRACT 42).
#![allow(clippy::unwrap_used)]

use super::prompts::prompt;
use crate::json::ScanRole;

#[test]
fn the_turn_of_the_user_is_what_stands_since_the_assistants_last_message() {
    use ScanRole::{Tool, UserTurn};
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let of = |role: &str| format!(r#"{{"role":"{role}","content":"{role}"}}"#);
    let table: &[(Vec<String>, &str, &[usize])] = &[
        (vec![user("a"), user("b")], "a\nb", &[1]),
        (vec![user("a"), of("assistant"), user("b")], "b", &[]),
        (
            vec![user("a"), of("assistant"), user("b"), user("c")],
            "b\nc",
            &[1],
        ),
        (vec![user("a"), of("system"), user("b")], "a\nb", &[1]),
        (
            vec![user("a"), of("customer"), user("b")],
            "a\ncustomer\nb",
            &[1, 10],
        ),
        (
            vec![user("a"), user("b"), of("assistant"), user("")],
            "a\nb",
            &[1],
        ),
        (vec![of("assistant"), user("a"), of("assistant")], "a", &[]),
        (vec![of("system")], "system", &[]),
    ];
    for (messages, text, breaks) in table {
        let body = format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        let prompt = prompt(&body, &[UserTurn]);
        assert_eq!(
            (prompt.text.as_str(), prompt.part_breaks.as_slice()),
            (*text, *breaks),
            "{body}"
        );
    }
    // The result of a tool ends no turn, and is none of its parts.
    let body = format!(
        r#"{{"messages":[{},{},{},{}]}}"#,
        user("a"),
        user("b"),
        of("tool"),
        user("c")
    );
    assert_eq!(prompt(&body, &[UserTurn]).text, "a\nb\nc");
    let with_tool = prompt(&body, &[UserTurn, Tool]);
    assert_eq!(with_tool.text, "tool\na\nb\nc");
    assert_eq!(with_tool.part_breaks, [6, 8]);
    let unreadable = format!(
        r#"{{"messages":[{{"role":"user","content":7}},{}]}}"#,
        user("a")
    );
    assert!(prompt(&unreadable, &[UserTurn]).has_unreadable);
}

#[test]
fn nothing_stands_between_the_parts_of_a_turn() {
    use ScanRole::{System, Tool, UserTurn};
    let roles = [UserTurn, System, Tool];
    let parts = [
        r#"{"role":"user","content":"my card is 4111 1111"}"#,
        r#"{"role":"user","content":" 1111 1111"}"#,
    ];
    let turn = "my card is 4111 1111\n 1111 1111";
    for (between, before) in [
        ("", ""),
        (r#"{"role":"system","content":"s"},"#, "s\n"),
        (
            r#"{"role":"tool","content":"t"},{"role":"system","content":"s"},"#,
            "t\ns\n",
        ),
        (r#"{"role":"assistant","content":""},"#, ""),
        (
            r#"{"role":"assistant","content":null,"tool_calls":[]},"#,
            "",
        ),
    ] {
        let messages = format!("{},{between}{}", parts[0], parts[1]);
        let body = format!(r#"{{"messages":[{messages}]}}"#);
        let prompt = prompt(&body, &roles);
        assert_eq!(prompt.text, format!("{before}{turn}"), "{body}");
        assert_eq!(prompt.part_breaks, [before.len() + 20], "{body}");
    }
    for answer in [
        r#"{"role":"assistant","content":"a"}"#,
        r#"{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}"#,
        r#"{"role":"assistant","function_call":{"name":"f"}}"#,
    ] {
        let body = format!(r#"{{"messages":[{},{answer},{}]}}"#, parts[0], parts[1]);
        let prompt = prompt(&body, &[UserTurn]);
        assert_eq!(prompt.text, " 1111 1111", "{body}");
    }
}

#[test]
fn a_repeated_list_of_messages_does_not_take_a_turn_apart() {
    let turn = r#"[{"role":"user","content":"4111 1111"},{"role":"user","content":" 1111 1111"}]"#;
    for (body, text) in [
        (
            format!(r#"{{"Messages":null,"messages":{turn}}}"#),
            "4111 1111\n 1111 1111",
        ),
        (
            format!(
                r#"{{"messages":{turn},"messages":[{{"role":"assistant","content":"a"}},{{"role":"user","content":"b"}}]}}"#
            ),
            "4111 1111\n 1111 1111\na\nb",
        ),
    ] {
        let by_turns = prompt(&body, &[ScanRole::UserTurn]);
        assert_eq!(
            (by_turns.text.as_str(), &*by_turns.part_breaks),
            (text, &[9][..])
        );
        let last = prompt(&body, &[ScanRole::LastUser]);
        assert_eq!((last.text.as_str(), &*last.part_breaks), (text, &[][..]));
    }
}
