//! The session of an agent as a conversation: the user, the assistant, his calls of tools and their results.

use crate::defence::add_application;
use crate::records::{keep, keeping};
use crate::world::administrator;
use serde_json::{Value, json};
use support::slow_search;
use support::stack::Stack;

fn part(call_id: &str, name: &str, text: &str) -> Value {
    json!({"call_id": call_id, "name": name, "text": text})
}

/// A session with two calls: one is short, the other one long.
fn session(stack: &Stack, application: &str) -> [String; 4] {
    let long = "line\n".repeat(50);
    let send = |stage, message: &str, name: &str, parts: Value| {
        let body = json!({"application_id": application, "message": message,
            "additional_parameters": {"session_id": "s", name: parts}});
        keep(stack, stage, &body)
    };
    let arguments = r#"{"to":"anna@example.org","n":[1]}"#;
    let answer = format!("I write to her.\nsend<b>\n{arguments}\nread\n{{}}");
    [
        send("pre", "write to anna", "tool_results", json!([])),
        send(
            "post",
            &answer,
            "tool_calls",
            json!([part("c1", "send<b>", arguments), part("c2", "read", "{}")]),
        ),
        send(
            "pre",
            "write to anna",
            "tool_results",
            json!([part("c1", "send<b>", "sent <i>"), part("c2", "read", &long)]),
        ),
        send("post", "Done.", "tool_calls", json!([])),
    ]
}

fn address(application: &str) -> String {
    format!("/ui/sessions/one?application_id={application}&session_id=s")
}

#[test]
fn a_session_shows_calls_with_their_results_below_them() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "agent");
    session(&stack, &id);
    let page = admin.get(&address(&id)).text();
    let places: Vec<usize> = [
        "write to anna",
        "I write to her.",
        "Tool call <code>send&lt;b&gt;</code>",
        "{\n  &quot;to&quot;: &quot;",
        "sent &lt;i&gt;",
        "Tool call <code>read</code>",
        "line\nline",
        "The same prompt, with results of tools.",
        "Done.",
    ]
    .iter()
    .map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}")))
    .collect();
    assert!(places.is_sorted(), "{places:?} {page}");
    assert_eq!(page.matches("write to anna").count(), 1, "{page}");
    assert_eq!(page.matches("[EMAILS]").count(), 1, "the text has no calls");
    assert!(!page.contains("anna@example.org"), "{page}");
    assert_eq!(page.matches("<details class=\"part\" open>").count(), 3);
    assert_eq!(
        page.matches("<details class=\"part\">").count(),
        1,
        "a long one is folded"
    );
    assert!(!page.contains("sent <i>") && !page.contains("send<b>"));
}

#[test]
fn finds_are_marked_in_parts_and_masked_until_an_original_is_revealed() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "agent");
    let call = json!({"application_id": id, "message": "x", "additional_parameters": {"session_id": "s",
        "tool_results": [part("c", "send", r#"{"to":"anna@example.org"}"#)]}});
    let record = keep(&stack, "pre", &call);
    let marked = "<mark title=\"EMAILS\">[EMAILS]";
    for page in [format!("/ui/records/{record}"), address(&id)] {
        let page = admin.get(&page).text();
        assert!(page.contains(marked), "{page}");
        assert!(page.contains("Tool result <code>send</code>"), "{page}");
        assert!(!page.contains("anna@example.org"), "{page}");
    }
    let page = admin
        .post(&format!("/ui/records/{record}/original"), &[])
        .text();
    let marked = "<mark title=\"EMAILS\">anna@example.org";
    assert!(page.contains(marked), "{page}");
    let mut call = call;
    call["application_id"] = stack.application_id().into();
    let record = keep(&stack, "pre", &call);
    let page = admin.get(&format!("/ui/records/{record}")).text();
    assert!(
        page.contains("\"to\": \"[EMAILS]\"".replace('"', "&quot;").as_str()),
        "{page}"
    );
    assert!(!page.contains("anna@example.org"), "{page}");
}

#[test]
fn the_list_is_narrowed_to_a_tool_and_to_records_with_calls() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "agent");
    let [_, answer, results, _] = session(&stack, &id);
    for (query, expected) in [
        ("tool=read", [&results, &answer]),
        ("has_tool_calls=true", [&results, &answer]),
    ] {
        let page = admin.get(&format!("/ui/records?{query}")).text();
        assert_eq!(page.matches("data-record=").count(), 2, "{page}");
        for record in expected {
            assert!(page.contains(record.as_str()), "{query}");
        }
        assert!(
            page.contains("<details open>"),
            "the filter that is set is shown"
        );
    }
}

/// Sends a record of a session with its parts; gives its id.
fn send(
    stack: &Stack,
    application: &str,
    (stage, message): (&str, &str),
    parts: &[Value],
) -> String {
    let name = match stage {
        "pre" => "tool_results",
        _ => "tool_calls",
    };
    let body = json!({"application_id": application, "message": message,
        "additional_parameters": {"session_id": "s", name: parts}});
    keep(stack, stage, &body)
}

/// Where texts stand on the page of the session, each of which is there once.
fn places(stack: &Stack, application: &str, texts: &[&str]) -> Vec<usize> {
    let page = administrator(stack).get(&address(application)).text();
    let place = |text: &&str| {
        assert_eq!(page.matches(text).count(), 1, "{text}: {page}");
        page.find(text).unwrap()
    };
    texts.iter().map(place).collect()
}

#[test]
fn calls_of_two_answers_with_one_id_have_each_their_own_result() {
    let stack = Stack::all().start();
    let id = keeping(&stack, "agent");
    let call = |text: &str| part("call_0", "run", text);
    send(&stack, &id, ("pre", "go"), &[]);
    // An answer that was given up has no results.
    send(&stack, &id, ("post", "Lost."), &[call("call-lost")]);
    send(&stack, &id, ("pre", "what next"), &[]);
    send(
        &stack,
        &id,
        ("post", "First."),
        &[call("call-one"), call("call-two")],
    );
    let results = [call("result-one"), call("result-two")];
    send(&stack, &id, ("pre", "what next"), &results);
    send(&stack, &id, ("post", "Second."), &[call("call-three")]);
    // The program sends an earlier one again, and one that no call on the page has.
    let results = [call("result-three"), part("gone", "run", "result-four")];
    send(&stack, &id, ("pre", "what next"), &results);
    send(&stack, &id, ("post", "All done now."), &[]);
    send(&stack, &id, ("pre", "what next"), &results);
    let order = [
        "call-lost",
        "call-one",
        "result-one",
        "call-two",
        "result-two",
        "call-three",
        "result-three",
        "result-four",
        "All done now.",
    ];
    let places = places(&stack, &id, &order);
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn the_results_of_calls_that_are_not_shown_stand_with_their_prompt() {
    let stack = Stack::all().start();
    let id = keeping(&stack, "agent");
    let numbered = |word: &str| -> Vec<Value> {
        (10..24)
            .map(|at| part(&format!("c{at}"), "run", &format!("{word}-{at}")))
            .collect()
    };
    send(&stack, &id, ("post", "Many."), &numbered("call"));
    send(&stack, &id, ("pre", "what next"), &numbered("result"));
    let order = [
        "call-21",
        "result-21",
        "what next",
        "result-22",
        "result-23",
    ];
    let places = places(&stack, &id, &order);
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn a_result_that_only_looks_like_json_is_shown_as_it_is() {
    let stack = Stack::all().start();
    let id = keeping(&stack, "agent");
    let toml = "[package]\nname  =  1";
    send(&stack, &id, ("pre", "go"), &[part("c", "cat", toml)]);
    assert_eq!(places(&stack, &id, &[toml]).len(), 1);
}

#[test]
fn calls_that_the_policy_exempts_are_marked_as_such_and_stand_below_their_answer() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "agents");
    let body = json!({"application_id": id, "message": "I will look.\nls", "additional_parameters": {
        "session_id": "s", "tool_calls": [part("c1", "ls", "{\"path\":\"/\"}")], "tools_unchecked": true}});
    let record = keep(&stack, "post", &body);
    for (language, words) in [
        ("en", "not checked, by policy"),
        ("ru", "не проверяется по политике"),
    ] {
        let language = ("monitor_language".to_owned(), language.to_owned());
        admin.cookies.extend([language]);
        let badge = format!("<span class=\"badge warn\">{words}</span>");
        for page in [format!("/ui/records/{record}"), address(&id)] {
            let page = admin.get(&page).text();
            assert_eq!(page.matches(&badge).count(), 1, "{page}");
        }
    }
    let session = admin.get(&address(&id)).text();
    assert!(session.contains(">I will look.<"), "{session}");
}

#[test]
fn parts_that_were_not_checked_are_marked_in_both_languages() {
    // CONTRACT 26: nothing passes silently.
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let side = json!({"dataclean": {"patterns": slow_search::patterns(10)}});
    let rules = json!({"keep_original": true, "pre": side, "post": side});
    let slow = add_application(&stack, &json!({"name": "slow", "rules": rules}));
    let quick = keeping(&stack, "quick");
    let digits = slow_search::digits(40 << 10);
    // Where there is no time for a part, there is none for those behind it.
    let unchecked = [part("c1", "read", &digits), part("c2", "send", "sent")];
    for stage in ["pre", "post"] {
        let checked = send(&stack, &quick, (stage, "hello"), &[part("c", "run", "ok")]);
        let unchecked = send(&stack, &slow, (stage, "hello"), &unchecked);
        for (language, words) in [("en", "not checked"), ("ru", "не проверено")] {
            let language = ("monitor_language".to_owned(), language.to_owned());
            admin.cookies.extend([language]);
            let badge = format!("<span class=\"badge bad\">{words}</span>");
            for (record, marks) in [(&unchecked, 2), (&checked, 0)] {
                let page = admin.get(&format!("/ui/records/{record}")).text();
                assert_eq!(page.matches(&badge).count(), marks, "{stage}: {page}");
            }
        }
    }
    for (application, marks) in [(&slow, 4), (&quick, 0)] {
        let page = admin.get(&address(application)).text();
        let badge = "<span class=\"badge bad\">не проверено</span>";
        assert_eq!(page.matches(badge).count(), marks, "{page}");
    }
}
