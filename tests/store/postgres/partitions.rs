//! Creating partitions ahead of time, dropping them, and retention over them (CONTRACT 38).

use super::world::{DAY_MS, World, an_application, now_ms, open};
use monitor_model::ApplicationId;
use monitor_store::{
    ApplicationStore, Changed, RecordRemoval, RecordStore, RetentionLimits, SessionFilter,
    StatisticsFilter, StatisticsStore,
};
use std::time::{Duration, Instant};
use support::postgres::Postgres;

pub(super) const NAMES: &str = "SELECT string_agg(c.relname, ' ' ORDER BY c.relname)
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass";

/// Makes partitions of the last days, as a server that ran then would have.
pub(super) fn made_before(world: &World, days: std::ops::Range<i64>) {
    let today = now_ms().div_euclid(DAY_MS);
    for day in days.map(|age| today - age) {
        let name = world
            .database
            .query(&format!("SELECT to_char(date 'epoch' + {day}, 'YYYYMMDD')"));
        let place = |day: i64| (day * DAY_MS - 1_577_836_800_000) << 12;
        for table in ["records", "record_bodies", "record_types"] {
            world.database.execute(&format!(
                "CREATE TABLE {table}_{name} PARTITION OF {table} FOR VALUES FROM ({}) TO ({})",
                place(day),
                place(day + 1)
            ));
        }
    }
}

pub(super) async fn insert(world: &World, age_days: i64, session: &str) {
    let mut record = world.record(Some(&format!("{session}{age_days}")), "text");
    record.created_at_ms = now_ms() - age_days * DAY_MS;
    record.session_id = Some(session.to_owned());
    world.store.insert(record).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn todays_and_the_next_days_partitions_are_made_and_take_what_waits_in_the_default_one() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let today = world
        .database
        .query("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')");
    let names = world.database.query(NAMES);
    assert_eq!(names.split(' ').count(), 5, "{names}");
    assert!(names.starts_with(&format!("records_{today}")), "{names}");
    insert(&world, 0, "a").await;
    assert_eq!(world.number("SELECT count(*) FROM records_default"), 0);
    for table in ["records", "record_bodies", "record_types"] {
        world
            .database
            .execute(&format!("DROP TABLE {table}_{today}"));
    }
    insert(&world, 0, "b").await;
    assert_eq!(world.number("SELECT count(*) FROM records_default"), 1);
    let again = open(&world.database).await;
    let sums = "SELECT (SELECT count(*) FROM records_default) * 100
        + (SELECT count(*) FROM record_bodies_default) * 10 + (SELECT count(*) FROM record_types_default)";
    assert_eq!(world.number(sums), 0);
    let found = world.all().await;
    assert_eq!(found.len(), 1);
    assert!(again.record(found[0].id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn days_go_with_their_partitions_and_what_stands_in_the_default_one_by_its_time() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    made_before(&world, 1..6);
    for age in [0, 1, 2, 3, 4, 5, 30, 40] {
        insert(&world, age, &format!("s{}", age / 3)).await;
    }
    assert_eq!(world.number("SELECT count(*) FROM records_default"), 2);
    let limits = RetentionLimits {
        days: Some(3),
        ..RetentionLimits::default()
    };
    let gone = world.store.enforce_retention(None, limits, now_ms()).await;
    let gone = gone.complete().unwrap().records();
    let left = world.all().await;
    let oldest = left.last().unwrap().created_at_ms;
    assert_eq!((gone, left.len()), (4, 4));
    assert!(oldest > now_ms() - 4 * DAY_MS);
    let names = world.database.query(NAMES);
    assert_eq!(
        names.split(' ').count(),
        8,
        "four days of the past, {names}"
    );
    for (table, rows) in [
        ("record_bodies", 4),
        ("record_types", 4),
        ("record_ledger", 4),
    ] {
        assert_eq!(
            world.number(&format!("SELECT count(*) FROM {table}")),
            rows,
            "{table}"
        );
    }
    let all = SessionFilter {
        limit: 10,
        ..SessionFilter::default()
    };
    let sessions = world.store.sessions(&all).await.unwrap();
    let counts = sessions
        .iter()
        .map(|one| (one.session_id.as_str(), one.messages));
    let counts: Vec<_> = counts.collect();
    assert_eq!(counts, [("s0", 3), ("s1", 1)]);
    let statistics = world
        .store
        .statistics(&StatisticsFilter::whole((0, i64::MAX)))
        .await
        .unwrap();
    assert_eq!(statistics.iter().map(|day| day.messages).sum::<u64>(), 8);
    // An exchange whose record is gone may come again.
    insert(&world, 5, "s1").await;
    assert_eq!(world.all().await.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn rows_and_bytes_go_by_whole_days_first_and_by_the_oldest_records_then() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    made_before(&world, 1..4);
    for age in [3, 3, 3, 2, 2, 2, 1, 1, 1, 0] {
        let mut record = world.record(None, &"x".repeat(10_000));
        record.created_at_ms = now_ms() - age * DAY_MS;
        world.store.insert(record).await.unwrap();
    }
    let enforce = async |rows, bytes| {
        let limits = RetentionLimits {
            days: None,
            rows,
            bytes,
            cost_days: None,
        };
        let gone = world.store.enforce_retention(None, limits, now_ms()).await;
        (gone.complete().unwrap().records(), world.all().await.len())
    };
    assert_eq!(enforce(Some(10), Some(1 << 20)).await, (0, 10));
    assert_eq!(enforce(Some(6), None).await, (4, 6));
    let names = world.database.query(NAMES);
    assert_eq!(names.split(' ').count(), 7, "one day dropped, {names}");
    assert_eq!(enforce(None, Some(35_000)).await, (3, 3));
    assert_eq!(enforce(Some(0), None).await, (3, 0));
    assert_eq!(enforce(Some(0), None).await, (0, 0));
    // Today's is never dropped: the next record has its place.
    insert(&world, 0, "a").await;
    assert_eq!(world.number("SELECT count(*) FROM records_default"), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_day_with_records_of_an_application_within_its_part_is_not_dropped_whole() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    made_before(&world, 1..4);
    let quiet = ApplicationId::random();
    let added = world
        .store
        .add_application(an_application(quiet), "test", None);
    added.await.unwrap();
    // The oldest day has records of the flooding application only, the next one also one of the other.
    for (age, count) in [(3, 3), (2, 3), (1, 3)] {
        for number in 0..count {
            insert(&world, age, &format!("s{number}-")).await;
        }
    }
    let mut record = world.record(None, "quiet");
    record.application_id = quiet;
    record.created_at_ms = now_ms() - 2 * DAY_MS;
    world.store.insert(record).await.unwrap();
    let limits = RetentionLimits {
        rows: Some(3),
        ..RetentionLimits::default()
    };
    let gone = world.store.enforce_retention(None, limits, now_ms()).await;
    let gone = gone.complete().unwrap();
    assert_eq!(gone.above_their_part, [(world.application, 7)].into());
    let left = world.all().await;
    let of_quiet = left.iter().filter(|one| one.application_id == quiet);
    assert_eq!((left.len(), of_quiet.count()), (3, 1));
    let names = world.database.query(NAMES);
    assert_eq!(names.split(' ').count(), 7, "one day dropped, {names}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_long_read_makes_a_drop_give_up_and_inserts_go_on() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    made_before(&world, 1..4);
    insert(&world, 3, "a").await;
    let reader = tokio::task::spawn_blocking({
        let database = world.database.clone();
        move || database.query("SELECT count(*), pg_sleep(4) FROM records")
    });
    let limits = RetentionLimits {
        days: Some(1),
        ..RetentionLimits::default()
    };
    let store = world.store.clone();
    let drop = tokio::spawn(async move { store.enforce_retention(None, limits, now_ms()).await });
    let mut slowest = Duration::ZERO;
    while !reader.is_finished() {
        let start = Instant::now();
        insert(&world, 0, "a").await;
        slowest = slowest.max(start.elapsed());
    }
    assert!(
        slowest < Duration::from_secs(2),
        "an insert took {slowest:?}"
    );
    assert_eq!(drop.await.unwrap().complete().unwrap().records(), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_removed_application_is_hidden_at_once_and_cleared_by_the_store_itself() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let other = ApplicationId::random();
    world
        .store
        .add_application(an_application(other), "test", None)
        .await
        .unwrap();
    for _ in 0..30 {
        insert(&world, 0, "a").await;
        let mut record = world.record(None, "other");
        record.application_id = other;
        world.store.insert(record).await.unwrap();
    }
    let removed = world
        .store
        .remove_application(world.application, 1, None)
        .await;
    assert!(matches!(removed.unwrap(), Changed::Done(_)));
    assert!(
        world
            .all()
            .await
            .iter()
            .all(|record| record.application_id == other)
    );
    let start = Instant::now();
    while world.number("SELECT count(*) FROM records") > 30
        || world.number("SELECT count(*) FROM sessions") > 1
    {
        assert!(start.elapsed() < support::PATIENCE, "never cleared");
    }
    let late = world.store.insert(world.record(None, "late")).await;
    assert!(late.is_err());
}
