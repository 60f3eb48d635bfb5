//! Databases of the previous schema: after the migration, what pages look up is there and continues to be
//! counted.

use monitor_model::{ChainHash, Stage};
use monitor_store::{
    AccountStore, ChainEntry, Identity, NewRecord, PostgresStore, SqliteStore, Store, StoreEngine,
};
use serde_json::Map;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use std::path::PathBuf;
use support::bed::{MORNING_MS, add_application, answer, found};
use support::postgres::{Database, Postgres};
use support::stack::Folder;
use uuid::Uuid;

const HOUR: i64 = MORNING_MS / 3_600_000;

/// The migrations of a database before this one, in their order.
pub(crate) fn before(store: &str, last: &str) -> Vec<String> {
    let folder = format!(
        "{}/crates/store/src/{store}/migrations",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|file| file.file_name().unwrap().to_str().unwrap() < last)
        .collect();
    files.sort();
    let text = |file: &PathBuf| std::fs::read_to_string(file).unwrap();
    files.iter().map(text).collect()
}

/// Two gateways' records, and finds of all applications under a name of their own and one that all share.
fn rows(uuid: impl Fn(u8) -> String, [record, traffic]: [&str; 2]) -> String {
    let records = [(1, 1, 5, 0), (2, 1, 9, 4_000), (3, 2, 7, 2_000)];
    let records = records.map(|(id, gateway, sequence, later)| {
        let (id, gateway, at) = (uuid(id), uuid(gateway), MORNING_MS + later);
        record
            .replace("{id}", &id)
            .replace("{gateway}", &gateway)
            .replace("{sequence}", &sequence.to_string())
            .replace("{at}", &at.to_string())
    });
    let finds = [("ORDER", 5), ("BADGE", 2), ("EMAILS", 3)];
    let finds = finds.map(|(kind, finds)| {
        traffic
            .replace("{hour}", &HOUR.to_string())
            .replace("{kind}", kind)
            .replace("{finds}", &finds.to_string())
    });
    let gateways = [1, 2, 3].map(|number| {
        let gateway = uuid(number);
        format!("INSERT INTO chain_gateways (gateway) VALUES ({gateway});")
    });
    [gateways.concat(), records.concat(), finds.concat()].concat()
}

pub(crate) fn migrate_before(database: &Database, last: &str) {
    database.execute("CREATE TABLE schema_version (version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())");
    for (version, sql) in (1..).zip(&before("postgres", last)) {
        database.execute(sql);
        database.execute(&format!(
            "INSERT INTO schema_version (version) VALUES ({version})"
        ));
    }
}

async fn assert_looked_up(store: &dyn Store) {
    let seen = store.gateways(9).await.unwrap();
    let seen: Vec<_> = seen
        .iter()
        .map(|one| (one.gateway.as_bytes()[0], one.latest_ms))
        .collect();
    let expected = [
        (1, Some(MORNING_MS + 4_000)),
        (2, Some(MORNING_MS + 2_000)),
        (3, None),
    ];
    assert_eq!(seen, expected);
    let types = store.traffic_types(None, (HOUR, HOUR), 9).await.unwrap();
    assert_eq!(types, [found("custom", 7), found("EMAILS", 3)]);
    let application = add_application(store, "new").await;
    let mut answer = answer();
    answer.dataclean.types = vec![found("TICKET", 1), found("EMAILS", 1)];
    let record = NewRecord {
        application_id: application,
        stage: Stage::PreCall,
        exchange_id: None,
        tool: None,
        user_id: None,
        session_id: None,
        created_at_ms: MORNING_MS + 9_000,
        rules_version: Some(1),
        inline_rules: None,
        tool_parts: monitor_model::CheckedParts::default(),
        blocked: false,
        unchecked: false,
        found_values: Vec::new(),
        message: None,
        additional_parameters: Map::new(),
        chain: Some(ChainEntry {
            gateway: Uuid::from_bytes([3; 16]),
            sequence: 1,
            previous: ChainHash::default(),
            link: ChainHash::default(),
            after: None,
        }),
        cost: None,
        call: None,
        token: None,
        answer,
    };
    store.insert(record).await.unwrap();
    let types = store.traffic_types(None, (HOUR, HOUR), 9).await.unwrap();
    assert_eq!(types, [found("custom", 8), found("EMAILS", 4)]);
    let first = store.gateways(1).await.unwrap()[0];
    assert_eq!(first.latest_ms, Some(MORNING_MS + 9_000));
    assert_eq!((first.gateway, first.last), (Uuid::from_bytes([3; 16]), 1));
}

#[tokio::test]
async fn a_file_of_the_schema_before_has_its_lookups() {
    let folder = Folder::new();
    let file = folder.path().join("monitor.db");
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .foreign_keys(false);
    let mut database = options.create_if_missing(true).connect().await.unwrap();
    let migrations = before("sqlite", "0011");
    let versions = (1..=migrations.len()).map(|version| format!("({version})"));
    let versions = versions.collect::<Vec<_>>().join(",");
    let record = "INSERT INTO records (id, application_id, stage, created_at_ms, status, flagged_guardrails,
            flagged_custom_policy, flagged_dataclean, token_count, types, failed, incomplete, blocked,
            total_us, bytes, chain_gateway, chain_sequence)
        VALUES ({id}, zeroblob(16), 'pre', {at}, 'success', 0, 0, 0, 0, '[]', 0, 0, 0, 0, 0, {gateway},
            {sequence});";
    let traffic = "INSERT INTO traffic_types VALUES (zeroblob(16), {hour}, '{kind}', {finds});";
    let rows = rows(
        |byte| format!("x'{}'", format!("{byte:02x}").repeat(16)),
        [record, traffic],
    );
    let schema = "CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT;";
    let versions = format!("INSERT INTO schema_version VALUES {versions};");
    let sql = [schema, &migrations.concat(), &versions, &rows].concat();
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
        .execute(&mut database)
        .await
        .unwrap();
    drop(database);
    let store = SqliteStore::open(&file).await.unwrap();
    assert_looked_up(&store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_postgresql_database_of_the_schema_before_has_its_lookups() {
    let server = Postgres::shared();
    let database = tokio::task::block_in_place(|| server.empty_database());
    let record = "INSERT INTO records (seq, id, application_id, stage, created_at_ms, status, flagged,
            flagged_guardrails, flagged_custom_policy, flagged_dataclean, blocked, failed, incomplete,
            token_count, types, total_us, bytes, chain_gateway, chain_sequence)
        VALUES ({sequence}, {id}, gen_random_uuid(), 0, {at}, 'success', false, false, false, false, false,
            false, false, 0, '[]', 0, 0, {gateway}, {sequence});";
    let traffic = "INSERT INTO traffic_types VALUES
        ('00000000-0000-0000-0000-000000000000', {hour}, 1, hashtext('{kind}'), '{kind}', {finds});";
    let uuid = |byte: u8| format!("'{}'::uuid", format!("{byte:02x}").repeat(16));
    let rows = rows(uuid, [record, traffic]);
    tokio::task::block_in_place(|| {
        migrate_before(&database, "0010");
        database.execute(&rows);
    });
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    assert_looked_up(&store).await;
    let lanes = tokio::task::block_in_place(|| {
        database.query("SELECT count(DISTINCT kind_key) FROM traffic_types WHERE kind = 'custom'")
    });
    assert_eq!(lanes, "1", "the migration's key is the program's");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn of_two_identities_of_an_issuer_that_share_an_account_none_stays() {
    let server = Postgres::shared();
    let database = tokio::task::block_in_place(|| server.empty_database());
    tokio::task::block_in_place(|| {
        migrate_before(&database, "0011");
        for name in ["ann", "bob"] {
            database.execute(&format!(
                "INSERT INTO accounts VALUES (gen_random_uuid(), '{name}', 'analyst', NULL, NULL, 1)"
            ));
        }
        for (issuer, subject, name) in [
            ("here", "1", "ann"),
            ("here", "2", "ann"),
            ("there", "1", "ann"),
            ("here", "3", "bob"),
        ] {
            database.execute(&format!(
                "INSERT INTO identities SELECT '{issuer}', '{subject}', id FROM accounts WHERE name = '{name}'"
            ));
        }
    });
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    for (issuer, subject, owner) in [
        ("here", "1", None),
        ("here", "2", None),
        ("there", "1", Some("ann")),
        ("here", "3", Some("bob")),
    ] {
        let identity = Identity {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
        };
        let account = store.account_of(&identity).await.unwrap();
        let name = account.map(|account| account.name);
        assert_eq!(name.as_deref(), owner, "{identity:?}");
    }
}
