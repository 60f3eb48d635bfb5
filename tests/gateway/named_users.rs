//! The user of a call to the Messages API whose header names none: the one in `metadata.user_id`, on the record and for
//! budgets (CONTRACT 7, 49).

use crate::agent_routes::Api;
use crate::budgets::{ID, until_refused, upstream, with_budgets};
use serde_json::{Value, json};
use support::backend::Backend;
use support::request::Request;
use support::stack::Stack;
use support::upstream::Upstream;
use support::{KEY, eventually, within_a_day};

/// What Claude Code sends.
fn identifiers(account: &str, session: &str) -> String {
    json!({"device_id": "d-1", "account_uuid": account, "session_id": session}).to_string()
}

fn body(user_id: &Value) -> String {
    let messages = json!([{"role": "user", "content": "hello"}]);
    json!({"model": "m-1", "max_tokens": 9, "messages": messages, "metadata": {"user_id": user_id}})
        .to_string()
}

fn by(user_id: &str) -> Request {
    let call = Request::post("/v1/messages", body(&user_id.into()));
    call.header("X-Application-Id", ID)
}

#[test]
fn the_record_of_a_messages_call_has_the_user_whom_its_body_names() {
    let upstream = Upstream::json(200, &Api::Messages.answer("Hello", "ls"));
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let long = "u".repeat(600);
    for (named, header, user) in [
        (json!(identifiers("acc-1", "s-1")), None, json!("acc-1")),
        (json!(identifiers("", "s-1")), None, json!("d-1")),
        (
            json!("user_d-1_account_acc-1_session_s-1"),
            None,
            json!("acc-1"),
        ),
        (
            json!("user_d-1_account__session_s-1"),
            None,
            json!("user_d-1"),
        ),
        (json!("customer 7"), None, json!("customer 7")),
        (
            json!(identifiers("acc-1", "s-1")),
            Some("anna"),
            json!("anna"),
        ),
        (
            json!(json!({"session_id": "s-1"}).to_string()),
            None,
            Value::Null,
        ),
        (json!(" "), None, Value::Null),
        (json!(7), None, Value::Null),
    ] {
        backend.forget();
        let mut call = Request::post("/v1/messages", body(&named));
        if let Some(header) = header {
            call = call.header("X-User-Id", header);
        }
        assert_eq!(stack.call(&call).status(), 200, "{named}");
        assert_eq!(upstream.last().body, body(&named).as_bytes(), "{named}");
        let (pre, post) = backend.await_exchange();
        for record in [pre, post] {
            assert_eq!(*record.parameter("user_id"), user, "{named}");
        }
    }
    // As long as one in a header may be.
    backend.forget();
    let call = Request::post("/v1/messages", body(&long.into()));
    assert_eq!(stack.call(&call).status(), 200);
    let (pre, _) = backend.await_exchange();
    let user = pre.parameter("user_id").as_str().unwrap();
    assert!(
        user.starts_with("uuu") && user.contains('…') && user.len() <= 512,
        "{user}"
    );
    let said = stack.stderr();
    assert!(!said.contains("acc-1") && !said.contains("anna"), "{said}");
}

#[test]
fn in_other_apis_the_header_alone_names_a_user() {
    let responses = Upstream::json(200, &Api::Responses.answer("Hello", "ls"));
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&responses)
        .monitor(&backend)
        .start();
    let named = json!({"model": "m-1", "input": "hello", "user": "anna", "safety_identifier": "anna",
        "metadata": {"user_id": "anna"}});
    let got = stack.call(&Request::post(Api::Responses.path(), named.to_string()));
    assert_eq!(got.status(), 200, "{}", got.text());
    let (pre, _) = backend.await_exchange();
    assert!(pre.parameter("user_id").is_null());
}

#[test]
fn budgets_of_users_count_the_user_whom_the_body_of_a_messages_call_names() {
    within_a_day(|| {
        let upstream = upstream();
        let budget = "{per: user, window: month, tokens: 100, action: stop}";
        let stack = Stack::all().upstream(&upstream);
        let stack = stack.yaml(&with_budgets(budget)).start();
        let spends = by(&identifiers("acc-1", "s-1"));
        let answer = until_refused(&stack, &spends);
        assert_eq!(answer.status(), 429, "{}", answer.text());
        let said = answer.json();
        assert_eq!(said["error"]["reason"], "budget_exceeded", "{said}");
        assert_eq!(
            (&said["type"], answer.head.has("retry-after")),
            (&json!("error"), true)
        );
        let heads = upstream.heads();
        for (call, status) in [
            (by(&identifiers("acc-1", "s-2")), 429),
            (by("user_d-2_account_acc-1_session_s-3"), 429),
            (by(&identifiers("acc-2", "s-1")), 200),
            // A header comes first, also one that names the same user.
            (by("acc-2").header("X-User-Id", "acc-1"), 429),
            (spends.clone().header("X-User-Id", "boris"), 200),
            // Calls that name nobody are one user, who has spent nothing.
            (by(""), 200),
        ] {
            assert_eq!(stack.call(&call).status(), status, "{call:?}");
        }
        assert_eq!(upstream.heads(), heads + 3);
        eventually("the spending is that of the account", || {
            let path = format!("/applications/{ID}/budgets");
            let spending = stack.analysis(&path, KEY).json()["budgets"][0]["spending"].clone();
            let mut users = spending.as_array()?.iter().map(|one| &one["user_id"]);
            users.any(|user| user == "acc-1").then_some(())
        });
        assert_eq!(
            until_refused(&stack, &by("")).status(),
            429,
            "they share one"
        );
        // The budget of the application is looked up too, before the body is read.
        let both = "{per: application, window: month, tokens: 100, action: stop}, \
                    {per: user, window: month, tokens: 100, action: warn}";
        let stack = Stack::all().upstream(&upstream);
        let stack = stack.yaml(&with_budgets(both)).start();
        let answer = until_refused(&stack, &by("acc-3"));
        assert_eq!(answer.status(), 429);
        let message = answer.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            message.starts_with("this application has spent"),
            "{message}"
        );
    });
}
