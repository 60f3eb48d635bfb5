//! Where an account is signed in: listed and ended by its owner, and by administrators.

use crate::accounts::{account_path, colleague};
use crate::world::{ADMIN, PASSWORD, administrator};
use regex::Regex;
use support::KEY;
use support::stack::Stack;
use support::visitor::Visitor;

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// The identifiers of the sign-ins that a page can end.
fn identifiers(page: &str) -> Vec<String> {
    let id = Regex::new(r#"name="id" value="([^"]+)""#).unwrap();
    id.captures_iter(page)
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn people_see_where_they_are_signed_in_and_end_it() {
    let stack = Stack::all().start();
    let mut here = administrator(&stack);
    let agent = [("User-Agent", FIREFOX)];
    let [mut one, mut two, mut three] =
        [0; 3].map(|_| Visitor::behind(stack.analysis_addr, &agent));
    for visitor in [&mut one, &mut two, &mut three] {
        visitor.get("/ui/sign-in");
        visitor.post("/ui/sign-in", &[("name", ADMIN), ("password", PASSWORD)]);
    }
    let page = here.get("/ui/sign-ins").text();
    for part in ["Firefox, Linux", "127.0.0.1", "this browser"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("Gecko"), "{page}");
    let others = identifiers(&page);
    assert_eq!(others.len(), 3, "{page}");
    let mut ended = |fields: &[(&str, &str)]| {
        let ended = here.post("/ui/sign-ins/end", fields);
        assert_eq!(ended.head.header("location"), Some("/ui/sign-ins"));
    };
    ended(&[("id", others[0].as_str())]);
    let mut signed_in = || {
        let all = [&mut one, &mut two, &mut three].map(|visitor| visitor.get("/ui/users").status());
        all.iter().filter(|status| **status == 200).count()
    };
    assert_eq!(signed_in(), 2);
    ended(&[("others", "1")]);
    assert_eq!(signed_in(), 0);
    assert_eq!(here.get("/ui/users").status(), 200);
    let odd = here.post("/ui/sign-ins/end", &[("id", "odd")]);
    assert_eq!(odd.status(), 404);
    let log = stack.analysis("/audit?action=account.end_sign_ins", KEY);
    let entries = log.json()["entries"].clone();
    assert_eq!(entries[0]["details"]["which"], "others");
    assert_eq!(entries[1]["details"]["which"], "one");
}

#[test]
fn administrators_end_those_of_everybody_and_nobody_else_does() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut ann = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let mut bob = colleague(&stack, &mut admin, ("bob", "analyst"), "");
    let users = admin.get("/ui/users").text();
    let path = format!("{}/sign-ins", account_path(&users, "ann"));
    let page = admin.get(&path).text();
    let ids = identifiers(&page);
    assert_eq!(ids.len(), 1, "{page}");
    let id = ids[0].as_str();
    let end = format!("{path}/end");
    bob.get("/ui/sign-ins");
    assert_eq!(bob.get(&path).status(), 403);
    assert_eq!(bob.post(&end, &[]).status(), 403);
    bob.get("/ui/sign-ins");
    bob.post("/ui/sign-ins/end", &[("id", id)]);
    assert_eq!(ann.get("/ui/records").status(), 200, "not bob's to end");
    admin.get(&path);
    assert_eq!(admin.post(&end, &[("id", id)]).status(), 303);
    assert_eq!(ann.get("/ui/records").status(), 303);
    assert_eq!(bob.get("/ui/records").status(), 200);
    assert!(admin.get(&path).text().contains("Not signed in anywhere"));
    let log = stack.analysis("/audit?action=account.end_sign_ins", KEY);
    let entries = log.json()["entries"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 1, "{entries}");
    assert_eq!(entries[0]["actor"], ADMIN);
}
