//! Monday morning (UI.md B1, B2, B10): from the first page to what happened at the weekend, who it was, whether it is
//! true and who was told, over the data set of `monitor demo-data`.

use crate::browser::Browser;
use crate::world::administrators_browser;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;
use support::api::{authorised, post};
use support::request::Request;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;
use support::{eventually, monitor};

/// Who sends the cards of the data set, and how many messages with one there are.
const LEAKER: &str = "viktor.lapin";
const CARDS: u32 = 30;
const CARD: &str = "BANK_CARD_NUMBER";
const CHANNEL: &str = "night watch";
const LOCAL: &str = "  alerts: {allow_networks: [127.0.0.0/8]}\n";
const MOST_CLICKS: u32 = 10;

/// A server over the data set.
fn demo_stack() -> Stack {
    let folder: Arc<Folder> = Folder::new();
    let filled = Command::new(monitor())
        .env_clear()
        .args(["demo-data", "--data-dir"])
        .arg(folder.path().join("data"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&filled.stderr);
    assert!(filled.status.success(), "{said}");
    Stack::all().folder(&folder).yaml(LOCAL).start()
}

#[track_caller]
fn created(stack: &Stack, path: &str, body: &Value) -> Value {
    let made = post(stack, path, body);
    assert_eq!(made.status(), 201, "{}", made.text());
    made.json()
}

#[track_caller]
fn read(stack: &Stack, path: &str) -> Value {
    let answer = authorised(Request::get(path)).call(stack.analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

/// A rule on the share of messages with sensitive data within a week, whose channel was told.
fn tell(stack: &Stack, hook: &Upstream) {
    let channel = json!({"name": CHANNEL, "kind": "webhook", "url": hook.url()});
    let channel = created(stack, "/alert_channels", &channel);
    let rule = json!({"name": "Much sensitive data", "kind": "share", "verdict": "dataclean", "window": "7d",
        "threshold": 2, "channels": [channel["id"]]});
    created(stack, "/alert_rules", &rule);
    eventually("the channel is told", || {
        let alerts = read(stack, "/alerts");
        let id = alerts["alerts"][0]["id"].as_str()?.to_owned();
        let told = read(stack, &format!("/alerts/{id}/deliveries"));
        (told["deliveries"][0]["state"] == "sent").then_some(())
    });
    assert!(hook.heads() > 0);
}

/// Somebody at the screen, who counts clicks; a choice in a list is one too.
struct Analyst {
    browser: Browser,
    clicks: u32,
}

impl Analyst {
    /// Clicks, and waits until this is true of the next page.
    #[track_caller]
    fn click(&mut self, selector: &str, then: &str) {
        self.clicks += 1;
        self.browser.click(selector);
        self.browser.wait_for_page(then);
    }

    #[track_caller]
    fn choose(&mut self, selector: &str, value: &str) {
        self.clicks += 1;
        self.browser.fill(selector, value);
    }

    /// Asserts that an element has all of these words.
    #[track_caller]
    fn sees(&mut self, selector: &str, words: &[&str]) {
        let text = self.browser.text(selector);
        for word in words {
            assert!(text.contains(word), "{word} in {selector}: {text}");
        }
    }
}

#[test]
#[ignore = "needs Chromium"]
fn monday_morning_takes_ten_clicks_at_most() {
    let hook = Upstream::json(200, "{}");
    let stack = demo_stack();
    tell(&stack, &hook);
    let mut browser = administrators_browser(&stack);
    browser.wait_for_page("location.pathname === '/ui/overview'");
    let mut analyst = Analyst { browser, clicks: 0 };

    // What happened at the weekend.
    analyst.click(
        "nav.tabs a[href*='period=7d']",
        "location.search === '?period=7d'",
    );
    analyst.sees("ol.shares", &[CARD]);

    // Who leaked most.
    analyst.click(
        "main a[href^='/ui/people?']",
        "location.pathname === '/ui/people'",
    );
    analyst.sees("main table.people tbody tr", &[LEAKER, CARD]);
    analyst.click(
        "main table.people tbody a[href^='/ui/people/user']",
        "location.pathname === '/ui/people/user'",
    );
    analyst.sees("main h1", &[LEAKER]);
    analyst.sees("ol.shares li", &[CARD]);
    let count = "Number(document.querySelector('ol.shares li .number').textContent)";
    let cards = analyst.browser.value(count).as_f64().unwrap();
    assert!(cards >= f64::from(CARDS), "{cards}");

    // Is it true.
    analyst.click(
        &format!("ol.shares a[href*='type={CARD}']"),
        "location.pathname === '/ui/records'",
    );
    analyst.click(
        "[data-record] a[href^='/ui/records/']",
        "location.pathname.startsWith('/ui/records/')",
    );
    analyst.sees("main pre.text", &["[BANK_CARD_NUMBER]"]);
    analyst.click(
        "#reveal button",
        "document.querySelector('[data-revealed]') !== null",
    );
    analyst.sees("main pre.text", &["4000 00"]);
    analyst.choose("#triage select[name=state]", "confirmed");
    analyst.choose("#triage select[name=reason]", "real_data");
    analyst.click(
        "#triage button.primary",
        "location.hash === '#triage' && document.querySelector('#triage .badge').textContent === 'confirmed'",
    );
    analyst.sees("#triage", &["Real data that must not be there"]);

    // Who was told.
    analyst.click(
        "#triage a[href='/ui/alerts']",
        "location.pathname === '/ui/alerts'",
    );
    analyst.sees(
        "main table tbody tr",
        &["Much sensitive data", CHANNEL, "sent"],
    );
    assert!(analyst.clicks <= MOST_CLICKS, "{} clicks", analyst.clicks);
    assert_eq!(analyst.browser.complaints, Vec::<String>::new());
}
