//! A folder of its own for each test, removed at its end. Not part of the program.

use std::path::{Path, PathBuf};
use uuid::Uuid;

pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// A path that does not exist yet; whoever is tested makes the folder.
    pub(crate) fn unmade() -> Self {
        Self(std::env::temp_dir().join(format!("monitor-test-{}", Uuid::new_v4())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Missing when the test never made it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
