//! Budgets of an application and its users (`budgets` of its policy): once one is spent, calls get 429 in the form of
//! their API and the model is not called, or their answers say so. The windows themselves are tested in `monitor_model`
//! and `policy`.

use serde_json::{Value, json};
use support::api::{authorised, patch};
use support::backend::Backend;
use support::http::Response;
use support::request::{EMBEDDINGS, HELLO, MODELS, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{Upstream, json as json_answer};
use support::{KEY, eventually, within_a_day};

pub(crate) const ID: &str = "b0d9e700-0000-4000-8000-00000000000a";

pub(crate) const COUNT_AGE: &str = "monitor_budget_count_age_seconds";

/// Every answer below has used 130 tokens.
const CHAT: &str = r#"{"id":"c","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130}}"#;
const TEXT: &str = r#"{"id":"c","model":"m-1","choices":[{"index":0,"text":"hi"}],"usage":{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130}}"#;
const RESPONSE: &str = r#"{"id":"resp_1","object":"response","status":"completed","model":"m-1","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}],"usage":{"input_tokens":100,"output_tokens":30,"total_tokens":130}}"#;
const MESSAGE: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":30}}"#;

/// A path, the body of a call, and the answer.
const PROTOCOLS: [(&str, &str, &str); 4] = [
    (
        "/v1/chat/completions",
        r#"{"model":"m-1","messages":[{"role":"user","content":"hello"}]}"#,
        CHAT,
    ),
    (
        "/v1/completions",
        r#"{"model":"m-1","prompt":"hello"}"#,
        TEXT,
    ),
    (
        "/v1/responses",
        r#"{"model":"m-1","input":"hello"}"#,
        RESPONSE,
    ),
    (
        "/v1/messages",
        r#"{"model":"m-1","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#,
        MESSAGE,
    ),
];

pub(crate) fn upstream() -> Upstream {
    Upstream::answering(|call| {
        let path = call.head.target();
        let known = PROTOCOLS.iter().find(|(known, ..)| *known == path);
        json_answer(200, known.map_or(CHAT, |(.., answer)| *answer))
    })
}

pub(crate) fn with_budgets(budgets: &str) -> String {
    format!("applications:\n  - {{id: {ID}, name: a, app_mode: async, budgets: [{budgets}]}}\n")
}

fn all(upstream: &Upstream, budgets: &str) -> Builder {
    let yaml = with_budgets(budgets);
    Stack::all().upstream(upstream).yaml(&yaml)
}

fn call(path: &str, body: &str) -> Request {
    Request::post(path, body).header("X-Application-Id", ID)
}

pub(crate) fn hello() -> Request {
    call(PROTOCOLS[0].0, PROTOCOLS[0].1)
}

pub(crate) fn by(user: &str) -> Request {
    hello().header("X-User-Id", user)
}

/// Calls until the budget is counted as spent; what is in flight is not counted yet.
#[track_caller]
pub(crate) fn until_refused(stack: &Stack, request: &Request) -> Response {
    eventually("the budget is spent", || {
        let answer = stack.call(request);
        match answer.status() {
            200 => None,
            _ => Some(answer),
        }
    })
}

#[track_caller]
fn warning(answer: &Response) -> Option<String> {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer
        .head
        .header("x-monitor-budget")
        .map(ToOwned::to_owned)
}

#[test]
fn beyond_a_budget_of_tokens_calls_get_429_in_the_form_of_their_api_and_the_model_is_not_called() {
    within_a_day(|| {
        for (path, body, _) in PROTOCOLS {
            let upstream = upstream();
            let budget = "{per: application, window: month, tokens: 100, action: stop}";
            let stack = all(&upstream, budget).start();
            assert_eq!(stack.call(&call(path, body)).status(), 200);
            let answer = until_refused(&stack, &call(path, body));
            let heads = upstream.heads();
            assert_eq!(answer.status(), 429, "{}", answer.text());
            let wait: u64 = answer.head.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=60).contains(&wait), "{wait}");
            let json = answer.json();
            let error = &json["error"];
            assert_eq!(error["type"], "rate_limit_error", "{json}");
            assert_eq!(error["reason"], "budget_exceeded", "{json}");
            // §2.6: an integer, in the APIs whose errors have a code.
            match path {
                "/v1/messages" => assert_eq!(json["type"], "error"),
                _ => assert_eq!(error["code"], 429, "{json}"),
            }
            for (path, body, _) in PROTOCOLS {
                let answer = stack.call(&call(path, body));
                assert_eq!(answer.status(), 429, "{path}");
                // The month may end within the minute.
                let advice = answer.head.header("x-should-retry");
                assert!(advice == Some("false") || wait < 60, "{path}: {advice:?}");
            }
            let embeddings = Request::post(EMBEDDINGS, HELLO).header("X-Application-Id", ID);
            assert_eq!(stack.call(&embeddings).status(), 429);
            assert_eq!(upstream.heads(), heads, "the model is called");
            // Nobody else pays for it, and what asks no model goes on.
            for free in [
                Request::get(MODELS),
                Request::get("/v1/messages/batches"),
                Request::post("/v1/messages/count_tokens", body),
                Request::post("/v1/responses/input_tokens", body),
            ] {
                let free = free.header("X-Application-Id", ID);
                assert_eq!(stack.call(&free).status(), 200);
            }
            let batches = call("/v1/messages/batches", body);
            assert_eq!(stack.call(&batches).status(), 429);
            assert_eq!(stack.call(&Request::post(path, body)).status(), 200);
            let refused = "monitor_budget_refused_total{budget=\"application_month\"}";
            assert!(stack.metric(refused) >= 6.0);
            stack.process.await_stderr("the access line", |text| {
                text.contains("detail=budget_exceeded").then_some(())
            });
        }
    });
}

#[test]
fn each_user_has_a_budget_and_calls_without_a_user_share_one() {
    within_a_day(|| {
        let upstream = upstream();
        let budget = "{per: user, window: month, tokens: 100, action: stop}";
        let stack = all(&upstream, budget).start();
        assert_eq!(until_refused(&stack, &by("anna")).status(), 429);
        assert_eq!(stack.call(&by("boris")).status(), 200);
        assert_eq!(stack.call(&hello()).status(), 200);
        assert_eq!(until_refused(&stack, &hello()).status(), 429);
        // An empty value counts as none.
        assert_eq!(stack.call(&by("")).status(), 429);
        let message = stack.call(&by("anna")).json();
        let message = message["error"]["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("this user has spent") && !message.contains("anna"),
            "{message}"
        );
        assert!(!stack.stderr().contains("anna"), "a name is logged");
    });
}

#[test]
fn from_its_share_on_a_budget_warns_and_one_that_only_warns_refuses_nobody() {
    within_a_day(|| {
        for (budget, expected) in [
            (
                "{per: application, window: month, tokens: 1000000000, action: stop, warn_at: 1}",
                None,
            ),
            (
                "{per: application, window: month, tokens: 100000, action: stop, warn_at: 1}",
                Some("warn;budget=application_month"),
            ),
            (
                "{per: user, window: month, tokens: 100, action: warn}",
                Some("warn;budget=user_month"),
            ),
        ] {
            let upstream = upstream();
            let stack = all(&upstream, budget).start();
            assert_eq!(warning(&stack.call(&by("anna"))), None);
            let Some(expected) = expected else {
                eventually("the call is counted", || {
                    let answer = stack.analysis(&format!("/applications/{ID}/budgets"), KEY);
                    (answer.json()["budgets"][0]["spending"][0]["tokens"] == 130).then_some(())
                });
                assert_eq!(warning(&stack.call(&by("anna"))), None);
                continue;
            };
            let warned = eventually("the warning", || warning(&stack.call(&by("anna"))));
            assert_eq!(warned, expected);
            let label = expected.rsplit('=').next().unwrap();
            let count = |name: &str| {
                stack.metric(&format!(
                    "monitor_budget_{name}_total{{budget=\"{label}\"}}"
                ))
            };
            assert!(count("warned") >= 1.0);
            assert_eq!(count("refused"), 0.0);
        }
    });
}

#[test]
fn a_budget_of_money_counts_by_the_prices_and_unpriced_calls_not_at_all() {
    within_a_day(|| {
        let upstream = upstream();
        let prices =
            "  prices:\n    currency: EUR\n    models:\n      m-1: {input: 1000, output: 1000}\n";
        let budget = "{per: application, window: day, cost: 0.13, action: stop}";
        let yaml = with_budgets(budget);
        let stack = Stack::all().yaml(prices).yaml(&yaml).upstream(&upstream);
        let answer = until_refused(&stack.start(), &hello());
        let said = answer.text();
        assert!(said.contains("budget of money for this day"), "{said}");
        // The same calls without a price.
        let stack = all(&upstream, budget).start();
        for _ in 0..3 {
            assert_eq!(stack.call(&hello()).status(), 200);
        }
        let spent = eventually("the calls are counted", || {
            let answer = stack.analysis(&format!("/applications/{ID}/budgets"), KEY);
            let spent = answer.json()["budgets"][0]["spending"][0].clone();
            (spent["tokens"] == 390).then_some(spent)
        });
        assert_eq!(
            (&spent["costs"], &spent["level"]),
            (&json!([]), &json!("within"))
        );
        assert_eq!(stack.call(&hello()).status(), 200);
    });
}

#[test]
fn a_budget_that_is_set_by_the_api_is_in_force_and_a_raised_one_lets_calls_pass_again() {
    within_a_day(|| {
        let upstream = upstream();
        let stack = Stack::all().upstream(&upstream).start();
        let path = format!("/applications/{}", stack.application_id());
        let (chat, body, _) = PROTOCOLS[0];
        let request = Request::post(chat, body);
        let set = |budgets: Value| {
            let version = stack.analysis(&path, KEY).json()["version"].clone();
            let policy = json!({"app_mode": "async", "budgets": budgets});
            patch(
                &stack,
                &path,
                &json!({"version": version, "policy": policy}),
            )
        };
        let budget = |tokens: u64| json!([{"per": "application", "window": "month", "tokens": tokens, "action": "stop"}]);
        let stored = set(budget(100));
        assert_eq!(stored["policy"]["budgets"][0]["warn_at"], 80);
        assert_eq!(until_refused(&stack, &request).status(), 429);
        let used = stack.analysis(&format!("{path}/budgets"), KEY).json();
        let used = &used["budgets"][0];
        assert_eq!(used["budget"]["tokens"], 100);
        assert_eq!(used["spending"][0]["level"], "spent");
        assert_eq!(used["spending"][0]["user_id"], Value::Null);
        set(budget(1_000_000));
        eventually("the raised budget is in force", || {
            (stack.call(&request).status() == 200).then_some(())
        });
        // What contradicts itself is refused with its field.
        let version = stack.analysis(&path, KEY).json()["version"].clone();
        let twice = json!([budget(1)[0], budget(2)[0]]);
        let change = json!({"version": version, "policy": {"budgets": twice}});
        let refused = authorised(Request::json("PATCH", &path, change.to_string()));
        let refused = refused.call(stack.analysis_addr);
        assert_eq!(refused.status(), 422);
        let said = refused.text();
        assert!(
            said.contains(
                "policy.budgets[1]: has the per, the window and the unit of an earlier budget"
            ),
            "{said}"
        );
    });
}

#[test]
fn contract_33_budgets_that_cannot_be_meant_or_that_nobody_counts_are_refused_at_the_start() {
    let upstream = upstream();
    let good = "{per: application, window: day, tokens: 1, action: stop}";
    for (budgets, said) in [
        (
            "{per: team, window: day, tokens: 1, action: stop}",
            "budgets[0].per",
        ),
        (
            "{per: user, window: day, action: stop}",
            "needs tokens or cost",
        ),
        (
            "{per: user, window: day, tokens: 1, cost: 1, action: stop}",
            "cannot be combined with tokens",
        ),
        (&*format!("{good}, {good}"), "of an earlier budget"),
    ] {
        let (status, stderr) = all(&upstream, budgets).refused();
        assert!(!status.success() && stderr.contains(said), "{stderr}");
    }
    let alone = Stack::gateway().upstream(&upstream);
    let (status, stderr) = alone.yaml(&with_budgets(good)).refused();
    assert!(
        !status.success() && stderr.contains("nobody would count"),
        "{stderr}"
    );
    let backend = Backend::start();
    let (status, stderr) = all(&upstream, good).monitor(&backend).refused();
    assert!(
        !status.success() && stderr.contains("nobody would count"),
        "{stderr}"
    );
}

#[test]
fn a_spent_budget_is_spent_for_the_first_call_after_a_restart() {
    within_a_day(|| {
        let upstream = upstream();
        let folder = Folder::new();
        let budget = "{per: application, window: month, tokens: 100, action: stop}";
        let start = || all(&upstream, budget).folder(&folder).start();
        until_refused(&start(), &hello());
        let again = start();
        assert_eq!(again.call(&hello()).status(), 429);
        let age = eventually("the age of the count", || {
            Some(again.metric(COUNT_AGE)).filter(|age| *age > 0.0)
        });
        assert!(age.is_finite());
    });
}
