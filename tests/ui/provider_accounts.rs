//! Whose an account is when people come by an identity provider, and a shop where nobody has a password.

use serde_json::{Value, json};
use support::identity_provider::IdentityProvider;
use support::stack::{Builder, Folder, Stack};
use support::visitor::Visitor;

const BOSS: &str = "boss@corp.example";

/// The whole way in; the status and the text of the page at its end.
#[track_caller]
fn comes(provider: &IdentityProvider, stack: &Stack, claims: Value) -> (Visitor, u16, String) {
    let mut visitor = Visitor::new(stack.analysis_addr);
    let sent = visitor.get("/ui/oidc");
    let location = sent.head.header("location").unwrap().to_owned();
    let page = visitor.get(&provider.agrees(&location, claims));
    (visitor, page.status(), page.text())
}

#[test]
fn an_account_is_not_taken_before_its_owner_comes_nor_by_whoever_has_the_address_later() {
    let provider = IdentityProvider::start();
    let roles = ", default_role: analyst, role_claim: groups, roles: {administrator: ops}";
    let stack = Stack::all().yaml(&provider.yaml(roles)).start();
    let early = json!({"sub": "mallory", "preferred_username": BOSS});
    let (mut mallory, status, page) = comes(&provider, &stack, early);
    assert_eq!(status, 200, "{page}");
    let own =
        |sub: &str| json!({"sub": sub, "email": BOSS, "email_verified": true, "groups": ["ops"]});
    let (mut boss, status, page) = comes(&provider, &stack, own("boss"));
    assert_eq!(status, 200, "{page}");
    let users = boss.get("/ui/users");
    assert_eq!(users.status(), 200, "an administrator");
    assert_eq!(mallory.get("/ui/users").status(), 403);
    assert!(!mallory.get("/ui/applications").text().contains(BOSS));
    let (mut heir, status, page) = comes(&provider, &stack, own("heir"));
    assert_eq!(status, 403, "the address went on to somebody else");
    assert!(page.contains("another account"), "{page}");
    assert_eq!(heir.get("/ui/users").status(), 303);
    let (_, status, _) = comes(&provider, &stack, own("boss"));
    assert_eq!(status, 200, "its owner comes back");
    let by_subject = json!({"sub": "x@corp.example"});
    assert_eq!(comes(&provider, &stack, by_subject).1, 200);
    assert!(!boss.get("/ui/users").text().contains("x@corp.example"));
}

#[test]
fn where_nobody_has_a_password_no_start_prints_a_way_in_and_people_are_active() {
    let provider = IdentityProvider::start();
    let folder = Folder::new();
    let start = |builder: Builder| builder.folder(&folder).start();
    let by_provider = || Stack::all().yaml(&provider.yaml(", default_role: administrator"));
    let stack = start(by_provider());
    stack.application_id();
    assert!(stack.process.stdout().contains("/ui/link/"));
    let (mut ann, status, page) = comes(&provider, &stack, json!({"preferred_username": "ann"}));
    assert_eq!(status, 200, "{page}");
    let users = ann.get("/ui/users").text();
    let row = users.split("<tr ").find(|row| row.contains("\"row\">ann"));
    assert!(row.unwrap().contains("active"), "{users}");
    assert!(
        !users.contains("href=\"/ui/password\""),
        "nothing to change"
    );
    let page = ann.get("/ui/password");
    assert!(
        page.text().contains("have no password here"),
        "{}",
        page.text()
    );
    let fields = [
        ("old", "x"),
        ("password", "a long enough one"),
        ("again", "a long enough one"),
    ];
    assert_eq!(ann.post("/ui/password", &fields).status(), 409);
    drop(stack);
    let stack = start(by_provider());
    stack.application_id();
    assert!(!stack.process.stdout().contains("/ui/link/"));
    drop(stack);
    let alone = start(Stack::all());
    alone.application_id();
    assert!(
        alone.process.stdout().contains("/ui/link/"),
        "without the provider nobody could come in"
    );
}
