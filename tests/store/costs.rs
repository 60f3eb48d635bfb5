//! What calls cost: with each record, and summed by the day.
//!
//! Long because: all of it reads the same sums, by what stands at its top.

use monitor_model::{Amount, ApplicationId, CallTokens, Priced, Stage};
use monitor_store::{
    CallCost, CostFilter, CostGroups, CostSum, Erasure, KEPT_COST_DAYS, NewRecord, RetentionLimits,
    SumNames, TokenSums, Usage,
};
use support::bed::{Bed, DAY_MS, MORNING_MS, everything};
use uuid::Uuid;

const TODAY: i64 = MORNING_MS / DAY_MS;
/// Units of one of a currency.
pub(crate) const ONE: i128 = 1_000_000_000_000;

pub(crate) fn cost(model: &str, units: Option<i128>) -> CallCost {
    CallCost {
        model: Some(model.to_owned()),
        usage: Usage {
            tokens: CallTokens::from_array([
                Some(100),
                Some(40),
                None,
                Some(30),
                Some(12),
                Some(130),
            ]),
            estimated: false,
        },
        priced: Some(units.map_or(Priced::Unpriced, |_| Priced::Priced)),
        amount: units.map(Amount::of_units),
        currency: units.map(|_| "EUR".to_owned()),
        counted_as: SumNames::default(),
    }
}

pub(crate) fn answer(bed: &Bed, user: Option<&str>, cost: CallCost) -> NewRecord {
    NewRecord {
        stage: Stage::PostCall,
        user_id: user.map(str::to_owned),
        cost: Some(cost),
        ..bed.record()
    }
}

async fn sums(bed: &Bed, groups: CostGroups) -> Vec<CostSum> {
    let filter = CostFilter {
        application_id: None,
        user_id: None,
        model: None,
        days: (TODAY - 9, TODAY + 9),
        groups,
        limit: 99,
    };
    bed.store.costs(&filter).await.unwrap()
}

pub(crate) fn units(sum: &CostSum) -> Option<i128> {
    sum.amount.map(Amount::units)
}

pub(crate) async fn a_records_cost_comes_back_as_it_went_in(bed: &Bed) {
    let odd = CallCost {
        model: Some("модель\0 \u{10FFFF}\\N".to_owned()),
        usage: Usage {
            tokens: CallTokens::from_array([None, None, None, Some(7), None, None]),
            estimated: true,
        },
        priced: Some(Priced::Estimated),
        amount: Some(Amount::of_units(i128::from(i64::MAX))),
        currency: Some("EUR".to_owned()),
        counted_as: SumNames {
            model: Some("\u{10FFFF}\\*".to_owned()),
            user: Some("other".to_owned()),
        },
    };
    let nameless = CallCost {
        model: None,
        ..cost("", None)
    };
    let repeated = CallCost {
        priced: None,
        ..cost("m", None)
    };
    for given in [odd, cost("m", Some(0)), nameless, repeated] {
        let id = bed.keep(answer(bed, None, given.clone())).await;
        let stored = bed.store.record(id).await.unwrap().unwrap();
        assert_eq!(stored.summary.cost, Some(given));
    }
    let id = bed.keep(bed.record()).await;
    assert_eq!(
        bed.store.record(id).await.unwrap().unwrap().summary.cost,
        None
    );
    assert_eq!(bed.all(everything()).await.len(), 5);
}

pub(crate) async fn sums_are_exact_and_unpriced_calls_stand_apart(bed: &Bed) {
    // Of 0.1 and 0.2 binary fractions make 0.30000000000000004.
    for units in [ONE / 10, ONE / 5, 5 * ONE - 1, 1] {
        bed.keep(answer(bed, Some("anna"), cost("m", Some(units))))
            .await;
    }
    bed.keep(answer(bed, Some("anna"), cost("other", None)))
        .await;
    bed.keep(bed.record()).await;
    let repeat = CallCost {
        priced: None,
        ..cost("m", None)
    };
    bed.keep(answer(bed, Some("anna"), repeat)).await;
    let all = sums(bed, CostGroups::default()).await;
    let expected = TokenSums {
        prompt: 400,
        cached: 160,
        cache_write: 0,
        completion: 120,
        reasoning: 48,
    };
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!((all[0].priced, all[0].calls), (Priced::Priced, 4));
    assert_eq!(all[0].tokens, expected);
    assert_eq!(all[0].amount.unwrap().to_string(), "5.3");
    assert_eq!(all[0].currency.as_deref(), Some("EUR"));
    assert_eq!((all[1].priced, all[1].calls), (Priced::Unpriced, 1));
    assert_eq!((all[1].amount, all[1].tokens.prompt), (None, 100));
}

pub(crate) async fn a_sum_may_be_larger_than_any_record(bed: &Bed) {
    let largest = i128::from(i64::MAX);
    for _ in 0..3 {
        bed.keep(answer(bed, None, cost("m", Some(largest)))).await;
    }
    let all = sums(bed, CostGroups::default()).await;
    assert_eq!(units(&all[0]), Some(3 * largest));
}

pub(crate) async fn a_sum_beyond_a_column_is_no_error(bed: &Bed) {
    let most = i64::MAX.unsigned_abs();
    let keep = async |day: i64| {
        let mut cost = cost("m", Some(1));
        cost.usage.tokens.prompt_tokens = Some(most);
        let record = NewRecord {
            created_at_ms: (TODAY + day) * DAY_MS,
            ..answer(bed, None, cost)
        };
        bed.keep(record).await;
    };
    keep(0).await;
    keep(1).await;
    let all = sums(bed, CostGroups::default()).await;
    assert_eq!((all[0].calls, all[0].tokens.prompt), (2, 2 * most));
    keep(2).await;
    let all = sums(bed, CostGroups::default()).await;
    assert_eq!((all[0].calls, all[0].tokens.prompt), (3, u64::MAX));
}

pub(crate) async fn groups_and_conditions_narrow_the_sums(bed: &Bed) {
    let other = bed.add_application("other").await;
    let keep = async |application_id: ApplicationId, user, model, day: i64, units| {
        let record = NewRecord {
            application_id,
            created_at_ms: (TODAY + day) * DAY_MS,
            ..answer(bed, user, cost(model, Some(units)))
        };
        bed.keep(record).await;
    };
    keep(bed.application, Some("anna"), "a", 0, 1).await;
    keep(bed.application, Some("anna"), "b", 1, 2).await;
    keep(bed.application, None, "a", 1, 4).await;
    keep(other, Some("boris"), "a", -1, 8).await;
    let by = |application, user, model, day| CostGroups {
        application,
        user,
        model,
        day,
    };
    let found = async |groups| sums(bed, groups).await;
    let models: Vec<_> = found(by(false, false, true, false))
        .await
        .into_iter()
        .map(|sum| (sum.model.clone(), units(&sum)))
        .collect();
    assert_eq!(
        models,
        [
            (Some("a".to_owned()), Some(13)),
            (Some("b".to_owned()), Some(2))
        ]
    );
    let users: Vec<_> = found(by(false, true, false, false))
        .await
        .into_iter()
        .map(|sum| (sum.user_id.clone(), units(&sum)))
        .collect();
    assert_eq!(
        users,
        [
            (Some("boris".to_owned()), Some(8)),
            (None, Some(4)),
            (Some("anna".to_owned()), Some(3)),
        ]
    );
    let days: Vec<_> = found(by(true, false, false, true))
        .await
        .into_iter()
        .map(|sum| (sum.day.unwrap() - TODAY, sum.application_id, units(&sum)))
        .collect();
    assert_eq!(
        days,
        [
            (1, Some(bed.application), Some(6)),
            (0, Some(bed.application), Some(1)),
            (-1, Some(other), Some(8)),
        ]
    );
    let narrowed = CostFilter {
        application_id: Some(bed.application),
        user_id: Some("anna".to_owned()),
        model: Some("b".to_owned()),
        days: (TODAY, TODAY + 1),
        groups: CostGroups::default(),
        limit: 9,
    };
    let one = bed.store.costs(&narrowed).await.unwrap();
    assert_eq!(units(&one[0]), Some(2));
    let before = CostFilter {
        days: (TODAY - 9, TODAY),
        ..narrowed
    };
    assert!(bed.store.costs(&before).await.unwrap().is_empty());
}

pub(crate) async fn a_call_counts_under_the_names_that_its_sums_have(bed: &Bed) {
    let counted = |model: Option<&str>, user: Option<&str>| CallCost {
        counted_as: SumNames {
            model: model.map(str::to_owned),
            user: user.map(str::to_owned),
        },
        ..cost("own", Some(1))
    };
    for cost in [
        counted(Some("own-*\\"), None),
        counted(None, Some("other")),
        counted(None, None),
    ] {
        bed.keep(answer(bed, Some("anna"), cost)).await;
    }
    let by_both = CostGroups {
        model: true,
        user: true,
        ..CostGroups::default()
    };
    let mut names: Vec<_> = sums(bed, by_both)
        .await
        .into_iter()
        .map(|sum| (sum.model.unwrap(), sum.user_id.unwrap()))
        .collect();
    names.sort();
    let expected = [("own", "anna"), ("own", "other"), ("own-*\\", "anna")];
    assert_eq!(
        names,
        expected.map(|(model, user)| (model.to_owned(), user.to_owned()))
    );
    let by_model = CostGroups {
        model: true,
        ..CostGroups::default()
    };
    assert_eq!(sums(bed, by_model).await.len(), 2);
}

pub(crate) async fn a_repeated_record_is_counted_once(bed: &Bed) {
    let record = NewRecord {
        exchange_id: Some("x".to_owned()),
        ..answer(bed, None, cost("m", Some(7)))
    };
    for _ in 0..2 {
        bed.store.insert(record.clone()).await.unwrap();
    }
    let all = sums(bed, CostGroups::default()).await;
    assert_eq!((all[0].calls, units(&all[0])), (1, Some(7)));
}

pub(crate) async fn an_erased_user_leaves_the_sums_without_a_name(bed: &Bed) {
    for (user, units) in [
        (Some("anna"), ONE - 1),
        (Some("anna"), 3),
        (None, 5),
        (Some("b"), 9),
    ] {
        bed.keep(answer(bed, user, cost("m", Some(units)))).await;
    }
    // Also a user who is not told apart.
    for user in ["anna", "other"] {
        let erasure = Erasure {
            id: Uuid::new_v4(),
            user_id: user.to_owned(),
            application_id: None,
            at_ms: MORNING_MS,
        };
        bed.store.add_tombstone(&erasure, None).await.unwrap();
        while bed.store.erase_step(&erasure).await.unwrap().records > 0 {}
    }
    let by_user = CostGroups {
        user: true,
        ..CostGroups::default()
    };
    let users: Vec<_> = sums(bed, by_user)
        .await
        .into_iter()
        .map(|sum| (sum.user_id.clone(), sum.calls, units(&sum)))
        .collect();
    assert_eq!(
        users,
        [
            (Some("other".to_owned()), 2, Some(ONE + 2)),
            (Some("b".to_owned()), 1, Some(9)),
            (None, 1, Some(5)),
        ],
        "the budget of calls without a user has nothing of it"
    );
    let together = sums(bed, CostGroups::default()).await;
    assert_eq!(
        (together[0].calls, units(&together[0])),
        (4, Some(ONE + 16))
    );
}

pub(crate) async fn sums_outlive_records_and_those_of_users_end(bed: &Bed) {
    let keep = async |created_at_ms| {
        let record = NewRecord {
            created_at_ms,
            ..answer(bed, None, cost("m", Some(1)))
        };
        bed.keep(record).await;
    };
    let now_ms = MORNING_MS;
    keep(now_ms - (KEPT_COST_DAYS - 1) * DAY_MS).await;
    keep(now_ms - KEPT_COST_DAYS * DAY_MS).await;
    let limits = RetentionLimits {
        days: Some(1),
        rows: None,
        bytes: None,
        cost_days: None,
    };
    let done = bed.store.enforce_retention(None, limits, now_ms);
    done.await.complete().unwrap();
    assert!(bed.all(everything()).await.is_empty());
    let by = |user| CostFilter {
        application_id: None,
        user_id: None,
        model: None,
        days: (0, TODAY),
        groups: CostGroups {
            user,
            day: true,
            ..CostGroups::default()
        },
        limit: 9,
    };
    let all = bed.store.costs(&by(false)).await.unwrap();
    assert_eq!(all.len(), 2);
    let days: Vec<_> = bed.store.costs(&by(true)).await.unwrap();
    let days: Vec<_> = days.into_iter().map(|sum| sum.day).collect();
    assert_eq!(days, [Some(TODAY - KEPT_COST_DAYS + 1)]);
    keep(now_ms - DAY_MS).await;
    keep(now_ms - 2 * DAY_MS).await;
    let fewer = RetentionLimits {
        cost_days: Some(2),
        ..limits
    };
    let done = bed.store.enforce_retention(None, fewer, now_ms);
    done.await.complete().unwrap();
    let days: Vec<_> = bed.store.costs(&by(true)).await.unwrap();
    let days: Vec<_> = days.into_iter().map(|sum| sum.day).collect();
    assert_eq!(days, [Some(TODAY - 1)]);
    assert_eq!(bed.store.costs(&by(false)).await.unwrap().len(), 4);
}

pub(crate) async fn a_run_deletes_old_sums_in_steps_until_none_is_left(bed: &Bed) {
    let of = |number: i64| NewRecord {
        created_at_ms: MORNING_MS - (5 + number % 3) * DAY_MS,
        ..answer(bed, Some(&format!("user {number}")), cost("m", Some(1)))
    };
    let inserts = (0..1_200).map(|number| bed.store.insert(of(number)));
    for stored in futures_util::future::join_all(inserts).await {
        stored.unwrap();
    }
    bed.keep(answer(bed, Some("anna"), cost("m", Some(1))))
        .await;
    let limits = RetentionLimits {
        days: None,
        rows: None,
        bytes: None,
        cost_days: Some(2),
    };
    let done = bed.store.enforce_retention(None, limits, MORNING_MS);
    done.await.complete().unwrap();
    let by_user = CostGroups {
        user: true,
        ..CostGroups::default()
    };
    let left = sums(bed, by_user).await;
    let left: Vec<_> = left.iter().map(|sum| sum.user_id.as_deref()).collect();
    assert_eq!(left, [Some("anna")]);
    let calls: u64 = sums(bed, CostGroups::default())
        .await
        .iter()
        .map(|sum| sum.calls)
        .sum();
    assert_eq!(calls, 1_201, "sums of all users together stay");
}

pub(crate) async fn users_come_page_by_page_each_once(bed: &Bed) {
    let other = bed.add_application("other").await;
    for user in ["D.Volkov", "ann", "Волков\0", "ann", "bob"] {
        for model in ["m", "n"] {
            bed.keep(answer(bed, Some(user), cost(model, None))).await;
        }
    }
    let foreign = NewRecord {
        application_id: other,
        ..answer(bed, Some("carl"), cost("m", None))
    };
    bed.keep(foreign).await;
    for (application, more) in [(None, &["carl"][..]), (Some(bed.application), &[][..])] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = bed.store.user_names(application, &after, 2).await.unwrap();
            assert!(page.names.len() <= 2);
            found.extend(page.names);
            let Some(next) = page.next_after else {
                break;
            };
            after = next;
        }
        found.sort_unstable();
        let mut expected = vec!["D.Volkov", "ann", "bob", "Волков\0"];
        expected.extend(more);
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
