//! Erasing a user: stored records are removed, late ones are refused.

use crate::attachments::{attach, attach_to, file, place};
use crate::exchanges::tool;
use monitor_model::{ApplicationId, Stage};
use monitor_store::{
    AttachTarget, Attached, Erased, ErasedExchange, Erasure, Exchange, NewRecord, RetentionLimits,
    SessionFilter, StatisticsFilter, StoreError, WaitingLimits,
};
use support::bed::{Bed, DAY_MS, MORNING_MS, everything};
use uuid::Uuid;

fn of(bed: &Bed, user: &str) -> NewRecord {
    NewRecord {
        user_id: Some(user.to_owned()),
        session_id: Some("s".to_owned()),
        ..bed.record()
    }
}

pub(crate) fn erasure(user: &str, application_id: Option<ApplicationId>) -> Erasure {
    Erasure {
        id: Uuid::new_v4(),
        user_id: user.to_owned(),
        application_id,
        at_ms: MORNING_MS,
    }
}

/// Tombstone and every step; gives the sums.
pub(crate) async fn erase(bed: &Bed, erasure: &Erasure) -> Erased {
    bed.store.add_tombstone(erasure, None).await.unwrap();
    let mut sum = Erased::default();
    loop {
        let step = bed.store.erase_step(erasure).await.unwrap();
        if step.records == 0 {
            return sum;
        }
        sum.records += step.records;
        sum.attachments += step.attachments;
    }
}

pub(crate) async fn the_users_records_and_files_go_and_nobody_elses(bed: &Bed) {
    let name = "анна\0 100%";
    for _ in 0..3 {
        let id = bed.keep(of(bed, name)).await;
        attach(bed, place(bed, id).await, file(1)).await;
    }
    let other = bed.keep(of(bed, "анна")).await;
    let nobody = bed.keep(bed.record()).await;
    let gone = erase(bed, &erasure(name, None)).await;
    let expected = Erased {
        records: 3,
        attachments: 3,
    };
    assert_eq!(gone, expected);
    assert_eq!(bed.ids(everything()).await, [nobody, other]);
    assert_eq!(
        bed.store.unlinked_blobs(9).await.unwrap(),
        [file(1).hash],
        "its bytes go with the last link"
    );
    let days = bed
        .store
        .statistics(&StatisticsFilter::whole((0, i64::from(u32::MAX))))
        .await;
    assert_eq!(days.unwrap()[0].messages, 5, "counts stay");
    assert_eq!(erase(bed, &erasure(name, None)).await, Erased::default());
}

pub(crate) async fn a_session_of_several_loses_the_name(bed: &Bed) {
    let mut nameless = of(bed, "u");
    nameless.user_id = None;
    bed.keep(nameless).await;
    bed.keep(of(bed, "u")).await;
    erase(bed, &erasure("u", None)).await;
    let filter = SessionFilter {
        limit: 9,
        ..SessionFilter::default()
    };
    let sessions = bed.store.sessions(&filter).await.unwrap();
    assert_eq!((sessions.len(), &sessions[0].user_id), (1, &None));
    assert_eq!(sessions[0].messages, 1);
}

pub(crate) async fn a_late_record_is_refused_and_costs_only_itself(bed: &Bed) {
    erase(bed, &erasure("u", None)).await;
    let mut tasks = Vec::new();
    for number in 0..20 {
        let store = bed.store.clone();
        let user = ["u", "v"][number % 2];
        let record = of(bed, user);
        tasks.push(tokio::spawn(
            async move { (user, store.insert(record).await) },
        ));
    }
    for task in tasks {
        let (user, kept) = task.await.unwrap();
        match user {
            "u" => assert!(matches!(kept, Err(StoreError::Erased))),
            _ => assert!(kept.is_ok()),
        }
    }
    assert_eq!(bed.all(everything()).await.len(), 10);
    let other = bed.database.open().await;
    let kept = other.insert(of(bed, "u")).await;
    assert!(
        matches!(kept, Err(StoreError::Erased)),
        "also by another store"
    );
    other.close().await;
}

pub(crate) async fn an_erasure_of_one_application_leaves_the_others(bed: &Bed) {
    let other = bed.add_application("other").await;
    let of_other = || NewRecord {
        application_id: other,
        ..of(bed, "u")
    };
    let stays = bed.keep(of_other()).await;
    bed.keep(of(bed, "u")).await;
    let own = erasure("u", Some(bed.application));
    assert_eq!(erase(bed, &own).await.records, 1);
    assert_eq!(bed.ids(everything()).await, [stays]);
    let late = bed.store.insert(of(bed, "u")).await;
    assert!(matches!(late, Err(StoreError::Erased)));
    assert!(bed.store.insert(of_other()).await.is_ok());
    let again = erasure("u", Some(bed.application));
    let id = bed.store.add_tombstone(&again, None).await.unwrap();
    assert_eq!(id, own.id, "one tombstone for one user");
}

pub(crate) async fn many_records_go_in_steps(bed: &Bed) {
    let mut tasks = Vec::new();
    for _ in 0..2_100 {
        let (store, record) = (bed.store.clone(), of(bed, "u"));
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let all = erasure("u", None);
    bed.store.add_tombstone(&all, None).await.unwrap();
    let first = bed.store.erase_step(&all).await.unwrap();
    assert!((1..2_100).contains(&first.records), "{first:?}");
    let rest = erase(bed, &all).await;
    assert_eq!(first.records + rest.records, 2_100);
}

/// A part of a tool call whose caller names no user.
fn nameless(bed: &Bed, exchange: &str, call: &str) -> NewRecord {
    NewRecord {
        tool: Some(tool(call)),
        ..bed.exchange(exchange)
    }
}

fn file_of(application_id: ApplicationId, exchange: &str) -> AttachTarget {
    let exchange = Exchange {
        application_id,
        id: exchange.to_owned(),
        stage: Stage::PostCall,
    };
    let limits = WaitingLimits {
        files: 9,
        bytes: 1 << 40,
    };
    AttachTarget::Exchange(exchange, limits)
}

async fn assert_refused(bed: &Bed, record: NewRecord) {
    let refused = bed.store.insert(record).await;
    assert!(matches!(refused, Err(StoreError::Erased)), "{refused:?}");
}

pub(crate) async fn what_an_exchange_has_without_a_name_goes_with_the_refused_message(bed: &Bed) {
    let name = "обмен\0 1";
    let other = bed.add_application("other").await;
    erase(bed, &erasure("u", None)).await;
    // Before the message, which says whose they are.
    bed.keep(nameless(bed, name, "1")).await;
    let waits = attach_to(bed, file_of(bed.application, name), file(1)).await;
    assert_eq!(waits, Attached::Waiting);
    let of_y = bed.keep(nameless(bed, "y", "1")).await;
    let message = NewRecord {
        exchange_id: Some(name.to_owned()),
        ..of(bed, "u")
    };
    assert_refused(bed, message).await;
    let exchange = ErasedExchange {
        application_id: bed.application,
        id: name.to_owned(),
        at_ms: MORNING_MS,
    };
    for _ in 0..2 {
        bed.store.erase_exchange(&exchange).await.unwrap();
    }
    assert_eq!(bed.ids(everything()).await, [of_y]);
    assert_eq!(bed.store.unlinked_blobs(9).await.unwrap(), [file(1).hash]);
    // And behind it.
    assert_refused(bed, nameless(bed, name, "2")).await;
    let late = attach_to(bed, file_of(bed.application, name), file(2)).await;
    assert_eq!(late, Attached::Erased);
    let of_v = NewRecord {
        user_id: Some("v".to_owned()),
        ..nameless(bed, name, "3")
    };
    bed.keep(of_v).await;
    let foreign = NewRecord {
        application_id: other,
        ..nameless(bed, name, "4")
    };
    bed.keep(foreign).await;
    let elsewhere = attach_to(bed, file_of(other, name), file(3)).await;
    assert_eq!(elsewhere, Attached::Waiting);
    // The exchange is forgotten some day, the user never.
    let late_ms = MORNING_MS + 31 * DAY_MS;
    let run = bed
        .store
        .enforce_retention(None, RetentionLimits::default(), late_ms);
    run.await.complete().unwrap();
    bed.keep(nameless(bed, name, "5")).await;
    assert_refused(bed, of(bed, "u")).await;
}

pub(crate) async fn an_exchange_of_an_erased_user_takes_nothing_without_a_name(bed: &Bed) {
    let message = NewRecord {
        exchange_id: Some("x".to_owned()),
        ..of(bed, "u")
    };
    bed.keep(message).await;
    bed.keep(nameless(bed, "x", "1")).await;
    assert_eq!(erase(bed, &erasure("u", None)).await.records, 2);
    assert_refused(bed, nameless(bed, "x", "2")).await;
    let late = attach_to(bed, file_of(bed.application, "x"), file(1)).await;
    assert_eq!(late, Attached::Erased);
    bed.keep(nameless(bed, "y", "1")).await;
}
