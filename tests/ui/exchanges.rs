//! What belongs to a record's exchange: its files under each name, and the tools that were called in it.

use crate::records::{attach, keep, keeping, send};
use crate::world::administrator;
use serde_json::json;
use support::KEY;
use support::stack::Stack;

#[test]
fn files_with_the_same_bytes_are_shown_and_saved_under_each_name() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let record = keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "see files"}),
    );
    for name in ["one.txt", "two & three.txt"] {
        attach(&stack, &record, name, "the same");
    }
    let page = admin.get(&format!("/ui/records/{record}")).text();
    let link = regex::Regex::new("href=\"(/ui/records/[^\"]+/attachments/[^\"]+)\"").unwrap();
    let links = link.captures_iter(&page).map(|found| found[1].to_owned());
    let mut saved: Vec<_> = links
        .map(|address| {
            let file = admin.get(&address.replace("&amp;", "&"));
            assert_eq!(file.text(), "the same");
            file.head.header("content-disposition").unwrap().to_owned()
        })
        .collect();
    saved.sort_unstable();
    assert_eq!(saved.len(), 2, "{page}");
    assert!(saved[0].ends_with("one.txt"), "{saved:?}");
    assert!(saved[1].ends_with("two%20%26%20three.txt"), "{saved:?}");
}

#[test]
fn tools_are_shown_beside_their_exchange_in_both_languages() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let exchange = json!({"request_id": "x", "session_id": "s"});
    let body = |message: &str| json!({"application_id": id, "message": message, "additional_parameters": exchange});
    let prompt = keep(&stack, "pre", &body("find anna"));
    let other = keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "other"}),
    );
    let call = json!({"application_id": id, "tool_name": "find<b>", "tool_call_id": "c<1>",
        "tool_input": {"name": "<i>anna</i>"}, "tool_result": "anna@example.org",
        "additional_parameters": exchange});
    let told = send(&stack, ("/process_tool_call/", KEY), &call);
    assert_eq!(told.status(), 200, "{}", told.text());
    let answer = keep(&stack, "post", &body("here she is"));
    let result = told.json()["result"]["request_id"].clone();
    let result = result.as_str().unwrap().to_owned();
    for (language, words) in [
        (
            "en",
            [
                "Tools called in this exchange",
                "Tool arguments",
                "Tool result",
            ],
        ),
        (
            "ru",
            [
                "Инструменты, вызванные в этом обмене",
                "Аргументы инструмента",
                "Результат инструмента",
            ],
        ),
    ] {
        admin
            .cookies
            .insert("monitor_language".to_owned(), language.to_owned());
        for record in [&prompt, &answer] {
            let page = admin.get(&format!("/ui/records/{record}")).text();
            for word in
                words
                    .iter()
                    .chain(&["find&lt;b&gt;", "&lt;i&gt;anna&lt;/i&gt;", "[EMAILS]"])
            {
                assert!(page.contains(word), "{word} in {page}");
            }
            assert!(page.contains(&format!("/ui/records/{result}")) && !page.contains("<i>anna"));
        }
        let page = admin.get(&format!("/ui/records/{other}")).text();
        assert!(!page.contains(words[0]), "{page}");
        let page = admin.get(&format!("/ui/records/{result}")).text();
        assert!(
            page.contains(words[2]) && page.contains("c&lt;1&gt;"),
            "{page}"
        );
        assert!(page.contains(words[1]), "the other part: {page}");
        let list = admin.get("/ui/records").text();
        let session = format!("/ui/sessions/one?application_id={id}&session_id=s");
        for page in [list, admin.get(&session).text()] {
            assert!(
                page.contains(words[1]) && page.contains("find&lt;b&gt;"),
                "{page}"
            );
        }
    }
}
