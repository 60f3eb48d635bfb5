//! What is found beside the known members of an object.
#![allow(clippy::unwrap_used)]

use super::{
    CallText, MOST_TEXTS, OtherText, Place, TextPath, TopMember, other_texts, texts_beside,
};
use crate::json::view::View;

fn found(object: &str) -> Option<Vec<OtherText>> {
    let place = Place::of_object("object");
    other_texts(object.as_bytes(), &["content", "delta"], place)
}

/// The paths and the strings.
fn read(object: &str) -> Option<Vec<(TextPath, &str)>> {
    let found = found(object)?.into_iter();
    Some(found.map(|text| (text.path, &object[text.span])).collect())
}

fn path(names: &str) -> TextPath {
    let root = TextPath::of("object");
    names.split('/').skip(1).fold(root, TextPath::member)
}

#[test]
fn every_string_that_is_no_attribute_has_a_path() {
    let object = r#"{"role":"assistant","content":"no","thinking":"a","x":{"y":["b",{"z":"c"}],"n":7,"e":""},
        "reasoning_details":[{"index":3e0,"type":"reasoning.text","text":"d","signature":"no","format":"no"}],
        "audio":{"id":"no","transcript":"e","data":"no"},"source":{"type":"text","data":"f"},
        "images":[{"type":"image_url","image_url":{"url":"no"}}],"input":{"id":"g","n":[12345678,7]},"logprobs":{"content":[{"token":"no"}]},
        "Stop_Reason":"no","file":{"file_data":"no"},"z":{"type":"image","data":"no"}}"#;
    let expected = [
        ("/thinking", "\"a\""),
        ("/x/y/0", "\"b\""),
        ("/x/y/1/z", "\"c\""),
        ("/reasoning_details/3/text", "\"d\""),
        ("/audio/transcript", "\"e\""),
        ("/source/data", "\"f\""),
        ("/input/id", "\"g\""),
    ];
    let expected = expected.iter().map(|(names, text)| (path(names), *text));
    let mut expected: Vec<_> = expected.collect();
    let alone = |text| (path("/input").alone(), text);
    expected.splice(6..6, [alone("\"id\"")]);
    expected.extend([alone("\"n\""), alone("12345678")]);
    assert_eq!(read(object).unwrap(), expected);
}

#[test]
fn the_name_of_a_called_tool_is_text() {
    let object = r#"{"tool_calls":[{"id":"no","type":"custom","custom":{"name":"a","input":"b"}},
        {"index":7,"function":{"name":"c","arguments":{"id":"d"}}}],"function_call":{"name":"e"},"name":"no"}"#;
    let found = found(object).unwrap();
    let texts: Vec<_> = found
        .iter()
        .map(|text| &object[text.span.clone()])
        .collect();
    let expected = ["\"a\"", "\"b\"", "\"c\"", "\"id\"", "\"d\"", "\"e\""];
    assert_eq!(texts, expected);
    assert_eq!(found[3].path, path("/tool_calls").alone());
    assert_eq!(found[4].path, path("/tool_calls/7/function/arguments/id"));
    let of_calls: Vec<_> = found.iter().map(|text| text.of_call).collect();
    let (name, arguments) = (Some(CallText::Name), Some(CallText::Arguments));
    let of_argument = Some(CallText::ArgumentName);
    assert_eq!(of_calls, [name, arguments, name, of_argument, None, name]);
    assert_eq!(
        (found[4].member, found[5].member),
        (TopMember::ToolCalls, TopMember::FunctionCall)
    );
}

#[test]
fn the_members_of_an_object_inside_have_the_paths_of_the_whole() {
    let call = r#"{"index":7,"name":"a","function":{"name":"b"}}"#;
    let whole = format!(r#"{{"tool_calls":[{call}]}}"#);
    let place = Place::of_object("object").member("tool_calls").member("7");
    let inside = other_texts(call.as_bytes(), &[], place).unwrap();
    let whole = found(&whole).unwrap();
    assert_eq!(inside.len(), 2);
    for (inside, whole) in inside.iter().zip(&whole) {
        assert_eq!((inside.path, inside.member), (whole.path, whole.member));
        assert_eq!(
            (inside.of_call, whole.of_call),
            (Some(CallText::Name), Some(CallText::Name))
        );
    }
}

#[test]
fn of_very_many_strings_the_first_are_told_and_the_rest_is_unreadable() {
    for (more, has_unreadable) in [(0, false), (1, true)] {
        let object = format!(
            r#"{{"x":["a"{}]}}"#,
            r#","a""#.repeat(MOST_TEXTS - 1 + more)
        );
        let texts = texts_beside(View::new(object.as_bytes(), 0..object.len()), &[]);
        assert_eq!(texts.found.len(), MOST_TEXTS);
        assert_eq!(texts.has_unreadable, has_unreadable);
    }
}

#[test]
fn what_lies_too_deep_hides_nothing_beside_it() {
    let object = format!(
        r#"{{"x":{}"no"{},"y":"a"}}"#,
        "[".repeat(40),
        "]".repeat(40)
    );
    let texts = texts_beside(View::new(object.as_bytes(), 0..object.len()), &[]);
    assert!(texts.has_unreadable);
    assert_eq!(texts.found.len(), 1);
}

#[test]
fn a_name_of_two_readings_and_a_depth_without_end_are_unreadable() {
    assert!(read(r#"{"Content":"a"}"#).is_none());
    assert!(read(r#"{"c\u006fntent":"a"}"#).unwrap().is_empty());
    let nested = |depth: usize| format!(r#"{{"x":{}"a"{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read(&nested(32)).unwrap().len(), 1);
    assert!(read(&nested(33)).is_none());
    assert!(read("7").unwrap().is_empty());
}
