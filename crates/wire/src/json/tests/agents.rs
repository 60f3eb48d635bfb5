//! Prompts of the Responses and the Messages API, with what programs send that act on their own.
#![allow(clippy::unwrap_used)]

use crate::json::{Request, ScanRole, scan, unescape};
use crate::protocol::{Messages, Protocol, Responses};

fn prompt(protocol: &dyn Protocol, body: &str, roles: &[ScanRole]) -> (String, bool) {
    let found = scan(body.as_bytes()).unwrap();
    let request = Request::read(protocol.request(), body.as_bytes(), &found);
    let prompt = request.prompt(roles);
    (prompt.text, prompt.has_unreadable)
}

#[test]
fn a_request_of_the_responses_api_is_read_by_roles() {
    use ScanRole::{AllUser, Assistant, LastUser, System, Tool};
    let body = r##"{"model":"m","instructions":"i","input":[
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"d"}]},
        {"role":"user","content":"u1"},
        {"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"no"},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},
        {"type":"function_call","call_id":"no","name":"shell","arguments":"{\"c\":\"ls\"}"},
        {"type":"function_call_output","call_id":"no","output":"o"},
        {"type":"custom_tool_call_output","call_id":"no","output":[{"type":"input_text","text":"p"}]},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"u2"},{"type":"input_image","image_url":"no"}]}
    ]}"##;
    for (roles, expected) in [
        (&[][..], "u2"),
        (&[LastUser], "u2"),
        (&[AllUser], "u1\nu2"),
        (&[System], "i\nd"),
        (&[Tool], "o\np"),
        (&[Assistant], "a\nt\nshell\n{\"c\":\"ls\"}"),
        (&[Tool, LastUser], "u2\no\np"),
    ] {
        assert_eq!(
            prompt(&Responses, body, roles),
            (expected.into(), false),
            "{roles:?}"
        );
    }
    assert_eq!(
        prompt(&Responses, r#"{"input":"x"}"#, &[System]),
        (String::new(), false)
    );
    let user = [ScanRole::LastUser];
    for (body, expected, unreadable) in [
        (r#"{"input":"x"}"#, "x", false),
        (
            r#"{"input":[{"type":"message","content":"x"}]}"#,
            "x",
            false,
        ),
        (
            r#"{"prompt":{"id":"p","variables":{"a":"x","b":{"type":"input_text","text":"y"}}}}"#,
            "x\ny",
            false,
        ),
        (r#"{"prompt":{"id":"p"}}"#, "", false),
        (r#"{"prompt":{"id":"p","variables":null}}"#, "", false),
        // What no API takes may be read by some server.
        (r#"{"prompt":{"id":"p","variables":"x"}}"#, "", true),
        (
            r#"{"input":"x","prompt":{"id":"p","variables":["y"]}}"#,
            "x",
            true,
        ),
        (
            r#"{"input":[{"type":"mcp_list_tools","tools":[{"name":"x","description":"y"}]}]}"#,
            "x\ny",
            false,
        ),
        (r#"{"input":7}"#, "", true),
        ("{}", "", true),
        // Nobody knows who speaks in an item of an unknown type.
        (r#"{"input":[{"type":"tomorrow","words":"x"}]}"#, "x", false),
        (
            r#"{"input":[{"type":"function_call_output","role":"user","output":"x"}]}"#,
            "x",
            false,
        ),
        (
            r#"{"input":"a","Input":[{"role":"assistant","content":"b"}]}"#,
            "a\nb",
            false,
        ),
    ] {
        assert_eq!(
            prompt(&Responses, body, &user),
            (expected.into(), unreadable),
            "{body}"
        );
    }
}

const AGENT: &str = r#"{"system":[{"type":"text","text":"s1"},{"type":"text","text":"s2","cache_control":{"type":"ephemeral"}}],
    "messages":[
        {"role":"user","content":[{"type":"text","text":"<system-reminder>c</system-reminder>"},{"type":"text","text":"u"}]},
        {"role":"system","content":"s3"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"no"},{"type":"text","text":"a"},
            {"type":"tool_use","id":"no","name":"Bash","input":{"command":"ls"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"no","content":[{"type":"text","text":"o"}]}]}
    ]}"#;

#[test]
fn a_request_of_the_messages_api_is_read_by_roles() {
    use ScanRole::{AllUser, Assistant, LastUser, System, Tool};
    for (roles, expected) in [
        // Context that the program added stands behind the words of the user.
        (&[][..], "u\n<system-reminder>c</system-reminder>"),
        (&[LastUser], "u\n<system-reminder>c</system-reminder>"),
        (&[AllUser], "u\n<system-reminder>c</system-reminder>"),
        (&[System], "s1\ns2\ns3"),
        (&[Tool], "o"),
        (&[Assistant], "a\nls\nt\nBash\ncommand"),
    ] {
        assert_eq!(
            prompt(&Messages, AGENT, roles),
            (expected.into(), false),
            "{roles:?}"
        );
    }
    let user = [LastUser];
    for (body, expected) in [
        (r#"{"messages":[{"role":"user","content":"x"}]}"#, "x"),
        // The last words of the user are not the results of his tools.
        (
            r#"{"messages":[{"role":"user","content":"x"},{"role":"user","content":[{"type":"tool_result","content":"y"}]}]}"#,
            "x",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":"y"},{"type":"text","text":"x"}]}]}"#,
            "x",
        ),
        // A block of two types is read as both.
        (
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","type":"text","text":"x"}]}]}"#,
            "x",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"x"},"title":"y"}]}]}"#,
            "x\ny",
        ),
    ] {
        assert_eq!(
            prompt(&Messages, body, &user),
            (expected.into(), false),
            "{body}"
        );
    }
}

#[test]
fn what_a_model_server_signed_is_checked_and_never_changed() {
    let found = scan(AGENT.as_bytes()).unwrap();
    let request = Request::read(Messages.request(), AGENT.as_bytes(), &found);
    let literals = request.prompt_literals(&[ScanRole::Assistant]);
    let texts: Vec<_> = literals
        .iter()
        .map(|literal| unescape(&AGENT.as_bytes()[literal.span.clone()]).into_owned())
        .collect();
    assert_eq!(texts, ["a", "ls", "Bash", "command"]);
}

#[test]
fn an_answer_that_comes_later_is_known_by_what_some_reader_takes_for_true() {
    for (body, expected) in [
        (r#"{"background":true}"#, true),
        (r#"{"Background":1,"background":false}"#, true),
        (r#"{"background":false,"background":null}"#, false),
        ("{}", false),
    ] {
        let found = scan(body.as_bytes()).unwrap();
        let later = |protocol: &dyn Protocol| {
            Request::read(protocol.request(), body.as_bytes(), &found).is_answered_later()
        };
        assert_eq!(
            (later(&Responses), later(&Messages)),
            (expected, false),
            "{body}"
        );
    }
}
