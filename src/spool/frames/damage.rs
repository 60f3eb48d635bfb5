//! Keeps what cannot be read: the file gets a second name, so that nothing of it is gone when the spool is done with
//! the first one, and `monitor spool repair` can read it again.

use crate::observe::Metrics;
use crate::observe::events::SpoolDamaged;
use crate::spool::disk;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The extension of files that could not be read whole.
pub(crate) const DAMAGED: &str = "damaged";

/// Bytes that are kept of a file that is copied.
const MAX_COPY: u64 = 1 << 20;

/// The second name of a file.
pub(crate) fn kept_path(path: &Path) -> PathBuf {
    match path.extension().is_some_and(|kind| kind == "seg") {
        true => path.with_extension(DAMAGED),
        // Files of dead letters differ in their extensions.
        false => {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(DAMAGED);
            name.into()
        }
    }
}

/// Keeps a file of which so many bytes cannot be read, beside the one that is still read.
pub(crate) fn keep(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    match disk::link(path, &kept_path(path)) {
        // It is kept since an earlier part of it, or an earlier start.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        kept => kept,
    }
}

/// Sets a file aside that is not read any further.
pub(crate) fn set_aside(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    rename(path)
}

/// Leaves a file only the name under which it is kept.
pub(crate) fn rename(path: &Path) -> io::Result<()> {
    disk::rename(path, &kept_path(path))?;
    // If it had both names, renaming one to the other changed nothing.
    match disk::remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Keeps the content of a small file that is written in place.
pub(crate) fn keep_copy(path: &Path, bytes: u64, metrics: &Metrics) -> io::Result<()> {
    SpoolDamaged { file: path, bytes }.emit(metrics);
    let file = disk::open(path)?;
    let length = usize::try_from(file.about()?.bytes.min(MAX_COPY)).unwrap_or_default();
    let mut content = vec![0; length];
    let read = file.read_at(&mut content, 0)?;
    match disk::create_new(&kept_path(path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        kept => kept?.write_all(&content[..read]),
    }
}
