//! Removing records beyond the limits (CONTRACT 38).

use monitor_model::{ApplicationId, RecordId};
use monitor_store::{RetentionLimits, SessionFilter, StatisticsFilter};
use support::bed::{Bed, DAY_MS, MORNING_MS, everything, found};

const NONE: RetentionLimits = RetentionLimits {
    days: None,
    rows: None,
    bytes: None,
    cost_days: None,
};

async fn enforce(bed: &Bed, application: Option<ApplicationId>, limits: RetentionLimits) -> u64 {
    let done = bed.store.enforce_retention(application, limits, MORNING_MS);
    done.await.complete().unwrap().records()
}

/// Keeps so many, each with this text, a day after the one before; the last one in the morning.
async fn keep(bed: &Bed, application: ApplicationId, count: i64, text: &str) -> Vec<RecordId> {
    let mut ids = Vec::new();
    for number in 0..count {
        let mut record = bed.text(text);
        record.application_id = application;
        record.created_at_ms = MORNING_MS - (count - 1 - number) * DAY_MS;
        record.session_id = Some(format!("s{number}"));
        record.answer.dataclean.types = vec![found("IP", 1)];
        ids.insert(0, bed.keep(record).await);
    }
    ids
}

pub(crate) async fn by_days_the_oldest_go_and_the_border_stays(bed: &Bed) {
    let ids = keep(bed, bed.application, 6, "text").await;
    let limits = RetentionLimits {
        days: Some(2),
        ..NONE
    };
    assert_eq!(enforce(bed, None, limits).await, 3);
    assert_eq!(bed.ids(everything()).await, ids[..3]);
    assert!(bed.store.record(ids[3]).await.unwrap().is_none());
    assert!(bed.store.record(ids[2]).await.unwrap().is_some());
    let mut filter = everything();
    filter.kind = Some("IP".to_owned());
    assert_eq!(bed.ids(filter).await, ids[..3]);
    assert_eq!(enforce(bed, None, limits).await, 0);
}

pub(crate) async fn by_rows_the_newest_stay(bed: &Bed) {
    let ids = keep(bed, bed.application, 9, "text").await;
    let limits = RetentionLimits {
        rows: Some(4),
        ..NONE
    };
    assert_eq!(enforce(bed, None, limits).await, 5);
    assert_eq!(bed.ids(everything()).await, ids[..4]);
    let sessions = SessionFilter {
        limit: 20,
        ..SessionFilter::default()
    };
    let sessions = bed.store.sessions(&sessions).await.unwrap();
    assert_eq!(sessions.len(), 4, "those without a record are gone");
    assert_eq!(enforce(bed, None, limits).await, 0);
}

pub(crate) async fn by_bytes_the_newest_stay(bed: &Bed) {
    let ids = keep(bed, bed.application, 10, &"text ".repeat(4000)).await;
    let limits = RetentionLimits {
        bytes: Some(110_000),
        ..NONE
    };
    let gone = enforce(bed, None, limits).await;
    assert!((5..10).contains(&gone), "{gone} of ten of 20 KB are gone");
    assert_eq!(bed.ids(everything()).await, ids[..10 - gone as usize]);
    assert_eq!(enforce(bed, None, limits).await, 0);
}

pub(crate) async fn of_one_application_leaves_the_others(bed: &Bed) {
    let other = bed.add_application("other").await;
    let limits = [
        RetentionLimits {
            days: Some(6),
            ..NONE
        },
        RetentionLimits {
            rows: Some(5),
            ..NONE
        },
        RetentionLimits {
            bytes: Some(45_000),
            ..NONE
        },
    ];
    let text = "text ".repeat(2000);
    let foreign = keep(bed, other, 8, &text).await;
    let own = keep(bed, bed.application, 8, &text).await;
    let mut left = own.len();
    for limits in limits {
        let gone = enforce(bed, Some(bed.application), limits).await;
        assert!(gone > 0, "{limits:?}");
        left -= gone as usize;
        let mut filter = everything();
        filter.application_id = Some(bed.application);
        assert_eq!(bed.ids(filter.clone()).await, own[..left], "{limits:?}");
        filter.application_id = Some(other);
        assert_eq!(bed.ids(filter).await, foreign, "{limits:?}");
    }
    assert!((1..5).contains(&left));
}

pub(crate) async fn many_go_in_steps_and_statistics_stay(bed: &Bed) {
    let mut tasks = Vec::new();
    for _ in 0..1700 {
        let (store, record) = (bed.store.clone(), bed.record());
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let limits = RetentionLimits {
        rows: Some(0),
        ..NONE
    };
    assert_eq!(enforce(bed, None, limits).await, 1700);
    assert!(bed.all(everything()).await.is_empty());
    let days = bed
        .store
        .statistics(&StatisticsFilter::whole((0, i64::from(u32::MAX))))
        .await
        .unwrap();
    assert_eq!(days[0].messages, 1700);
    let id = bed.keep(bed.record()).await;
    assert_eq!(bed.ids(everything()).await, [id], "the store goes on");
}

pub(crate) async fn a_flood_of_one_application_removes_no_record_of_another(bed: &Bed) {
    let flooding = bed.add_application("flooding").await;
    let quiet = keep(bed, bed.application, 3, &"text ".repeat(2000)).await;
    let flood = keep(bed, flooding, 12, &"text ".repeat(2000)).await;
    let of_flood = || {
        let mut filter = everything();
        filter.application_id = Some(flooding);
        filter
    };
    let enforce = async |limits| {
        let done = bed.store.enforce_retention(None, limits, MORNING_MS);
        done.await.complete().unwrap()
    };
    let all = bed.store.stored_amount().await.unwrap();
    assert_eq!(all.records, 15);
    assert!((15 * 10_000..15 * 20_000).contains(&all.bytes), "{all:?}");
    let rows = RetentionLimits {
        rows: Some(10),
        ..NONE
    };
    let gone = enforce(rows).await;
    assert_eq!((gone.by_rows, gone.records()), (5, 5));
    assert_eq!(gone.above_their_part, [(flooding, 5)].into());
    assert_eq!(bed.ids(of_flood()).await, flood[..7], "its oldest went");
    let bytes = RetentionLimits {
        bytes: Some(all.bytes / 15 * 6 + 5_000),
        ..NONE
    };
    let gone = enforce(bytes).await;
    assert_eq!((gone.by_bytes, gone.records()), (4, 4));
    assert_eq!(gone.above_their_part, [(flooding, 4)].into());
    assert_eq!(bed.ids(of_flood()).await, flood[..3]);
    let mut filter = everything();
    filter.application_id = Some(bed.application);
    assert_eq!(bed.ids(filter.clone()).await, quiet, "none of the other's");
    let both = RetentionLimits {
        rows: Some(2),
        ..NONE
    };
    let gone = enforce(both).await;
    assert_eq!(
        gone.above_their_part,
        [(flooding, 2), (bed.application, 2)].into()
    );
    assert_eq!(bed.ids(filter).await, quiet[..1], "equal parts");
    assert_eq!(bed.store.stored_amount().await.unwrap().records, 2);
}

pub(crate) async fn without_limits_nothing_goes(bed: &Bed) {
    let ids = keep(bed, bed.application, 3, "text").await;
    for application in [None, Some(bed.application)] {
        assert_eq!(enforce(bed, application, NONE).await, 0);
    }
    assert_eq!(enforce(bed, Some(ApplicationId::random()), NONE).await, 0);
    assert_eq!(bed.ids(everything()).await, ids);
}
