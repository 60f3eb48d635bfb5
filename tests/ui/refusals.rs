//! Sign-ins that were refused, in the audit log: with a reason of ours, with whom only where a checked
//! token or an account says so, and never more lines than fit.

use crate::accounts::{account_path, colleague};
use crate::world::{ADMIN, PASSWORD, administrator};
use serde_json::{Value, json};
use support::KEY;
use support::eventually;
use support::identity_provider::{CLIENT_SECRET, IdentityProvider, Signer};
use support::stack::{Folder, Stack};
use support::visitor::Visitor;

/// Lines of sign-ins that failed, the latest first, once there are so many.
#[track_caller]
fn refused(stack: &Stack, count: usize) -> Vec<Value> {
    let entries = eventually("so many lines", || {
        let log = "/audit?action=account.sign_in_failed&limit=200";
        let entries = stack.analysis(log, KEY).json()["entries"].clone();
        let entries = entries.as_array().unwrap().clone();
        (entries.len() >= count).then_some(entries)
    });
    assert_eq!(entries.len(), count, "{entries:?}");
    entries
}

/// Goes to the provider and comes back as this person; the page's status.
#[track_caller]
fn comes(provider: &IdentityProvider, visitor: &mut Visitor, claims: Value) -> u16 {
    let sent = visitor.get("/ui/oidc");
    let location = sent.head.header("location").unwrap().to_owned();
    let back = provider.agrees(&location, claims);
    visitor.get(&back).status()
}

#[test]
fn whoever_is_refused_by_the_provider_is_a_line_with_a_reason_and_nothing_unchecked() {
    let provider = IdentityProvider::start();
    let yaml = provider.yaml(", allowed_domains: corp.example");
    let stack = Stack::all().yaml(&yaml).start();
    let mut admin = administrator(&stack);
    colleague(&stack, &mut admin, ("ann@corp.example", "analyst"), "");
    let mut visitor = Visitor::new(stack.analysis_addr);
    let person = |email: &str| json!({"email": email, "email_verified": true, "sub": "s-1"});
    let mut expected = Vec::new();
    let mut check = |reason: &str, subject: Value, email: Value| {
        expected.insert(0, (json!(reason), subject, email));
        let seen = refused(&stack, expected.len());
        let details = seen.iter().map(|line| line["details"].clone());
        let seen: Vec<_> = details
            .map(|one| {
                (
                    one["reason"].clone(),
                    one["subject"].clone(),
                    one["email"].clone(),
                )
            })
            .collect();
        assert_eq!(seen, expected);
    };
    let none = Value::Null;
    visitor.get("/ui/oidc");
    visitor.get("/ui/oidc/callback?error=made_up_by_the_browser&state=x");
    check("denied_at_provider", none.clone(), none.clone());
    visitor.get("/ui/oidc/callback?code=made-up-code&state=made-up-state");
    check("not_begun_here", none.clone(), none.clone());
    provider.signs(Signer::Forger);
    assert_eq!(
        comes(&provider, &mut visitor, person("forged@corp.example")),
        403
    );
    check("token_refused", none.clone(), none.clone());
    provider.signs(Signer::Own);
    let other = json!({"aud": "another", "email": "misled@corp.example", "email_verified": true});
    assert_eq!(comes(&provider, &mut visitor, other), 403);
    check("token_refused", none.clone(), none.clone());
    let unverified = json!({"email": "claimed@corp.example", "sub": "s-0"});
    assert_eq!(comes(&provider, &mut visitor, unverified), 403);
    check("other_domain", json!("s-0"), none.clone());
    assert_eq!(
        comes(&provider, &mut visitor, person("eve@corp.example.evil")),
        403
    );
    check("other_domain", json!("s-1"), json!("eve@corp.example.evil"));
    assert_eq!(
        comes(&provider, &mut visitor, person("new@corp.example")),
        403
    );
    check("no_account", json!("s-1"), json!("new@corp.example"));
    assert_eq!(
        comes(&provider, &mut visitor, person("ann@corp.example")),
        200
    );
    let users = admin.get("/ui/users").text();
    let edit = format!("{}/edit", account_path(&users, "ann@corp.example"));
    assert_eq!(admin.post(&edit, &[("action", "disable")]).status(), 200);
    assert_eq!(
        comes(&provider, &mut visitor, person("ann@corp.example")),
        403
    );
    check("account_disabled", json!("s-1"), json!("ann@corp.example"));
    assert_eq!(refused(&stack, 8)[0]["actor"], "ann@corp.example");
    let log = stack.analysis("/audit?limit=200", KEY).text();
    for hidden in ["made", "forged", "misled", "claimed", CLIENT_SECRET] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
    let log = "/ui/audit?action=account.sign_in_failed";
    let page = admin.get(log).text();
    assert!(
        page.contains("no verified address in an allowed domain"),
        "{page}"
    );
    assert!(page.contains("the account is disabled") && page.contains("127.0.0.1"));
    admin.post("/ui/preferences", &[("language", "ru"), ("next", log)]);
    let page = admin.get(log).text();
    assert!(
        page.contains("токен провайдера идентификации отклонён"),
        "{page}"
    );
    assert!(page.contains("учётная запись отключена"), "{page}");
}

#[test]
fn a_flood_of_refusals_is_a_bounded_number_of_lines_and_the_rest_is_counted_in_one() {
    const TRIES: u64 = 60;
    let provider = IdentityProvider::start();
    let folder = Folder::new();
    let start = || {
        Stack::all()
            .yaml(&provider.yaml(""))
            .folder(&folder)
            .start()
    };
    let mut stack = start();
    administrator(&stack);
    for number in 0..TRIES {
        let callback = format!("/ui/oidc/callback?code=x&state={number}");
        let refused = Visitor::new(stack.analysis_addr).get(&callback);
        assert_eq!(refused.status(), 403);
    }
    let noise = refused(&stack, 10).len() as u64;
    let mut guesser = Visitor::new(stack.analysis_addr);
    guesser.get("/ui/sign-in");
    let wrong = [("name", ADMIN), ("password", "a wrong password")];
    assert_eq!(guesser.post("/ui/sign-in", &wrong).status(), 422);
    let latest = refused(&stack, 11).swap_remove(0);
    assert_eq!(latest["actor"], ADMIN, "noise hides no account's line");
    assert_eq!(latest["details"]["reason"], "wrong_password");
    stack.process.signal("TERM");
    stack.process.await_exit();
    let stack = start();
    let told = refused(&stack, 12).swap_remove(0);
    let left_out = TRIES - noise;
    assert_eq!(told["details"]["more"], left_out);
    assert_eq!(
        told["details"]["reasons"],
        json!({"not_begun_here": left_out})
    );
    let mut admin = Visitor::new(stack.analysis_addr);
    admin.get("/ui/sign-in");
    let right = [("name", ADMIN), ("password", PASSWORD)];
    assert_eq!(admin.post("/ui/sign-in", &right).status(), 303);
    let page = admin.get("/ui/audit").text();
    assert!(page.contains(&format!("and {left_out} more")), "{page}");
    assert!(
        page.contains(&format!("or already finished</span> × {left_out}")),
        "{page}"
    );
    admin.post(
        "/ui/preferences",
        &[("language", "ru"), ("next", "/ui/audit")],
    );
    let page = admin.get("/ui/audit").text();
    assert!(page.contains(&format!("и ещё {left_out}")), "{page}");
}

#[test]
fn guessing_at_one_account_takes_its_share_of_lines_and_no_more() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let mut guesser = Visitor::new(stack.analysis_addr);
    guesser.get("/ui/sign-in");
    let mut guess = |name: &str| {
        let wrong = [("name", name), ("password", "a wrong password")];
        guesser.post("/ui/sign-in", &wrong).status()
    };
    for name in ["ann", "ANN", " ann", "Ann", "ann "] {
        guess(name);
    }
    assert_eq!(guess("ann"), 429, "not looked at any more, and no line");
    for name in ["nobody", "nobody else"] {
        assert_eq!(guess(name), 422);
    }
    let lines = refused(&stack, 7);
    let of_ann = lines.iter().filter(|line| line["actor"] == "ann").count();
    assert_eq!(of_ann, 5);
    assert!(
        lines
            .iter()
            .all(|line| !line.to_string().contains("nobody"))
    );
}
