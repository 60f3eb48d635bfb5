//! Who has spent a budget, and who of them is named.

#![allow(clippy::unwrap_used)]

use super::*;
use monitor_model::{BudgetAction, Priced};
use monitor_store::TokenSums;

fn sum(user: Option<&str>, tokens: u64, cost: Option<(i128, &str)>) -> CostSum {
    CostSum {
        application_id: None,
        user_id: user.map(str::to_owned),
        model: None,
        day: None,
        currency: cost.map(|(_, currency)| currency.to_owned()),
        priced: cost.map_or(Priced::Unpriced, |_| Priced::Priced),
        calls: 1,
        tokens: TokenSums {
            prompt: tokens - 1,
            completion: 1,
            ..TokenSums::default()
        },
        amount: cost.map(|(units, _)| Amount::of_units(units)),
    }
}

fn budget(tokens: Option<u64>, cost: Option<i128>) -> Budget {
    Budget {
        per: BudgetPer::User,
        window: BudgetWindow::Day,
        tokens,
        cost: cost.map(Amount::of_units),
        action: BudgetAction::Stop,
        warn_at: 50,
    }
}

fn state(budget: Budget, sums: Vec<CostSum>) -> Option<BudgetState> {
    let spending = by_user(sums, "EUR");
    let used = BudgetUse {
        budget,
        until_ms: 7,
        spending,
    };
    used.state(MOST_NAMED_BYTES).map(|(state, _)| state)
}

#[test]
fn each_user_has_a_budget_and_those_without_a_name_share_one() {
    let sums = vec![
        sum(Some("vera"), 49, None),
        sum(Some("boris"), 60, Some((1, "EUR"))),
        sum(None, 40, None),
        sum(Some("boris"), 40, None),
        sum(Some("anna"), 50, None),
        sum(None, 70, Some((1, "EUR"))),
    ];
    let found = state(budget(Some(100), None), sums).map(|it| (it.spent, it.warned));
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
    assert_eq!(found, Some((names(&["", "boris"]), names(&["anna"]))));
    assert_eq!(state(budget(Some(100), None), vec![]), None);
}

#[test]
fn those_whom_the_sums_do_not_tell_apart_are_not_refused_together() {
    let sums = || vec![sum(Some("other"), 100, None)];
    let day = budget(Some(100), None);
    assert_eq!(state(day, sums()), None);
    let minute = Budget {
        window: BudgetWindow::Minute,
        ..day
    };
    let spent = state(minute, sums()).map(|it| it.spent);
    assert_eq!(spent, Some(vec!["other".to_owned()]));
}

#[test]
fn of_too_many_users_those_who_have_spent_most_are_named() {
    let names: Vec<_> = (0..=MOST_NAMED).map(|number| number.to_string()).collect();
    let sums = (50..).zip(&names);
    let sums = sums.map(|(tokens, name)| sum(Some(name.as_str()), tokens, None));
    let used = BudgetUse {
        budget: budget(Some(100), None),
        until_ms: 7,
        spending: by_user(sums.collect(), "EUR"),
    };
    let (state, unnamed) = used.state(MOST_NAMED_BYTES).unwrap();
    assert_eq!(
        (state.spent.len(), state.warned.len(), unnamed),
        (MOST_NAMED - 49, 49, 1)
    );
    assert!(!state.warned.contains(&names[0]), "the least");
    assert!(state.spent.is_sorted() && state.warned.is_sorted());
}

#[test]
fn the_names_of_a_budget_have_a_bound_in_bytes_as_they_are_written() {
    for (part, bytes) in [("\u{1}", 6), ("\"", 2), ("\u{7f}", 1), ("я", 2), ("\n", 2)] {
        let names: Vec<_> = (0..9).map(|n| format!("{n}{}", part.repeat(50))).collect();
        let sums = names.iter().zip(100..);
        let sums = sums.map(|(name, tokens)| sum(Some(name), tokens, None));
        let used = BudgetUse {
            budget: budget(Some(100), None),
            until_ms: 7,
            spending: by_user(sums.collect(), "EUR"),
        };
        let of_one = serde_json::to_string(&names[0]).unwrap().len() + 1;
        assert_eq!(of_one, 50 * bytes + 4);
        let (state, unnamed) = used.state(4 * of_one + 1).unwrap();
        assert_eq!((state.spent, unnamed), (names[5..].to_vec(), 5), "{part:?}");
    }
    // Nobody fits, and somebody is not told of.
    let nobody = |used: BudgetUse| used.state(1).map(|(state, more)| (state.spent, more));
    let used = BudgetUse {
        budget: budget(Some(100), None),
        until_ms: 7,
        spending: by_user(vec![sum(Some("anna"), 100, None)], "EUR"),
    };
    assert_eq!(nobody(used), Some((vec![], 1)));
}

#[test]
fn of_users_only_those_are_asked_for_who_may_be_warned() {
    let terms = |users| Terms {
        now_ms: 0,
        currency: "EUR".to_owned(),
        users,
    };
    let of_tokens = top_spenders(&budget(Some(1_000), None), &terms(Users::Reached));
    assert!(matches!(of_tokens.unit, SpentUnit::Tokens));
    assert!((499.9..=500.0).contains(&of_tokens.at_least));
    assert_eq!(of_tokens.most, 10_001);
    let two = Some(2_000_000_000_000);
    let of_cost = top_spenders(&budget(None, two), &terms(Users::Reached));
    assert!(matches!(of_cost.unit, SpentUnit::Money { currency } if currency == "EUR"));
    assert!((0.999..=1.0).contains(&of_cost.at_least));
    let shown = top_spenders(&budget(None, two), &terms(Users::Highest(11)));
    assert!(shown.at_least <= 0.0 && shown.most == 11);
}

#[test]
fn costs_in_another_currency_and_unpriced_calls_count_with_their_tokens_only() {
    let sums = |units| {
        vec![
            sum(None, 9, Some((units, "EUR"))),
            sum(None, 9, Some((60, "USD"))),
            sum(None, 9, None),
        ]
    };
    let of_cost = budget(None, Some(20));
    assert_eq!(state(of_cost, sums(9)), None);
    let spent = state(of_cost, sums(20)).map(|it| it.spent);
    assert_eq!(spent, Some(vec![String::new()]));
    let spent = state(budget(Some(27), None), sums(0)).map(|it| it.spent);
    assert_eq!(spent, Some(vec![String::new()]));
    // Without prices there is no currency.
    let spending = by_user(sums(20), "");
    let seen: Vec<_> = spending.iter().map(|it| (it.tokens, it.cost)).collect();
    assert_eq!(seen, [(27, Amount::default())]);
    assert_eq!(spending[0].costs.len(), 2);
}
