//! A transaction that SQLite rolls back by itself. A bound on the pages of the file stands in for a full disk.

#![allow(clippy::unwrap_used)]

use crate::records::NewRecord;
use crate::sqlite::SqliteStore;
use crate::{ApplicationStore, RecordStore, StoreEngine, StoreError};
use monitor_model::{AnalysisResponse, ApplicationId, RecordId, Stage};
use serde_json::json;
use sqlx::SqliteConnection;
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
        let added = world.store.add_application(application, "test").await;
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
            blocked: false,
            message: None,
            additional_parameters: serde_json::Map::new(),
            chain: None,
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
