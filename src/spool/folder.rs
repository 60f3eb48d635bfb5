//! A spool's folder: made where it is missing, and one process's at a time (CONTRACT 23).

use super::SpoolError;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Whoever holds the file has the folder.
pub(super) fn lock(folder: &Path) -> Result<File, SpoolError> {
    let file = private_folder(folder)
        .and_then(|()| {
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(folder.join("lock"))
        })
        .map_err(|error| refused(folder, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(SpoolError::InUse {
            folder: folder.into(),
        }),
        Err(std::fs::TryLockError::Error(error)) => Err(refused(folder, &error)),
    }
}

fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

pub(super) fn refused(folder: &Path, error: &io::Error) -> SpoolError {
    SpoolError::Folder {
        folder: folder.into(),
        reason: error.to_string(),
    }
}
