//! What somebody does in a real browser to get in, to act for another or to see what is not theirs.

use crate::accounts::colleague;
use crate::browser::Browser;
use crate::defence::add_application;
use crate::records::{attach, keep, keeping};
use crate::world::{ADMIN, PASSWORD, administrator, administrators_browser};
use serde_json::{Value, json};
use support::stack::Stack;

const SIGNED_IN: &str = "document.querySelector('.corner .who strong')?.textContent === 'admin'";
const WHOLE: &str = "document.readyState === 'complete'";

/// Fills the page of signing in and sends it; the next page is there when it returns.
#[track_caller]
fn sign_in(browser: &mut Browser, name: &str, password: &str) {
    browser.fill("input[name=name]", name);
    browser.fill("input[name=password]", password);
    browser.value("window.before = true");
    browser.click("button.primary");
    browser.wait_for(&format!("window.before === undefined && {WHOLE}"));
}

/// The status of a page for whoever is signed in.
#[track_caller]
fn status(browser: &mut Browser, path: &str) -> Value {
    browser.value(&format!(
        "fetch({}).then(answer => answer.status)",
        json!(path)
    ))
}

/// The status of a form with the page's own token.
#[track_caller]
fn sent(browser: &mut Browser, path: &str, fields: &Value) -> Value {
    browser.value(&format!(
        "(() => {{ const fields = new URLSearchParams({fields}); \
         fields.set('form_token', document.querySelector('[name=form_token]').value); \
         return fetch({}, {{method: 'POST', body: fields}}).then(answer => answer.status); }})()",
        json!(path)
    ))
}

fn cookie(browser: &mut Browser, stack: &Stack) -> Value {
    let urls = json!({"urls": [format!("http://{}/", stack.analysis_addr)]});
    let all = browser.call("Network.getCookies", urls);
    let mut all = all["cookies"].as_array().unwrap().iter();
    all.find(|one| one["name"] == "monitor")
        .cloned()
        .unwrap_or_default()
}

#[track_caller]
fn plant(browser: &mut Browser, stack: &Stack, (name, value): (&str, &str)) {
    let url = format!("http://{}/", stack.analysis_addr);
    let planted = json!({"name": name, "value": value, "url": url});
    assert_eq!(browser.call("Network.setCookie", planted)["success"], true);
}

#[test]
#[ignore = "needs Chromium"]
fn five_wrong_passwords_in_a_browser_make_it_wait_also_with_the_right_one() {
    let stack = Stack::all().start();
    administrator(&stack);
    let mut browser = Browser::start(stack.analysis_addr);
    browser.open("/ui/sign-in");
    for attempt in 1..=5 {
        sign_in(&mut browser, ADMIN, "not the password");
        let said = browser.text("[role=alert]");
        let expected = if attempt < 5 {
            "Wrong name or password"
        } else {
            "Too many attempts"
        };
        assert!(said.contains(expected), "attempt {attempt}: {said}");
    }
    sign_in(&mut browser, ADMIN, PASSWORD);
    assert!(browser.text("[role=alert]").contains("Too many attempts"));
    browser.open("/ui/users");
    assert_eq!(browser.value("location.pathname"), "/ui/sign-in");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn a_form_without_the_token_or_with_anothers_does_nothing_in_a_signed_in_browser() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let mut other = Browser::start(stack.analysis_addr);
    other.open("/ui/sign-in");
    let foreign = other.value("document.querySelector('[name=form_token]').value");
    let spoil = [
        "field.remove()".to_owned(),
        "field.value = ''".to_owned(),
        format!("field.value = {foreign}"),
    ];
    for spoil in spoil {
        browser.open("/ui/users");
        browser.fill("form[action='/ui/users'] [name=name]", "mallory");
        browser.value(&format!(
            "(() => {{ const field = document.querySelector(\"form[action='/ui/users'] [name=form_token]\"); {spoil}; }})()"
        ));
        browser.click("form[action='/ui/users'] button.primary");
        browser.wait_for(&format!(
            "document.querySelector('h1')?.textContent === 'This form is out of date' && {WHOLE}"
        ));
    }
    browser.open("/ui/users");
    assert!(!browser.text("table").contains("mallory"));
}

#[test]
#[ignore = "needs Chromium"]
fn another_sites_form_does_nothing_and_signs_nobody_out() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    for (path, fields) in [
        (
            "/ui/users",
            "<input name=name value=mallory><input name=role value=administrator>",
        ),
        ("/ui/sign-out", ""),
    ] {
        let page = format!(
            "data:text/html,<form method=post action=\"http://{}{path}\">{fields}</form><script>document.forms[0].submit()</script>",
            stack.analysis_addr
        );
        browser.call("Page.navigate", json!({"url": page}));
        browser.wait_for(&format!(
            "location.protocol === 'http:' && {SIGNED_IN} && {WHOLE}"
        ));
    }
    browser.open("/ui/users");
    browser.wait_for(SIGNED_IN);
    assert!(!browser.text("table").contains("mallory"));
}

#[test]
#[ignore = "needs Chromium"]
fn a_link_from_another_site_finds_whoever_is_signed_in_and_signs_nobody_out() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let port = stack.analysis_addr.port();
    for (path, ends) in [
        ("/ui/users", "/ui/users"),
        ("/ui/sign-in?next=/ui/tokens", "/ui/tokens"),
        ("/", "/ui/first-steps"),
        ("/ui/link/mon_x", "/ui/link/mon_x"),
    ] {
        let elsewhere = format!("http://localhost:{port}/ui/sign-in");
        browser.call("Page.navigate", json!({"url": elsewhere}));
        browser.wait_for(&format!("location.hostname === 'localhost' && {WHOLE}"));
        let link = format!("http://127.0.0.1:{port}{path}");
        browser.value(&format!("(() => {{ location.href = '{link}'; }})()"));
        browser.wait_for(&format!(
            "location.hostname === '127.0.0.1' && location.pathname === '{ends}' && {WHOLE} \
             && document.title !== 'One moment… · Monitor'"
        ));
        browser.open("/ui/applications");
        assert_eq!(browser.value(SIGNED_IN), true, "after {path}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn a_planted_cookie_never_becomes_a_sign_in() {
    let stack = Stack::all().start();
    administrator(&stack);
    let mut browser = Browser::start(stack.analysis_addr);
    const PLANTED: &str = "mon_planted_by_somebody_else";
    for name in ["monitor", "monitor_visitor"] {
        browser.call("Network.clearBrowserCookies", json!({}));
        plant(&mut browser, &stack, (name, PLANTED));
        browser.open("/ui/sign-in");
        sign_in(&mut browser, ADMIN, PASSWORD);
        assert_eq!(browser.value(SIGNED_IN), true, "{name}");
        let own = cookie(&mut browser, &stack);
        assert_ne!(own["value"], PLANTED, "{name}");
        assert_eq!(
            (&own["httpOnly"], &own["sameSite"]),
            (&json!(true), &json!("Strict"))
        );
        assert_eq!(
            browser.value(&format!("document.cookie.includes({})", own["value"])),
            false,
            "no script reads it"
        );
        browser.call("Network.clearBrowserCookies", json!({}));
        plant(&mut browser, &stack, ("monitor", PLANTED));
        browser.open("/ui/users");
        assert_eq!(browser.value("location.pathname"), "/ui/sign-in", "{name}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn another_tenants_identifiers_lead_to_nothing_in_a_browser() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (own, other) = (keeping(&stack, "own"), keeping(&stack, "other"));
    let kept = |id: &str, file: &str| {
        let body = json!({"application_id": id, "message": format!("for {id}"),
            "additional_parameters": {"session_id": "s1", "user_id": "u1"}});
        let record = keep(&stack, "pre", &body);
        attach(&stack, &record, file, id);
        record
    };
    let (own_record, record) = (kept(&own, "own.txt"), kept(&other, "other.txt"));
    colleague(&stack, &mut admin, ("tenant", "administrator"), &own);
    let file = admin.get(&format!("/ui/records/{record}")).text();
    let file = regex::Regex::new("/attachments/[0-9a-f]{64}")
        .unwrap()
        .find(&file)
        .unwrap()
        .as_str()
        .to_owned();
    let mut browser = Browser::start(stack.analysis_addr);
    browser.open("/ui/sign-in");
    sign_in(&mut browser, "tenant", PASSWORD);
    for (application, record, expected) in [(&own, &own_record, 200), (&other, &record, 404)] {
        for path in [
            format!("/ui/applications/{application}"),
            format!("/ui/applications/{application}/versions"),
            format!("/ui/tokens?application_id={application}"),
            format!("/ui/records?application_id={application}"),
            format!("/ui/records/export?format=csv&application_id={application}"),
            format!("/ui/sessions?application_id={application}"),
            format!("/ui/sessions/one?application_id={application}&session_id=s1"),
            format!("/ui/overview?application_id={application}"),
            format!("/ui/records/{record}"),
            format!("/ui/records/{record}/json"),
        ] {
            assert_eq!(status(&mut browser, &path), expected, "{path}");
        }
    }
    for own in [&own_record, &record] {
        let path = format!("/ui/records/{own}{file}");
        assert_eq!(status(&mut browser, &path), 404, "{path}");
    }
    let fields = json!({"version": "1", "restore": "1", "name": "x", "confirmation": "other"});
    for form in ["", "/remove", "/restore", "/replay"] {
        let path = format!("/ui/applications/{other}{form}");
        assert_eq!(sent(&mut browser, &path, &fields), 404, "{path}");
    }
    browser.open(&format!("/ui/applications/{other}"));
    assert_eq!(browser.text("h1"), "Not found");
    browser.open("/ui/records");
    assert!(!browser.text("body").contains(&other));
    assert_eq!(
        admin.get(&format!("/ui/applications/{other}")).status(),
        200
    );
}

#[test]
#[ignore = "needs Chromium"]
fn the_name_of_an_attached_file_never_becomes_code() {
    const EVIL: &str = "'><img src=x onerror=window.evil=1><svg onload=window.evil=1>.txt";
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = add_application(
        &stack,
        &json!({"name": "files", "rules": {"keep_original": true}}),
    );
    let record = keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "see the file"}),
    );
    attach(&stack, &record, EVIL, "nothing in it");
    browser.open(&format!("/ui/records/{record}"));
    assert!(
        browser.text("body").contains(EVIL),
        "the name is shown whole"
    );
    let harmless =
        "window.evil === undefined && !document.querySelector('img[src=x], svg[onload]')";
    assert_eq!(browser.value(harmless), true);
    let saved = browser.value(
        "fetch(document.querySelector('a[href*=attachments]').href).then(answer => \
         ['content-disposition', 'x-content-type-options', 'content-security-policy'] \
         .map(name => answer.headers.get(name)))",
    );
    let header = |at: usize| saved[at].as_str().unwrap_or_default().to_owned();
    assert!(header(0).starts_with("attachment"), "{saved}");
    assert!(!header(0).contains(['<', '>']), "{saved}");
    assert_eq!(header(1), "nosniff");
    assert!(header(2).starts_with("default-src 'none'"), "{saved}");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
