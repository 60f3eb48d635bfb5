//! A database of the previous schema keeps its content through a migration, including rows that would be
//! refused now, which the program reports instead.

use super::world::new_id;
use monitor_model::StoredPolicy;
use monitor_store::{ApplicationPolicyStore, SqliteStore, StoreEngine};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};
use support::postgres::Postgres;
use support::stack::Folder;

/// Policies of the schema before; the last one is a contradiction now.
const BEFORE: [Option<&str>; 4] = [
    Some(r#"{"app_mode": "sync", "phrase": "No \"é\" – нет."}"#),
    None,
    Some(r#"{"app_mode": "async", "redact_upstream": true, "scan_roles": ["tool", "last_user"]}"#),
    Some(
        r#"{"phrase": "x", "app_mode": "sync", "block_on": {"dataclean": false}, "stream_in_sync": "hold_back"}"#,
    ),
];

fn sql(path: &str) -> String {
    let path = format!("{}/crates/store/src/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[track_caller]
fn assert_reported(policies: &[StoredPolicy]) {
    assert_eq!(policies.len(), 3);
    let problems: Vec<String> = policies
        .iter()
        .filter_map(|stored| stored.policy.as_ref().err())
        .map(ToString::to_string)
        .collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("hold_back needs block_on.dataclean"));
}

#[tokio::test]
async fn a_sqlite_file_of_the_schema_before_keeps_rows_triggers_and_references() {
    let folder = Folder::new();
    let file = folder.path().join("monitor.db");
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .foreign_keys(true);
    let mut database = options
        .clone()
        .create_if_missing(true)
        .connect()
        .await
        .unwrap();
    let mut schema = "CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT;".to_owned();
    for name in ["0001_first.sql", "0002_policies.sql"] {
        schema += &sql(&format!("sqlite/migrations/{name}"));
    }
    schema += "INSERT INTO schema_version VALUES (1), (2);";
    sqlx::raw_sql(sqlx::AssertSqlSafe(schema))
        .execute(&mut database)
        .await
        .unwrap();
    for (place, policy) in (1_u8..).zip(BEFORE) {
        let insert = "INSERT INTO applications (id, name, description, created_at_ms, rules_version, \
                      rules, policy) VALUES (?1, 'a', 'd', 7, 3, '{\"r\":1}', ?2)";
        let id = vec![place; 16];
        sqlx::query(insert)
            .bind(&id)
            .bind(policy)
            .execute(&mut database)
            .await
            .unwrap();
        let token = "INSERT INTO tokens (id, name, hash, scopes, application_id, created_at_ms) \
                     VALUES (?1, 't', ?1, 1, ?1, 0)";
        sqlx::query(token)
            .bind(&id)
            .execute(&mut database)
            .await
            .unwrap();
    }
    sqlx::query("UPDATE applications SET policy = policy || ' ' WHERE seq = 1")
        .execute(&mut database)
        .await
        .unwrap();
    let all = "SELECT seq, hex(id) || name || description || created_at_ms || rules_version || rules \
               || coalesce(policy, '-') || policy_version || policy_updated_at_ms FROM applications ORDER BY seq";
    let rows = |rows: Vec<sqlx::sqlite::SqliteRow>| -> Vec<(i64, String)> {
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let before = rows(sqlx::query(all).fetch_all(&mut database).await.unwrap());
    drop(database);

    let store = SqliteStore::open(&file).await.unwrap();
    assert_reported(&store.policies().await.unwrap());
    assert_eq!(
        store.policy_changes().await.unwrap(),
        4,
        "no change was made up"
    );
    store.close().await;
    let mut database = options.connect().await.unwrap();
    assert_eq!(
        rows(sqlx::query(all).fetch_all(&mut database).await.unwrap()),
        before
    );
    let broken = sqlx::query("PRAGMA foreign_key_check")
        .fetch_all(&mut database)
        .await
        .unwrap();
    assert!(broken.is_empty());
    let gone = sqlx::query("DELETE FROM applications WHERE seq = 2")
        .execute(&mut database)
        .await;
    assert!(
        gone.unwrap_err().to_string().contains("FOREIGN KEY"),
        "tokens still refer to it"
    );
    sqlx::query("UPDATE applications SET name = 'b'")
        .execute(&mut database)
        .await
        .unwrap();
    sqlx::query("UPDATE applications SET policy = NULL WHERE seq = 4")
        .execute(&mut database)
        .await
        .unwrap();
    let count: i64 = sqlx::query_scalar("SELECT count FROM policy_changes")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert_eq!(count, 4 + 3 + 1, "every trigger is at its place");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_postgresql_database_of_the_schema_before_keeps_rows_triggers_and_rights() {
    let server = Postgres::shared();
    let database = server.empty_database();
    database.execute("CREATE TABLE schema_version (version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())");
    database.execute(&sql("postgres/migrations/0001_first.sql"));
    database.execute("INSERT INTO schema_version (version) VALUES (1)");
    database.execute("GRANT SELECT ON gateway_policies TO gateway");
    let ids = BEFORE.map(|_| new_id());
    for (id, policy) in ids.iter().zip(BEFORE) {
        match policy {
            Some(policy) => database.add(id, policy),
            None => database.execute(&format!(
                "INSERT INTO applications (id, name) VALUES ('{id}', 'none')"
            )),
        }
    }
    let all = "SELECT seq, id, name, description, created_at, rules_version, rules, policy, \
               policy_version, policy_updated_at FROM applications ORDER BY seq";
    let before = database.query(all);
    database.migrate();
    database.migrate();
    assert_eq!(database.query(all), before);
    let known = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/crates/store/src/postgres/migrations"
    );
    let known = std::fs::read_dir(known).unwrap().count().to_string();
    let versions = database.query("SELECT count(*) FROM schema_version");
    assert_eq!(versions, known);
    let policies = super::world::Running::of(&database).policies;
    let problems = &policies.status().faults;
    assert_eq!(
        problems.len(),
        1,
        "the gateway's right to read is kept, and it reports: {problems:?}"
    );
    let said = database.try_query(&format!(
        "UPDATE applications SET name = 'b' WHERE id = '{}'",
        ids[3]
    ));
    assert!(said.unwrap_err().contains("policy_without_contradiction"));
    database.set(&ids[3], r#"{"app_mode":"async"}"#);
    let version = format!(
        "SELECT version FROM gateway_policies WHERE application_id = '{}'",
        ids[3]
    );
    assert_eq!(database.query(&version), "2");
}
