//! Records by a value in the web UI (UI.md A4): a form whose value is in no address, and on a record how many others
//! have the same.

use crate::accounts::colleague;
use crate::records::keep;
use crate::world::administrator;
use serde_json::json;
use support::stack::Stack;

const CARD: &str = "4111 1111 1111 1111";

fn prompt(stack: &Stack, user: &str, message: &str) -> String {
    let body = json!({"application_id": stack.application_id(), "message": message,
        "additional_parameters": {"user_id": user}});
    keep(stack, "pre", &body)
}

#[test]
fn a_form_finds_the_records_with_a_value_that_no_address_has() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let record = prompt(&stack, "ann", &format!("card {CARD}"));
    let page = admin.get("/ui/records").text();
    let form = "<form method=\"post\" action=\"/ui/records/by-value\">";
    assert!(page.contains(form), "{page}");
    let fields = [
        ("value", "4111-1111-1111-1111"),
        ("type", ""),
        ("application_id", ""),
    ];
    let found = admin.post("/ui/records/by-value", &fields);
    assert_eq!(found.status(), 200);
    let text = found.text();
    assert!(text.contains(&format!("/ui/records/{record}")), "{text}");
    assert!(!text.contains("=4111"), "no address has the value: {text}");
    let none = [("value", "5500 0055 5555 5559")];
    let none = admin.post("/ui/records/by-value", &none).text();
    assert!(none.contains("Nothing found"), "{none}");
    for wrong in [[("value", " ")], [("value", "—")]] {
        assert_eq!(admin.post("/ui/records/by-value", &wrong).status(), 422);
    }
    let refused = admin.post_bare("/ui/records/by-value", &fields);
    assert_eq!(refused.status(), 403, "a form of another page");
    let audit = admin.get("/ui/audit?action=records.find_value").text();
    assert!(audit.contains("looked for a value") && !audit.contains("4111-1111"));
}

#[test]
fn a_record_says_in_how_many_others_its_values_are() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let record = prompt(&stack, "ann", &format!("card {CARD}"));
    let page = admin.get(&format!("/ui/records/{record}")).text();
    assert!(!page.contains("The same values"), "{page}");
    let others = ["bob", "carl", "carl"].map(|user| prompt(&stack, user, &format!("my {CARD}")));
    let page = admin.get(&format!("/ui/records/{record}")).text();
    let same = format!("/ui/records/{record}/same?type=BANK_CARD_NUMBER");
    for part in [
        "The same values in other records",
        same.as_str(),
        "<div>3</div>",
        "<div>2</div>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let list = admin.get(&same).text();
    for other in others.iter().chain([&record]) {
        assert!(list.contains(&format!("data-record=\"{other}\"")), "{list}");
    }
    let mut reviewer = colleague(&stack, &mut admin, ("rita", "reviewer"), "");
    assert_eq!(reviewer.get(&same).status(), 200);
}

#[test]
fn a_user_is_found_by_a_part_of_the_name_in_any_letter_case() {
    // UI.md B7.
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    for user in ["D.Volkov", "Анна Волкова"] {
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
        let body = json!({"application_id": stack.application_id(), "message": "said",
            "additional_parameters": {"model": "m-1", "user_id": user, "usage": usage}});
        keep(&stack, "post", &body);
    }
    for (typed, address) in [
        ("volkov", "user_id=D.Volkov"),
        ("ВОЛКОВ", "user_id=%D0%90%D0%BD%D0%BD%D0%B0+"),
    ] {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("user_id", typed)
            .finish();
        let page = admin.get(&format!("/ui/records?{query}")).text();
        assert!(page.contains("Users whose names contain it"), "{page}");
        assert!(page.contains(address), "{page}");
    }
    let page = admin.get("/ui/records?user_id=D.Volkov").text();
    assert!(!page.contains("Users whose names contain it"), "{page}");
    let page = admin.get("/ui/records?user_id=nobody").text();
    assert!(!page.contains("Users whose names contain it"), "{page}");
}
