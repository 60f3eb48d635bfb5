//! The page of costs, and the cost of a record, as people see them.

use crate::records::keep;
use crate::world::administrator;
use serde_json::{Value, json};
use support::stack::Stack;

const PRICES: &str = "  prices: {currency: EUR, models: {m-1: {input: 2, output: 8}}}\n";

fn answer(stack: &Stack, model: &str, user: &str) -> String {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500});
    let body: Value = json!({"application_id": stack.application_id(), "message": "said",
        "additional_parameters": {"model": model, "user_id": user, "usage": usage}});
    keep(stack, "post", &body)
}

#[test]
fn costs_stand_on_their_page_in_the_list_and_on_the_record() {
    let stack = Stack::all().yaml(PRICES).start();
    let mut admin = administrator(&stack);
    let id = answer(&stack, "m-1", "anna<b>");
    answer(&stack, "other", "boris");
    let page = admin.get("/ui/costs").text();
    for part in [
        "0.006 EUR",
        "m-1",
        "other",
        "not known",
        "Their model has no price in the configuration (prices), or nobody counted the tokens",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = admin.get("/ui/costs?group_by=user").text();
    assert!(
        page.contains("anna&lt;b&gt;") && !page.contains("anna<b>"),
        "{page}"
    );
    assert!(page.contains("/ui/costs/export?group_by=user"), "{page}");
    let record = admin.get(&format!("/ui/records/{id}")).text();
    for part in ["0.006 EUR", "m-1", "Tokens of the call"] {
        assert!(record.contains(part), "{part}: {record}");
    }
    let list = admin.get("/ui/records").text();
    assert!(
        list.contains("0.006 EUR") && list.contains("not known"),
        "{list}"
    );
    let russian = ("monitor_language".to_owned(), "ru".to_owned());
    admin.cookies.extend([russian]);
    let page = admin.get("/ui/costs").text();
    for part in [
        "неизвестна",
        "или токены запроса или ответа никто не сосчитал",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_stored_response_is_marked_and_not_called_unpriced() {
    let stack = Stack::all().yaml(PRICES).start();
    let mut admin = administrator(&stack);
    let body: Value = json!({"application_id": stack.application_id(), "message": "said",
        "additional_parameters": {"model": "m-1", "stored_response": true,
            "usage": {"prompt_tokens": 1000, "completion_tokens": 500}}});
    let id = keep(&stack, "post", &body);
    for path in [format!("/ui/records/{id}"), "/ui/records".to_owned()] {
        let page = admin.get(&path).text();
        assert!(
            page.contains("stored response, not counted again"),
            "{page}"
        );
        assert!(!page.contains("not known"), "{page}");
    }
    let costs = admin.get("/ui/costs").text();
    assert!(costs.contains("No calls in this period."), "{costs}");
}

#[test]
fn a_wrong_filter_is_told_and_the_file_has_the_sums() {
    let stack = Stack::all().yaml(PRICES).start();
    let mut admin = administrator(&stack);
    answer(&stack, "m-1", "anna");
    for wrong in [
        "group_by=week",
        "from=2026-02-01&to=2026-01-01",
        "application_id=nobody",
    ] {
        let page = admin.get(&format!("/ui/costs?{wrong}"));
        assert_eq!(page.status(), 422, "{wrong}");
        assert!(page.text().contains("Invalid filter:"), "{wrong}");
    }
    let days = admin.get("/ui/costs?group_by=day").text();
    assert!(days.contains("Costs by day"), "{days}");
    assert!(!days.contains("Highest costs"), "{days}");
    let file = admin.get("/ui/costs/export?group_by=user");
    assert_eq!(file.status(), 200);
    assert!(
        file.text()
            .contains(",,anna,,priced,1,1000,0,0,500,0,0.006,EUR"),
        "{}",
        file.text()
    );
    let none = admin.get("/ui/costs?from=2020-01-01&to=2020-01-02").text();
    assert!(none.contains("No calls in this period."), "{none}");
}
