//! The way back to version 4.1.0, the last release: its schema is 11, and its program reads every value. What it reads is
//! written down here as its source had it (its migrations are the first eleven, which never change).

use super::month::fill;
use super::picture::Picture;
use super::{arg, monitor};
use monitor_model::{ApplicationId, Policy, Warning, WarningCode};
use monitor_store::{
    ApplicationChange, ApplicationStore as _, NewRecord, RecordStore as _, SqliteStore,
    StoreEngine as _, VersionLimits,
};
use serde_json::{Map, Value, json};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::bed::add_application;
use support::postgres::Postgres;
use support::stack::Folder;
use tokio::runtime::Runtime;

/// The schema of 4.1.0.
const SCHEMA: usize = 11;
/// The fields of a policy that 4.1.0 knows; it reports a policy with another one as unreadable.
const POLICY_FIELDS: [&str; 10] = [
    "app_mode",
    "phrase",
    "block_on",
    "on_backend_failure",
    "replace_response",
    "scan_roles",
    "stream_in_sync",
    "redact_upstream",
    "local_patterns",
    "limits",
];
const ROLES: [&str; 5] = ["last_user", "all_user", "system", "assistant", "tool"];

/// A store with what later versions have, and an archive of it.
struct World {
    runtime: Runtime,
    folder: Arc<Folder>,
    data: PathBuf,
    archive: PathBuf,
}

impl World {
    fn new() -> Self {
        let (runtime, folder) = (Runtime::new().unwrap(), Folder::new());
        let data = folder.path().join("data");
        runtime.block_on(async {
            fill(&data).await;
            let store = SqliteStore::open(&data.join("monitor.db")).await.unwrap();
            let application = later_policies(&store).await;
            later_record(&store, application).await;
            store.close().await;
            // What the removed application left is not counted.
            Picture::of_folder(&data).await;
        });
        let archive = folder.path().join("backup");
        monitor(&["backup", arg(&archive)], &data, None).done();
        Self {
            runtime,
            folder,
            data,
            archive,
        }
    }

    /// How many rows a table of the original has.
    fn rows(&self, table: &str) -> i64 {
        self.runtime.block_on(async {
            let mut connection = open(&self.data.join("monitor.db")).await;
            count(&mut connection, table).await
        })
    }
}

async fn later_policies(store: &SqliteStore) -> ApplicationId {
    let policies = [
        json!({"app_mode": "sync", "phrase": "No.", "scan_roles": ["user_turn", "tool"], "stream_in_sync": "replay",
            "block_details": "header", "check_tool_arguments": false}),
        json!({"app_mode": "sync", "phrase": "No.", "scan_roles": ["all_user", "user_turn"]}),
    ];
    let mut ids = Vec::new();
    for policy in policies {
        let id = add_application(store, "later").await;
        let change = ApplicationChange {
            id,
            expected_version: 1,
            name: "later".to_owned(),
            description: String::new(),
            rules: json!({}),
            policy: Some(Policy::from_value(&policy).unwrap()),
            changed_at_ms: 1,
            changed_by: "who".to_owned(),
            keep: VersionLimits::default(),
        };
        store.change_application(change, None).await.unwrap();
        ids.push(id);
    }
    ids[0]
}

async fn later_record(store: &SqliteStore, application_id: ApplicationId) {
    let mut record = NewRecord {
        application_id,
        created_at_ms: 1_700_000_000_000,
        ..super::month::a_record(0, 2)
    };
    record.answer.warnings = vec![Warning::new(WarningCode::Other, "said")];
    store.insert(record).await.unwrap();
}

async fn open(file: &Path) -> SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    options.connect().await.unwrap()
}

async fn count(connection: &mut SqliteConnection, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

/// Every table, index, trigger and view, as its statement.
async fn shape(connection: &mut SqliteConnection) -> Vec<(String, String)> {
    let sql = "SELECT type || ' ' || name AS name, coalesce(sql, '') AS sql FROM sqlite_master
        WHERE name NOT LIKE 'sqlite_stat%' AND name <> 'schema_version' ORDER BY 1";
    let rows = sqlx::query(sql).fetch_all(connection).await.unwrap();
    rows.iter()
        .map(|row| (row.get("name"), row.get("sql")))
        .collect()
}

/// The statements of the migrations up to 4.1.0.
fn migrations(engine: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("crates/store/src")
        .join(engine);
    let files = std::fs::read_dir(folder.join("migrations")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let texts = files.iter().take(SCHEMA).map(std::fs::read_to_string);
    texts.collect::<Result<_, _>>().unwrap()
}

async fn column(connection: &mut SqliteConnection, sql: &'static str) -> Vec<Value> {
    let texts: Vec<String> = sqlx::query_scalar(sql).fetch_all(connection).await.unwrap();
    texts
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect()
}

/// What 4.1.0 refuses to read in a policy.
fn assert_policy(policy: &Value) {
    let fields: &Map<String, Value> = policy.as_object().unwrap();
    assert!(
        fields.keys().all(|key| POLICY_FIELDS.contains(&&**key)),
        "{policy}"
    );
    let stream = policy["stream_in_sync"].as_str().unwrap_or("off");
    assert!(["off", "hold_back"].contains(&stream), "{policy}");
    let roles = policy["scan_roles"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    assert!(
        roles
            .iter()
            .all(|role| ROLES.contains(&role.as_str().unwrap())),
        "{policy}"
    );
    let is_unique = (0..roles.len()).all(|at| !roles[..at].contains(&roles[at]));
    assert!(is_unique, "{policy}");
}

#[test]
fn a_restore_into_schema_11_is_what_version_4_1_0_reads() {
    let world = World::new();
    let target = world.folder.path().join("target");
    let args = ["restore", arg(&world.archive), "--schema", "11"];
    monitor(&args, &target, None).done();
    let records = world.rows("records");
    world.runtime.block_on(async {
        let mut old = open(&target.join("monitor.db")).await;
        let mut made = SqliteConnection::connect(":memory:").await.unwrap();
        for sql in migrations("sqlite") {
            let sql = sqlx::AssertSqlSafe(sql);
            sqlx::raw_sql(sql).execute(&mut made).await.unwrap();
        }
        assert_eq!(shape(&mut old).await, shape(&mut made).await);
        let version = sqlx::query_scalar("SELECT max(version) FROM schema_version");
        let version: i64 = version.fetch_one(&mut old).await.unwrap();
        assert_eq!(version, SCHEMA as i64);
        // All constraints of the schema, which the restore did not have checked.
        let checked = sqlx::query_scalar("PRAGMA integrity_check");
        let checked: String = checked.fetch_one(&mut old).await.unwrap();
        assert_eq!(checked, "ok");
        let foreign = sqlx::query("PRAGMA foreign_key_check")
            .fetch_all(&mut old)
            .await;
        assert!(foreign.unwrap().is_empty());
        assert_eq!(count(&mut old, "records").await, records);
        let policies = column(
            &mut old,
            "SELECT policy FROM applications WHERE policy NOTNULL",
        )
        .await;
        let kept = column(
            &mut old,
            "SELECT policy FROM application_versions WHERE policy NOTNULL",
        )
        .await;
        assert!(policies.len() >= 3, "{}", policies.len());
        policies.iter().chain(&kept).for_each(assert_policy);
        let turn = policies
            .iter()
            .filter(|policy| policy["scan_roles"] == json!(["all_user", "tool"]));
        assert_eq!(turn.count(), 1, "user_turn");
        let answers = column(&mut old, "SELECT answer FROM record_bodies").await;
        let warnings = answers
            .iter()
            .flat_map(|answer| answer["warnings"].as_array().unwrap());
        let warnings: Vec<_> = warnings.collect();
        assert_eq!(warnings, [&json!("said")]);
        old.close().await.unwrap();
    });
    // And forward again.
    let now = SqliteStore::SCHEMA;
    let said = monitor(&["migrate"], &target, None).done();
    assert_eq!(said, format!("schema version {SCHEMA} -> {now}\n"));
    monitor(&["token", "list"], &target, None).done();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_restore_into_schema_11_of_postgresql_is_what_version_4_1_0_reads() {
    let world = World::new();
    let server = Postgres::shared();
    let [restored, made] = [0, 1].map(|_| server.empty_database());
    let target = world.folder.path().join("target");
    let args = ["restore", arg(&world.archive), "--schema", "11"];
    monitor(&args, &target, Some(&restored)).done();
    migrations("postgres")
        .iter()
        .for_each(|sql| made.execute(sql));
    // Days have partitions of their own.
    let shape = "SELECT string_agg(t, E'\\n' ORDER BY t) FROM (
        SELECT format('%s.%s %s', table_name, column_name, data_type) AS t FROM information_schema.columns
            WHERE table_schema = 'public' AND table_name !~ '_[0-9]+$' AND table_name <> 'schema_version'
        UNION ALL SELECT format('%s %s', conname, replace(pg_get_constraintdef(oid), ' NOT VALID', ''))
            FROM pg_constraint WHERE conrelid = 'applications'::regclass) AS shape";
    assert_eq!(restored.query(shape), made.query(shape));
    assert_eq!(
        restored.query("SELECT max(version) FROM schema_version"),
        "11"
    );
    assert_eq!(
        restored.query("SELECT count(*) FROM records"),
        world.rows("records").to_string()
    );
    let objects = "SELECT count(*) FROM record_bodies WHERE answer::text LIKE '%\"warnings\":[{%'";
    assert_eq!(restored.query(objects), "0");
    let turns = "SELECT count(*) FROM applications WHERE policy -> 'scan_roles' = '[\"all_user\", \"tool\"]'";
    assert_eq!(restored.query(turns), "1");
    let now = monitor_store::PostgresStore::SCHEMA;
    let said = monitor(&["migrate"], &target, Some(&restored)).done();
    assert_eq!(said, format!("schema version {SCHEMA} -> {now}\n"));
}
