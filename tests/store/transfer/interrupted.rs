//! A backup, a restore and a copy that are interrupted leave nothing that looks complete, and go well the next time.

use super::month::fill;
use super::picture::Picture;
use super::{arg, monitor};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use support::postgres::{Database, Postgres};
use support::stack::{Folder, Stack};
use tokio::runtime::Runtime;

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
        runtime.block_on(fill(&data));
        let archive = folder.path().join("backup");
        monitor(&["backup", arg(&archive)], &data, None).done();
        Self {
            runtime,
            folder,
            data,
            archive,
        }
    }

    /// The archive without its end.
    fn cut(&self) -> PathBuf {
        let whole = std::fs::read(&self.archive).unwrap();
        let cut = self.folder.path().join("cut");
        std::fs::write(&cut, &whole[..whole.len() - 300]).unwrap();
        cut
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn a_restore_of_half_an_archive_leaves_nothing_and_the_next_one_goes_well() {
    let world = World::new();
    let target = world.folder.path().join("target");
    let said = monitor(&["restore", arg(&world.cut())], &target, None).refused();
    assert!(
        said.contains("not complete") && said.contains("another backup"),
        "{said}"
    );
    assert!(
        is_empty(&target),
        "{:?}",
        std::fs::read_dir(&target).unwrap().collect::<Vec<_>>()
    );
    monitor(&["restore", arg(&world.archive)], &target, None).done();
    let original = world.runtime.block_on(Picture::of_folder(&world.data));
    let restored = world.runtime.block_on(Picture::of_folder(&target));
    restored.assert_same(&original);
}

/// Kills a command once something is there.
fn kill_once(args: &[&str], data_dir: &Path, is_there: impl Fn() -> bool) {
    let mut command = Command::new(support::monitor());
    command
        .env_clear()
        .args(args)
        .arg("--data-dir")
        .arg(data_dir);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    support::eventually("it has begun", || {
        (is_there() || child.try_wait().unwrap().is_some()).then_some(())
    });
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_killed_backup_leaves_no_archive_and_a_killed_restore_no_store() {
    let world = World::new();
    let [archive, partial] =
        ["second", "second.partial"].map(|name| world.folder.path().join(name));
    kill_once(&["backup", arg(&archive)], &world.data, || partial.exists());
    let was_killed = !archive.exists();
    if was_killed {
        let said = monitor(&["restore", arg(&partial), "--check"], &world.data, None).refused();
        assert!(said.contains("not complete"), "{said}");
        monitor(&["backup", arg(&archive)], &world.data, None).done();
    }
    assert!(!partial.exists());
    let target = world.folder.path().join("target");
    let database = target.join("monitor.db.restoring");
    kill_once(&["restore", arg(&archive)], &target, || database.exists());
    if !target.join("monitor.db").exists() {
        assert!(is_empty(&target.join("blobs")) && is_empty(&target.join("spool")));
        monitor(&["restore", arg(&archive)], &target, None).done();
    }
    let original = world.runtime.block_on(Picture::of_folder(&world.data));
    let restored = world.runtime.block_on(Picture::of_folder(&target));
    restored.assert_same(&original);
    let left = std::fs::read_dir(&target).unwrap();
    let left = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains("restoring")
    });
    assert_eq!(left.count(), 0);
}

fn refuses_to_start(database: &Database) {
    let stack = Stack::analysis_server();
    let variables = database.owner_env().into_iter();
    let stack = variables.fold(stack, |stack, (name, value)| stack.env(name, value));
    let (status, said) = stack.refused();
    assert!(!status.success());
    assert!(
        said.contains("did not complete") && said.contains("drop the database"),
        "{said}"
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_database_that_was_half_restored_is_opened_by_nobody() {
    let world = World::new();
    let server = Postgres::shared();
    let database = server.empty_database();
    let target = world.folder.path().join("target");
    let cut = world.cut();
    monitor(&["restore", arg(&cut)], &target, Some(&database)).refused();
    assert_ne!(
        database.query("SELECT count(*) FROM records"),
        "0",
        "it had begun"
    );
    refuses_to_start(&database);
    let again = monitor(&["restore", arg(&world.archive)], &target, Some(&database)).refused();
    assert!(again.contains("did not complete"), "{again}");
    database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    monitor(&["restore", arg(&world.archive)], &target, Some(&database)).done();
    let original = world.runtime.block_on(Picture::of_folder(&world.data));
    let restored = world.runtime.block_on(Picture::of_database(&database));
    restored.assert_same(&original);
}

/// Makes the end of a restore or a copy fail, as a full disk does.
fn fail_at_the_end(database: &Database) {
    database.execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full'; END $$;
         CREATE TRIGGER fail BEFORE DELETE ON blobs FOR EACH STATEMENT EXECUTE FUNCTION fail()",
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_restore_or_copy_that_fails_at_its_end_leaves_no_files_and_no_spool() {
    let world = World::new();
    let server = Postgres::shared();
    let [database, second] = [0, 1].map(|_| server.empty_database());
    let target = world.folder.path().join("target");
    for database in [&database, &second] {
        monitor(&["migrate"], &target, Some(database)).done();
        fail_at_the_end(database);
    }
    let said = monitor(&["restore", arg(&world.archive)], &target, Some(&database)).refused();
    assert!(said.contains("disk full"), "{said}");
    for place in ["blobs", "spool"] {
        assert!(is_empty(&target.join(place)), "{place} got its name");
    }
    refuses_to_start(&database);
    let from = world.data.join("monitor.db");
    let said = monitor(&["copy", "--from", arg(&from)], &target, Some(&second)).refused();
    assert!(said.contains("disk full"), "{said}");
    assert!(is_empty(&target.join("blobs")));
    refuses_to_start(&second);
    // The next ones go well.
    for database in [&database, &second] {
        database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    }
    monitor(&["restore", arg(&world.archive)], &target, Some(&database)).done();
}
