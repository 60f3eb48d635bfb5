//! Signing in by an identity provider: who gets in, as what, and which tokens are refused.

use crate::accounts::colleague;
use crate::browser::Browser;
use crate::world::administrator;
use serde_json::{Value, json};
use support::KEY;
use support::identity_provider::{CLIENT_SECRET, IdentityProvider, Signer};
use support::stack::Stack;
use support::visitor::Visitor;

const ROLES: &str =
    ", role_claim: realm.groups, roles: {administrator: ops, analyst: \"sec, audit\"}";

fn world(more: &str) -> (IdentityProvider, Stack) {
    let provider = IdentityProvider::start();
    let stack = Stack::all().yaml(&provider.yaml(more)).start();
    (provider, stack)
}

/// Goes to the provider; gives where that was.
#[track_caller]
fn sent(visitor: &mut Visitor) -> String {
    let sent = visitor.get("/ui/oidc?next=%2Fui%2Fsessions");
    assert_eq!(sent.status(), 303, "{}", sent.text());
    sent.head.header("location").unwrap().to_owned()
}

/// The whole way; the status and the text of the page at its end.
#[track_caller]
fn comes(provider: &IdentityProvider, visitor: &mut Visitor, claims: Value) -> (u16, String) {
    let location = sent(visitor);
    let back = provider.agrees(&location, claims);
    let page = visitor.get(&back);
    (page.status(), page.text())
}

fn person(groups: &[&str]) -> Value {
    json!({"email": "Ann@Corp.example", "email_verified": true, "realm": {"groups": groups}})
}

#[test]
fn somebody_signs_in_by_the_provider_and_has_the_role_of_their_groups_each_time_anew() {
    let (provider, stack) = world(ROLES);
    administrator(&stack);
    let mut ann = Visitor::new(stack.analysis_addr);
    let page = ann.get("/ui/sign-in").text();
    assert!(page.contains("href=\"/ui/oidc?next="), "{page}");
    let (status, page) = comes(&provider, &mut ann, person(&["staff", "sec"]));
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("content=\"0; url=/ui/sessions\""), "{page}");
    assert_eq!(ann.get("/ui/records").status(), 200);
    assert_eq!(ann.get("/ui/users").status(), 403, "an analyst");
    let (status, _) = comes(&provider, &mut ann, person(&["audit", "ops"]));
    assert_eq!((status, ann.get("/ui/users").status()), (200, 200));
    let users = ann.get("/ui/users").text();
    assert!(users.matches("ann@corp.example").count() > 0);
    assert_eq!(
        users.matches("<tr ").count(),
        3,
        "head, admin and one of her"
    );
    let (status, page) = comes(&provider, &mut ann, person(&["staff"]));
    assert_eq!(status, 403, "no role any more");
    assert!(page.contains("cannot sign in"), "{page}");
    let log = stack.analysis("/audit", KEY).text();
    assert!(
        log.contains("\"by\":\"oidc\"") && log.contains("account.sign_in"),
        "{log}"
    );
}

#[test]
fn a_text_as_the_claim_of_roles_is_one_group_and_only_scopes_are_several() {
    let at = |claim: &str| {
        world(&format!(
            ", role_claim: {claim}, roles: {{administrator: admins, analyst: \"the analysts\"}}"
        ))
    };
    let (provider, stack) = at("group");
    let mut visitor = Visitor::new(stack.analysis_addr);
    for (group, status) in [
        ("x admins", 403),
        ("admins x", 403),
        (" admins", 403),
        ("the analysts", 200),
        ("admins", 200),
    ] {
        let claims = json!({"group": group});
        let comes = comes(&provider, &mut visitor, claims).0;
        assert_eq!(comes, status, "{group:?}");
    }
    let (provider, stack) = at("scope");
    let mut visitor = Visitor::new(stack.analysis_addr);
    let claims = json!({"scope": "openid admins"});
    assert_eq!(comes(&provider, &mut visitor, claims).0, 200);
    let claims = json!({"scope": "openid other"});
    assert_eq!(comes(&provider, &mut visitor, claims).0, 403);
}

#[test]
#[ignore = "needs Chromium"]
fn in_a_browser_the_way_back_ends_signed_in_at_the_page_that_was_asked_for() {
    let (provider, stack) = world(", default_role: analyst");
    let mut browser = Browser::start(stack.analysis_addr);
    provider.agrees_to_everything(json!({"preferred_username": "ann"}));
    browser.open("/ui/sessions");
    browser.wait_for("location.pathname === '/ui/sign-in'");
    browser.click("a[href^='/ui/oidc']");
    browser.wait_for("document.querySelector('.corner .who strong')?.textContent === 'ann'");
    assert_eq!(browser.value("location.pathname"), "/ui/sessions");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_token_that_is_not_the_providers_or_not_for_this_sign_in_is_refused() {
    let (provider, stack) = world(", default_role: analyst");
    let mut visitor = Visitor::new(stack.analysis_addr);
    for (claims, says) in [
        (json!({"iss": "https://other.example"}), "another issuer"),
        (json!({"aud": "another"}), "another audience"),
        (json!({"aud": ["monitor", "another"]}), "another audience"),
        (json!({"azp": "another"}), "another audience"),
        (json!({"exp": 1_700_000_000}), "expired"),
        (json!({"exp": null}), "expired"),
        (json!({"exp": "soon"}), "expired"),
        (json!({"nbf": 9_000_000_000_u64}), "not valid yet"),
        (json!({"nonce": "replayed"}), "another sign-in"),
        (json!({"nonce": null}), "another sign-in"),
        (json!({"sub": null}), "no usable subject"),
    ] {
        let (status, page) = comes(&provider, &mut visitor, claims.clone());
        assert_eq!(status, 403, "{claims}");
        assert!(page.contains(says), "{claims}: {page}");
        assert_eq!(visitor.get("/ui/records").status(), 303, "{claims}");
    }
    for (signer, says) in [(Signer::Forger, "signature"), (Signer::Nobody, "RS256")] {
        provider.signs(signer);
        let (status, page) = comes(&provider, &mut visitor, json!({}));
        assert_eq!(status, 403, "{signer:?}");
        assert!(page.contains(says), "{signer:?}: {page}");
    }
    assert!(!stack.stderr().contains(CLIENT_SECRET));
    provider.signs(Signer::Own);
    assert_eq!(comes(&provider, &mut visitor, json!({})).0, 200);
}

#[test]
fn a_new_key_of_the_provider_is_fetched_when_a_token_names_it() {
    let (provider, stack) = world(", default_role: analyst");
    let mut visitor = Visitor::new(stack.analysis_addr);
    assert_eq!(comes(&provider, &mut visitor, json!({})).0, 200);
    provider.rotates("second");
    assert_eq!(comes(&provider, &mut visitor, json!({})).0, 200);
}

#[test]
fn a_state_counts_once_in_the_browser_that_began_it() {
    let (provider, stack) = world(", default_role: analyst");
    let mut visitor = Visitor::new(stack.analysis_addr);
    let location = sent(&mut visitor);
    let kept = visitor.cookies["monitor_oidc"].clone();
    let back = provider.agrees(&location, json!({}));
    let mut other = Visitor::new(stack.analysis_addr);
    assert_eq!(other.get(&back).status(), 403, "another browser");
    sent(&mut other);
    assert_eq!(
        other.get(&back).status(),
        403,
        "another browser on its own way"
    );
    assert_eq!(
        visitor.get("/ui/oidc/callback?code=x&state=").status(),
        403,
        "no state"
    );
    visitor
        .cookies
        .insert("monitor_oidc".to_owned(), kept.clone());
    assert_eq!(visitor.get(&back).status(), 200);
    assert_eq!(visitor.cookies["monitor_oidc"], "over");
    visitor.cookies.insert("monitor_oidc".to_owned(), kept);
    let again = visitor.get(&back);
    assert_eq!(again.status(), 403, "once");
    assert!(again.text().contains("begin again"));
}

#[test]
fn a_sign_in_that_was_not_begun_here_asks_the_provider_for_nothing() {
    let (provider, stack) = world(", default_role: analyst");
    let mut stranger = Visitor::new(stack.analysis_addr);
    // Anybody can write a cookie, also in the form of the last release.
    let made_up = "state.nonce.verifier";
    let location = sent(&mut stranger);
    let begun = stranger.cookies["monitor_oidc"].clone();
    let (word, next) = begun.split_once('~').unwrap();
    let own = word.rsplit_once('.').unwrap();
    let asked = provider.tokens_asked();
    for word in [
        made_up.to_owned(),
        format!("{made_up}.1700000000000"),
        format!("{made_up}.1700000000000.{}", own.1),
        format!("{}.{}", own.0.replacen('.', "x.", 1), own.1),
        own.0.to_owned(),
    ] {
        let cookie = format!("{word}~{next}");
        stranger.cookies.insert("monitor_oidc".to_owned(), cookie);
        let state = word.split('.').next().unwrap();
        let back = stranger.get(&format!("/ui/oidc/callback?code=x&state={state}"));
        assert_eq!(back.status(), 403, "{word}");
        assert!(back.text().contains("begin again"));
    }
    assert_eq!(provider.tokens_asked(), asked);
    stranger.cookies.insert("monitor_oidc".to_owned(), begun);
    let back = provider.agrees(&location, json!({}));
    assert_eq!(stranger.get(&back).status(), 200);
    assert_eq!(provider.tokens_asked(), asked + 1);
}

#[test]
fn an_account_is_found_by_a_verified_address_alone_and_never_taken_over() {
    let (provider, stack) = world("");
    let mut admin = administrator(&stack);
    colleague(&stack, &mut admin, ("ann@corp.example", "analyst"), "");
    let mut ann = Visitor::new(stack.analysis_addr);
    for (claims, says) in [
        (json!({"email": "ann@corp.example"}), "no account for you"),
        (
            json!({"email": "ann@corp.example", "email_verified": false}),
            "no account for you",
        ),
        (
            json!({"email": "ann@corp.example", "email_verified": "true"}),
            "no account for you",
        ),
        (
            json!({"email": "ann@corp.example", "email_verified": 1}),
            "no account for you",
        ),
        (
            json!({"preferred_username": "ann@corp.example"}),
            "no account for you",
        ),
        (json!({"preferred_username": "admin"}), "another account"),
        (json!({"sub": "admin"}), "another account"),
    ] {
        let (status, page) = comes(&provider, &mut ann, claims.clone());
        assert_eq!(status, 403, "{claims}");
        assert!(page.contains(says), "{claims}: {page}");
    }
    assert_eq!(comes(&provider, &mut ann, person(&[])).0, 200, "verified");
    assert_eq!(ann.get("/ui/records").status(), 200);
    assert_eq!(
        comes(&provider, &mut ann, json!({})).0,
        200,
        "known from now on by her subject"
    );
    let odd = json!({"sub": "auth|77", "preferred_username": "two words"});
    let (status, page) = comes(&provider, &mut ann, odd.clone());
    assert!(
        status == 403 && page.contains("no account for you"),
        "{page}"
    );
}

#[test]
fn domains_keep_others_out_and_a_disabled_account_stays_out() {
    let (provider, stack) =
        world(", default_role: analyst, allowed_domains: \"corp.example, sub.example\"");
    let mut admin = administrator(&stack);
    let mut ann = Visitor::new(stack.analysis_addr);
    for email in [
        "ann@evil.example",
        "ann@notcorp.example",
        "ann@corp.example.evil",
    ] {
        let claims = json!({"email": email, "email_verified": true});
        assert_eq!(comes(&provider, &mut ann, claims).0, 403, "{email}");
    }
    assert_eq!(
        comes(&provider, &mut ann, json!({"email": "ann@corp.example"})).0,
        403,
        "not verified"
    );
    assert_eq!(comes(&provider, &mut ann, person(&[])).0, 200);
    let page = admin.get("/ui/users").text();
    let path = crate::accounts::account_path(&page, "ann@corp.example");
    assert_eq!(
        admin
            .post(&format!("{path}/edit"), &[("action", "disable")])
            .status(),
        200
    );
    assert_eq!(ann.get("/ui/records").status(), 303);
    let (status, page) = comes(&provider, &mut ann, person(&[]));
    assert_eq!(status, 403);
    assert!(page.contains("disabled"), "{page}");
}

#[test]
fn what_goes_wrong_at_the_provider_is_said_without_secrets() {
    let (provider, stack) = world(", default_role: analyst");
    let mut visitor = Visitor::new(stack.analysis_addr);
    let state = |location: &str| {
        let (_, state) = url::Url::parse(location)
            .unwrap()
            .query_pairs()
            .into_owned()
            .find(|(name, _)| name == "state")
            .unwrap();
        state
    };
    let location = sent(&mut visitor);
    let denied = visitor.get(&format!(
        "/ui/oidc/callback?error=access_denied&state={}",
        state(&location)
    ));
    assert_eq!(denied.status(), 403);
    assert!(denied.text().contains("access_denied"));
    sent(&mut visitor);
    let odd = visitor.get("/ui/oidc/callback?error=%3Cscript%3Ealert(1)%3C/script%3E&state=x");
    assert_eq!(odd.status(), 403);
    assert!(!odd.text().contains("alert(1)"), "{}", odd.text());
    let location = sent(&mut visitor);
    let refused = visitor.get(&format!(
        "/ui/oidc/callback?code=unknown&state={}",
        state(&location)
    ));
    assert_eq!(refused.status(), 502);
    assert!(
        refused.text().contains("invalid_grant"),
        "{}",
        refused.text()
    );
    drop(provider);
    let stack = Stack::all()
        .yaml("  sign_in: {oidc: {issuer: \"http://127.0.0.1:9\", client_id: x}}")
        .start();
    let gone = Visitor::new(stack.analysis_addr).get("/ui/oidc");
    assert_eq!(gone.status(), 502);
    assert!(gone.text().contains("cannot be reached"), "{}", gone.text());
}

#[test]
fn without_a_provider_there_is_no_such_way_in() {
    let stack = Stack::all().start();
    let mut visitor = Visitor::new(stack.analysis_addr);
    assert!(!visitor.get("/ui/sign-in").text().contains("/ui/oidc"));
    assert_eq!(visitor.get("/ui/oidc").status(), 404);
    assert_eq!(
        visitor.get("/ui/oidc/callback?code=x&state=y").status(),
        404
    );
}
