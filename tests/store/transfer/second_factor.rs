//! Second factors on their way: they go along with the hashes of passwords, and an older schema has none.

use super::{arg, monitor};
use crate::accounts::account;
use monitor_store::{
    Account, AccountStore as _, PostgresStore, SqliteStore, Store, StoreEngine as _,
};
use std::path::Path;
use support::postgres::Postgres;
use support::stack::Folder;
use tokio::runtime::Runtime;

/// The last schema without second factors.
const BEFORE: i64 = 30;
const FACTOR: &str = "totp1 GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ 7 hash";

async fn open(data_dir: &Path) -> SqliteStore {
    std::fs::create_dir_all(data_dir).unwrap();
    let file = data_dir.join("monitor.db");
    SqliteStore::open(&file).await.unwrap()
}

async fn fill(data_dir: &Path) {
    let store = open(data_dir).await;
    let ann = Account {
        password: Some("$argon2id$x".to_owned()),
        second_factor: Some(FACTOR.to_owned()),
        ..account("ann")
    };
    assert!(store.add_account(ann, None).await.unwrap());
    store.close().await;
}

async fn check(store: &dyn Store, expected: Option<&str>) {
    let ann = store.account_named("ann").await.unwrap().unwrap();
    assert_eq!(ann.password.as_deref(), Some("$argon2id$x"));
    assert_eq!(ann.second_factor.as_deref(), expected);
}

async fn check_folder(data_dir: &Path, expected: Option<&str>) {
    let store = open(data_dir).await;
    check(&store, expected).await;
    store.close().await;
}

#[test]
fn a_second_factor_is_restored_and_an_older_schema_has_none() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let from = old.path().join("from");
    let [to, older] = ["to", "older"].map(|name| new.path().join(name));
    runtime.block_on(fill(&from));
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, None).done();
    monitor(&["restore", arg(&archive)], &to, None).done();
    runtime.block_on(check_folder(&to, Some(FACTOR)));
    let args = ["restore", arg(&archive), "--schema", &BEFORE.to_string()];
    monitor(&args, &older, None).done();
    runtime.block_on(check_folder(&older, None));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_second_factor_moves_to_postgresql_and_back() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    runtime.block_on(fill(&from));
    let server = Postgres::shared();
    let database = server.empty_database();
    monitor(&["copy"], &from, Some(&database)).done();
    runtime.block_on(async {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        check(&store, Some(FACTOR)).await;
        store.close().await;
    });
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, Some(&database)).done();
    monitor(&["restore", arg(&archive)], &to, None).done();
    runtime.block_on(check_folder(&to, Some(FACTOR)));
}
