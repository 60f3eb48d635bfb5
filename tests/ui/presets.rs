//! The form of an application in a few words, and presets that fill its thresholds (UI.md D).

use crate::records::keeping;
use crate::world::{administrator, administrators_browser};
use support::KEY;
use support::stack::Stack;

#[test]
fn ui_d_the_form_says_what_it_does_in_words_and_links_to_its_sections() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let page = admin.get(&format!("/ui/applications/{id}")).text();
    let said = page.split("id=\"summary\">").nth(1).unwrap();
    let said = said.split("</p>").next().unwrap();
    for part in [
        "Blocks ",
        "sensitive data",
        "prompts: EMAILS",
        "keeps originals",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let parts = ["general", "policy", "prompts", "answers", "keeping"];
    for section in parts {
        assert!(page.contains(&format!("href=\"#{section}\"")), "{section}");
        assert!(page.contains(&format!("id=\"{section}\"")), "{section}");
    }
    let new = admin.get("/ui/applications/new").text();
    assert!(new.contains("Only observes"), "{new}");
    let all = regex::Regex::new("guardrails ([0-9]+) of ([0-9]+)").unwrap();
    let all = all.captures(&new).unwrap();
    assert_eq!(all[1], all[2], "{new}");
}

#[test]
#[ignore = "needs Chromium"]
fn ui_d_a_preset_fills_the_thresholds_and_saves_nothing() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = stack.application_id();
    browser.open(&format!("/ui/applications/{id}"));
    browser.fill("[name=description]", "typed before");
    browser.click("#prompts button[name=preset][value='pre.careful']");
    browser.wait_for_page("document.querySelector('.notice.good') !== null");
    let number = "document.querySelector('#prompts .category:has([value=jailbreak]) input[type=number]').value";
    assert_eq!(browser.value(number), "0.8");
    let answers = "document.querySelector('#answers .category input[type=number]').value";
    assert_eq!(browser.value(answers), "0.5", "of prompts alone");
    let description = "document.querySelector('[name=description]').value";
    assert_eq!(browser.value(description), "typed before");
    let stored = stack.analysis(&format!("/applications/{id}"), KEY).json();
    assert_eq!(stored["version"], 1);
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    let stored = stack.analysis(&format!("/applications/{id}"), KEY).json();
    let categories = &stored["rules"]["pre"]["guardrails"]["categories"];
    assert_eq!(categories["jailbreak"], 0.8);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn ui_d_a_preset_of_nothing_known_is_no_page_and_a_new_application_takes_one() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    admin.get("/ui/applications/new");
    let fields = |preset| [("name", "new one"), ("mode", "async"), ("preset", preset)];
    let filled = admin.post("/ui/applications/preset", &fields("pre.strict"));
    assert_eq!(filled.status(), 200, "{}", filled.text());
    let page = filled.text();
    assert!(page.contains("value=\"new one\"") && page.contains("value=\"0.3\""));
    for odd in ["", "pre.odd", "strict"] {
        let refused = admin.post("/ui/applications/preset", &fields(odd));
        assert_eq!(refused.status(), 404, "{odd}");
    }
}
