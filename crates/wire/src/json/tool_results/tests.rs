//! Which results are new in a request, and the names of their tools.

use crate::json::{Request, RequestShape, scan};
use crate::protocol::{Messages, Protocol, Responses};
use monitor_model::{MOST_TOOL_PARTS, ToolParts};

fn parts(shape: &'static RequestShape, body: &str) -> ToolParts {
    let scan = scan(body.as_bytes()).unwrap();
    let prompt = Request::read(shape, body.as_bytes(), &scan).prompt(&[]);
    prompt.tool_results
}

fn results(shape: &'static RequestShape, body: &str) -> Vec<[String; 3]> {
    let parts = parts(shape, body).parts.into_iter();
    parts
        .map(|part| [part.call_id, part.name, part.text])
        .collect()
}

/// Identifier, name and text of each result, with a line for each.
fn lines(shape: &'static RequestShape, body: &str) -> String {
    let results = results(shape, body);
    let lines = results.iter().map(|result| result.join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn only_results_behind_the_assistants_last_message_are_new() {
    let chat = r#"{"messages":[{"role":"user","content":"hi"},
        {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"old"},
        {"role":"assistant","tool_calls":[{"id":"b","function":{"name":"cat","arguments":"{}"}},
            {"id":"c","function":{"name":"wc","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
        {"role":"tool","tool_call_id":"c","content":"7"},{"role":"user","content":"go on"}]}"#;
    let own = |row: [&str; 3]| row.map(str::to_owned);
    assert_eq!(
        results(&RequestShape::CHAT, chat),
        [own(["b", "cat", "one\ntwo"]), own(["c", "wc", "7"])]
    );
    let blocks = r#"{"messages":[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"old"}]},
        {"role":"assistant","content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"b","name":"Read","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"new"}]},
            {"type":"text","text":"and now"}]}]}"#;
    assert_eq!(
        results(Messages.request(), blocks),
        [own(["b", "Read", "new"])]
    );
    let items = r#"{"input":[{"role":"user","content":"hi"},
        {"type":"function_call","call_id":"a","name":"ls","arguments":"{}"},
        {"type":"function_call_output","call_id":"a","output":"old"},
        {"type":"reasoning","summary":[]},
        {"type":"function_call","call_id":"b","name":"cat","arguments":"{}"},
        {"type":"custom_tool_call","call_id":"c","name":"exec","input":"x"},
        {"type":"function_call_output","call_id":"b","output":"new"},
        {"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"more"}]}]}"#;
    assert_eq!(
        results(Responses.request(), items),
        [own(["b", "cat", "new"]), own(["c", "exec", "more"])]
    );
    let alone = r#"{"previous_response_id":"r","input":[{"type":"function_call_output","call_id":"b","output":"new"}]}"#;
    assert_eq!(results(Responses.request(), alone), [own(["b", "", "new"])]);
}

#[test]
fn many_results_are_counted_and_the_first_ones_kept() {
    let one = r#"{"role":"tool","tool_call_id":"a","content":"x"}"#;
    let many = vec![one; MOST_TOOL_PARTS + 3].join(",");
    let results = parts(&RequestShape::CHAT, &format!(r#"{{"messages":[{many}]}}"#));
    assert_eq!((results.parts.len(), results.omitted), (MOST_TOOL_PARTS, 3));
}

#[test]
fn very_many_results_and_calls_are_each_looked_at_a_few_times() {
    // With a walk over all calls for each result, this would take hours.
    const BLOCKS: usize = 250_000;
    let calls = r#"{"id":"x"},"#.repeat(BLOCKS);
    let results = r#"{"type":"tool_result"},"#.repeat(BLOCKS);
    let named = r#"{"type":"tool_result","tool_use_id":"c","content":"x"}"#;
    let body = format!(
        r#"{{"messages":[{{"role":"assistant","content":[{calls}{{"id":"c","name":"cat"}}]}},
        {{"role":"user","content":[{named},{results}{named}]}}]}}"#
    );
    let found = parts(Messages.request(), &body);
    assert_eq!(found.parts.len(), MOST_TOOL_PARTS);
    assert_eq!(found.omitted as usize, BLOCKS + 2 - MOST_TOOL_PARTS);
    assert_eq!((&*found.parts[0].name, &*found.parts[1].name), ("cat", ""));
}

#[test]
fn results_before_the_beginning_of_an_answer_are_new() {
    let turn = r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"ls"}}]},
        {"role":"tool","tool_call_id":"a","content":"secret"}"#;
    let answer =
        r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"no"}}]}"#;
    for (behind, expected) in [
        ("", "a ls secret"),
        (answer, "a ls secret"),
        (&format!("{answer},{answer}"), "a ls secret"),
        (
            &format!(r#"{answer},{{"role":"user","content":"go on"}}"#),
            "",
        ),
    ] {
        let comma = if behind.is_empty() { "" } else { "," };
        let body = format!(r#"{{"messages":[{turn}{comma}{behind}]}}"#);
        assert_eq!(lines(&RequestShape::CHAT, &body), expected, "{behind}");
    }
    let blocks = r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"secret"}]},
        {"role":"assistant","content":"{"}]}"#;
    assert_eq!(lines(Messages.request(), blocks), "a ls secret");
}

#[test]
fn results_right_behind_their_calls_are_of_one_answer() {
    let pair = |id: &str, name: &str, output: &str| {
        format!(
            r#"{{"type":"function_call","call_id":"{id}","name":"{name}","arguments":"{{}}"}},
            {{"type":"function_call_output","call_id":"{id}","output":"{output}"}}"#
        )
    };
    let [a, b] = [pair("a", "ls", "1"), pair("b", "cat", "2")];
    let again = pair("a", "wc", "3");
    let [a, b, again] = [&*a, &*b, &*again];
    let user = r#"{"role":"user","content":"hi"}"#;
    let reasoning = r#"{"type":"reasoning","summary":[]}"#;
    for (items, expected) in [
        (vec![user, reasoning, a, b], "a ls 1\nb cat 2"),
        (vec![a, b, again], "a ls 1\nb cat 2\na wc 3"),
        (vec![a, b, user], "a ls 1\nb cat 2"),
        // What stands between them tells that they are of several.
        (vec![a, reasoning, b], "b cat 2"),
        (vec![a, user, b], "b cat 2"),
        (
            vec![a, r#"{"role":"assistant","content":"hm"}"#, b],
            "b cat 2",
        ),
    ] {
        let body = format!(r#"{{"input":[{}]}}"#, items.join(","));
        assert_eq!(lines(Responses.request(), &body), expected, "{body}");
    }
    let many = format!(r#"{{"input":[{}]}}"#, vec![a; 100].join(","));
    let many = parts(Responses.request(), &many);
    assert_eq!((many.parts.len(), many.omitted), (super::MOST_PAIRS, 0));
}

#[test]
fn messages_without_results_take_no_place_and_are_not_counted() {
    let plain = r#"{"role":"user","content":"a tool_result"}"#;
    let blocks = r#"{"role":"user","content":[{"type":"text","text":"x"}]}"#;
    let result = r#"{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a","content":"y"}]}"#;
    let messages = [plain, blocks].repeat(MOST_TOOL_PARTS);
    let body = format!(r#"{{"messages":[{},{result}]}}"#, messages.join(","));
    let found = parts(Messages.request(), &body);
    assert_eq!((found.parts.len(), found.omitted), (1, 0));
    assert_eq!(found.parts[0].text, "y");
}

#[test]
fn results_of_functions_and_custom_tools_are_read_behind_escapes_too() {
    let body = r#"{"messages":[{"role":"assistant","function_call":{"name":"ls","arguments":"{}"},
            "tool_calls":[{"id":"c","type":"custom","custom":{"name":"exec","input":"x"}}]},
        {"role":"function","name":"ls","content":"1"},
        {"role":"\u0074ool","\u0074ool_call_id":"c","content":"2"}]}"#;
    assert_eq!(lines(&RequestShape::CHAT, body), " ls 1\nc exec 2");
    let items = r#"{"input":[{"type":"tool_search_output","call_id":"s","output":"3"}]}"#;
    assert_eq!(lines(Responses.request(), items), "s  3");
}
