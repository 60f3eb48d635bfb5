//! Signing in (§5): the console's link, passwords, sign-ins and their end.

use crate::world::{ADMIN, PASSWORD, administrator, administrators_browser, console_link};
use support::stack::Stack;
use support::visitor::Visitor;

/// The name of the cookie on loopback in clear text.
const COOKIE: &str = "monitor";

#[test]
#[ignore = "needs Chromium"]
fn a_newcomer_signs_in_through_the_consoles_link_and_later_with_the_password() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.wait_for("location.pathname.startsWith('/ui/')");
    browser.click(".corner form[action='/ui/sign-out'] button");
    browser.wait_for("location.pathname === '/ui/sign-in'");
    browser.wait_for("!!document.querySelector('input[name=password]')");
    browser.fill("input[name=name]", ADMIN);
    browser.fill("input[name=password]", PASSWORD);
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.corner .who strong')?.textContent === 'admin'");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_link_works_once_and_is_printed_until_it_was_used() {
    let stack = Stack::all().start();
    let link = console_link(&stack);
    let mut curious = Visitor::new(stack.analysis_addr);
    assert_eq!(curious.get(&link).status(), 200, "looking uses nothing up");
    let short = curious.post(&link, &[("password", "short"), ("again", "short")]);
    assert_eq!(short.status(), 422);
    let mut owner = administrator(&stack);
    assert_eq!(owner.get("/ui/users").status(), 200);
    let late = curious.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(late.status(), 404);
    assert!(
        !stack.stderr().contains("/ui/link/"),
        "the console alone shows it"
    );
}

#[test]
fn five_wrong_passwords_make_one_wait_also_with_the_right_one() {
    let stack = Stack::all().start();
    administrator(&stack);
    let mut guesser = Visitor::new(stack.analysis_addr);
    guesser.get("/ui/sign-in");
    for attempt in 1..=5 {
        let fields = [("name", ADMIN), ("password", "not the password")];
        let refused = guesser.post("/ui/sign-in", &fields);
        let expected = if attempt < 5 { 422 } else { 429 };
        assert_eq!(refused.status(), expected, "attempt {attempt}");
    }
    let right = guesser.post("/ui/sign-in", &[("name", ADMIN), ("password", PASSWORD)]);
    assert_eq!(right.status(), 429);
    let wait: u64 = right.head.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    let other = guesser.post(
        "/ui/sign-in",
        &[("name", "somebody"), ("password", PASSWORD)],
    );
    assert_eq!(other.status(), 422, "another account does not wait");
}

#[test]
fn a_value_from_before_signing_in_never_becomes_a_sign_in() {
    let stack = Stack::all().start();
    administrator(&stack);
    let mut victim = Visitor::new(stack.analysis_addr);
    let planted = "mon_planted_by_somebody_else";
    victim.cookies.insert(COOKIE.to_owned(), planted.to_owned());
    victim.get("/ui/sign-in");
    let entered = victim.post("/ui/sign-in", &[("name", ADMIN), ("password", PASSWORD)]);
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let cookie = entered.head.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_ne!(victim.cookies[COOKIE], planted);
    let mut planter = Visitor::new(stack.analysis_addr);
    planter
        .cookies
        .insert(COOKIE.to_owned(), planted.to_owned());
    let refused = planter.get("/ui/applications");
    assert_eq!(
        refused.head.header("location"),
        Some("/ui/sign-in?next=%2Fui%2Fapplications")
    );
}

#[test]
fn signing_out_ends_it_at_the_server() {
    let stack = Stack::all().start();
    let mut visitor = administrator(&stack);
    assert_eq!(visitor.get("/ui/users").status(), 200);
    let kept = visitor.cookies[COOKIE].clone();
    assert_eq!(visitor.post("/ui/sign-out", &[]).status(), 303);
    visitor.cookies.insert(COOKIE.to_owned(), kept);
    assert_eq!(visitor.get("/ui/users").status(), 303);
}

#[test]
fn a_new_password_ends_the_other_sign_ins() {
    let stack = Stack::all().start();
    let mut here = administrator(&stack);
    let mut there = Visitor::new(stack.analysis_addr);
    there.get("/ui/sign-in");
    there.post("/ui/sign-in", &[("name", ADMIN), ("password", PASSWORD)]);
    assert_eq!(there.get("/ui/users").status(), 200);
    here.get("/ui/password");
    let new = "another long password";
    let change = |old| [("old", old), ("password", new), ("again", new)];
    assert_eq!(here.post("/ui/password", &change("wrong")).status(), 422);
    assert_eq!(here.post("/ui/password", &change(PASSWORD)).status(), 200);
    assert_eq!(here.get("/ui/users").status(), 200);
    assert_eq!(there.get("/ui/users").status(), 303);
}

#[test]
fn a_new_password_that_is_refused_costs_no_attempt_at_the_old_one() {
    let stack = Stack::all().start();
    let mut visitor = administrator(&stack);
    visitor.get("/ui/password");
    let change = |old, new| [("old", old), ("password", new), ("again", new)];
    for _ in 0..7 {
        let refused = visitor.post("/ui/password", &change("wrong", "short"));
        assert_eq!(refused.status(), 422);
        assert!(refused.text().contains("12"), "{}", refused.text());
    }
    let new = "another long password";
    let changed = visitor.post("/ui/password", &change(PASSWORD, new));
    assert_eq!(changed.status(), 200);
}
