//! Found values and their keys on their way: both are there afterwards, and an older schema has the records alone.

use super::month::a_record;
use super::{arg, monitor};
use monitor_store::{
    FoundValue, NewRecord, PostgresStore, RecordFilter, RecordStore as _, SqliteStore, Store,
    StoreEngine as _, ValueFilter, ValueHash, ValueKeyStore as _,
};
use std::path::Path;
use support::bed::add_application;
use support::postgres::Postgres;
use support::stack::Folder;
use tokio::runtime::Runtime;

/// The last schema without found values.
const BEFORE: i64 = 25;
const KIND: &str = "свой\0 тип";

async fn open(data_dir: &Path) -> SqliteStore {
    std::fs::create_dir_all(data_dir).unwrap();
    let file = data_dir.join("monitor.db");
    SqliteStore::open(&file).await.unwrap()
}

async fn fill(data_dir: &Path) {
    let store = open(data_dir).await;
    for number in [7, 8] {
        store.add_value_key([number; 32], 5, None).await.unwrap();
    }
    let application = add_application(&store, "first").await;
    for number in 0..2 {
        let record = NewRecord {
            application_id: application,
            found_values: vec![FoundValue {
                kind: KIND.into(),
                hash: ValueHash([1; 16]),
                key_id: 2,
            }],
            ..a_record(number, 0)
        };
        store.insert(record).await.unwrap();
    }
    store.close().await;
}

/// The records with the value, and the types of one of them; the keys.
async fn check(store: &dyn Store) {
    let filter = ValueFilter {
        hashes: vec![ValueHash([1; 16])],
        before: None,
        limit: 9,
    };
    let found = store.page_by_values(&filter).await.unwrap().records;
    assert_eq!(found.len(), 2);
    let values = store.found_values(found[0].seq).await.unwrap();
    assert_eq!(values.len(), 1);
    assert_eq!(values[0].key_id, 2);
    let same = store.same_values(found[0].seq).await.unwrap();
    assert_eq!(same[0].records, 1);
    let keys = store.value_keys().await.unwrap();
    let keys: Vec<_> = keys.iter().map(|key| (key.id, key.secret[0])).collect();
    assert_eq!(keys, [(2, 8), (1, 7)]);
}

async fn check_folder(data_dir: &Path) {
    let store = open(data_dir).await;
    check(&store).await;
    store.close().await;
}

async fn has_records_alone(store: &dyn Store) {
    let all = RecordFilter {
        limit: 9,
        ..RecordFilter::default()
    };
    let records = store.page(&all).await.unwrap().records;
    assert_eq!(records.len(), 2);
    assert!(store.found_values(records[0].seq).await.unwrap().is_empty());
    assert!(store.value_keys().await.unwrap().is_empty());
}

#[test]
fn found_values_and_keys_are_restored_and_an_older_schema_has_none() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let from = old.path().join("from");
    let [to, older] = ["to", "older"].map(|name| new.path().join(name));
    runtime.block_on(fill(&from));
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, None).done();
    monitor(&["restore", arg(&archive)], &to, None).done();
    runtime.block_on(check_folder(&to));
    let args = ["restore", arg(&archive), "--schema", &BEFORE.to_string()];
    monitor(&args, &older, None).done();
    runtime.block_on(async {
        let store = open(&older).await;
        has_records_alone(&store).await;
        store.close().await;
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn found_values_and_keys_move_to_postgresql_and_back() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    runtime.block_on(fill(&from));
    let server = Postgres::shared();
    let [database, older] = [0, 1].map(|_| server.empty_database());
    monitor(&["copy"], &from, Some(&database)).done();
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, Some(&database)).done();
    runtime.block_on(async {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        check(&store).await;
        store.close().await;
    });
    monitor(&["restore", arg(&archive)], &to, None).done();
    runtime.block_on(check_folder(&to));
    let args = ["restore", arg(&archive), "--schema", &BEFORE.to_string()];
    let folder = new.path().join("older");
    monitor(&args, &folder, Some(&older)).done();
    runtime.block_on(async {
        let store = PostgresStore::open(&older.settings()).await.unwrap();
        has_records_alone(&store).await;
        store.close().await;
    });
}
