//! A user whose records retention has removed, and whom the sums of costs still name, is erased after a backup.

use super::month::{a_record, erase};
use super::{arg, monitor};
use monitor_store::{
    CostFilter, CostGroups, NewRecord, PostgresStore, RetentionLimits, SqliteStore, Store,
    StoreEngine as _,
};
use std::path::{Path, PathBuf};
use support::bed::add_application;
use support::postgres::Postgres;
use support::stack::Folder;
use tokio::runtime::Runtime;

const USER: &str = "анна\0, whom only sums name";
const DAY_MS: i64 = 86_400_000;

/// A backup, and the erasures behind it.
struct Archives {
    backup: PathBuf,
    erasures: PathBuf,
}

async fn open(data_dir: &Path) -> SqliteStore {
    std::fs::create_dir_all(data_dir).unwrap();
    let file = data_dir.join("monitor.db");
    SqliteStore::open(&file).await.unwrap()
}

/// The users in the sums of costs.
async fn named(store: &dyn Store) -> Vec<String> {
    let filter = CostFilter {
        application_id: None,
        user_id: None,
        model: None,
        days: (0, 99_999),
        groups: CostGroups {
            user: true,
            ..CostGroups::default()
        },
        limit: 9,
    };
    let sums = store.costs(&filter).await.unwrap().into_iter();
    sums.map(|sum| sum.user_id.unwrap_or_default()).collect()
}

async fn keep_in_sums_alone(store: &dyn Store) {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let now_ms = i64::try_from(now.as_millis()).unwrap();
    let record = NewRecord {
        application_id: add_application(store, "first").await,
        user_id: Some(USER.to_owned()),
        session_id: None,
        created_at_ms: now_ms - 2 * DAY_MS,
        ..a_record(0, 0)
    };
    store.insert(record).await.unwrap();
    let limits = RetentionLimits {
        days: Some(1),
        rows: None,
        bytes: None,
        cost_days: None,
    };
    let done = store.enforce_retention(None, limits, now_ms);
    done.await.complete().unwrap();
    assert_eq!(named(store).await, [USER]);
}

fn archives(runtime: &Runtime, folder: &Folder) -> Archives {
    let from = folder.path().join("data");
    let [backup, erasures] = ["backup", "erasures"].map(|name| folder.path().join(name));
    runtime.block_on(async {
        let store = open(&from).await;
        keep_in_sums_alone(&store).await;
        store.close().await;
    });
    monitor(&["backup", arg(&backup)], &from, None).done();
    runtime.block_on(async {
        let store = open(&from).await;
        assert_eq!(erase(&store, USER, None).await, 0, "no record is left");
        assert_eq!(named(&store).await, ["other"]);
        store.close().await;
    });
    monitor(&["backup", arg(&erasures), "--erasures-only"], &from, None).done();
    Archives { backup, erasures }
}

#[test]
fn a_user_whom_only_sums_of_costs_name_does_not_come_back() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let Archives { backup, erasures } = archives(&runtime, &old);
    let to = new.path().join("data");
    let args = ["restore", arg(&backup), "--erasures", arg(&erasures)];
    monitor(&args, &to, None).done();
    for part in ["monitor.db", "monitor.db-wal"] {
        let bytes = std::fs::read(to.join(part)).unwrap_or_default();
        let names = support::contains(&bytes, b"whom only sums name");
        assert!(!names, "{part} names an erased user");
    }
    let left = runtime.block_on(async {
        let store = open(&to).await;
        let left = named(&store).await;
        store.close().await;
        left
    });
    assert_eq!(left, ["other"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_user_whom_only_sums_of_costs_name_does_not_come_back_in_postgresql() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let Archives { backup, erasures } = archives(&runtime, &old);
    let server = Postgres::shared();
    let database = server.empty_database();
    let args = ["restore", arg(&backup), "--erasures", arg(&erasures)];
    monitor(&args, &new.path().join("data"), Some(&database)).done();
    let left = runtime.block_on(async {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        let left = named(&store).await;
        store.close().await;
        left
    });
    assert_eq!(left, ["other"]);
}
