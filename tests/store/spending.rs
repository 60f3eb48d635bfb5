//! What the calls cost that budgets count, and whose.

use crate::costs::{ONE, answer, cost, units};
use monitor_store::{NewRecord, SpendingFilter, SpendingSpan, SpentUnit, TopSpenders};
use support::bed::{Bed, DAY_MS, MORNING_MS};

/// A user, the calls, their tokens and what they cost.
type Seen = (Option<String>, u64, (u64, u64), Option<i128>);

pub(crate) fn everybody() -> TopSpenders {
    TopSpenders {
        unit: SpentUnit::Tokens,
        at_least: 0.0,
        most: 99,
    }
}

async fn seen(bed: &Bed, span: SpendingSpan, users: Option<TopSpenders>) -> Vec<Seen> {
    let filter = SpendingFilter {
        application_id: bed.application,
        span,
        users,
    };
    let sums = bed.store.spending(&filter).await.unwrap().into_iter();
    let seen = sums.map(|sum| {
        let tokens = (sum.tokens.prompt, sum.tokens.completion);
        (sum.user_id.clone(), sum.calls, tokens, units(&sum))
    });
    seen.collect()
}

pub(crate) async fn the_last_minutes_are_summed_up_from_their_records(bed: &Bed) {
    let other = bed.add_application("other").await;
    let from_ms = MORNING_MS + 60_000;
    let until_ms = from_ms + 60_000;
    let keep = async |application_id, user, at_ms, cost| {
        let record = NewRecord {
            application_id,
            created_at_ms: at_ms,
            ..answer(bed, user, cost)
        };
        bed.keep(record).await;
    };
    let own = bed.application;
    keep(own, Some("anna"), from_ms - 1, cost("m", Some(64))).await;
    keep(own, Some("anna"), from_ms, cost("m", Some(1))).await;
    keep(own, Some("anna"), from_ms + 1, cost("n", Some(2 * ONE))).await;
    keep(own, Some("boris"), from_ms + 1, cost("m", None)).await;
    keep(own, None, until_ms - 1, cost("m", Some(4))).await;
    // Of a clock that is ahead.
    keep(own, Some("boris"), until_ms, cost("m", Some(16))).await;
    keep(other, Some("anna"), from_ms, cost("m", Some(32))).await;
    bed.keep(NewRecord {
        created_at_ms: from_ms,
        ..bed.record()
    })
    .await;
    let found = async |users: Option<TopSpenders>| {
        let mut seen = seen(bed, SpendingSpan::Records((from_ms, until_ms)), users).await;
        seen.sort();
        seen
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        found(Some(everybody())).await,
        [
            (None, 1, (100, 30), Some(4)),
            (named("anna"), 2, (200, 60), Some(2 * ONE + 1)),
            (named("boris"), 1, (100, 30), None),
        ]
    );
    assert_eq!(
        found(None).await,
        [
            (None, 1, (100, 30), None),
            (None, 3, (300, 90), Some(2 * ONE + 5)),
        ]
    );
    let later = SpendingSpan::Records((until_ms + 1, until_ms + 60_000));
    assert_eq!(seen(bed, later, Some(everybody())).await, vec![]);
}

pub(crate) async fn of_many_users_only_those_who_have_spent_most_leave_the_store(bed: &Bed) {
    // Each call has 130 tokens.
    for (user, calls, units) in [
        (Some("a"), 1, Some(9 * ONE)),
        (Some("b"), 2, Some(ONE)),
        (None, 3, Some(ONE / 2)),
        (Some("c"), 4, None),
        (Some("other currency"), 1, Some(99 * ONE)),
    ] {
        for _ in 0..calls {
            let mut cost = cost("m", units);
            if user == Some("other currency") {
                cost.currency = Some("USD".to_owned());
            }
            bed.keep(answer(bed, user, cost)).await;
        }
    }
    let day = MORNING_MS / DAY_MS;
    let minute = SpendingSpan::Records((MORNING_MS, MORNING_MS + 60_000));
    for span in [SpendingSpan::Days((day, day)), minute] {
        let names = async |unit: SpentUnit, at_least, most| {
            let users = TopSpenders {
                unit,
                at_least,
                most,
            };
            let seen = seen(bed, span, Some(users)).await.into_iter();
            let mut names: Vec<_> = seen.map(|it| it.0.unwrap_or_default()).collect();
            names.sort();
            names
        };
        let money = || SpentUnit::Money {
            currency: "EUR".to_owned(),
        };
        assert_eq!(names(SpentUnit::Tokens, 0.0, 2).await, ["", "c"]);
        assert_eq!(names(SpentUnit::Tokens, 260.0, 9).await, ["", "b", "c"]);
        assert_eq!(names(SpentUnit::Tokens, 521.0, 9).await, [""; 0]);
        assert_eq!(names(money(), 0.0, 1).await, ["a"]);
        assert_eq!(names(money(), 1.5, 9).await, ["", "a", "b"]);
        assert_eq!(names(money(), 0.0, 9).await.len(), 5);
    }
}
