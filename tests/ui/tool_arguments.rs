//! Whether the arguments of tool calls are checked (CONTRACT 46), in the form of an application and in its history.

use crate::world::administrator;
use serde_json::Value;
use support::KEY;
use support::stack::Stack;

fn stored(stack: &Stack) -> Value {
    let path = format!("/applications/{}", stack.application_id());
    stack.analysis(&path, KEY).json()
}

#[test]
fn the_check_of_arguments_is_chosen_in_the_form_and_its_end_is_seen_in_the_history() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let path = format!("/ui/applications/{}", stack.application_id());
    let page = admin.get(&path).text();
    let check = "<option value=\"true\" selected>Check</option>";
    assert!(page.contains("name=\"check_tool_arguments\"") && page.contains(check));
    let base = [
        ("name", "default"),
        ("mode", "async"),
        ("scan_roles", "last_user"),
        ("on_backend_failure", "open"),
        ("stream_in_sync", "off"),
        ("pre.encoding", "o200k_base"),
        ("post.encoding", "o200k_base"),
    ];
    // A form that does not ask leaves the switch as it is.
    for (chosen, expected) in [
        (Some("true"), Value::Null),
        (Some("false"), Value::Bool(false)),
        (None, Value::Bool(false)),
        (Some("true"), Value::Null),
    ] {
        let version = stored(&stack)["version"].to_string();
        let mut fields = base.to_vec();
        fields.push(("version", &version));
        fields.extend(chosen.map(|chosen| ("check_tool_arguments", chosen)));
        let answer = admin.post(&path, &fields);
        assert_eq!(answer.status(), 303, "{}", answer.text());
        let checks = &stored(&stack)["policy"]["check_tool_arguments"];
        assert_eq!(*checks, expected, "{version} {chosen:?}");
    }
    let page = admin.get(&format!("{path}/versions")).text();
    assert!(
        page.contains("<code>policy.check_tool_arguments</code>"),
        "{page}"
    );
}
