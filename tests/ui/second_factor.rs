//! A second factor (RFC 6238) of accounts with a password: turned on and off, asked for, required, and removed.

use crate::accounts::{account_path, colleague};
use crate::world::{ADMIN, PASSWORD, administrator};
use regex::Regex;
use ring::hmac;
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};
use support::KEY;
use support::http::Response;
use support::identity_provider::IdentityProvider;
use support::stack::Stack;
use support::visitor::Visitor;

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// What an owner's app and drawer have.
pub(crate) struct Factor {
    secret: String,
    /// The step whose code turned it on.
    step: i64,
    recovery: Vec<String>,
}

impl Factor {
    /// A code that comes so many steps after the one that turned it on.
    fn code(&self, later: i64) -> String {
        let bits: String = self
            .secret
            .chars()
            .map(|letter| format!("{:05b}", ALPHABET.find(letter).unwrap()))
            .collect();
        let bytes: Vec<u8> = (0..20)
            .map(|at| u8::from_str_radix(&bits[at * 8..at * 8 + 8], 2).unwrap())
            .collect();
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &bytes);
        let tag = hmac::sign(&key, &(self.step + later).to_be_bytes());
        let tag = tag.as_ref();
        let at = usize::from(tag[19] & 15);
        let word = u32::from_be_bytes(tag[at..at + 4].try_into().unwrap());
        format!("{:06}", (word & 0x7fff_ffff) % 1_000_000)
    }

    /// Six digits that are none of its codes of these minutes.
    fn wrong_code(&self) -> String {
        let near: Vec<String> = (-3..=4).map(|later| self.code(later)).collect();
        let mut digits = (0..100).map(|number| format!("{number:06}"));
        digits.find(|code| !near.contains(code)).unwrap()
    }
}

fn found(pattern: &str, page: &str) -> String {
    let found = Regex::new(pattern).unwrap().captures(page);
    found.unwrap_or_else(|| panic!("{pattern} in {page}"))[1].to_owned()
}

/// Turns the visitor's second factor on.
#[track_caller]
pub(crate) fn turned_on(visitor: &mut Visitor) -> Factor {
    let page = visitor.get("/ui/second-factor").text();
    assert!(page.contains("<svg viewBox="), "{page}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut factor = Factor {
        secret: found(r#"name="secret" value="([A-Z2-7]{32})""#, &page),
        step: now.as_secs() as i64 / 30,
        recovery: Vec::new(),
    };
    let mut send = |password: &str, code: &str| {
        let fields = [
            ("secret", &*factor.secret),
            ("password", password),
            ("code", code),
        ];
        visitor.post("/ui/second-factor/on", &fields)
    };
    for (password, code) in [(PASSWORD, factor.wrong_code()), ("not it", factor.code(0))] {
        let refused = send(password, &code);
        assert_eq!(refused.status(), 422);
        assert!(refused.text().contains(&factor.secret), "the same again");
    }
    let page = send(PASSWORD, &factor.code(0));
    assert_eq!(page.status(), 200, "{}", page.text());
    let code = Regex::new("<code>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code>").unwrap();
    let page = page.text();
    let codes = code.captures_iter(&page).map(|code| code[1].to_owned());
    factor.recovery = codes.collect();
    assert_eq!(factor.recovery.len(), 10, "{page}");
    factor
}

/// Types the name and the password.
#[track_caller]
fn types_password(visitor: &mut Visitor, name: &str) -> Response {
    visitor.get("/ui/sign-in");
    visitor.post("/ui/sign-in", &[("name", name), ("password", PASSWORD)])
}

/// Types the password of an account, and is asked for a code: gives what keeps the place.
#[track_caller]
fn asked(visitor: &mut Visitor, name: &str) -> String {
    let page = types_password(visitor, name);
    assert_eq!(page.status(), 200, "{}", page.text());
    found(r#"name="begun" value="([^"]+)""#, &page.text())
}

#[track_caller]
fn types_code(visitor: &mut Visitor, begun: &str, code: &str) -> Response {
    let fields = [("begun", begun), ("next", "/ui/users"), ("code", code)];
    visitor.post("/ui/sign-in/code", &fields)
}

#[test]
fn a_sign_in_by_password_asks_for_a_code_that_works_once() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut before = Visitor::new(stack.analysis_addr);
    assert_eq!(types_password(&mut before, ADMIN).status(), 303);
    let factor = turned_on(&mut admin);
    assert_eq!(admin.get("/ui/users").status(), 200);
    assert_eq!(before.get("/ui/users").status(), 303, "the others ended");
    let [mut one, mut two, mut three] = [0; 3].map(|_| Visitor::new(stack.analysis_addr));
    let begun = asked(&mut one, ADMIN);
    assert_eq!(one.get("/ui/users").status(), 303, "not signed in yet");
    for wrong in [factor.code(0), factor.wrong_code(), String::new()] {
        let refused = types_code(&mut one, &begun, &wrong);
        assert_eq!(refused.status(), 422, "{wrong}");
    }
    let entered = types_code(&mut one, &begun, &factor.code(1));
    assert_eq!(entered.status(), 303, "{}", entered.text());
    assert_eq!(entered.head.header("location"), Some("/ui/users"));
    assert_eq!(one.get("/ui/users").status(), 200);
    let late = types_code(&mut one, &begun, &factor.recovery[9]);
    assert_eq!(late.status(), 422, "what was begun is over");
    let begun = asked(&mut two, ADMIN);
    assert_eq!(types_code(&mut two, &begun, &factor.code(1)).status(), 422);
    let recovered = types_code(&mut two, &begun, &factor.recovery[0].to_uppercase());
    assert_eq!(recovered.status(), 303, "{}", recovered.text());
    let begun = asked(&mut three, ADMIN);
    let again = types_code(&mut three, &begun, &factor.recovery[0]);
    assert_eq!(again.status(), 422, "a recovery code works once");
    let left = admin.get("/ui/second-factor").text();
    assert!(left.contains("Recovery codes left: 9"), "{left}");
    let log = stack.analysis("/audit", KEY).text();
    for action in ["account.second_factor_on", "account.recovery_code"] {
        assert!(log.contains(action), "{action} in {log}");
    }
    let said = log + &stack.stderr() + &admin.get("/ui/audit").text();
    for secret in [&factor.secret, &factor.recovery[0], &factor.recovery[1]] {
        assert!(!said.contains(secret.as_str()));
    }
}

#[test]
fn wrong_codes_count_as_wrong_passwords_do() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let factor = turned_on(&mut admin);
    let mut guesser = Visitor::new(stack.analysis_addr);
    let begun = asked(&mut guesser, ADMIN);
    let wrong = factor.wrong_code();
    for attempt in 1..=4 {
        let refused = types_code(&mut guesser, &begun, &wrong);
        let expected = if attempt < 4 { 422 } else { 429 };
        assert_eq!(refused.status(), expected, "attempt {attempt}");
    }
    let right = types_code(&mut guesser, &begun, &factor.code(1));
    assert_eq!(right.status(), 429);
    assert!(right.head.header("retry-after").is_some());
    assert_eq!(types_password(&mut guesser, ADMIN).status(), 429);
}

#[test]
fn it_is_turned_off_with_the_password_and_a_code() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let factor = turned_on(&mut admin);
    admin.get("/ui/second-factor");
    let mut off = |password: &str, code: &str| {
        let fields = [("password", password), ("code", code)];
        admin.post("/ui/second-factor/off", &fields).status()
    };
    assert_eq!(off("not the password", &factor.recovery[0]), 422);
    assert_eq!(off(PASSWORD, &factor.wrong_code()), 422);
    assert_eq!(off(PASSWORD, &factor.recovery[0]), 303);
    assert_eq!(off(PASSWORD, &factor.recovery[1]), 409, "it is off");
    let mut visitor = Visitor::new(stack.analysis_addr);
    assert_eq!(types_password(&mut visitor, ADMIN).status(), 303);
}

#[test]
fn a_one_time_link_asks_for_the_code_too_until_an_administrator_removes_the_factor() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut ann = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let factor = turned_on(&mut ann);
    let page = admin.get("/ui/users").text();
    let (path, own) = (account_path(&page, "ann"), account_path(&page, ADMIN));
    let made = admin.post(&format!("{path}/link"), &[]);
    let link = found("(/ui/link/[A-Za-z0-9_-]+)", &made.text());
    let mut visitor = Visitor::new(stack.analysis_addr);
    visitor.get(&link);
    let asked_for = visitor.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(asked_for.status(), 200, "{}", asked_for.text());
    let begun = found(r#"name="begun" value="([^"]+)""#, &asked_for.text());
    assert_eq!(visitor.get("/ui/records").status(), 303);
    let entered = types_code(&mut visitor, &begun, &factor.code(1));
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let remove = |path: &str| format!("{path}/second-factor/remove");
    assert_eq!(visitor.get("/ui/records").status(), 200);
    assert_eq!(visitor.post(&remove(&path), &[]).status(), 403);
    let shown = admin.get(&format!("{path}/sign-ins")).text();
    assert!(shown.contains("Remove the second factor"), "{shown}");
    turned_on(&mut admin);
    assert_eq!(admin.post(&remove(&own), &[]).status(), 403, "one's own");
    assert_eq!(admin.post(&remove(&path), &[]).status(), 303);
    let mut again = Visitor::new(stack.analysis_addr);
    assert_eq!(types_password(&mut again, "ann").status(), 303);
    let log = stack.analysis("/audit?action=account.second_factor_off", KEY);
    let entries = log.json()["entries"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 1);
    assert_eq!(entries[0]["actor"], ADMIN);
    assert_eq!(entries[0]["details"], json!({"name": "ann"}));
}

#[test]
fn where_it_is_required_people_with_a_password_set_it_up_first_and_others_are_not_asked() {
    let provider = IdentityProvider::start();
    let yaml = provider.yaml(", default_role: analyst");
    let required = yaml.replacen("sign_in: {", "sign_in: {require_second_factor: true, ", 1);
    assert_ne!(required, yaml);
    let stack = Stack::all().yaml(&required).start();
    let mut admin = administrator(&stack);
    for path in ["/ui/users", "/ui/sign-ins", "/ui/password"] {
        let led = admin.get(path);
        assert_eq!(led.status(), 303, "{path}");
        assert_eq!(led.head.header("location"), Some("/ui/second-factor"));
    }
    let fields = [("name", "x"), ("role", "administrator")];
    assert_eq!(admin.post("/ui/users", &fields).status(), 303);
    let page = admin.get("/ui/second-factor").text();
    assert!(page.contains("requires a second factor"), "{page}");
    turned_on(&mut admin);
    let users = admin.get("/ui/users");
    assert_eq!(users.status(), 200);
    assert!(!users.text().contains("\"row\">x<"), "nothing was made");
    let mut ann = Visitor::new(stack.analysis_addr);
    let sent = ann.get("/ui/oidc");
    let location = sent.head.header("location").unwrap().to_owned();
    ann.get(&provider.agrees(&location, json!({"preferred_username": "ann"})));
    assert_eq!(ann.get("/ui/records").status(), 200);
    let page = ann.get("/ui/second-factor");
    assert!(page.text().contains("have no password here"));
    let on = [("secret", "x"), ("code", "1")];
    assert_eq!(ann.post("/ui/second-factor/on", &on).status(), 409);
}
