//! A filled store on its way: how many bytes of the disk a record takes, and how long `monitor backup`, `monitor
//! restore` and `monitor copy` work on it. The program is started anew for each, as an operator does.

use bench_support::results::Table;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use support::postgres::{Database, Postgres};

/// A store that was filled.
pub(crate) struct Stored<'a> {
    /// The data folder.
    pub(crate) data: &'a Path,
    /// None: the store is in the data folder.
    pub(crate) server: Option<(&'a Postgres, &'a Database)>,
    pub(crate) rows: u64,
}

impl Stored<'_> {
    fn bytes(&self) -> u64 {
        match self.server {
            None => bytes_below(self.data),
            Some((_, database)) => bytes_of(database),
        }
    }
}

/// The number of bytes that all files of this folder have.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes_below(&entry.path()),
        about => about.map_or(0, |about| about.len()),
    });
    sizes.sum()
}

/// What a database takes on the disk, indexes included.
pub(crate) fn bytes_of(database: &Database) -> u64 {
    let size = database.query("SELECT pg_database_size(current_database())");
    size.parse().unwrap()
}

/// Backs a store up and restores it into SQLite; what was in PostgreSQL is then copied into another database there.
pub(crate) fn run(case: &'static str, stored: &Stored, table: &mut Table) {
    let rows = stored.rows as f64;
    let mut note = |what: &str, value: f64| table.note(case, what, value.round(), "");
    note(
        "bytes on disk per filled record",
        stored.bytes() as f64 / rows,
    );
    let archive = stored.data.with_file_name("archive");
    let file = archive.to_str().unwrap();
    let database = stored.server.map(|(_, database)| database);
    let time = timed(&["backup", file], stored.data, database);
    note("records backed up per second", rows / time);
    let size = std::fs::metadata(&archive).unwrap().len();
    note("bytes of the archive per record", size as f64 / rows);
    let restored = stored.data.with_file_name("restored");
    let time = timed(&["restore", file], &restored, None);
    note("records restored into SQLite per second", rows / time);
    if let Some((server, _)) = stored.server {
        let place = server.empty_database();
        let time = timed(&["copy"], &restored, Some(&place));
        note("records copied to PostgreSQL per second", rows / time);
    }
}

/// How many seconds a command takes that succeeds.
fn timed(arguments: &[&str], data: &Path, database: Option<&Database>) -> f64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
    command
        .env_clear()
        .args(arguments)
        .arg("--data-dir")
        .arg(data);
    for (name, value) in database.iter().flat_map(|database| database.owner_env()) {
        command.env(name, value);
    }
    let begin = Instant::now();
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    begin.elapsed().as_secs_f64()
}
