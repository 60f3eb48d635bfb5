//! Files that have no name: what is in them ends with the process, however that ends.

use anyhow::{Context, Result};
use std::fs::{File, OpenOptions, remove_file};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// An empty one for its owner alone, on the disk of the archive.
pub(super) fn create(archive: &Path, suffix: &str) -> Result<File> {
    let mut path = archive.as_os_str().to_owned();
    path.push(format!(".{suffix}-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path).and_then(|file| {
        remove_file(&path)?;
        Ok(file)
    });
    file.with_context(|| Path::new(&path).display().to_string())
}
