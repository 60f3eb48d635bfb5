//! A transaction that SQLite rolls back by itself: a bound on the pages of the file stands in for a full disk. What
//! shares a transaction.

#![allow(clippy::unwrap_used)]

use super::{BATCH, Job, gather, pending};
use crate::records::NewRecord;
use crate::sqlite::SqliteStore;
use crate::{ApplicationStore, RecordStore, StoreEngine, StoreError};
use monitor_model::{AnalysisResponse, ApplicationId, RecordId, Stage};
use serde_json::json;
use sqlx::SqliteConnection;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// Longer than what the last page of a file has left.
const LONG: &str = "INSERT INTO notes VALUES (hex(zeroblob(1048576)))";
const SHORT: &str = "INSERT INTO notes VALUES ('short')";
const KEPT: &str = "SELECT (SELECT count(*) FROM notes) + (SELECT count(*) FROM records)";

struct World {
    store: SqliteStore,
    application: ApplicationId,
    _folder: tempfile::TempDir,
}

impl World {
    /// Its file has room for short texts only.
    async fn full() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("a.db")).await;
        let world = Self {
            store: store.unwrap(),
            application: ApplicationId::random(),
            _folder: folder,
        };
        let application = crate::Application {
            id: world.application,
            name: "bot".to_owned(),
            description: String::new(),
            created_at_ms: 0,
            updated_at_ms: 0,
            version: 1,
            policy: None,
            rules: json!({}),
        };
        let added = world.store.add_application(application, "test", None).await;
        added.unwrap();
        for setup in [
            "CREATE TABLE notes (text TEXT)",
            // The least that can be set is the size that the file has.
            "PRAGMA max_page_count = 1",
        ] {
            world.write(setup).await.unwrap();
        }
        world
    }

    async fn write(&self, sql: &'static str) -> Result<(), StoreError> {
        let writer = &self.store.writer;
        writer
            .write(move |connection| Box::pin(execute(connection, sql)))
            .await
    }

    fn record(&self) -> NewRecord {
        let answer = json!({
            "request_id": Uuid::new_v4(), "schema_version": "2.0.0", "status": "success", "errors": [],
            "tokens": {"count": 2, "usage_severity": null}, "guardrails": {"flagged": false},
            "custom_policy": {"flagged": false}, "timings": {"total_us": 4},
            "dataclean": {"flagged": false, "cleaned_text": null, "types": []},
        });
        NewRecord {
            application_id: self.application,
            stage: Stage::PreCall,
            exchange_id: None,
            tool: None,
            user_id: None,
            session_id: None,
            created_at_ms: 0,
            rules_version: None,
            inline_rules: None,
            tool_parts: monitor_model::CheckedParts::default(),
            blocked: false,
            unchecked: false,
            found_values: Vec::new(),
            message: None,
            additional_parameters: serde_json::Map::new(),
            chain: None,
            cost: None,
            call: None,
            token: None,
            answer: serde_json::from_value::<AnalysisResponse>(answer).unwrap(),
        }
    }

    async fn kept(&self) -> i64 {
        let kept = sqlx::query_scalar(KEPT).fetch_one(&self.store.readers);
        kept.await.unwrap()
    }
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), StoreError> {
    sqlx::query(sql).execute(connection).await?;
    Ok(())
}

#[tokio::test]
async fn what_is_answered_as_failed_is_not_kept() {
    let world = World::full().await;
    // Queued before the writer's task runs: one batch.
    let (long, short, record) = tokio::join!(
        world.write(LONG),
        world.write(SHORT),
        world.store.insert(world.record())
    );
    let full = |outcome: Result<(), StoreError>| match outcome {
        Err(StoreError::Unavailable(reason)) => reason.contains("full"),
        _ => false,
    };
    assert_eq!(world.kept().await, 0);
    assert!(full(long) && full(short) && full(record.map(drop)));
    // The connection was replaced by one without the bound.
    world.write(LONG).await.unwrap();
    let record = world.record();
    let id: RecordId = record.answer.request_id;
    assert_eq!(world.store.insert(record).await.unwrap().request_id, id);
    assert_eq!(world.kept().await, 2);
    world.store.close().await;
}

#[tokio::test]
async fn a_statement_behind_a_rollback_that_nobody_noticed_is_not_kept_either() {
    let world = World::full().await;
    let unnoticed = world.store.writer.write(|connection| {
        Box::pin(async move {
            assert!(execute(connection, LONG).await.is_err());
            execute(connection, SHORT).await
        })
    });
    assert!(unnoticed.await.is_err());
    assert_eq!(world.kept().await, 0);
    world.write(SHORT).await.unwrap();
    assert_eq!(world.kept().await, 1);
    world.store.close().await;
}

#[tokio::test]
async fn a_batch_says_of_each_record_whether_it_is_new() {
    let world = World::full().await;
    // The connection is replaced by one without the bound.
    assert!(world.write(LONG).await.is_err());
    let record = |exchange: &str| NewRecord {
        exchange_id: Some(exchange.to_owned()),
        ..world.record()
    };
    let earlier = record("b");
    let id = earlier.answer.request_id;
    world.store.insert(earlier).await.unwrap();
    // More than the largest statement has rows; queued before the writer's task runs, they are one batch.
    let exchanges: Vec<String> = (0..90).map(|number| number.to_string()).collect();
    let mut names: Vec<&str> = exchanges.iter().map(String::as_str).collect();
    names.splice(40..40, ["b", "7", "c"]);
    let records: Vec<NewRecord> = names.iter().map(|name| record(name)).collect();
    let ids: Vec<RecordId> = records.iter().map(|one| one.answer.request_id).collect();
    let inserted = records.into_iter().map(|record| world.store.insert(record));
    let inserted = futures_util::future::join_all(inserted).await;
    for (at, (name, answer)) in names.iter().zip(inserted).enumerate() {
        let expected = match (*name, at) {
            ("b", _) => id,
            ("7", 41) => ids[7],
            _ => ids[at],
        };
        assert_eq!(answer.unwrap().request_id, expected, "{name} at {at}");
    }
    assert_eq!(world.kept().await, 1 + 90 + 1);
    world.store.close().await;
}

fn unawaited() -> Job {
    Job::unawaited(pending(|connection| Box::pin(execute(connection, SHORT))).0)
}

fn awaited() -> Job {
    Job::awaited(pending(|connection| Box::pin(execute(connection, SHORT))).0)
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_shares_a_transaction_with_what_comes_within_fifty_milliseconds() {
    let (jobs, mut queue) = mpsc::channel(BATCH);
    let later = async {
        for _ in 0..4 {
            sleep(Duration::from_millis(20)).await;
            jobs.send(unawaited()).await.map_err(drop).unwrap();
        }
    };
    let began = Instant::now();
    let mut gathered = vec![unawaited()];
    let (gathered_at, ()) = tokio::join!(
        async {
            gather(&mut gathered, &mut queue).await;
            began.elapsed().as_millis()
        },
        later
    );
    // Those of 20 and 40 ms; that of 60 ms is the next batch's.
    assert_eq!(gathered.len(), 3);
    assert!((50..60).contains(&gathered_at), "{gathered_at}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_somebody_waits_for_and_a_whole_batch_gather_no_longer() {
    let began = Instant::now();
    let (jobs, mut queue) = mpsc::channel(2 * BATCH);
    jobs.send(awaited()).await.map_err(drop).unwrap();
    let mut gathered = vec![unawaited()];
    gather(&mut gathered, &mut queue).await;
    assert_eq!(gathered.len(), 2);
    for _ in 0..2 * BATCH {
        jobs.send(unawaited()).await.map_err(drop).unwrap();
    }
    let mut gathered = vec![unawaited()];
    gather(&mut gathered, &mut queue).await;
    assert_eq!(gathered.len(), BATCH);
    assert_eq!(began.elapsed(), Duration::ZERO);
}
