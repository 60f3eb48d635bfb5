//! The way back one version: what the program of before refuses, the program of now restores into the schema of
//! before, with everything that was recorded since.

use super::month::fill;
use super::picture::Picture;
use super::{arg, monitor};
use monitor_store::{PostgresStore, SqliteStore};
use sqlx::{ConnectOptions as _, Connection as _};
use std::path::Path;
use support::postgres::Postgres;
use support::stack::Folder;
use tokio::runtime::Runtime;

async fn version(data_dir: &Path) -> i64 {
    let file = data_dir.join("monitor.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut connection = options.connect().await.unwrap();
    let version = sqlx::query_scalar("SELECT max(version) FROM schema_version");
    let version = version.fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    version
}

/// The first schema whose policies may leave arguments of tool calls unchecked.
const UNCHECKED_ARGUMENTS: i64 = 20;
/// The first schema that knows what passed without a verdict.
const UNCHECKED: i64 = 22;

#[test]
fn a_store_goes_back_one_version_with_its_records_and_forward_again() {
    let (runtime, old) = (Runtime::new().unwrap(), Folder::new());
    let from = old.path().join("data");
    runtime.block_on(fill(&from));
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, None).done();
    let now = SqliteStore::SCHEMA;
    for before in [now - 1, UNCHECKED_ARGUMENTS - 1] {
        let new = Folder::new();
        let to = new.path().join("data");
        let args = ["restore", arg(&archive), "--schema", &before.to_string()];
        monitor(&args, &to, None).done();
        assert_eq!(runtime.block_on(version(&to)), before);
        let said = monitor(&["migrate"], &to, None).done();
        assert_eq!(said, format!("schema version {before} -> {now}\n"));
        let mut original = runtime.block_on(Picture::of_folder(&from));
        if before < UNCHECKED {
            original = original.without_unchecked();
        }
        if before < UNCHECKED_ARGUMENTS {
            original = original.without_unchecked_arguments();
        }
        runtime
            .block_on(Picture::of_folder(&to))
            .assert_same(&original);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_store_in_postgresql_goes_back_one_version_and_forward_again() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    runtime.block_on(fill(&from));
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, None).done();
    let (now, before) = (PostgresStore::SCHEMA, PostgresStore::SCHEMA - 1);
    let server = Postgres::shared();
    let database = server.empty_database();
    let args = ["restore", arg(&archive), "--schema", &before.to_string()];
    monitor(&args, &to, Some(&database)).done();
    let found = database.query("SELECT max(version) FROM schema_version");
    assert_eq!(found, before.to_string());
    let said = monitor(&["migrate"], &to, Some(&database)).done();
    assert_eq!(said, format!("schema version {before} -> {now}\n"));
    let original = runtime.block_on(Picture::of_folder(&from));
    runtime
        .block_on(Picture::of_database(&database))
        .assert_same(&original);
}

#[test]
fn a_later_schema_is_refused_with_the_way_back() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    monitor(&["migrate"], &data, None).done();
    Runtime::new().unwrap().block_on(async {
        let file = data.join("monitor.db");
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
        let mut connection = options.connect().await.unwrap();
        let insert = sqlx::query("INSERT INTO schema_version (version) VALUES (99)");
        insert.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
    let known = SqliteStore::SCHEMA;
    let said = monitor(&["migrate"], &data, None).refused();
    for part in [
        "schema version 99",
        "monitor backup",
        &format!("monitor restore FILE --schema {known}"),
        "\"Roll back\" in docs/operations.md",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
    let page = std::fs::read_to_string(pages).unwrap();
    assert!(page.contains("\n### Roll back\n"), "the section is there");
    let said = monitor(&["backup", arg(&folder.path().join("b"))], &data, None).refused();
    assert!(said.contains("schema version 99"), "{said}");
}
