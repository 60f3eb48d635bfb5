//! What `monitor copy` leaves beside the SQLite file: a note of where the store went. The file stays a store, so that a
//! copy can be tried, but a command that works on it because nobody named PostgreSQL says so.

use crate::analysis::database_file;
use crate::config::Settings;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The most characters of a note that are shown.
const LONGEST: usize = 500;

/// The note's file.
pub(crate) fn note_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(database.as_os_str());
    name.push(".copied");
    PathBuf::from(name)
}

/// Notes where a SQLite file was copied to, and when.
///
/// # Errors
/// When the note cannot be written.
pub(crate) fn leave_note(database: &Path, target: &str, at: &str) -> io::Result<PathBuf> {
    let path = note_of(database);
    let options = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .to_owned();
    writeln!(options.open(&path)?, "{target}, at {at}")?;
    Ok(path)
}

/// What to say where the configured store is a SQLite file that was copied away, or was before it was moved.
pub(crate) fn warning(settings: &Settings) -> Option<String> {
    if settings.analysis.store.is_some() {
        return None;
    }
    let database = database_file(&settings.analysis, &settings.data_dir);
    let note = note_of(&database);
    let text = std::fs::read_to_string(&note).ok()?;
    let shown = text.chars().filter(|c| !c.is_control()).take(LONGEST);
    Some(format!(
        "{} was copied to {}. If that is the store now, name it (STORE_HOST, STORE_DB, STORE_USER and STORE_PASSWORD, \
         or --config); if this file still is, remove {}",
        database.display(),
        shown.collect::<String>(),
        note.display()
    ))
}

/// Says it on standard error.
pub(crate) fn warn(settings: &Settings) {
    if let Some(warning) = warning(settings) {
        eprintln!("warning: {warning}");
    }
}
