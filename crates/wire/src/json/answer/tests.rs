//! The texts that a record keeps of an answer.

use super::{answer_literals, answer_text};

const ANSWERS: &[(&str, &str)] = &[
    (
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"}}]}"#,
        "Hi",
    ),
    (
        r#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b\nc"}}]}"#,
        "a\nb\nc",
    ),
    (
        r#"{"choices":[{"message":{"content":null,"refusal":"no"}}]}"#,
        "no",
    ),
    (
        r#"{"choices":[{"message":{"content":"yes","refusal":"no"}}]}"#,
        "yes",
    ),
    (
        r#"{"choices":[{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}},{"function":{"name":"g","arguments":""}}]}}]}"#,
        "f\n{\"x\":1}\ng\n",
    ),
    (
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"\\u0066","arguments":"{\"\\u006e\":\"\\u0034\\t1\"}"}},{"function":{"arguments":"\\u0034"}}]}}]}"#,
        "\\u0066\n{\"n\":\"4\t1\"}\n\\u0034\n4",
    ),
    (
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"id":"x"}}}]}}]}"#,
        "f\nid\nx",
    ),
    (
        r#"{"choices":[{"message":{"function_call":{"name":"g","arguments":"{\"x\":\"\\u0034\"}"},"tool_calls":[{"type":"custom","custom":{"name":"exec","input":"rm -rf /"},"function":null}]}}]}"#,
        "exec\nrm -rf /\ng\n{\"x\":\"4\"}",
    ),
    (
        r#"{"choices":[{"message":{"content":[{"type":"text","text":"p"},{"type":"image_url","image_url":{"url":"x"}},{"type":"output_text","text":"q"}]}}]}"#,
        "p\nq",
    ),
    (
        r#"{"choices":[{"message":{"content":"a","\u0063ontent":"b"}}],"choices":[{"message":{"content":"c"}}]}"#,
        "a\nb\nc",
    ),
    (
        r#"{"choices":[{"message":{"content":""}},{"message":{"content":"b"}}]}"#,
        "b",
    ),
    (r#"{"choices":{"message":1}}"#, ""),
    (
        r#"{"choices":[1,null,[],{"message":[]},{"message":{"content":7}}]}"#,
        "",
    ),
    (r#"[1]"#, ""),
];

#[test]
fn the_text_of_all_choices_is_recorded() {
    for (body, text) in ANSWERS {
        assert!(
            answer_text(body.as_bytes()).unwrap().text == *text,
            "{body}"
        );
    }
}

#[test]
fn the_places_between_the_parts_of_a_choice_are_told() {
    let body =
        r#"{"choices":[{"message":{"content":"ж"}},{"message":{"content":["a",{"text":"b"}]}}]}"#;
    let answer = answer_text(body.as_bytes()).unwrap();
    assert!(answer.text == "ж\na\nb");
    assert_eq!(answer.part_breaks, [4]);
}

#[test]
fn what_stands_for_text_and_cannot_be_read_is_told() {
    let many = format!(
        r#"{{"choices":[{{"message":{{"content":["x"{}]}}}}]}}"#,
        r#","x""#.repeat(10_000)
    );
    for (body, has_unreadable) in [
        (r#"{"choices":[{"message":{"content":["a","b"]}}]}"#, false),
        (r#"{"choices":[{"message":{"content":7}}]}"#, true),
        (r#"{"choices":[{"message":{"content":["a",7]}}]}"#, true),
        (r#"{"choices":[{"message":{"refusal":true}}]}"#, true),
        (
            r#"{"choices":[{"message":{"content":"a"}},{"message":{"tool_calls":[{"function":{"name":7}}]}}]}"#,
            true,
        ),
        (&many, true),
        (
            r#"{"choices":[{"message":{"content":null,"refusal":null,"tool_calls":[{"function":{"name":"f","arguments":{"n":7}}}]}}]}"#,
            false,
        ),
    ] {
        let answer = answer_text(body.as_bytes()).unwrap();
        assert_eq!(answer.has_unreadable, has_unreadable, "{body}");
        assert!(answer.part_breaks.len() <= 4_096);
    }
}

#[test]
fn the_strings_of_every_text_are_found_in_their_order() {
    let body = r#"{"choices":[{"logprobs":{"content":"x"},"message":{"refusal":"r","role":"assistant",
        "content":[{"type":"text","text":"p"},{"type":"image_url","image_url":"x"}],"content":"c",
        "tool_calls":[{"id":"x","function":{"arguments":"{}","name":"x"}}],
        "function_call":{"arguments":"1"},"reasoning_content":"t"}},
        {"message":{"content":null}}],"choices":[{"message":{"content":"d"}}],"x":[{"message":{"content":"x"}}]}"#;
    let literals = answer_literals(body.as_bytes()).unwrap();
    let found = literals
        .into_iter()
        .map(|one| (&body[one.span], one.is_arguments));
    let expected = [
        ("\"r\"", false),
        ("\"p\"", false),
        ("\"c\"", false),
        ("\"{}\"", true),
        ("\"1\"", true),
        ("\"t\"", false),
        ("\"d\"", false),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(answer_literals(b"<html>"), None);
}

#[test]
fn model_and_usage_are_the_upstreams_own() {
    let body = br#"{"usage": {"prompt_tokens":1, "x":1e400} ,"model":"m-1","choices":[]}"#;
    let answer = answer_text(body).unwrap();
    assert_eq!(answer.model.as_deref(), Some("m-1"));
    assert_eq!(
        &body[answer.usage.unwrap()],
        br#"{"prompt_tokens":1, "x":1e400}"#
    );
}

#[test]
fn what_is_not_json_has_no_answer() {
    assert!(answer_text(b"<html>").is_none());
    assert!(answer_text(br#"{"choices":[]"#).is_none());
}
