//! Limits on an application's calls (CONTRACT 34) in its form: set there, in force at the gateway, told
//! among the differences; and what a form says of a limit that cannot be meant.

use crate::world::{administrator, administrators_browser};
use serde_json::{Value, json};
use support::KEY;
use support::eventually;
use support::request::{HELLO, Request};
use support::stack::Stack;

fn policy(stack: &Stack) -> Value {
    let path = format!("/applications/{}", stack.application_id());
    stack.analysis(&path, KEY).json()["policy"].clone()
}

#[test]
#[ignore = "needs Chromium"]
fn a_limit_set_in_the_form_is_in_force_at_the_gateway_and_shown_among_the_differences() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = stack.application_id();
    let address = format!("/ui/applications/{id}");
    browser.open(&address);
    browser.click("[name=mode][value=async]");
    browser.fill("[name='limits.calls']", "1");
    browser.fill("[name='limits.concurrent']", "7");
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    let expected = json!({"requests_per_minute": 1, "concurrent": 7});
    assert_eq!(policy(&stack)["limits"], expected);
    let value = |name: &str| format!("document.querySelector(\"[name='{name}']\").value");
    assert_eq!(browser.value(&value("limits.calls")), "1");
    assert_eq!(browser.value(&value("limits.per")), "minute");
    let refused = eventually("a call too many", || {
        let answer = stack.call(&Request::chat(HELLO));
        (answer.status() == 429).then_some(answer)
    });
    assert!(refused.head.header("retry-after").is_some());
    browser.fill("[name='limits.calls']", "");
    browser.fill("[name='limits.concurrent']", "9");
    browser.click(".savebar button");
    browser.wait_for("document.querySelector('[name=version]').value === '3'");
    eventually("no limit on the rate", || {
        let passed = (0..3).all(|_| stack.call(&Request::chat(HELLO)).status() == 200);
        passed.then_some(())
    });
    browser.open(&format!("{address}/versions"));
    let latest = browser.text(".versions > li");
    for part in [
        "policy.limits.requests_per_minute",
        "policy.limits.concurrent",
        "7",
        "9",
    ] {
        assert!(latest.contains(part), "{part} in {latest}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn what_cannot_be_meant_is_told_by_the_fields_name_in_the_pages_language() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let path = format!("/ui/applications/{}", stack.application_id());
    admin.get(&path);
    let fields = |calls, burst| {
        [
            ("name", "default"),
            ("version", "1"),
            ("mode", "async"),
            ("scan_roles", "last_user"),
            ("on_backend_failure", "open"),
            ("stream_in_sync", "off"),
            ("pre.encoding", "o200k_base"),
            ("post.encoding", "o200k_base"),
            ("limits.calls", calls),
            ("limits.per", "second"),
            ("limits.burst", burst),
            ("pre.tokens.low", "5"),
        ]
    };
    let english = [
        "<a href=\"#limits\">Call limits</a>, Calls",
        "is not a valid number of calls; allowed: 1 to 1000000",
        "policy.limits.requests_per_second",
        "<a href=\"#pre.tokens\">Prompts: Token thresholds</a>, High",
    ];
    let russian = [
        "<a href=\"#limits\">Ограничения на вызовы</a>, Вызовов",
        "неверное число вызовов; допустимо от 1 до 1000000",
        "Запросы: Пороги по числу токенов</a>, Высокий",
        "не задано",
    ];
    let hints = [
        "Clients that ask for a stream show nothing when they get the whole answer at once.",
        "Клиенты, которые запрашивают поток, ничего не показывают, если получают ответ целиком.",
    ];
    let languages = [("en", english), ("ru", russian)];
    for ((language, expected), hint) in languages.into_iter().zip(hints) {
        let chosen = [("language", language), ("next", "/ui")];
        assert_eq!(admin.post("/ui/preferences", &chosen).status(), 303);
        // What plain synchronous mode does to a stream.
        assert!(admin.get(&path).text().contains(hint));
        let refused = admin.post(&path, &fields("0", ""));
        assert_eq!(refused.status(), 422);
        let page = refused.text();
        for part in expected {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(page.contains("id=\"limits\"") && page.contains("id=\"pre.tokens\""));
        assert!(page.contains("name=\"limits.calls\" value=\"0\""), "stays");
    }
    let alone = admin.post(&path, &fields("", "5")).text();
    let told = "</a>, Размер всплеска: нужно requests_per_second";
    assert!(alone.contains(told), "{alone}");
    assert_eq!(policy(&stack), Value::Null, "nothing was saved");
}

#[test]
#[ignore = "needs Chromium"]
fn contract_41_what_the_gateway_looks_for_can_be_chosen_and_given_up() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open(&format!("/ui/applications/{}", stack.application_id()));
    let shown = "document.querySelector('#local_patterns').checkVisibility()";
    let form = "document.querySelector('.with-policy').checkVisibility()";
    browser.click("[name=mode][value=none]");
    assert_eq!(browser.value(form), false, "no policy, nothing to set");
    browser.click("[name=mode][value=async]");
    assert_eq!(browser.value(form), true);
    browser.click(".with-policy details summary");
    assert_eq!(browser.value(shown), false);
    browser.click("[name=redact_upstream]");
    assert_eq!(browser.value(shown), true);
    browser.click("[name='local.which'][value=chosen]");
    browser.value(
        "document.querySelectorAll('[name=\"local.pattern\"]').forEach(one => { one.checked = one.value === 'EMAILS'; })",
    );
    browser.click(".savebar button");
    browser.wait_for("document.querySelector('[name=version]').value === '2'");
    assert_eq!(policy(&stack)["local_patterns"], json!(["EMAILS"]));
    browser.click("[name=redact_upstream]");
    browser.click(".savebar button");
    browser.wait_for("document.querySelector('[name=version]').value === '3'");
    assert_eq!(policy(&stack)["local_patterns"], Value::Null);
    assert_eq!(policy(&stack)["redact_upstream"], false);
}
