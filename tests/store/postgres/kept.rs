//! Values that the columns of a record must not lose.

use super::world::{World, everything, now_ms};
use monitor_store::{RecordFilter, RecordStore, StatisticsFilter, StatisticsStore, StoreError};
use serde_json::json;
use support::postgres::Postgres;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn texts_that_postgresql_cannot_hold_come_back_whole() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let text = "\0a\u{10FFFF}0 и\0\u{1F600}\u{10FFFF}";
    let mut record = world.record(Some(text), text);
    record.message = Some(text.into());
    record.user_id = Some(text.to_owned());
    record.session_id = Some(text.to_owned());
    let parameters = &mut record.additional_parameters;
    parameters.insert("k\0".to_owned(), json!([text, 1.0, 1e300, u64::MAX]));
    record.inline_rules = Some(json!({"a": text}));
    let answer = world.store.insert(record.clone()).await.unwrap();
    let id = record.answer.request_id;
    let stored = world.store.record(id).await.unwrap().unwrap();
    assert_eq!(json!(answer), json!(record.answer));
    assert_eq!(json!(stored.answer), json!(record.answer));
    assert_eq!(stored.message.as_deref(), record.message.as_deref());
    assert_eq!(stored.additional_parameters, record.additional_parameters);
    assert_eq!(stored.inline_rules, record.inline_rules);
    assert_eq!(stored.summary.exchange_id, record.exchange_id);
    let again = world.store.insert(record.clone()).await.unwrap();
    assert_eq!(again.request_id, id);
    for filter in [
        RecordFilter {
            user_id: Some(text.to_owned()),
            ..everything()
        },
        RecordFilter {
            session_id: Some(text.to_owned()),
            ..everything()
        },
        RecordFilter {
            text: Some("И\0".to_owned()),
            ..everything()
        },
        RecordFilter {
            kind: Some("IP".to_owned()),
            ..everything()
        },
    ] {
        let page = world.store.page(&filter).await.unwrap();
        assert_eq!(page.records.len(), 1, "{filter:?}");
        assert_eq!(page.records[0].id, id);
    }
}

/// A B-tree's entry holds 2.7 kB at most.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn names_of_any_length_are_kept_and_found() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    // Random, so that compression does not make it short.
    let long: String = (0..2_000)
        .map(|_| uuid::Uuid::new_v4().to_string())
        .collect();
    let mut record = world.record(Some(&long), "text");
    record.user_id = Some(long.clone());
    record.session_id = Some(long.clone());
    record.answer.dataclean.types[0].kind.clone_from(&long);
    let first = world.store.insert(record.clone()).await.unwrap();
    assert_eq!(
        world.store.insert(record).await.unwrap().request_id,
        first.request_id
    );
    let filter = RecordFilter {
        user_id: Some(long.clone()),
        session_id: Some(long.clone()),
        kind: Some(long),
        ..everything()
    };
    let page = world.store.page(&filter).await.unwrap();
    assert_eq!(page.records.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn more_records_of_one_millisecond_than_places_are_all_kept() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let at = now_ms();
    let mut tasks = Vec::new();
    for _ in 0..4_500 {
        let mut record = world.record(None, "text");
        record.created_at_ms = at;
        let store = world.store.clone();
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(world.all().await.len(), 4_500);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_record_without_its_application_costs_only_itself() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let mut tasks = Vec::new();
    for number in 0..200 {
        let mut record = world.record(None, "text");
        if number % 50 == 0 {
            record.application_id = monitor_model::ApplicationId::random();
        }
        let store = world.store.clone();
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    let mut kept = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => kept += 1,
            Err(error) => assert!(matches!(error, StoreError::NoApplication), "{error}"),
        }
    }
    assert_eq!((kept, world.all().await.len()), (196, 196));
    let statistics = world
        .store
        .statistics(&StatisticsFilter::whole((0, i64::MAX)))
        .await
        .unwrap();
    assert_eq!(statistics.iter().map(|day| day.messages).sum::<u64>(), 196);
    let finds = statistics.iter().flat_map(|day| &day.types);
    assert_eq!(finds.map(|found| found.count).sum::<u64>(), 392);
}
