//! Pages of the web UI over a large store: how long the server takes for each, and how much it sends.

use super::pages::TIMES;
use bench_support::results::{Table, percentile};
use regex::Regex;
use std::time::{Duration, Instant};
use support::stack::Stack;
use support::visitor::Visitor;

const GOAL: &str = "≤ 100 ms";

/// Those with an address that is known.
const PAGES: [(&str, &str); 25] = [
    ("overview of a day", "/ui/overview"),
    ("overview of a week", "/ui/overview?period=7d"),
    ("overview of a month", "/ui/overview?period=30d"),
    (
        "overview of the first application",
        "/ui/overview?period=30d&application_id=default",
    ),
    (
        "overview of a small application",
        "/ui/overview?period=30d&application_id=Application+00042",
    ),
    ("list of records", "/ui/records"),
    ("records of a user", "/ui/records?user_id=user4711"),
    ("records of a common type", "/ui/records?type=EMAILS"),
    ("records of a rare type", "/ui/records?type=SNILS"),
    ("blocked records, none", "/ui/records?verdict=blocked"),
    ("flagged records", "/ui/records?verdict=flagged"),
    (
        "records flagged by guardrails, none",
        "/ui/records?verdict=guardrails",
    ),
    (
        "records flagged by a policy, none",
        "/ui/records?verdict=custom_policy",
    ),
    ("a text that is nowhere", "/ui/records?text=xyzzy"),
    (
        "records of a small application",
        "/ui/records?application_id=Application+00042",
    ),
    ("list of sessions", "/ui/sessions"),
    ("list of applications", "/ui/applications"),
    ("applications with a name", "/ui/applications?name=00042"),
    ("a new application", "/ui/applications/new"),
    ("tokens", "/ui/tokens"),
    ("users", "/ui/users"),
    ("status", "/ui/status"),
    ("audit log", "/ui/audit"),
    ("first steps", "/ui/first-steps"),
    ("password", "/ui/password"),
];

/// Those that a page before links to: what they are, that page, and how the link looks.
const LINKED: [(&str, &str, &str); 4] = [
    ("a record", "/ui/records", "/ui/records/[0-9a-f-]{36}"),
    ("a session", "/ui/sessions", "/ui/sessions/one[?][^\"]+"),
    (
        "an application",
        "/ui/applications?name=00042",
        "/ui/applications/[0-9a-f-]{36}",
    ),
    (
        "versions of an application",
        "/ui/applications?name=00042",
        "/ui/applications/[0-9a-f-]{36}/versions",
    ),
];

pub(crate) fn run(case: &str, stack: &Stack, table: &mut Table) {
    let mut admin = administrator(stack);
    let mut largest = 0;
    let mut measure = |admin: &mut Visitor, name: &str, path: &str, goal: &str| {
        let looks = (0..TIMES).map(|_| look(admin, path));
        let (mut taken, sizes): (Vec<_>, Vec<_>) = looks.unzip();
        let name = format!("web UI: {name}");
        table.add(case, &name, percentile(&mut taken, 0.5), goal);
        largest = largest.max(sizes.into_iter().max().unwrap_or(0));
    };
    for (name, path) in PAGES {
        measure(&mut admin, name, path, GOAL);
    }
    for (name, page, link) in LINKED {
        let path = linked(&mut admin, page, link);
        measure(&mut admin, name, &path, GOAL);
    }
    // Fetched by the overview once that is shown.
    measure(&mut admin, "gaps, fetched later", "/ui/overview/chain", "");
    let kib = (largest as f64 / 1024.0).round();
    table.note(case, "web UI: KiB of the largest page", kib, "≤ 150");
}

/// Signed in by the console's link.
fn administrator(stack: &Stack) -> Visitor {
    const PASSWORD: &str = "a long enough password";
    let pattern = Regex::new("/ui/link/[A-Za-z0-9_-]+").unwrap();
    let find = |text: &str| Some(pattern.find(text)?.as_str().to_owned());
    let link = stack.process.await_stdout("the link to sign in by", find);
    let mut visitor = Visitor::new(stack.analysis_addr);
    visitor.get(&link);
    let entered = visitor.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(entered.status(), 303);
    visitor
}

fn linked(visitor: &mut Visitor, page: &str, link: &str) -> String {
    let text = visitor.get(page).text();
    let found = Regex::new(link)
        .unwrap()
        .find(&text)
        .map(|found| found.as_str().to_owned());
    found
        .unwrap_or_else(|| panic!("{page} has no link like {link}"))
        .replace("&amp;", "&")
}

/// How long it took, and the bytes of its body.
fn look(visitor: &mut Visitor, path: &str) -> (Duration, usize) {
    let begin = Instant::now();
    let response = visitor.get(path);
    let taken = begin.elapsed();
    assert_eq!(response.status(), 200, "{path}");
    (taken, response.text().len())
}
