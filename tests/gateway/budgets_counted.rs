//! What of the sums of costs a budget counts: not what an erased user has spent, and no amount in another currency.

use crate::budgets::{ID, by, hello, until_refused, upstream, with_budgets};
use serde_json::{Value, json};
use support::api::authorised;
use support::line::order;
use support::request::Request;
use support::stack::Stack;
use support::upstream::Upstream;
use support::{KEY, eventually, within_a_day};

/// What the API says of the first budget.
#[track_caller]
fn spending(stack: &Stack) -> Vec<Value> {
    let answer = stack.analysis(&format!("/applications/{ID}/budgets"), KEY);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let spending = answer.json()["budgets"][0]["spending"].clone();
    spending.as_array().unwrap().clone()
}

/// Until every call that reached the model is counted; each has used 130 tokens.
#[track_caller]
fn await_all(stack: &Stack, upstream: &Upstream) {
    let tokens = 130 * upstream.heads();
    eventually("all calls are counted", || {
        (spending(stack)[0]["tokens"] == tokens).then_some(())
    });
}

#[test]
fn what_an_erased_user_has_spent_counts_for_the_application_and_for_no_other_user() {
    within_a_day(|| {
        let upstream = upstream();
        let budgets = "{per: user, window: month, tokens: 100, action: stop}, \
            {per: application, window: month, tokens: 1000000, action: stop}";
        let yaml = with_budgets(budgets);
        let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
        assert_eq!(until_refused(&stack, &by("anna")).status(), 429);
        await_all(&stack, &upstream);
        let path = format!("/applications/{ID}/budgets");
        let of_application = || {
            let answer = stack.analysis(&path, KEY).json();
            answer["budgets"][1]["spending"].clone()
        };
        let before = of_application();
        let erase = authorised(Request::json("DELETE", "/records?user_id=anna", ""));
        let erased = erase.call(stack.analysis_addr);
        assert_eq!(erased.status(), 200, "{}", erased.text());
        let users: Vec<_> = spending(&stack)
            .into_iter()
            .map(|it| it["user_id"].clone())
            .collect();
        assert_eq!(users, [json!("other")], "not that of calls without a user");
        assert_eq!(of_application(), before);
        for user in ["", "boris", "other"] {
            assert_eq!(stack.call(&by(user)).status(), 200, "{user}");
        }
    });
}

#[test]
fn an_amount_in_another_currency_is_not_compared_with_a_budget() {
    within_a_day(|| {
        let upstream = upstream();
        let prices =
            "  prices:\n    currency: EUR\n    models:\n      m-1: {input: 1000, output: 1000}\n";
        let yaml = with_budgets("{per: application, window: month, cost: 0.13, action: stop}");
        let stack = Stack::all().yaml(prices).yaml(&yaml).upstream(&upstream);
        let stack = stack.start();
        assert_eq!(until_refused(&stack, &hello()).status(), 429);
        await_all(&stack, &upstream);
        let before = spending(&stack)[0].clone();
        assert_eq!(before["level"], "spent");
        let path = stack.configuration();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("currency: EUR", "currency: USD")).unwrap();
        let out = order(&stack, "reload", "all");
        assert!(out.status.success(), "{out:?}");
        let after = spending(&stack)[0].clone();
        assert_eq!(after["level"], "within", "{after}");
        assert_eq!(after["costs"], before["costs"], "{after}");
        eventually("the budget has nothing of it", || {
            (stack.call(&hello()).status() == 200).then_some(())
        });
        assert_eq!(until_refused(&stack, &hello()).status(), 429);
        let costs = spending(&stack)[0]["costs"].clone();
        let currencies = costs.as_array().unwrap().iter().map(|it| &it["currency"]);
        assert_eq!(currencies.collect::<Vec<_>>(), ["EUR", "USD"], "{costs}");
    });
}

#[test]
fn b10_a_rule_of_alerts_fires_when_a_share_of_a_budget_is_spent() {
    within_a_day(|| {
        let upstream = upstream();
        let yaml = with_budgets("{per: user, window: month, tokens: 1000, action: warn}");
        let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
        assert_eq!(stack.call(&by("anna")).status(), 200);
        eventually("the call is counted", || {
            let spent = spending(&stack);
            (spent.first()?["tokens"] == 130).then_some(())
        });
        for (name, threshold) in [("Whole", 100), ("Tenth", 10)] {
            let rule = json!({"name": name, "kind": "budget", "threshold": threshold, "application_id": ID});
            let put = Request::json("POST", "/alert_rules", rule.to_string());
            let made = authorised(put).call(stack.analysis_addr);
            assert_eq!(made.status(), 201, "{}", made.text());
        }
        let alerts = eventually("the rule fires", || {
            let list = stack.analysis("/alerts", KEY).json()["alerts"].clone();
            let list = list.as_array().unwrap().clone();
            (!list.is_empty()).then_some(list)
        });
        assert_eq!(alerts.len(), 1, "{alerts:?}");
        let (alert, expected) = (
            &alerts[0],
            "13% of a budget is spent: 1000 tokens a month for each user (threshold 10%)",
        );
        assert_eq!(alert["rule"], "Tenth");
        assert_eq!(
            (&alert["count"], &alert["user_id"]),
            (&json!(13), &Value::Null)
        );
        assert_eq!(alert["found"], expected);
    });
}
