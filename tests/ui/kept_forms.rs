//! Forms that are sent after their session has ended: nothing that was typed is lost, and nothing is saved by itself.

use crate::accounts::colleague;
use crate::world::{ADMIN, PASSWORD, administrator, administrators_browser};
use serde_json::Value;
use support::KEY;
use support::http::Response;
use support::stack::Stack;
use support::visitor::Visitor;

const TYPED: &str = "typed before the end";

fn stored(stack: &Stack) -> Value {
    let path = format!("/applications/{}", stack.application_id());
    stack.analysis(&path, KEY).json()
}

fn location(response: &Response) -> String {
    assert_eq!(response.status(), 303, "{}", response.text());
    response.head.header("location").unwrap().to_owned()
}

/// Where the form of a page is sent.
fn action(page: &str) -> String {
    let form = regex::Regex::new(r#"id="application" method="post" action="([^"]+)""#).unwrap();
    form.captures(page).unwrap()[1].replace("&amp;", "&")
}

fn fields(version: &str) -> Vec<(&str, &str)> {
    vec![
        ("version", version),
        ("name", TYPED),
        ("mode", "async"),
        ("scan_roles", "last_user"),
        ("on_backend_failure", "open"),
        ("stream_in_sync", "off"),
        ("pre.encoding", "o200k_base"),
        ("post.encoding", "o200k_base"),
    ]
}

#[test]
fn a_form_that_is_sent_after_its_session_has_ended_is_shown_again_after_the_sign_in() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let path = format!("/ui/applications/{}", stack.application_id());
    let version = stored(&stack)["version"].to_string();
    let to = action(&admin.get(&path).text());
    let old_token = admin.form_token.clone();
    let mut all = vec![("form_token", old_token.as_str())];
    all.extend(fields(&version));
    // Signed out in another window of the same browser.
    admin.post("/ui/sign-out", &[]);
    let kept = location(&admin.post_bare(&to, &all));
    assert!(kept.starts_with("/ui/kept/"), "{kept}");
    let sign_in = location(&admin.get(&kept));
    let page = admin.get(&sign_in).text();
    assert!(
        page.contains("sign in to get back what you entered"),
        "{page}"
    );
    let next = regex::Regex::new(r#"name="next" value="([^"]+)""#).unwrap();
    let next = next.captures(&page).unwrap()[1].to_owned();
    assert_eq!(next, kept);
    let entered = [
        ("name", ADMIN),
        ("password", PASSWORD),
        ("next", next.as_str()),
    ];
    assert_eq!(location(&admin.post("/ui/sign-in", &entered)), kept);
    let page = admin.get(&kept).text();
    assert!(page.contains(&format!("value=\"{TYPED}\"")), "{page}");
    assert!(page.contains("It is not saved yet"), "{page}");
    assert_ne!(stored(&stack)["name"], TYPED, "nothing is saved by itself");

    // It is that account's alone.
    let mut other = colleague(&stack, &mut admin, ("dev", "developer"), "");
    let foreign = other.get(&kept);
    assert_eq!(foreign.status(), 404);
    assert!(!foreign.text().contains(TYPED), "{}", foreign.text());

    // A form that is older than the present sign-in is kept as well, and the sign-in goes on.
    admin.get(&kept);
    let again = location(&admin.post_bare(&to, &all));
    assert!(again.starts_with("/ui/kept/") && again != kept, "{again}");
    let page = admin.get(&again).text();
    let saved = admin.post(&action(&page), &fields(&version));
    assert_eq!(location(&saved), format!("{path}?saved"));
    assert_eq!(stored(&stack)["name"], TYPED);
    assert_eq!(admin.get(&again).status(), 404, "it was saved");
}

#[test]
fn nothing_is_kept_of_a_form_that_no_page_made_for_an_account() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let path = format!("/ui/applications/{}", stack.application_id());
    let to = action(&admin.get(&path).text());
    let (bare, word) = to.split_once("?form=").unwrap();
    let forged = word.replacen(&word[..1], if word.starts_with('0') { "1" } else { "0" }, 1);
    let (forged, elsewhere) = (
        format!("{bare}?form={forged}"),
        format!("/ui/applications?form={word}"),
    );
    let mut stranger = Visitor::new(stack.analysis_addr);
    stranger.get("/ui/sign-in");
    for (address, back) in [
        (bare, bare),
        (&forged, bare),
        (&elsewhere, "/ui/applications"),
    ] {
        let sent = stranger.post(address, &fields("1"));
        let to = location(&sent);
        let back = back.replace('/', "%2F");
        assert_eq!(to, format!("/ui/sign-in?next={back}&unsent=1"), "{address}");
        let page = stranger.get(&to).text();
        assert!(page.contains("so nothing was changed"), "{page}");
    }
    // A page of another site, whose requests have no cookie of ours.
    let cross_site = [("Sec-Fetch-Site", "cross-site")];
    let mut from_elsewhere = Visitor::behind(stack.analysis_addr, &cross_site);
    let sent = from_elsewhere.post_bare(&to, &fields("1"));
    assert!(location(&sent).starts_with("/ui/sign-in?"));
    assert_eq!(
        admin
            .get("/ui/kept/00000000-0000-4000-8000-000000000000")
            .status(),
        404
    );
}

#[test]
#[ignore = "needs Chromium"]
fn whoever_saves_after_the_session_has_ended_signs_in_and_goes_on() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open(&format!("/ui/applications/{}", stack.application_id()));
    browser.value(
        "fetch('/ui/sign-out', {method: 'POST', body: new URLSearchParams(new FormData(\
         document.querySelector('form[action=\"/ui/sign-out\"]')))}).then(() => true)",
    );
    // What a script asks for says so in its place, with a way to sign in beside the form.
    browser.fill("[name='try.text']", "to ivan@example.org");
    browser.wait_for("document.querySelector('#try-result a[href=\"/ui/sign-in\"]') !== null");
    browser.fill("#application [name=name]", TYPED);
    browser.click(".savebar button.primary");
    browser.wait_for("location.pathname === '/ui/sign-in'");
    browser.fill("input[name=name]", ADMIN);
    browser.fill("input[name=password]", PASSWORD);
    browser.click("form.stack button.primary");
    browser.wait_for("location.pathname.startsWith('/ui/kept/')");
    browser.wait_for("document.querySelector('.savebar button.primary') !== null");
    let name = browser.value("document.querySelector('#application [name=name]').value");
    assert_eq!(name, TYPED);
    assert_ne!(stored(&stack)["name"], TYPED);
    browser.click(".savebar button.primary");
    browser.wait_for("location.search === '?saved'");
    assert_eq!(stored(&stack)["name"], TYPED);
}
