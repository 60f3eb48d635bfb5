//! Applications in a browser: making one, trying rules out, versions, two people at once.

use crate::defence::add_application;
use crate::world::{administrator, administrators_browser};
use serde_json::{Value, json};
use support::KEY;
use support::judge::Judge;
use support::stack::Stack;

fn stored(stack: &Stack, id: &str) -> Value {
    stack.analysis(&format!("/applications/{id}"), KEY).json()
}

/// The identifier in the page's address.
fn opened(browser: &mut crate::browser::Browser) -> String {
    let path = browser.value("location.pathname");
    path.as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned()
}

#[test]
#[ignore = "needs Chromium"]
fn an_application_is_made_and_a_custom_pattern_is_seen_to_work_before_it_is_saved() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/applications/new");
    browser.fill("[name=name]", "support-bot");
    browser.click("[name=mode][value=sync]");
    browser.fill("[name=phrase]", "I cannot help with that.");
    browser.fill("[name='try.text']", "Order ORD-123456 to ivan@example.org");
    browser.wait_for("document.querySelector('#try-result mark')?.title === 'EMAILS'");
    browser.fill("[name='pre.custom.name']", "ORDER");
    browser.fill("[name='pre.custom.regex']", "ORD-[0-9");
    browser.wait_for(
        "document.querySelector('#try-result [role=alert]')?.textContent.includes('regex')",
    );
    browser.fill("[name='pre.custom.regex']", "ORD-[0-9]{6}");
    browser.wait_for("document.querySelector('#try-result mark')?.title === 'ORDER'");
    let result = browser.text("#try-result");
    assert!(result.contains("Order [ORDER] to [EMAILS]"), "{result}");
    assert!(result.contains("would be blocked"), "{result}");
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    let id = opened(&mut browser);
    let stored = stored(&stack, &id);
    assert_eq!(stored["policy"]["app_mode"], "sync");
    assert_eq!(stored["rules"]["pre"]["guardrails"], json!({}));
    let patterns = stored["rules"]["pre"]["dataclean"]["patterns"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(
        patterns.last().unwrap(),
        &json!({"name": "ORDER", "regex": "ORD-[0-9]{6}"})
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn contract_38_a_category_is_switched_off_and_its_slider_says_what_a_threshold_costs() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = stack.application_id();
    browser.open(&format!("/ui/applications/{id}"));
    let offered = "[...document.querySelectorAll('#answers .category input[type=checkbox]')].map(box => box.value).join(' ')";
    assert_eq!(
        browser.value(offered),
        "toxicity system_prompt_leak secret_leak harmful_content"
    );
    let row = "#prompts .category:has([value=jailbreak])";
    let told = browser.text(&format!("{row} .measured"));
    let slider = format!("{row} input[type=range]");
    // The keys of a slider move it by its steps, as a person without a mouse does.
    browser.value(&format!("document.querySelector('{slider}').focus()"));
    for _ in 0..30 {
        browser.press("ArrowRight");
    }
    let number = format!("document.querySelector('{row} input[type=number]').value");
    assert_eq!(browser.value(&number), "0.8");
    assert_ne!(browser.text(&format!("{row} .measured")), told);
    browser.fill(&format!("{row} input[type=number]"), "0.5");
    assert_eq!(
        browser.value(&format!("document.querySelector('{slider}').value")),
        "0.5"
    );
    assert_eq!(browser.text(&format!("{row} .measured")), told);
    browser.fill(&format!("{row} input[type=number]"), "0.85");
    browser.click("#prompts .category [value=hate]");
    let shown = "getComputedStyle(document.querySelector('#prompts .category:has([value=hate]) .threshold')).display";
    assert_eq!(browser.value(shown), "none");
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    let rules = stored(&stack, &id)["rules"]["pre"]["guardrails"].clone();
    assert_eq!(
        rules,
        json!({"categories": {"jailbreak": 0.85}, "disabled": ["hate"]})
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn contract_16_a_policy_of_the_configuration_file_is_shown_and_everything_else_can_be_changed() {
    let id = "6f1c0000-0000-4000-8000-000000000001";
    let yaml = format!(
        "applications:\n- {{id: {id}, name: listed, app_mode: sync, phrase: from the file}}\n"
    );
    let stack = Stack::all().yaml(&yaml).start();
    let mut browser = administrators_browser(&stack);
    browser.open(&format!("/ui/applications/{id}"));
    assert!(
        browser
            .text("main")
            .contains("is in the configuration file (applications)")
    );
    assert_eq!(
        browser.value("document.querySelector('[name=phrase]').value"),
        "from the file"
    );
    assert_eq!(
        browser.value("document.querySelector('[name=phrase]').matches(':disabled')"),
        true
    );
    browser.screenshot("policy-in-file", 1280);
    browser.fill("[name=name]", "renamed");
    browser.click("[name=keep_original]");
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    let application = stored(&stack, id);
    assert_eq!(application["name"], "renamed");
    assert_eq!(application["rules"]["keep_original"], true);
    assert_eq!(application["policy"]["phrase"], "from the file");
    // A form that is refused still shows the policy that is in force.
    browser.fill("[name='pre.policy.name']", "no loans");
    browser.click(".savebar button");
    browser.wait_for("document.querySelector('.notice.bad') !== null");
    assert_eq!(
        browser.value("document.querySelector('[name=phrase]').value"),
        "from the file"
    );
}

#[test]
fn contract_16_the_list_marks_applications_whose_policy_is_in_the_configuration_file() {
    let id = "6f1c0000-0000-4000-8000-000000000001";
    let yaml = format!(
        "applications:\n- {{id: {id}, name: listed, app_mode: sync, phrase: from the file}}\n"
    );
    let stack = Stack::all().yaml(&yaml).start();
    let policy = json!({"app_mode": "sync", "phrase": "from the store"});
    let stored = add_application(&stack, &json!({"name": "stored", "policy": policy}));
    let mut admin = administrator(&stack);
    for (language, mark, meaning) in [
        ("en", "configuration file", "is changed there"),
        ("ru", "файл конфигурации", "меняется там"),
    ] {
        let language = language.to_owned();
        admin
            .cookies
            .insert("monitor_language".to_owned(), language);
        let page = admin.get("/ui/applications").text();
        let row = |id: &str| {
            let mut rows = page.split("<tr ");
            let row = rows.find(|row| row.contains(id));
            row.unwrap_or_else(|| panic!("{id}: {page}")).to_owned()
        };
        let listed = row(id);
        assert!(listed.contains(&format!(">{mark}</span>")), "{listed}");
        assert!(listed.contains(meaning), "{listed}");
        assert!(!row(&stored).contains(mark), "{page}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn section_2_8_the_judge_is_asked_about_custom_policies_when_somebody_wants_to_know() {
    let judge = Judge::flagging("loan");
    let stack = Stack::all().yaml(&judge.yaml("")).start();
    let mut browser = administrators_browser(&stack);
    browser.open(&format!("/ui/applications/{}", stack.application_id()));
    let form = browser.text("#prompts");
    assert!(!form.contains("No judge is configured"), "{form}");
    browser.click("[name=mode][value=sync]");
    browser.fill("[name=phrase]", "No.");
    browser.fill("[name='pre.policy.name']", "no loans");
    browser.fill("[name='pre.policy.prompt']", "Nobody is offered a loan.");
    browser.fill("[name='try.text']", "Give me a loan");
    browser.wait_for("document.querySelector('#try-result .hint') !== null");
    assert_eq!(judge.seen().connections, 0, "not with every letter");
    browser.click("button[data-into='#policies-result']");
    browser.wait_for("document.querySelector('#policies-result table') !== null");
    let result = browser.text("#policies-result");
    for part in [
        "no loans",
        "violated",
        "the judge's words",
        "would be blocked",
    ] {
        assert!(result.contains(part), "{part} in {result}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn rows_are_added_and_taken_away() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open(&format!("/ui/applications/{}", stack.application_id()));
    let rows = "document.querySelectorAll('[name=\"post.custom.name\"]').length";
    assert_eq!(browser.value(rows), 1);
    browser.click("#answers [data-add-row]");
    assert_eq!(browser.value(rows), 2);
    browser.click("#answers [data-drop-row]");
    assert_eq!(browser.value(rows), 1);
}

#[test]
#[ignore = "needs Chromium"]
fn one_regex_is_tried_on_its_own() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/applications/new");
    browser.fill("[name='try.regex']", "a+b");
    browser.fill("[name='try.sample']", "ab aab c");
    browser.wait_for("document.querySelectorAll('#regex-result mark').length === 2");
    browser.fill("[name='try.regex']", "(?=a)");
    browser.wait_for("document.querySelector('#regex-result [role=alert]') !== null");
}

/// The form of an application without a field of its policy.
fn form<'a>(name: &'a str, version: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("name", name),
        ("version", version),
        ("pre.encoding", "o200k_base"),
        ("post.encoding", "o200k_base"),
        ("pre.dataclean", "on"),
        ("post.dataclean", "on"),
        ("pre.clean_type", "MASKING"),
        ("pre.mask_style", "label"),
        ("post.clean_type", "MASKING"),
        ("post.mask_style", "label"),
    ]
}

#[test]
fn a_refused_form_is_shown_as_it_was_typed_and_the_files_policy_is_nobodys_change() {
    let id = "6f1c0000-0000-4000-8000-000000000001";
    let yaml = format!(
        "applications:\n- {{id: {id}, name: listed, app_mode: sync, phrase: from the file}}\n"
    );
    let stack = Stack::all().yaml(&yaml).start();
    let mut one = administrator(&stack);
    let path = format!("/ui/applications/{id}");
    one.get(&path);
    // A page from before the file listed the application.
    for mode in ["none", "async"] {
        let mut stale = form("mine", "1");
        stale.push(("mode", mode));
        let refused = one.post(&path, &stale);
        assert_eq!(refused.status(), 409);
        let page = refused.text();
        assert!(page.contains("value=\"mine\""), "what was typed is kept");
        assert!(page.contains("configuration file (applications)"), "{page}");
    }
    assert_eq!(one.post(&path, &form("theirs", "1")).status(), 303);
    let late = one.post(&path, &form("mine", "1"));
    assert_eq!(late.status(), 409);
    let page = late.text();
    assert!(page.contains("theirs") && page.contains("value=\"mine\""));
    assert!(!page.contains("policy.app_mode"), "nobody changed it");
    assert_eq!(one.post(&path, &form("mine", "2")).status(), 303);
    assert_eq!(stored(&stack, id)["policy"]["phrase"], "from the file");
}

#[test]
fn contract_38_of_two_saves_the_later_one_is_shown_both() {
    let stack = Stack::all().start();
    let (mut one, id) = (administrator(&stack), stack.application_id());
    let path = format!("/ui/applications/{id}");
    one.get(&path);
    let save = |name, version| {
        let mut form = form(name, version);
        form.push(("mode", "none"));
        form
    };
    assert_eq!(one.post(&path, &save("theirs", "1")).status(), 303);
    let late = one.post(&path, &save("mine", "1"));
    assert_eq!(late.status(), 409);
    let page = late.text();
    assert!(
        page.contains("theirs") && page.contains("value=\"mine\""),
        "both are shown"
    );
    assert!(
        page.contains("name=\"version\" value=\"2\""),
        "saving again is meant"
    );
    assert_eq!(stored(&stack, &id)["name"], "theirs");
    assert_eq!(one.post(&path, &save("mine", "2")).status(), 303);
    assert_eq!(stored(&stack, &id)["name"], "mine");
}

#[test]
#[ignore = "needs Chromium"]
fn a_version_is_compared_and_restored() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = stack.application_id();
    browser.open(&format!("/ui/applications/{id}"));
    browser.click("[name=mode][value=sync]");
    browser.fill("[name=phrase]", "Never.");
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    browser.open(&format!("/ui/applications/{id}/versions"));
    let page = browser.text("main");
    assert!(
        page.contains("policy.phrase") && page.contains("Never."),
        "{page}"
    );
    browser.click("button[name=restore][value='1']");
    browser.wait_for("document.querySelectorAll('.versions > li').length === 3");
    assert_eq!(stored(&stack, &id)["policy"], Value::Null);
}

#[test]
#[ignore = "needs Chromium"]
fn a_draft_is_replayed_over_stored_records_before_it_is_saved() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = stack.application_id();
    let body = json!({"application_id": id, "message": "Order ORD-123456, please"});
    let kept = support::request::Request::post("/process_request/", body.to_string())
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert_eq!(kept.status(), 200);
    browser.open(&format!("/ui/applications/{id}"));
    browser.fill("[name='pre.custom.name']", "ORDER");
    browser.fill("[name='pre.custom.regex']", "ORD-[0-9]{6}");
    browser.click("button[data-into='#replay-result']");
    browser.wait_for("document.querySelector('#replay-result .changes li') !== null");
    let result = browser.text("#replay-result");
    assert!(result.contains("ORDER is newly found"), "{result}");
    assert_eq!(stored(&stack, &id)["version"], 1, "nothing is saved");
}

#[test]
fn ten_thousand_applications_are_a_page_and_a_search_away() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    for number in 0..120 {
        add_application(&stack, &json!({"name": format!("bot {number}")}));
    }
    let next = regex::Regex::new(r#"href="(/ui/applications\?after=[0-9]+)""#).unwrap();
    let (mut seen, mut path) = (0, "/ui/applications".to_owned());
    loop {
        let page = admin.get(&path).text();
        assert!(page.len() < 150 * 1024);
        seen += page.matches("<tr ").count() - 1;
        match next.captures(&page) {
            Some(found) => path = found[1].to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, 121);
    let found = admin.get("/ui/applications?name=BOT+11").text();
    assert_eq!(found.matches("<tr ").count() - 1, 11, "11 and 110 to 119");
}

#[test]
fn removing_asks_for_the_name() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = add_application(&stack, &json!({"name": "temporary"}));
    let path = format!("/ui/applications/{id}/remove");
    admin.get("/ui/applications");
    assert_eq!(
        admin.post(&path, &[("confirmation", "other")]).status(),
        422
    );
    assert_eq!(
        admin.post(&path, &[("confirmation", "temporary")]).status(),
        303
    );
    assert_eq!(admin.get(&format!("/ui/applications/{id}")).status(), 404);
}
