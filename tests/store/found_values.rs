//! Found values: which records have the same, without a value being stored.

use monitor_model::{ApplicationId, RecordId};
use monitor_store::{
    Erasure, FoundValue, MOST_VALUE_KEYS, NewRecord, RetentionLimits, SameValues, ValueFilter,
    ValueHash,
};
use support::bed::{Bed, DAY_MS, MORNING_MS, found};
use uuid::Uuid;

const KEPT: &str = "EMAILS";
const OWN: &str = "свой\0 тип";

fn value(kind: &str, number: u8) -> FoundValue {
    FoundValue {
        kind: kind.into(),
        hash: ValueHash([number; 16]),
        key_id: 1,
    }
}

fn with(bed: &Bed, user: &str, values: &[FoundValue]) -> NewRecord {
    let mut record = bed.record();
    record.user_id = Some(user.to_owned());
    record.found_values = values.to_vec();
    record.answer.dataclean.types = vec![found(KEPT, 1)];
    record
}

/// The records with one of these values, page by page.
async fn having(bed: &Bed, numbers: &[u8]) -> Vec<RecordId> {
    let mut filter = ValueFilter {
        hashes: numbers.iter().map(|one| ValueHash([*one; 16])).collect(),
        before: None,
        limit: 2,
    };
    let mut ids = Vec::new();
    loop {
        let page = bed.store.page_by_values(&filter).await.unwrap();
        assert!(page.records.len() <= 2);
        ids.extend(page.records.iter().map(|record| record.id));
        let Some(next) = page.next_before else {
            return ids;
        };
        filter.before = Some(next);
    }
}

async fn seq(bed: &Bed, id: RecordId) -> i64 {
    bed.store.record(id).await.unwrap().unwrap().summary.seq
}

pub(crate) async fn records_are_found_by_their_values_newest_first(bed: &Bed) {
    let (mail, own) = (value(KEPT, 1), value(OWN, 2));
    let mut kept = Vec::new();
    for number in 0..5 {
        let values = match number {
            0 => vec![own.clone()],
            // The same twice is one.
            3 => vec![mail.clone(), own.clone(), mail.clone()],
            _ => vec![mail.clone()],
        };
        kept.push(bed.keep(with(bed, "ann", &values)).await);
    }
    bed.keep(bed.record()).await;
    let newest_first =
        |wanted: &[usize]| -> Vec<RecordId> { wanted.iter().map(|number| kept[*number]).collect() };
    assert_eq!(having(bed, &[1]).await, newest_first(&[4, 3, 2, 1]));
    assert_eq!(having(bed, &[2]).await, newest_first(&[3, 0]));
    assert_eq!(
        having(bed, &[2, 9, 1]).await,
        newest_first(&[4, 3, 2, 1, 0])
    );
    assert!(having(bed, &[9]).await.is_empty());
    assert!(having(bed, &[]).await.is_empty());
    let of_both = bed.store.found_values(seq(bed, kept[3]).await).await;
    let of_both = of_both.unwrap();
    assert_eq!(of_both.len(), 2);
    assert_eq!(of_both[0], mail);
    assert_eq!((of_both[1].hash, of_both[1].key_id), (own.hash, 1));
}

pub(crate) async fn values_of_many_records_at_once_are_each_its_own(bed: &Bed) {
    let inserts = (0..100_u8).map(|number| {
        let record = with(bed, "ann", &[value(KEPT, number)]);
        let (store, id) = (bed.store.clone(), record.answer.request_id);
        tokio::spawn(async move {
            store.insert(record).await.unwrap();
            id
        })
    });
    let inserts: Vec<_> = inserts.collect();
    for (number, insert) in (0..100_u8).zip(inserts) {
        let id = insert.await.unwrap();
        assert_eq!(having(bed, &[number]).await, [id]);
    }
}

pub(crate) async fn the_records_with_the_same_values_are_counted_by_type(bed: &Bed) {
    let (mail, name) = (value(KEPT, 1), value("NAME", 2));
    let both = [mail.clone(), name.clone()];
    let one = bed.keep(with(bed, "ann", &both)).await;
    for user in ["ann", "bob", "bob"] {
        bed.keep(with(bed, user, std::slice::from_ref(&mail))).await;
    }
    let nobody = NewRecord {
        user_id: None,
        ..with(bed, "", &both)
    };
    bed.keep(nobody).await;
    bed.keep(with(bed, "carl", &[value(KEPT, 7)])).await;
    let same = bed.store.same_values(seq(bed, one).await).await.unwrap();
    let counted = |kind: &str, records, users| SameValues {
        kind: kind.to_owned(),
        records,
        users,
    };
    assert_eq!(same, [counted(KEPT, 4, 2), counted("NAME", 1, 0)]);
    // No more are looked at than are told.
    for _ in 0..120 {
        bed.keep(with(bed, "ann", std::slice::from_ref(&mail)))
            .await;
    }
    let same = bed.store.same_values(seq(bed, one).await).await.unwrap();
    assert_eq!((same[0].kind.as_str(), same[0].records), (KEPT, 102));
}

pub(crate) async fn values_go_with_their_records(bed: &Bed) {
    let mail = [value(KEPT, 1)];
    bed.keep(with(bed, "gone", &mail)).await;
    let stays = bed.keep(with(bed, "stays", &mail)).await;
    let erasure = Erasure {
        id: Uuid::new_v4(),
        user_id: "gone".to_owned(),
        application_id: None,
        at_ms: MORNING_MS,
    };
    bed.store.add_tombstone(&erasure, None).await.unwrap();
    while bed.store.erase_step(&erasure).await.unwrap().records > 0 {}
    assert_eq!(having(bed, &[1]).await, [stays]);
    let at = seq(bed, stays).await;
    let limits = RetentionLimits {
        days: Some(1),
        ..RetentionLimits::default()
    };
    let now_ms = MORNING_MS + 9 * DAY_MS;
    let run = bed.store.enforce_retention(None, limits, now_ms).await;
    run.complete().unwrap();
    assert!(bed.store.found_values(at).await.unwrap().is_empty());
    assert!(having(bed, &[1]).await.is_empty());
}

pub(crate) async fn a_repeated_record_adds_no_values(bed: &Bed) {
    let first = NewRecord {
        found_values: vec![value(KEPT, 1)],
        ..bed.exchange("x")
    };
    let again = NewRecord {
        found_values: vec![value(KEPT, 2)],
        ..bed.exchange("x")
    };
    let id = bed.keep(first).await;
    bed.keep(again).await;
    assert_eq!(having(bed, &[1, 2]).await, [id]);
    assert!(having(bed, &[2]).await.is_empty());
}

pub(crate) async fn a_new_key_comes_before_the_others_and_four_are_kept(bed: &Bed) {
    assert!(bed.store.value_keys().await.unwrap().is_empty());
    for number in 1..=6_u8 {
        let made = bed.store.add_value_key([number; 32], MORNING_MS, None);
        assert_eq!(made.await.unwrap(), i64::from(number));
    }
    let keys = bed.store.value_keys().await.unwrap();
    assert_eq!(keys.len() as i64, MOST_VALUE_KEYS);
    let ids: Vec<_> = keys.iter().map(|key| (key.id, key.secret[31])).collect();
    assert_eq!(ids, [(6, 6), (5, 5), (4, 4), (3, 3)]);
    let other = bed.database.open().await;
    let same = other.value_keys().await.unwrap();
    assert!(same == keys, "every server has them");
    other.close().await;
}

/// What stands for one value differs between applications: the store tells nothing across them by itself.
pub(crate) async fn values_of_a_removed_application_are_not_found(bed: &Bed) {
    let other: ApplicationId = bed.add_application("other").await;
    let record = NewRecord {
        application_id: other,
        ..with(bed, "ann", &[value(KEPT, 1)])
    };
    bed.keep(record).await;
    let stays = bed.keep(with(bed, "ann", &[value(KEPT, 1)])).await;
    bed.store.remove_application(other, 1, None).await.unwrap();
    assert_eq!(having(bed, &[1]).await, [stays]);
}
