//! Behind a proxy that speaks TLS: `ui.public_url` is what browsers see, whatever the listener speaks; and clients
//! are told apart by the address that a trusted proxy names.

use crate::world::{ADMIN, PASSWORD, administrator, console_link};
use support::KEY;
use support::eventually;
use support::http::Response;
use support::identity_provider::IdentityProvider;
use support::request::Request;
use support::stack::Stack;
use support::visitor::Visitor;

const PUBLIC: &str = "https://monitor.example";

#[test]
fn links_cookies_and_the_way_back_of_single_sign_on_are_those_of_the_public_address() {
    let provider = IdentityProvider::start();
    let stack = Stack::all()
        .yaml(&provider.yaml(", default_role: analyst"))
        .yaml(&format!("  ui: {{public_url: \"{PUBLIC}/\"}}"))
        .start();
    let link = console_link(&stack);
    let printed = format!("{PUBLIC}{link}");
    assert!(stack.process.stdout().contains(&printed), "{printed}");
    let mut admin = Visitor::new(stack.analysis_addr);
    admin.get(&link);
    let entered = admin.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let cookie = entered.head.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-monitor=mon_"), "{cookie}");
    assert!(cookie.contains("; Secure"), "{cookie}");
    assert_eq!(admin.get("/ui/users").status(), 200);
    let fields = [("name", "ann"), ("role", "analyst")];
    let made = admin.post("/ui/users", &fields).text();
    assert!(made.contains(&format!("{PUBLIC}/ui/link/mon_")), "{made}");
    let chosen = admin.post(
        "/ui/preferences",
        &[("language", "ru"), ("next", "/ui/users")],
    );
    let language = chosen.head.header("set-cookie").unwrap();
    assert!(language.contains("; Secure"), "{language}");
    let sent = Visitor::new(stack.analysis_addr).get("/ui/oidc");
    let address = url::Url::parse(sent.head.header("location").unwrap()).unwrap();
    let back = address
        .query_pairs()
        .find(|(name, _)| name == "redirect_uri");
    assert_eq!(back.unwrap().1, format!("{PUBLIC}/ui/oidc/callback"));
    assert!(sent.head.header("set-cookie").unwrap().contains("; Secure"));
}

#[test]
fn an_address_in_clear_text_or_with_a_path_is_refused() {
    for (url, words) in [
        ("http://monitor.example", "clear text"),
        ("https://monitor.example/monitor", "has a path"),
        ("https://u:hush@monitor.example", "is not a valid URL"),
    ] {
        let yaml = format!("  ui: {{public_url: \"{url}\"}}");
        let (status, stderr) = Stack::all().yaml(&yaml).refused();
        assert!(!status.success(), "{url}");
        assert!(
            stderr.contains("ui.public_url") && stderr.contains(words),
            "{url}: {stderr}"
        );
        assert!(!stderr.contains("hush"), "{stderr}");
    }
}

/// A wrong or right password, as a proxy forwards it from this client.
fn signs_in(stack: &Stack, client: &str, password: &str) -> Response {
    let forwarded = |request: Request| request.without_key().header("X-Forwarded-For", client);
    let page = forwarded(Request::get("/ui/sign-in")).call(stack.analysis_addr);
    let cookie = page.head.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let token = regex::Regex::new(r#"name="form_token" value="([^"]*)""#).unwrap();
    let token = token.captures(&page.text()).unwrap()[1].to_owned();
    let form = format!(
        "form_token={token}&name={ADMIN}&password={}",
        password.replace(' ', "+")
    );
    let request = Request::post("/ui/sign-in", form)
        .content_type("application/x-www-form-urlencoded")
        .header("Cookie", cookie);
    forwarded(request).call(stack.analysis_addr)
}

/// The addresses of sign-ins that failed, the latest first.
fn addresses(stack: &Stack, count: usize) -> Vec<String> {
    eventually("lines of the audit log", || {
        let log = "/audit?action=account.sign_in_failed&limit=200";
        let entries = stack.analysis(log, KEY).json()["entries"].clone();
        let entries = entries.as_array()?.iter();
        let addresses = entries.map(|entry| {
            entry["details"]["address"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        });
        let addresses: Vec<String> = addresses.collect();
        (addresses.len() >= count).then_some(addresses)
    })
}

#[test]
fn waits_and_the_audit_log_know_the_client_that_a_trusted_proxy_names() {
    let trusted = "  trusted_proxies: {networks: [127.0.0.0/8, 10.0.0.0/8]}";
    let stack = Stack::all().yaml(trusted).start();
    administrator(&stack);
    for attempt in 1..=5 {
        // What the client claims stands on the left, and the proxy adds where it is.
        let claimed = format!("198.51.100.{attempt}, 203.0.113.5, 10.0.0.9");
        let expected = if attempt < 5 { 422 } else { 429 };
        let refused = signs_in(&stack, &claimed, "not the password");
        assert_eq!(refused.status(), expected, "{}", refused.text());
    }
    assert_eq!(addresses(&stack, 5), ["203.0.113.5"; 5]);
    assert_eq!(signs_in(&stack, "203.0.113.5", PASSWORD).status(), 429);
    let other = signs_in(&stack, "203.0.113.6", PASSWORD);
    assert_eq!(
        other.status(),
        303,
        "another client of the proxy does not wait: {}",
        other.text()
    );
}

/// The cookie of somebody who asks for the page to sign in through a proxy that adds these headers.
fn cookie_of_sign_in(stack: &Stack, forwarded: &[(&'static str, &'static str)]) -> String {
    let page = Visitor::behind(stack.analysis_addr, forwarded).get("/ui/sign-in");
    page.head.header("set-cookie").unwrap().to_owned()
}

#[test]
fn links_and_cookies_are_for_the_scheme_that_a_trusted_proxy_names() {
    let trusted = "  trusted_proxies: {networks: [127.0.0.0/8]}";
    let stack = Stack::all().yaml(trusted).start();
    let encrypted = [
        ("X-Forwarded-For", "203.0.113.5"),
        ("X-Forwarded-Proto", "https"),
    ];
    let cookie = cookie_of_sign_in(&stack, &encrypted);
    assert!(cookie.starts_with("__Host-"), "{cookie}");
    assert!(cookie.contains("; Secure"), "{cookie}");
    // A client that claims it in front of a proxy that adds what it sees.
    let claimed = [
        ("X-Forwarded-For", "203.0.113.5"),
        ("X-Forwarded-Proto", "https, http"),
    ];
    for headers in [&claimed[..], &[]] {
        let cookie = cookie_of_sign_in(&stack, headers);
        assert!(!cookie.contains("Secure"), "{cookie}");
    }
    administrator(&stack);
    let mut admin = Visitor::behind(stack.analysis_addr, &encrypted);
    admin.get("/ui/sign-in");
    let signed_in = admin.post("/ui/sign-in", &[("name", ADMIN), ("password", PASSWORD)]);
    assert_eq!(signed_in.status(), 303, "{}", signed_in.text());
    let cookie = signed_in.head.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-monitor=mon_"), "{cookie}");
    assert_eq!(admin.get("/ui/users").status(), 200);
    let fields = [("name", "ann"), ("role", "analyst")];
    let made = admin.post("/ui/users", &fields).text();
    let link = "https://gateway.test/ui/link/mon_";
    assert!(made.contains(link), "{made}");
}

#[test]
fn a_scheme_that_nobody_trusted_names_counts_for_nothing() {
    let stack = Stack::all()
        .yaml("  trusted_proxies: {networks: [10.0.0.0/8]}")
        .start();
    let cookie = cookie_of_sign_in(&stack, &[("X-Forwarded-Proto", "https")]);
    assert!(!cookie.contains("Secure"), "{cookie}");
}

#[test]
fn without_trust_what_a_client_claims_counts_for_nothing() {
    let stack = Stack::all()
        .yaml("  trusted_proxies: {networks: [10.0.0.0/8]}")
        .start();
    administrator(&stack);
    for attempt in 1..=5 {
        let expected = if attempt < 5 { 422 } else { 429 };
        let claimed = format!("203.0.113.{attempt}");
        assert_eq!(
            signs_in(&stack, &claimed, "not the password").status(),
            expected
        );
    }
    assert_eq!(addresses(&stack, 5), ["127.0.0.1"; 5]);
    assert_eq!(signs_in(&stack, "203.0.113.9", PASSWORD).status(), 429);
}
