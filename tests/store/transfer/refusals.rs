//! What is refused, with the thing, the limit and the way out; and that nothing is left behind.

use super::{arg, monitor};
use monitor_store::SqliteStore;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::postgres::Postgres;
use support::stack::{Folder, Stack};

/// A data folder with a store, and an archive of it.
fn a_backup() -> (Arc<Folder>, PathBuf, PathBuf) {
    let folder = Folder::new();
    let data = folder.path().join("data");
    monitor(&["token", "list"], &data, None).done();
    let archive = folder.path().join("backup");
    monitor(&["backup", arg(&archive)], &data, None).done();
    (folder, data, archive)
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_backup_is_never_written_over_and_a_failed_one_leaves_nothing() {
    let (folder, data, archive) = a_backup();
    let before = std::fs::read(&archive).unwrap();
    let said = monitor(&["backup", arg(&archive)], &data, None).refused();
    assert!(
        said.contains("not written over") && said.contains("name another file"),
        "{said}"
    );
    assert_eq!(std::fs::read(&archive).unwrap(), before);
    let missing = folder.path().join("other");
    let said = monitor(&["backup", arg(&folder.path().join("b"))], &missing, None).refused();
    assert!(said.contains("monitor.db"), "{said}");
    let nowhere = folder.path().join("no/such/folder/b");
    monitor(&["backup", arg(&nowhere)], &data, None).refused();
    assert_eq!(names(folder.path()), ["backup", "data"]);
}

#[test]
fn a_restore_refuses_whatever_is_not_empty() {
    let (folder, data, archive) = a_backup();
    let said = monitor(&["restore", arg(&archive)], &data, None).refused();
    assert!(
        said.contains("monitor.db exists") && said.contains("--data-dir"),
        "{said}"
    );
    for (place, advice) in [
        ("blobs/aa/file", "attached files"),
        ("spool/1.seg", "spool's folder"),
    ] {
        let target = folder.path().join(format!("with {}", &place[..5]));
        std::fs::create_dir_all(target.join(place).parent().unwrap()).unwrap();
        std::fs::write(target.join(place), "x").unwrap();
        let said = monitor(&["restore", arg(&archive)], &target, None).refused();
        assert!(
            said.contains(advice) && said.contains("not empty"),
            "{said}"
        );
        assert_eq!(names(&target), [&place[..5]]);
        assert_eq!(std::fs::read(target.join(place)).unwrap(), b"x");
    }
}

#[test]
fn what_is_no_archive_to_restore_is_refused_and_nothing_is_made() {
    let (folder, data, archive) = a_backup();
    let [erasures, target] = ["erasures", "target"].map(|name| folder.path().join(name));
    monitor(&["backup", arg(&erasures), "--erasures-only"], &data, None).done();
    let said = monitor(&["restore", arg(&erasures)], &target, None).refused();
    assert!(
        said.contains("erasures only") && said.contains("--erasures"),
        "{said}"
    );
    let said = monitor(&["restore", arg(&archive), "--schema", "3"], &target, None).refused();
    assert!(
        said.contains("--schema 3") && said.contains("from 11, that of version 4.1.0"),
        "{said}"
    );
    let later = (SqliteStore::SCHEMA + 1).to_string();
    let args = ["restore", arg(&archive), "--schema", &later];
    let said = monitor(&args, &target, None).refused();
    assert!(said.contains("program of that version"), "{said}");
    let said = monitor(&["restore", arg(&data.join("monitor.db"))], &target, None).refused();
    assert!(said.contains("damaged or not complete"), "{said}");
    let missing = folder.path().join("missing");
    assert!(
        monitor(&["restore", arg(&missing)], &target, None)
            .refused()
            .contains("missing")
    );
    assert!(!target.exists() || names(&target).is_empty());
    let said = monitor(&["restore", arg(&archive), "--check"], &target, None).done();
    assert!(
        said.contains("is complete") && said.contains("tokens: 1"),
        "{said}"
    );
    assert!(!target.join("monitor.db").exists());
}

#[test]
fn a_gateway_alone_has_no_backup_and_the_way_out_is_said() {
    let folder = Folder::new();
    let (data, file) = (folder.path().join("data"), folder.path().join("b"));
    let config = folder.write(
        "gateway.yaml",
        "upstream: {url: http://127.0.0.1:1}\nmonitor: {url: http://127.0.0.1:1}\n",
    );
    let role = ["--role", "gateway", "--config", arg(&config)];
    for command in [["backup", arg(&file)], ["restore", arg(&file)]] {
        let said = monitor(&[&command[..], &role].concat(), &data, None).refused();
        for part in [
            "has no store",
            "monitor spool status",
            "key files of spool.encryption",
            "\"A gateway alone\" in docs/operations.md",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    // Its folder without the role.
    let said = monitor(&["backup", arg(&file)], &data, None).refused();
    assert!(said.contains("\"A gateway alone\""), "{said}");
    assert!(!file.exists() && !data.exists());
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
    let page = std::fs::read_to_string(pages).unwrap();
    assert!(
        page.contains("\n### A gateway alone\n"),
        "the section is there"
    );
}

#[test]
fn a_copy_without_a_database_to_copy_to_is_refused() {
    let (_folder, data, _) = a_backup();
    let said = monitor(&["copy"], &data, None).refused();
    assert!(
        said.contains("STORE_DB") && said.contains("monitor.db"),
        "{said}"
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_database_that_is_not_empty_is_refused_and_stays_as_it_is() {
    let (folder, data, archive) = a_backup();
    let server = Postgres::shared();
    let database = server.database();
    database.add(
        "4b0c1f8e-98a5-4f6e-9d57-0f2f6a5f0c11",
        r#"{"app_mode":"async"}"#,
    );
    let target = folder.path().join("target");
    for args in [
        vec!["restore", arg(&archive)],
        vec!["copy", "--from", arg(&data)],
    ] {
        let mut args = args;
        let file = data.join("monitor.db");
        if args[0] == "copy" {
            args[2] = arg(&file);
        }
        let said = monitor(&args, &target, Some(&database)).refused();
        assert!(said.contains("not empty (it has applications)"), "{said}");
        assert!(said.contains("STORE_DB"), "{said}");
    }
    assert_eq!(database.query("SELECT count(*) FROM applications"), "1");
    monitor(&["migrate"], &target, Some(&database)).done();
}

#[test]
fn a_command_that_makes_a_new_store_says_so() {
    let folder = Folder::new();
    let data = folder.path().join("wrong");
    let args = ["token", "create", "--name", "x"];
    let said = monitor(&args, &data, None);
    let note = said.stderr.clone();
    assert_eq!(said.done().lines().count(), 1, "the key alone");
    assert!(
        note.contains("a new, empty one was made") && note.contains(arg(&data.join("monitor.db"))),
        "{note}"
    );
    let again = monitor(&args, &data, None);
    assert!(!again.stderr.contains("a new"), "{}", again.stderr);
    again.done();
}

#[test]
fn a_summary_names_the_store_the_files_and_the_spool() {
    let (folder, data, _) = a_backup();
    let archive = folder.path().join("second");
    let said = monitor(&["backup", arg(&archive)], &data, None).done();
    for (name, place) in [
        ("store: the SQLite file ", "monitor.db"),
        ("files from: ", "blobs"),
        ("spool: ", "spool"),
    ] {
        let line = format!("{name}{}\n", data.join(place).display());
        assert!(said.contains(&line), "{line}: {said}");
    }
    let target = folder.path().join("target");
    let said = monitor(&["restore", arg(&archive)], &target, None).done();
    let line = format!(
        "store: the SQLite file {}\n",
        target.join("monitor.db").display()
    );
    assert!(said.contains(&line), "{said}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_store_that_was_copied_away_is_named_by_the_commands_over_its_file() {
    let (folder, data, _) = a_backup();
    let server = Postgres::shared();
    let database = server.empty_database();
    let said = monitor(&["copy"], &data, Some(&database)).done();
    assert!(
        said.contains("store: the database ") && said.contains("of PostgreSQL at"),
        "{said}"
    );
    let archive = folder.path().join("late");
    for args in [
        vec!["backup", arg(&archive)],
        vec!["token", "list"],
        vec!["migrate"],
    ] {
        let said = monitor(&args, &data, None);
        for part in [
            "was copied to the database",
            "STORE_HOST",
            "monitor.db.copied",
        ] {
            assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
        }
        said.done();
        let args: Vec<_> = args.iter().map(|arg| arg.replace("late", "over")).collect();
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let said = monitor(&args, &data, Some(&database));
        assert!(!said.stderr.contains("was copied"), "{}", said.stderr);
        said.done();
    }
    std::fs::remove_file(data.join("monitor.db.copied")).unwrap();
    let said = monitor(&["token", "list"], &data, None);
    assert!(!said.stderr.contains("was copied"), "{}", said.stderr);
}

#[test]
fn a_restore_refuses_what_is_left_of_another_database() {
    // SQLite would write an old log over the restored file.
    let (folder, data, archive) = a_backup();
    for suffix in ["-wal", "-shm", "-journal"] {
        let target = folder.path().join(format!("with{suffix}"));
        std::fs::create_dir_all(&target).unwrap();
        let left = format!("monitor.db{suffix}");
        std::fs::write(target.join(&left), "old").unwrap();
        let said = monitor(&["restore", arg(&archive)], &target, None).refused();
        assert!(
            said.contains(&left) && said.contains("--data-dir"),
            "{said}"
        );
        assert_eq!(names(&target), [&*left]);
        std::fs::remove_file(target.join(&left)).unwrap();
        monitor(&["restore", arg(&archive)], &target, None).done();
    }
    // Whoever moves the database away is told of all its files.
    let said = monitor(&["restore", arg(&archive)], &data, None).refused();
    assert!(said.contains("monitor.db-wal"), "{said}");
}

#[test]
fn no_server_starts_over_an_interrupted_restore() {
    let (_folder, _, archive) = a_backup();
    let server = Folder::new();
    let target = server.path().join("data");
    std::fs::create_dir_all(&target).unwrap();
    std::fs::write(target.join("monitor.db.restoring"), "half").unwrap();
    for args in [&["token", "list"][..], &["migrate"]] {
        let said = monitor(args, &target, None).refused();
        assert!(
            said.contains("monitor.db.restoring") && said.contains("monitor restore"),
            "{said}"
        );
    }
    let (status, said) = Stack::all().folder(&server).refused();
    assert!(
        !status.success() && said.contains("monitor restore"),
        "{said}"
    );
    assert!(!target.join("monitor.db").exists());
    monitor(&["restore", arg(&archive)], &target, None).done();
    monitor(&["token", "list"], &target, None).done();
}
