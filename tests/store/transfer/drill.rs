//! The drill: a month of records moves from SQLite to PostgreSQL while the server runs, and back from a backup, with
//! every count and the chain report equal; a user who was erased meanwhile does not come back.

use super::month::{DAYS, ODD_USER, a_record, erase, fill};
use super::picture::Picture;
use super::{arg, monitor};
use crate::servers::world::over;
use monitor_store::{
    ApplicationStore as _, NewRecord, PostgresStore, RecordStore as _, SqliteStore,
    StoreEngine as _, StoreError,
};
use std::path::{Path, PathBuf};
use support::KEY;
use support::postgres::Postgres;
use support::stack::{Folder, Stack};
use tokio::runtime::Runtime;

/// The files of a data folder, each with its size.
fn files(data_dir: &Path) -> Vec<(PathBuf, u64)> {
    let root = data_dir.join("blobs");
    let mut found = Vec::new();
    for shard in std::fs::read_dir(&root).unwrap() {
        for file in std::fs::read_dir(shard.unwrap().path()).unwrap() {
            let file = file.unwrap();
            let name = file.path().strip_prefix(&root).unwrap().to_owned();
            found.push((name, file.metadata().unwrap().len()));
        }
    }
    found.sort();
    found
}

/// What a server answers about its gateways, and its statistics, whose days the engines order in their own way.
fn answers(stack: &Stack) -> (String, Vec<String>) {
    let [chain, statistics] = ["/chain", "/statistics?limit=200"].map(|path| {
        let answer = stack.analysis(path, KEY);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer
    });
    let statistics = statistics.json();
    let days = statistics["days"].as_array().unwrap().iter();
    let mut days: Vec<_> = days.map(ToString::to_string).collect();
    days.sort();
    assert!(!days.is_empty());
    (chain.text(), days)
}

#[test]
fn a_running_server_is_backed_up_and_restored_with_everything() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    let month = runtime.block_on(fill(&from));
    runtime.block_on(Picture::of_folder(&from));
    let stack = Stack::analysis_server().folder(&old).start();
    let before = answers(&stack);
    let (archive, key) = (old.path().join("backup"), old.path().join("backup.key"));
    let made = std::process::Command::new(support::monitor())
        .args(["spool", "key", arg(&key)])
        .output()
        .unwrap();
    assert!(made.status.success());
    let args = [
        "backup",
        arg(&archive),
        "--key-file",
        arg(&key),
        "--role",
        "analysis",
    ];
    let said = monitor(&args, &from, None);
    assert!(
        said.stderr.contains("records: "),
        "progress: {}",
        said.stderr
    );
    let said = said.done();
    assert!(said.contains("written and checked"), "{said}");
    let bytes = std::fs::read(&archive).unwrap();
    assert!(!support::contains(&bytes, b"renamed"), "it is encrypted");
    drop(stack);
    let original = runtime.block_on(Picture::of_folder(&from));
    assert!(
        original.records as i64 > 3 * 2 * 2 * DAYS,
        "{}",
        original.records
    );
    assert!(original.files > 0 && original.lines_of("chain").count() == 2);
    let args = [
        "restore",
        arg(&archive),
        "--key-file",
        arg(&key),
        "--role",
        "analysis",
    ];
    let said = monitor(&args, &to, None).done();
    assert!(said.contains("restored and checked"), "{said}");
    let restored = runtime.block_on(Picture::of_folder(&to));
    restored.assert_same(&original);
    assert_eq!(restored.bytes, original.bytes);
    assert_eq!(files(&to), files(&from));
    assert_eq!(month.applications.len(), 3);
    let stack = Stack::analysis_server().folder(&new).start();
    assert_eq!(answers(&stack), before);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_month_moves_from_sqlite_to_postgresql_and_back_from_a_backup() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    runtime.block_on(fill(&from));
    let original = runtime.block_on(Picture::of_folder(&from));
    let server = Postgres::shared();
    let database = server.empty_database();
    let said = monitor(&["copy"], &from, Some(&database)).done();
    assert!(said.contains("copied and checked"), "{said}");
    let copied = runtime.block_on(Picture::of_database(&database));
    copied.assert_same(&original);
    // A server goes on over the copy, with the same files.
    let stack = over(&database, Stack::analysis_server().folder(&old)).start();
    let before = answers(&stack);
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, Some(&database)).done();
    drop(stack);
    monitor(&["restore", arg(&archive)], &to, None).done();
    let restored = runtime.block_on(Picture::of_folder(&to));
    let copied = runtime.block_on(Picture::of_database(&database));
    restored.assert_same(&copied);
    assert_eq!(restored.bytes, original.bytes, "as SQLite counts them");
    assert_eq!(files(&to), files(&from));
    let stack = Stack::analysis_server().folder(&new).start();
    assert_eq!(answers(&stack), before);
    // And the archive restores into PostgreSQL as well.
    let second = server.empty_database();
    let third = Folder::new();
    monitor(
        &["restore", arg(&archive)],
        &third.path().join("data"),
        Some(&second),
    )
    .done();
    runtime
        .block_on(Picture::of_database(&second))
        .assert_same(&copied);
}

#[test]
fn a_user_erased_after_the_backup_does_not_come_back() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    let month = runtime.block_on(fill(&from));
    let [archive, erasures] = ["backup", "erasures"].map(|name| old.path().join(name));
    monitor(&["backup", arg(&archive)], &from, None).done();
    // What the removed application left is not counted below.
    runtime.block_on(Picture::of_folder(&from));
    let erased = runtime.block_on(async {
        let store = SqliteStore::open(&from.join("monitor.db")).await.unwrap();
        let everywhere = erase(&store, ODD_USER, None).await;
        let once = erase(&store, "boris", Some(month.applications[2])).await;
        store.close().await;
        assert!(everywhere > 0 && once > 0);
        everywhere + once
    });
    monitor(&["backup", arg(&erasures), "--erasures-only"], &from, None).done();
    assert!(erasures.metadata().unwrap().len() < 4_096);
    let args = ["restore", arg(&archive), "--erasures", arg(&erasures)];
    let said = monitor(&args, &to, None).done();
    assert!(
        said.contains(&format!("erasures done again: {erased} records")),
        "{said}"
    );
    let now = runtime.block_on(Picture::of_folder(&from));
    let restored = runtime.block_on(Picture::of_folder(&to));
    restored.assert_same(&now);
    assert!(
        !restored
            .lines_of("record")
            .any(|line| line.contains("анна"))
    );
    for part in ["monitor.db", "monitor.db-wal"] {
        let bytes = std::fs::read(to.join(part)).unwrap_or_default();
        assert!(
            !support::contains(&bytes, "анна".as_bytes()),
            "{part} names an erased user"
        );
    }
    runtime.block_on(async {
        let store = SqliteStore::open(&to.join("monitor.db")).await.unwrap();
        let late = NewRecord {
            application_id: month.applications[0],
            user_id: Some(ODD_USER.to_owned()),
            ..a_record(0, 0)
        };
        let kept = store.insert(late).await;
        assert!(
            matches!(kept, Err(StoreError::Erased)),
            "its tombstone is there"
        );
        store.close().await;
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_user_erased_after_the_backup_does_not_come_back_in_postgresql() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let from = old.path().join("data");
    let month = runtime.block_on(fill(&from));
    let server = Postgres::shared();
    let [database, target] = [0, 1].map(|_| server.empty_database());
    monitor(&["copy"], &from, Some(&database)).done();
    let [archive, later] = ["backup", "later"].map(|name| old.path().join(name));
    runtime.block_on(async {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        store
            .remove_application(month.applications[2], 1, None)
            .await
            .unwrap();
        store.close().await;
    });
    monitor(&["backup", arg(&archive)], &from, Some(&database)).done();
    runtime.block_on(async {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        assert!(erase(&store, ODD_USER, None).await > 0);
        store.close().await;
    });
    monitor(&["backup", arg(&later)], &from, Some(&database)).done();
    let args = ["restore", arg(&archive), "--erasures", arg(&later)];
    monitor(&args, &new.path().join("data"), Some(&target)).done();
    let now = runtime.block_on(Picture::of_database(&database));
    runtime
        .block_on(Picture::of_database(&target))
        .assert_same(&now);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_copy_tells_which_files_it_did_not_find_and_which_are_damaged() {
    let (runtime, old) = (Runtime::new().unwrap(), Folder::new());
    let from = old.path().join("data");
    runtime.block_on(fill(&from));
    runtime.block_on(Picture::of_folder(&from));
    let all = files(&from);
    let server = Postgres::shared();
    let [first, second] = [0, 1].map(|_| server.empty_database());
    let elsewhere = old.path().join("elsewhere");
    std::fs::rename(from.join("blobs"), &elsewhere).unwrap();
    let target = old.path().join("target");
    let database_file = from.join("monitor.db");
    let copy = ["copy", "--from", arg(&database_file)];
    let said = monitor(&copy, &target, Some(&first)).refused();
    let expected = format!("{} files of the store are neither in", all.len());
    assert!(
        said.contains(&expected) && said.contains("--files"),
        "{said}"
    );
    std::fs::write(elsewhere.join(&all[0].0), "other bytes").unwrap();
    std::fs::remove_file(elsewhere.join(&all[1].0)).unwrap();
    let named = [&copy[..], &["--files", arg(&elsewhere)]].concat();
    let said = monitor(&named, &target, Some(&first)).done();
    let expected = format!("files: {} in ", all.len() - 2);
    assert!(
        said.contains(&expected) && said.contains("(missing: 1, damaged: 1)"),
        "{said}"
    );
    assert_eq!(files(&target).len(), all.len() - 2);
    // In their place, they are counted.
    std::fs::rename(&elsewhere, from.join("blobs")).unwrap();
    let said = monitor(&["copy"], &from, Some(&second)).done();
    assert!(
        said.contains("stay where they are") && said.contains("(missing: 1)"),
        "{said}"
    );
}
