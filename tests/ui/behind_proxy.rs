//! Behind a proxy that speaks TLS: `ui.public_url` is what browsers see, whatever the listener speaks.

use crate::world::{PASSWORD, console_link};
use support::identity_provider::IdentityProvider;
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
