//! Budgets of each kind and window, counted from calls: who is refused or warned, and until when.

use crate::budgets::{ID, by, hello, until_refused, upstream, with_budgets};
use crate::spool_clock::with_clock;
use support::http::Response;
use support::request::Request;
use support::stack::{Folder, Stack};
use support::{eventually, within_a_day};

/// A call costs 0.13.
const PRICES: &str =
    "  prices:\n    currency: EUR\n    models:\n      m-1: {input: 1000, output: 1000}\n";
const COMPACT: &str = "/v1/responses/compact";

/// Whether a call is refused or warned because of this budget.
#[track_caller]
fn is_reached(answer: &Response, label: &str) -> bool {
    let header = answer.head.header("x-monitor-budget");
    match answer.status() {
        429 => {
            assert_eq!(answer.json()["error"]["reason"], "budget_exceeded");
            true
        }
        200 => {
            let warning = format!("warn;budget={label}");
            assert!(header.is_none_or(|header| header == warning), "{header:?}");
            header.is_some()
        }
        status => panic!("{status}: {}", answer.text()),
    }
}

#[test]
fn each_kind_of_budget_stops_or_warns_those_who_have_spent_it() {
    for (per, window, amount, action) in [
        ("user", "day", "cost: 0.13", "warn"),
        ("user", "month", "cost: 0.13", "stop"),
        ("user", "day", "tokens: 130", "stop"),
        ("application", "day", "tokens: 130", "stop"),
        ("application", "day", "tokens: 130", "warn"),
    ] {
        within_a_day(|| {
            let budget =
                format!("per: {per}, window: {window}, {amount}, action: {action}, warn_at: 100");
            let label = format!("{per}_{window}");
            let upstream = upstream();
            let stack = Stack::all().yaml(PRICES).upstream(&upstream);
            let stack = stack.yaml(&with_budgets(&format!("{{{budget}}}"))).start();
            let answer = eventually("the budget is spent", || {
                let answer = stack.call(&by("anna"));
                is_reached(&answer, &label).then_some(answer)
            });
            let status = if action == "stop" { 429 } else { 200 };
            assert_eq!(answer.status(), status, "{budget}");
            if action == "stop" {
                let unit = match amount.starts_with("cost") {
                    true => "money",
                    false => "tokens",
                };
                let said = format!("this {per} has spent its budget of {unit} for this {window}");
                assert!(answer.text().contains(&said), "{}", answer.text());
            }
            let other = stack.call(&by("boris"));
            assert_eq!(is_reached(&other, &label), per == "application", "{budget}");
            for (verdict, its) in [("refused", "stop"), ("warned", "warn")] {
                let series = format!("monitor_budget_{verdict}_total{{budget=\"{label}\"}}");
                assert_eq!(stack.metric(&series) > 0.0, action == its, "{budget}");
            }
        });
    }
}

#[test]
fn a_conversation_is_compacted_until_the_budget_is_spent() {
    // It asks the model, and leaves no record whose tokens would count.
    within_a_day(|| {
        let upstream = upstream();
        let budget = "{per: application, window: month, tokens: 100, action: stop}";
        let stack = Stack::all().upstream(&upstream);
        let stack = stack.yaml(&with_budgets(budget)).start();
        let compact = Request::post(COMPACT, r#"{"model":"m-1","input":"hello"}"#)
            .header("X-Application-Id", ID);
        assert_eq!(stack.call(&compact).status(), 200);
        let line = format!("POST {COMPACT} HTTP/1.1");
        assert_eq!(upstream.last().head.start_line, line);
        until_refused(&stack, &hello());
        let heads = upstream.heads();
        let refused = stack.call(&compact);
        assert_eq!(refused.status(), 429, "{}", refused.text());
        let json = refused.json();
        assert_eq!(json["error"]["type"], "rate_limit_error", "{json}");
        assert_eq!(json["error"]["reason"], "budget_exceeded", "{json}");
        assert_eq!(json["error"]["code"], 429, "{json}");
        assert_eq!(upstream.heads(), heads, "the model is called");
    });
}

#[test]
#[ignore = "needs libfaketime"]
fn a_budget_of_a_minute_ends_with_it_and_the_next_minute_has_its_own() {
    let folder = Folder::new();
    let upstream = upstream();
    let budget = "{per: application, window: minute, tokens: 100, action: stop}";
    let all = Stack::all().upstream(&upstream).folder(&folder);
    folder.write("clock", "+0");
    let stack = with_clock(all.yaml(&with_budgets(budget)), &folder).start();
    for minutes in 1..=2 {
        let refused = until_refused(&stack, &hello());
        assert_eq!(refused.status(), 429, "{}", refused.text());
        let said = "budget of tokens for this minute";
        assert!(refused.text().contains(said), "{}", refused.text());
        let wait = refused.head.header("retry-after").unwrap();
        let wait: u64 = wait.parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        folder.write("clock", &format!("+{}", 60 * minutes));
        eventually("the next minute", || {
            (stack.call(&hello()).status() == 200).then_some(())
        });
    }
}
