//! Other people's accounts: one-time links, roles, disabling.

use crate::browser::Browser;
use crate::defence::add_application;
use crate::world::{ADMIN, PASSWORD, administrator};
use serde_json::json;
use support::KEY;
use support::request::Request;
use support::sqlite;
use support::stack::Stack;
use support::visitor::Visitor;

/// Makes an account as an administrator and signs its owner in.
pub(crate) fn colleague(
    stack: &Stack,
    admin: &mut Visitor,
    (name, role): (&str, &str),
    application: &str,
) -> Visitor {
    admin.get("/ui/users");
    let fields = [
        ("name", name),
        ("role", role),
        ("application_id", application),
    ];
    let made = admin.post("/ui/users", &fields);
    assert_eq!(made.status(), 200, "{}", made.text());
    let link = regex::Regex::new("/ui/link/[A-Za-z0-9_-]+").unwrap();
    let link = link.find(&made.text()).unwrap().as_str().to_owned();
    let mut visitor = Visitor::new(stack.analysis_addr);
    visitor.get(&link);
    let entered = visitor.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(entered.status(), 303);
    visitor
}

/// The path of an account's forms.
pub(crate) fn account_path(page: &str, name: &str) -> String {
    let row = page
        .split("<tr ")
        .find(|row| row.contains(&format!("\"row\">{name}")))
        .unwrap();
    let path = regex::Regex::new("/ui/users/[0-9a-f-]{36}").unwrap();
    path.find(row).unwrap().as_str().to_owned()
}

#[test]
fn roles_open_their_pages_and_no_others() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let application = format!("/ui/applications/{}", stack.application_id());
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    for visitor in [&mut analyst, &mut developer] {
        assert_eq!(visitor.get("/ui/applications").status(), 200);
        assert_eq!(visitor.get(&application).status(), 200);
        assert_eq!(visitor.get("/ui/users").status(), 403);
        assert_eq!(
            visitor
                .post("/ui/users", &[("name", "x"), ("role", "administrator")])
                .status(),
            403
        );
    }
    assert_eq!(analyst.get("/ui/applications/new").status(), 403);
    assert_eq!(
        analyst
            .post(&application, &[("name", "mine"), ("version", "1")])
            .status(),
        403
    );
    assert_eq!(developer.get("/ui/applications/new").status(), 200);
    let replayed = developer.post(&format!("{application}/replay"), &[]);
    assert_eq!(replayed.status(), 403, "a replay tells of records");
}

#[test]
fn a_disabled_account_is_out_at_once_and_the_last_administrator_stays() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    assert_eq!(analyst.get("/ui/applications").status(), 200);
    let page = admin.get("/ui/users").text();
    let (ann, own) = (account_path(&page, "ann"), account_path(&page, ADMIN));
    let edit = |path: &str| format!("{path}/edit");
    assert_eq!(
        admin.post(&edit(&ann), &[("action", "disable")]).status(),
        200
    );
    assert_eq!(analyst.get("/ui/applications").status(), 303);
    let fields = [("name", "ann"), ("password", PASSWORD)];
    analyst.get("/ui/sign-in");
    assert_eq!(analyst.post("/ui/sign-in", &fields).status(), 422);
    assert_eq!(
        admin.post(&edit(&own), &[("action", "disable")]).status(),
        409
    );
    assert_eq!(
        admin.post(&edit(&own), &[("role", "analyst")]).status(),
        409
    );
    assert_eq!(admin.get("/ui/users").status(), 200);
}

#[test]
fn an_application_to_which_people_are_bound_is_removed_by_an_administrator_alone() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = add_application(&stack, &json!({"name": "theirs"}));
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    colleague(&stack, &mut admin, ("tenant", "administrator"), &id);
    let page = format!("/ui/applications/{id}");
    let removal = format!("{page}/remove");
    let shown = developer.get(&page).text();
    assert!(shown.contains("the accounts of people"), "{shown}");
    let name = [("confirmation", "theirs")];
    assert_eq!(developer.post(&removal, &name).status(), 403);
    let key = json!({"name": "dev", "scopes": ["admin", "ingest"]}).to_string();
    let by_api = |key: &str, request: Request| {
        let request = request.without_key();
        let request = request.header("Authorization", &format!("Bearer {key}"));
        request.call(stack.analysis_addr)
    };
    let key = by_api(KEY, Request::post("/tokens", key)).json();
    let key = key["value"].as_str().unwrap();
    let path = format!("/applications/{id}?version=1");
    let refused = by_api(key, Request::new("DELETE", &path));
    assert_eq!(refused.status(), 403, "{}", refused.text());
    assert!(admin.get("/ui/users").text().contains("tenant"));
    assert_eq!(admin.get(&page).status(), 200);
    assert_eq!(admin.post(&removal, &name).status(), 303);
    assert!(!admin.get("/ui/users").text().contains("tenant"));
    let log = stack
        .analysis("/audit?action=application.remove", KEY)
        .json();
    assert_eq!(log["entries"][0]["details"]["accounts"], 1);
    let id = add_application(&stack, &json!({"name": "nobodys"}));
    let removed = developer.post(
        &format!("/ui/applications/{id}/remove"),
        &[("confirmation", "nobodys")],
    );
    assert_eq!(removed.status(), 303);
}

#[test]
fn contract_30_what_people_do_stands_in_the_audit_log_without_any_secret() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let log = stack.analysis("/audit", support::KEY).text();
    for action in [
        "account.create",
        "account.link",
        "account.password",
        "account.sign_in",
    ] {
        assert!(log.contains(action), "{action} in {log}");
    }
    assert!(
        !log.contains(PASSWORD) && !log.contains("mon_") && !log.contains("argon2"),
        "{log}"
    );
    assert!(!stack.stderr().contains(PASSWORD));
}

#[test]
fn contract_30_a_change_whose_line_cannot_be_written_is_not_made() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    analyst.get("/ui/password");
    let ann = account_path(&admin.get("/ui/users").text(), "ann");
    let edit = format!("{ann}/edit");
    let log = || stack.analysis("/audit", KEY).json()["entries"].clone();
    let (lines, file) = (log(), stack.data_dir().join("monitor.db"));
    let (boris, new) = ([("name", "boris"), ("role", "analyst")], "another password");
    let password = [("old", PASSWORD), ("password", new), ("again", new)];
    sqlite::execute_now(&file, "ALTER TABLE audit RENAME TO audit_away");
    for refused in [
        admin.post("/ui/users", &boris),
        admin.post(&edit, &[("action", "disable")]),
        admin.post(&edit, &[("role", "administrator")]),
        admin.post(&format!("{ann}/link"), &[]),
        analyst.post("/ui/password", &password),
    ] {
        assert_eq!(refused.status(), 503, "{}", refused.text());
    }
    sqlite::execute_now(&file, "ALTER TABLE audit_away RENAME TO audit");
    assert_eq!(log(), lines);
    assert!(!admin.get("/ui/users").text().contains("boris"));
    assert_eq!(analyst.get("/ui/users").status(), 403, "still an analyst");
    let mut again = Visitor::new(stack.analysis_addr);
    again.get("/ui/sign-in");
    let fields = [("name", "ann"), ("password", PASSWORD)];
    let entered = again.post("/ui/sign-in", &fields);
    assert_eq!(entered.status(), 303, "the password is the old one");
    assert_eq!(admin.post("/ui/users", &boris).status(), 200);
    assert_eq!(log()[1]["action"], "account.create");
}

#[test]
#[ignore = "needs Chromium"]
fn a_role_is_given_by_its_button_and_not_by_a_key_on_the_list_of_roles() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let mut browser = Browser::start(stack.analysis_addr);
    browser.open("/ui/sign-in");
    browser.fill("input[name=name]", ADMIN);
    browser.fill("input[name=password]", PASSWORD);
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.corner') !== null");
    browser.open("/ui/users");
    let role = "select[aria-label$='ann']";
    let chosen = format!("document.querySelector(\"{role}\").value");
    let choose = format!(
        "(() => {{ const list = document.querySelector(\"{role}\"); list.value = 'administrator'; \
         list.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"
    );
    browser.value(&choose);
    browser.open("/ui/users");
    assert_eq!(browser.value(&chosen), "analyst", "only looked at");
    browser.value(&choose);
    browser.value(&format!(
        "document.querySelector(\"{role}\").form.querySelector('button').click()"
    ));
    browser.wait_for("document.querySelector('.notice.good') !== null");
    assert_eq!(browser.value(&chosen), "administrator");
}
