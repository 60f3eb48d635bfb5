//! Budgets: what is read and refused, their windows, and how much of them is spent.
#![allow(clippy::unwrap_used)]
use super::*;
use serde_json::json;

fn one(fields: Value) -> Result<Vec<Budget>, Vec<PolicyProblem>> {
    let mut budget = json!({"per": "user", "window": "day", "tokens": 100, "action": "stop"});
    for (key, value) in fields.as_object().unwrap() {
        budget[key] = value.clone();
    }
    read(&json!([budget]))
}

#[test]
fn a_budget_is_written_as_it_is_read() {
    for (text, written) in [
        ("12.50", "12.5"),
        ("0.000000000001", "0.000000000001"),
        ("7", "7"),
    ] {
        let read = one(json!({"tokens": null, "cost": text, "warn_at": 100})).unwrap();
        assert_eq!(json!(read[0])["cost"], written);
        let again: Budget = serde_json::from_value(json!(read[0])).unwrap();
        assert_eq!(again, read[0]);
    }
    let number = one(json!({"tokens": null, "cost": 12.5})).unwrap();
    assert_eq!(json!(number[0])["cost"], "12.5");
    let tokens = one(json!({})).unwrap();
    let expected =
        json!({"per": "user", "window": "day", "tokens": 100, "action": "stop", "warn_at": 80});
    assert_eq!(json!(tokens[0]), expected);
    assert_eq!(read(&json!([])), Ok(vec![]));
}

#[test]
fn what_cannot_be_meant_is_refused_by_its_field() {
    for (fields, key) in [
        (json!({"per": "team"}), "budgets[0].per"),
        (json!({"window": "week"}), "budgets[0].window"),
        (json!({"action": null}), "budgets[0].action"),
        (json!({"tokens": 0}), "budgets[0].tokens"),
        (json!({"tokens": "5"}), "budgets[0].tokens"),
        (json!({"tokens": null}), "budgets[0].tokens"),
        (json!({"cost": "5"}), "budgets[0].cost"),
        (json!({"tokens": null, "cost": "0.0"}), "budgets[0].cost"),
        (json!({"tokens": null, "cost": "1e3"}), "budgets[0].cost"),
        (json!({"tokens": null, "cost": "-1"}), "budgets[0].cost"),
        (json!({"warn_at": 101}), "budgets[0].warn_at"),
        (json!({"limit": 1}), "budgets[0].limit"),
    ] {
        let problems = one(fields.clone()).unwrap_err();
        assert_eq!(problems.len(), 1, "{fields}: {problems:?}");
        assert_eq!(problems[0].key, key);
    }
    let budget = json!({"per": "user", "window": "day", "tokens": 1, "action": "warn"});
    let twice = read(&json!([budget, budget])).unwrap_err();
    assert_eq!(twice[0].key, "budgets[1]");
    let mut lower = budget.clone();
    (lower["tokens"], lower["action"]) = (json!(7), json!("stop"));
    let contradiction = read(&json!([budget, lower])).unwrap_err();
    assert_eq!(
        (contradiction.len(), contradiction[0].key.as_str()),
        (1, "budgets[1]")
    );
    lower["window"] = json!("month");
    assert_eq!(read(&json!([budget, lower])).map(|read| read.len()), Ok(2));
    assert_eq!(read(&json!(vec![budget; 9])).unwrap_err()[0].key, "budgets");
    assert_eq!(read(&json!({})).unwrap_err()[0].key, "budgets");
    assert_eq!(read(&json!([7])).unwrap_err()[0].key, "budgets[0]");
}

#[test]
fn windows_end_where_the_calendar_says() {
    // 2024-02-29T12:34:56Z.
    let now = 1_709_210_096_000;
    for (window, begin, end) in [
        (BudgetWindow::Minute, 1_709_210_040_000, 1_709_210_100_000),
        (BudgetWindow::Day, 1_709_164_800_000, 1_709_251_200_000),
        (BudgetWindow::Month, 1_706_745_600_000, 1_709_251_200_000),
    ] {
        assert_eq!(window.around(now), (begin, end), "{window:?}");
    }
    // 2026-12-31T23:59:59.999Z.
    let end = 1_798_761_600_000;
    assert_eq!(
        BudgetWindow::Month.around(end - 1),
        (end - 31 * DAY_MS, end)
    );
    assert_eq!(BudgetWindow::Month.around(end), (end, end + 31 * DAY_MS));
    assert_eq!(BudgetWindow::Month.around(0), (0, 31 * DAY_MS));
}

#[test]
fn a_budget_warns_at_its_share_and_is_spent_at_its_limit() {
    let budget = one(json!({})).unwrap()[0];
    for (tokens, level) in [
        (79, BudgetLevel::Within),
        (80, BudgetLevel::Warned),
        (99, BudgetLevel::Warned),
        (100, BudgetLevel::Spent),
    ] {
        assert_eq!(
            budget.level(tokens, Amount::of_parts(9, 0)),
            level,
            "{tokens}"
        );
    }
    let money = one(json!({"tokens": null, "cost": "0.3", "warn_at": 50})).unwrap()[0];
    let tenth = Amount::of_units(100_000_000_000);
    assert_eq!(money.level(9_000, tenth), BudgetLevel::Within);
    assert_eq!(money.level(0, tenth.times(2)), BudgetLevel::Warned);
    assert_eq!(money.level(0, tenth.times(3)), BudgetLevel::Spent);
}

#[test]
fn a_budget_that_is_lowered_is_spent_with_the_one_before() {
    let budget = |fields: Value| one(fields).unwrap()[0];
    let before = budget(json!({}));
    for (fields, expected) in [
        (json!({}), true),
        (json!({"warn_at": 1, "action": "warn"}), true),
        (json!({"tokens": 99}), true),
        (json!({"tokens": 101}), false),
        (json!({"window": "month"}), false),
        (json!({"per": "application"}), false),
        (json!({"tokens": null, "cost": "1"}), false),
    ] {
        assert_eq!(
            budget(fields.clone()).is_spent_with(before),
            expected,
            "{fields}"
        );
    }
    let cost = |text: &str| budget(json!({"tokens": null, "cost": text}));
    assert!(cost("0.5").is_spent_with(cost("1")));
    assert!(!cost("1.5").is_spent_with(cost("1")));
}
