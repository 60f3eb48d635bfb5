//! A new application has the checks of the first one, and a blocker whose check is off says that it has no effect.

use crate::world::{administrator, administrators_browser};
use serde_json::json;
use support::KEY;
use support::stack::Stack;

#[test]
#[ignore = "needs Chromium"]
fn a_blocker_without_its_check_says_so_also_without_scripts() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/applications/new");
    let note = |check: &str| {
        format!("getComputedStyle(document.querySelector('[id=\"block.{check}\"] .off')).display")
    };
    for (check, shown) in [
        ("dataclean", "none"),
        ("guardrails", "none"),
        ("custom_policy", "block"),
    ] {
        assert_eq!(browser.value(&note(check)), shown, "{check}");
    }
    // The page's style alone finds it: nothing but the boxes changes.
    for check in ["dataclean", "guardrails"] {
        browser.click(&format!("[name='pre.{check}']"));
        assert_eq!(browser.value(&note(check)), "block", "{check}");
        let told = browser.text(&format!("[id='block.{check}']"));
        assert!(told.contains("this check is off for prompts"), "{told}");
        browser.click(&format!("[name='pre.{check}']"));
        assert_eq!(browser.value(&note(check)), "none", "{check}");
    }
    browser.fill("[name='pre.policy.name']", "loans");
    assert_eq!(browser.value(&note("custom_policy")), "none");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_new_application_has_the_checks_of_the_first_one() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let form = admin.get("/ui/applications/new").text();
    let field =
        regex::Regex::new(r#"<input type="checkbox" name="([^"]+)"( value="[^"]*")? checked>"#);
    let field = field.unwrap();
    let value = |found: Option<regex::Match<'_>>| match found {
        Some(found) => found.as_str()[8..found.as_str().len() - 1].to_owned(),
        None => "on".to_owned(),
    };
    // What a browser sends of the boxes that are ticked, and of the fields that a form needs.
    let ticked: Vec<(String, String)> = field
        .captures_iter(&form)
        .map(|found| (found[1].to_owned(), value(found.get(2))))
        .collect();
    let mut fields = vec![
        ("name", "made"),
        ("mode", "async"),
        ("on_backend_failure", "open"),
        ("stream_in_sync", "off"),
        ("pre.encoding", "o200k_base"),
        ("post.encoding", "o200k_base"),
        ("pre.clean_type", "MASKING"),
        ("pre.mask_style", "label"),
        ("post.clean_type", "MASKING"),
        ("post.mask_style", "label"),
    ];
    fields.extend(ticked.iter().map(|(name, value)| (&**name, &**value)));
    let made = admin.post("/ui/applications", &fields);
    assert_eq!(made.status(), 303, "{}", made.text());
    let address = made.head.header("location").unwrap();
    let id = address.trim_start_matches("/ui/applications/");
    let id = id.trim_end_matches("?saved");
    let rules = |id: &str| {
        let path = format!("/applications/{id}");
        stack.analysis(&path, KEY).json()["rules"].clone()
    };
    let default = rules(&stack.application_id());
    assert_eq!(default, json!({"pre": {"guardrails": {}}}));
    assert_eq!(rules(id), default);
}
