//! The database fails and recovers (CONTRACT 27: 503; no acknowledged record is lost).

use super::world::{World, a_record};
use monitor_store::{ApplicationStore, RecordStore, StoreEngine, StoreError};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::postgres::Postgres;

/// Longer than any bound of the store.
const BOUNDED: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs PostgreSQL"]
async fn a_server_killed_under_inserts_loses_no_acknowledged_record() {
    let mut server = Postgres::start();
    // Killed, not only stopped: what is acknowledged has to be in the log by then.
    tokio::task::block_in_place(|| server.restart_with(&["fsync=on".to_owned()]));
    let world = World::new(&server).await;
    let ended = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for _ in 0..8 {
        let (store, ended) = (world.store.clone(), ended.clone());
        let application = world.application;
        writers.push(tokio::spawn(async move {
            let (mut kept, mut failed) = (Vec::new(), 0);
            while !ended.load(Ordering::Relaxed) {
                let start = Instant::now();
                match store.insert(a_record(application, None, "text")).await {
                    Ok(answer) => kept.push(answer.request_id),
                    Err(StoreError::Unavailable(_)) => failed += 1,
                    Err(error) => panic!("{error}"),
                }
                assert!(
                    start.elapsed() < BOUNDED,
                    "an insert took {:?}",
                    start.elapsed()
                );
            }
            (kept, failed)
        }));
    }
    for _ in 0..2 {
        keep_some(&world).await;
        tokio::task::block_in_place(|| server.crash());
        assert!(matches!(
            world.store.insert(world.record(None, "down")).await,
            Err(StoreError::Unavailable(_))
        ));
        assert!(world.store.first_application().await.is_err());
        tokio::task::block_in_place(|| server.start_again());
    }
    keep_some(&world).await;
    ended.store(true, Ordering::Relaxed);
    let mut acknowledged = HashSet::new();
    let mut failures = 0;
    for writer in writers {
        let (kept, failed) = writer.await.unwrap();
        acknowledged.extend(kept);
        failures += failed;
    }
    assert!(failures > 0, "the outage was seen");
    let stored: HashSet<_> = world.all().await.iter().map(|record| record.id).collect();
    let lost = acknowledged.difference(&stored).count();
    assert_eq!(lost, 0, "of {} acknowledged", acknowledged.len());
}

/// Waits until the store keeps records again, by itself.
async fn keep_some(world: &World) {
    let start = Instant::now();
    let mut kept = 0;
    while kept < 100 {
        match world.store.insert(world.record(None, "text")).await {
            Ok(_) => kept += 1,
            Err(error) => assert!(start.elapsed() < BOUNDED, "never again: {error}"),
        }
    }
    assert!(world.store.first_application().await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn every_acknowledgement_is_durable_whatever_the_databases_default() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    tokio::task::block_in_place(|| {
        let name = &world.database.name;
        world.database.execute(&format!(
            "ALTER DATABASE {name} SET synchronous_commit = off"
        ));
    });
    let store = super::world::open(&world.database).await;
    store.insert(world.record(None, "text")).await.unwrap();
    // The log is on disk up to the end of what was written, without waiting for anybody.
    let behind =
        world.number("SELECT (pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn())::bigint");
    assert!(behind < 8_192, "{behind} bytes of the log are not on disk");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_database_that_is_not_there_is_said_within_seconds() {
    let mut server = Postgres::start();
    let database = tokio::task::block_in_place(|| {
        let database = server.empty_database();
        server.stop();
        database
    });
    let start = Instant::now();
    let opened = monitor_store::PostgresStore::open(&database.settings()).await;
    assert!(matches!(opened, Err(StoreError::Unavailable(_))));
    assert!(start.elapsed() < BOUNDED);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn closing_writes_what_is_queued_and_refuses_what_comes_later() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let mut tasks = Vec::new();
    for _ in 0..300 {
        let (store, record) = (world.store.clone(), world.record(None, "text"));
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    tokio::task::yield_now().await;
    world.store.close().await;
    let mut kept = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => kept += 1,
            Err(error) => assert!(matches!(error, StoreError::Closed), "{error}"),
        }
    }
    let late = world.store.insert(world.record(None, "late")).await;
    assert!(matches!(late, Err(StoreError::Closed)));
    assert!(matches!(
        world.store.first_application().await,
        Err(StoreError::Closed)
    ));
    assert_eq!(world.number("SELECT count(*) FROM records"), kept);
}
