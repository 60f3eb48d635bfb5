//! What end users do by the day (UI B2): sums, their order and pages, and how they go again.

use monitor_model::ApplicationId;
use monitor_store::{
    Erasure, NewRecord, RetentionLimits, UserCounts, UserDayCount, UserDayFilter, UserFilter,
    UserOrder, UserTotal,
};
use support::bed::{Bed, DAY_MS, MORNING_MS, found};
use uuid::Uuid;

const TODAY: i64 = MORNING_MS / DAY_MS;

/// A message of a user, so many days ago; a flagged one has an address and one of an application's own finds in it.
async fn say(bed: &Bed, user: &str, days_ago: i64, is_flagged: bool) {
    bed.keep(message(bed, user, days_ago, is_flagged)).await;
}

fn message(bed: &Bed, user: &str, days_ago: i64, is_flagged: bool) -> NewRecord {
    let mut record = NewRecord {
        user_id: Some(user.to_owned()),
        created_at_ms: MORNING_MS - days_ago * DAY_MS,
        blocked: is_flagged,
        ..bed.record()
    };
    if is_flagged {
        record.answer.dataclean.flagged = true;
        record.answer.dataclean.types = vec![found("EMAILS", 2), found("ORDER", 1)];
    }
    record
}

fn week() -> UserFilter {
    UserFilter {
        application_id: None,
        name_part: None,
        days: (TODAY - 6, TODAY),
        order: UserOrder::Flagged,
        skipped: 0,
        limit: 99,
    }
}

fn days_of(users: &[&str]) -> UserDayFilter {
    UserDayFilter {
        application_id: None,
        user_ids: users.iter().map(|user| (*user).to_owned()).collect(),
        days: (TODAY - 29, TODAY),
    }
}

async fn users(bed: &Bed, filter: &UserFilter) -> Vec<UserTotal> {
    bed.store.users(filter).await.unwrap()
}

async fn names(bed: &Bed, filter: &UserFilter) -> Vec<String> {
    let users = users(bed, filter).await;
    users.into_iter().map(|user| user.user_id).collect()
}

fn counts(messages: u64, flagged: u64) -> UserCounts {
    UserCounts {
        messages,
        flagged,
        blocked: flagged,
    }
}

pub(crate) async fn users_are_summed_up_and_compared_with_the_days_before(bed: &Bed) {
    for (user, days_ago, is_flagged) in [
        ("anna", 0, true),
        ("anna", 6, false),
        ("anna", 7, true),
        ("anna", 13, true),
        ("anna", 14, true),
        ("boris", 8, true),
        ("", 0, true),
    ] {
        say(bed, user, days_ago, is_flagged).await;
    }
    bed.keep(bed.record()).await;
    let expected = UserTotal {
        application_id: bed.application,
        user_id: "anna".to_owned(),
        counts: counts(2, 1),
        before: counts(2, 2),
        last_ms: MORNING_MS,
    };
    assert_eq!(users(bed, &week()).await, [expected]);
    let of_days = bed.store.user_days(&days_of(&["anna", "nobody"])).await;
    let of_days = of_days.unwrap();
    let today: Vec<_> = of_days.iter().filter(|one| one.day == TODAY).collect();
    let today: Vec<_> = today.iter().map(|one| one.count.clone()).collect();
    let finds = |kind: &str, count| UserDayCount::Finds {
        kind: kind.to_owned(),
        count,
    };
    let expected = [
        UserDayCount::Messages(counts(1, 1)),
        finds("EMAILS", 2),
        finds("custom", 1),
    ];
    assert_eq!(today, expected, "own patterns count as one type");
    assert!(of_days.is_sorted_by(|one, next| one.day >= next.day));
}

pub(crate) async fn users_are_ordered_and_paged_by_what_is_asked_for(bed: &Bed) {
    let other = bed.add_application("other").await;
    for (user, messages, flagged) in [("anna", 9, 2), ("boris", 1, 1), ("Vera %", 3, 0)] {
        for number in 0..messages {
            say(bed, user, 3, number < flagged).await;
        }
    }
    let of_other = NewRecord {
        application_id: other,
        ..message(bed, "anna", 0, false)
    };
    bed.keep(of_other).await;
    for (order, expected) in [
        (UserOrder::Flagged, ["anna", "boris", "Vera %", "anna"]),
        (UserOrder::Share, ["boris", "anna", "Vera %", "anna"]),
        (UserOrder::Messages, ["anna", "Vera %", "boris", "anna"]),
        (UserOrder::LastSeen, ["anna", "Vera %", "anna", "boris"]),
    ] {
        let filter = UserFilter { order, ..week() };
        assert_eq!(names(bed, &filter).await, expected, "{order:?}");
        let mut pages = Vec::new();
        for skipped in 0..4 {
            let page = UserFilter {
                skipped,
                limit: 1,
                ..filter.clone()
            };
            pages.extend(names(bed, &page).await);
        }
        assert_eq!(pages, expected, "{order:?}");
    }
    let narrowed = |application_id: Option<ApplicationId>, part: Option<&str>| UserFilter {
        application_id,
        name_part: part.map(str::to_owned),
        ..week()
    };
    assert_eq!(names(bed, &narrowed(Some(other), None)).await, ["anna"]);
    for (part, expected) in [("OR", vec!["boris"]), ("%", vec!["Vera %"]), ("_", vec![])] {
        assert_eq!(names(bed, &narrowed(None, Some(part))).await, expected);
    }
}

pub(crate) async fn a_long_name_of_a_user_counts_as_other(bed: &Bed) {
    let fits = "n".repeat(512);
    // Random, so that compression does not make it short.
    let long: String = (0..500).map(|_| Uuid::new_v4().to_string()).collect();
    for user in [&*fits, &*long, "ц\0\u{10FFFF}'"] {
        say(bed, user, 0, false).await;
    }
    let mut found = names(bed, &week()).await;
    found.sort();
    assert_eq!(found, [&*fits, "other", "ц\0\u{10FFFF}'"]);
}

pub(crate) async fn users_without_end_count_as_one(bed: &Bed) {
    let inserts = (0..5_003).map(|number| {
        let record = message(bed, &format!("user {number}"), 0, number % 2_500 == 0);
        bed.store.insert(record)
    });
    for stored in futures_util::future::join_all(inserts).await {
        stored.unwrap();
    }
    let all = UserFilter {
        limit: 9_999,
        ..week()
    };
    let found = users(bed, &all).await;
    let messages: u64 = found.iter().map(|user| user.counts.messages).sum();
    assert_eq!(messages, 5_003);
    // In PostgreSQL a server counts in two lanes.
    let lanes = if bed.store.kind() == "SQLite" { 1 } else { 2 };
    assert!(found.len() <= lanes * 5_000 + 1, "{}", found.len());
    say(bed, "user 1", 0, false).await;
    let of_one = UserFilter {
        name_part: Some("user 1".to_owned()),
        ..all
    };
    let of_one = users(bed, &of_one).await;
    let own = of_one.iter().find(|user| user.user_id == "user 1");
    assert!(own.is_none_or(|user| user.counts.messages == 2));
}

pub(crate) async fn a_repeated_record_counts_once_for_its_user(bed: &Bed) {
    let record = NewRecord {
        exchange_id: Some("x".to_owned()),
        ..message(bed, "anna", 0, true)
    };
    for _ in 0..2 {
        bed.store.insert(record.clone()).await.unwrap();
    }
    assert_eq!(users(bed, &week()).await[0].counts, counts(1, 1));
}

pub(crate) async fn sums_of_users_go_with_an_erasure_and_after_their_time(bed: &Bed) {
    for (user, days_ago) in [("anna", 0), ("boris", 0), ("boris", 5), ("other", 0)] {
        say(bed, user, days_ago, true).await;
    }
    for user in ["anna", "other"] {
        let erasure = Erasure {
            id: Uuid::new_v4(),
            user_id: user.to_owned(),
            application_id: Some(bed.application),
            at_ms: MORNING_MS,
        };
        bed.store.add_tombstone(&erasure, None).await.unwrap();
        while bed.store.erase_step(&erasure).await.unwrap().records > 0 {}
    }
    // Who is not told apart has no name to erase.
    assert_eq!(names(bed, &week()).await, ["boris", "other"]);
    let limits = RetentionLimits {
        days: Some(1),
        rows: None,
        bytes: None,
        cost_days: Some(3),
    };
    let done = bed.store.enforce_retention(None, limits, MORNING_MS);
    done.await.complete().unwrap();
    let boris = users(bed, &week()).await;
    assert_eq!(boris[0].counts, counts(1, 1));
}

pub(crate) async fn nothing_of_a_removed_applications_users_is_shown(bed: &Bed) {
    say(bed, "anna", 0, true).await;
    let removed = bed.store.remove_application(bed.application, 1, None);
    removed.await.unwrap();
    assert!(users(bed, &week()).await.is_empty());
    let days = bed.store.user_days(&days_of(&["anna"])).await.unwrap();
    assert!(days.is_empty());
}
