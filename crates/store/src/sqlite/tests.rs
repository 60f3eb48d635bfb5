//! What is specific to this engine: its file, its schema, and the `plans` of its queries. What every engine has to
//! do is tested by the contract in `tests/store`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod plans;

use super::{SqliteStore, migrate};
use crate::{
    ApplicationStore, RecordFilter, RecordRemoval, RecordStore, RetentionLimits, SessionFilter,
    StatisticsFilter, StatisticsStore, StoreEngine, StoreError, TokenStore,
};
use monitor_model::{ApplicationId, TypeCount};
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use uuid::Uuid;

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("a.db")
    }

    async fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.file()).await.unwrap()
    }

    async fn connection(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.file());
        let options = options.create_if_missing(true).foreign_keys(false);
        options.connect().await.unwrap()
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_in_plain_words() {
    let world = World::new();
    world.store().await.close().await;
    let mut connection = world.connection().await;
    sqlx::query("INSERT INTO schema_version (version) VALUES (99)")
        .execute(&mut connection)
        .await
        .unwrap();
    let error = SqliteStore::open(&world.file()).await.err().unwrap();
    assert!(
        matches!(error, StoreError::NewerSchema { found: 99, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_newer_schema_that_this_version_can_use_is_used() {
    let world = World::new();
    world.store().await.close().await;
    let mut connection = world.connection().await;
    sqlx::query("INSERT INTO schema_version (version, readable_from) VALUES (99, ?1)")
        .bind(SqliteStore::SCHEMA)
        .execute(&mut connection)
        .await
        .unwrap();
    let store = world.store().await;
    assert_eq!(store.facts().await.unwrap().schema, 99);
    assert_eq!((store.migrated().from, store.migrated().to), (99, 99));
    store.close().await;
}

#[tokio::test]
async fn every_file_of_the_store_is_for_its_owner_only() {
    let world = World::new();
    let store = world.store().await;
    let mut modes = Vec::new();
    for entry in std::fs::read_dir(world.folder.path()).unwrap() {
        modes.push(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777);
    }
    // The database, its log and the log's index.
    assert_eq!(modes, [0o600; 3]);
    store.close().await;
}

const OWN: ApplicationId = ApplicationId(Uuid::from_u128(1));

/// An application, a token and 3,000 records as the version before the whole analysis API wrote them.
const EARLIER_CONTENT: &str = r#"
    INSERT INTO applications (id, name, description, created_at_ms, rules_version, rules)
    VALUES (x'00000000000000000000000000000001', 'old', 'about', 5, 1, '{"keep_original":true}');
    INSERT INTO tokens (id, name, hash, scopes, application_id, created_at_ms)
    VALUES (x'00000000000000000000000000000002', 't', x'07', 1,
            x'00000000000000000000000000000001', 6);
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
    INSERT INTO records (id, application_id, stage, exchange_id, user_id, session_id, created_at_ms,
        rules_version, status, flagged_guardrails, flagged_custom_policy, flagged_dataclean,
        token_count, severity, types, failed, incomplete)
    SELECT randomblob(16), x'00000000000000000000000000000001', iif(n % 2, 'pre', 'post'), 'x' || (n / 2),
        iif(n % 4, 'u' || (n % 10), NULL), iif(n % 3, 's' || (n / 100), NULL), 86400000 * (n / 1000) - 1,
        1, 'success', 0, 0, n % 5 = 0, 2, NULL,
        iif(n % 5 = 0, '[{"type":"IP","count":2}]', '[]'), n % 7 = 0, 0
    FROM numbers;
    INSERT INTO record_bodies
    SELECT seq, 'message ' || seq, 'cleaned ' || seq || char(0) || 'end', '[]', '{"n":' || seq || '}', '{
        "request_id":"00000000-0000-0000-0000-000000000009","schema_version":"2.0.0","status":"success",
        "errors":[],"tokens":{"count":2,"usage_severity":null},"guardrails":{"flagged":false},
        "custom_policy":{"flagged":false},"timings":{"total_us":4},
        "dataclean":{"flagged":false,"cleaned_text":null,"types":[]}}'
    FROM records;
"#;

async fn earlier_database(world: &World) {
    let mut connection = world.connection().await;
    let earlier = &migrate::MIGRATIONS[..3];
    migrate::apply(&mut connection, earlier).await.unwrap();
    sqlx::raw_sql(EARLIER_CONTENT)
        .execute(&mut connection)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_database_of_the_previous_schema_keeps_everything() {
    let world = World::new();
    earlier_database(&world).await;
    let store = world.store().await;
    let application = store.first_application().await.unwrap().unwrap();
    assert_eq!((application.id, &*application.name), (OWN, "old"));
    assert_eq!((application.updated_at_ms, application.version), (5, 1));
    assert_eq!(application.rules, json!({"keep_original": true}));
    assert!(store.has_tokens().await.unwrap());
    let tokens = store.tokens(Some(OWN), None, 9).await.unwrap();
    assert_eq!(tokens.len(), 1);
    let everything = RecordFilter {
        limit: 5000,
        ..RecordFilter::default()
    };
    let records = store.whole_page(&everything).await.unwrap().records;
    assert_eq!(records.len(), 3000);
    for (place, record) in (1..=3000).rev().zip(&records) {
        assert_eq!(record.summary.seq, place);
        assert_eq!(record.message, Some(format!("message {place}")));
        let cleaned = format!("cleaned {place}\0end");
        assert_eq!(record.answer.dataclean.cleaned_text, Some(cleaned.into()));
        assert_eq!(record.additional_parameters["n"], place);
        assert_eq!(record.summary.rules_version, Some(1));
        assert_eq!(
            (record.summary.total_us, record.summary.blocked),
            (4, false)
        );
    }
    check_derived(&store).await;
    store.close().await;
    // A second start has nothing to do.
    world.store().await.close().await;
}

#[tokio::test]
async fn traffic_of_the_last_month_is_counted_from_the_records_of_a_previous_schema() {
    let world = World::new();
    earlier_database(&world).await;
    let mut connection = world.connection().await;
    let now_hour = "unixepoch() / 3600 * 3600000";
    let place =
        format!("UPDATE records SET created_at_ms = {now_hour} - 3600000 * (seq % 40 * 24)");
    sqlx::raw_sql(AssertSqlSafe(place))
        .execute(&mut connection)
        .await
        .unwrap();
    drop(connection);
    let store = world.store().await;
    for application in [None, Some(OWN)] {
        let hours = store.traffic(application, (0, i64::MAX)).await.unwrap();
        let messages: u64 = hours.iter().map(|hour| hour.prompts + hour.answers).sum();
        let tokens: u64 = hours.iter().map(|hour| hour.tokens).sum();
        // Of forty days the last 32 and the hour that runs.
        assert_eq!((hours.len(), messages, tokens), (32, 2400, 4800));
        let types = store.traffic_types(application, (0, i64::MAX), 9).await;
        let finds: u64 = types.unwrap().iter().map(count).sum();
        assert_eq!(finds, 1050);
    }
    store.close().await;
}

/// What the previous schema did not have was computed from its records.
async fn check_derived(store: &SqliteStore) {
    let sessions = SessionFilter {
        limit: 99,
        ..SessionFilter::default()
    };
    let sessions = store.sessions(&sessions).await.unwrap();
    assert_eq!(sessions.len(), 30);
    let messages: u64 = sessions.iter().map(|session| session.messages).sum();
    assert_eq!(messages, 2000);
    assert!(sessions.iter().all(|session| session.user_id.is_some()));
    let own = StatisticsFilter {
        application_id: Some(OWN),
        ..StatisticsFilter::whole((-1, 9))
    };
    let days = store.statistics(&own).await.unwrap();
    let counted: Vec<_> = days.iter().map(|day| (day.day, day.messages)).collect();
    let expected = [
        (-1, 499),
        (-1, 500),
        (0, 500),
        (0, 500),
        (1, 500),
        (1, 500),
        (2, 1),
    ];
    let mut counted = counted;
    counted.sort_unstable();
    assert_eq!(counted, expected);
    let types: u64 = days.iter().flat_map(|day| &day.types).map(count).sum();
    assert_eq!(types, 1200);
    let of_kind = RecordFilter {
        kind: Some("IP".to_owned()),
        to_ms: Some(86_400_000 - 1),
        limit: 999,
        ..RecordFilter::default()
    };
    let page = store.page(&of_kind).await.unwrap();
    assert_eq!(page.records.len(), 199);
    let rows = RetentionLimits {
        rows: Some(10),
        ..RetentionLimits::default()
    };
    let gone = store
        .enforce_retention(None, rows, 0)
        .await
        .complete()
        .unwrap();
    assert_eq!(gone.records(), 2990);
}

#[tokio::test]
async fn a_run_that_fails_says_what_it_had_removed() {
    let world = World::new();
    earlier_database(&world).await;
    let store = world.store().await;
    let mut connection = world.connection().await;
    sqlx::raw_sql(
        "CREATE TRIGGER refuse BEFORE DELETE ON records WHEN OLD.seq = (SELECT max(seq) FROM records)
         BEGIN SELECT RAISE(ABORT, 'refused'); END",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    let stored = store.stored_amount().await.unwrap().records;
    let none = RetentionLimits {
        rows: Some(0),
        ..RetentionLimits::default()
    };
    let gone = store.enforce_retention(None, none, 0).await;
    assert!(gone.failure.is_some());
    let left = store.stored_amount().await.unwrap().records;
    assert!((1..=500).contains(&left), "{left}");
    assert_eq!(gone.removed.by_rows, stored - left);
    let above: u64 = gone.removed.above_their_part.values().sum();
    assert_eq!(above, stored - left);
    store.close().await;
}

fn count(kind: &TypeCount) -> u64 {
    kind.count
}

#[tokio::test]
async fn room_that_stays_free_is_given_back() {
    let first = World::new();
    let new = first.store().await;
    let way: i64 = number(&new, "PRAGMA auto_vacuum").await;
    assert_eq!(way, 2, "a new file gives room back step by step");
    let pages_of_none = number(&new, "PRAGMA page_count").await;
    new.close().await;
    let world = World::new();
    earlier_database(&world).await;
    let mut connection = world.connection().await;
    // What a new file has from the start.
    sqlx::raw_sql("PRAGMA auto_vacuum = 2; VACUUM")
        .execute(&mut connection)
        .await
        .unwrap();
    drop(connection);
    let store = world.store().await;
    let none = RetentionLimits {
        rows: Some(0),
        ..RetentionLimits::default()
    };
    store
        .enforce_retention(None, none, 0)
        .await
        .complete()
        .unwrap();
    let free = number(&store, "PRAGMA freelist_count").await;
    let pages = number(&store, "PRAGMA page_count").await;
    assert!(
        free * 10 <= pages && pages < pages_of_none + 20,
        "{free} of {pages} pages are free; a store without records has {pages_of_none}"
    );
    store.close().await;
}

async fn number(store: &SqliteStore, sql: &'static str) -> i64 {
    let number = sqlx::query_scalar(sql).fetch_one(&store.readers).await;
    number.unwrap()
}
