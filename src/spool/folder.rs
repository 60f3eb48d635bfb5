//! A spool's folder together with the keys of the files in it.

use super::frames::keyring::Keyring;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A spool's folder, and the keys of its files.
#[derive(Clone, Debug)]
pub struct SpoolFolder {
    path: PathBuf,
    keys: Arc<Keyring>,
}

impl SpoolFolder {
    /// The folder at this path, whose files have these keys.
    pub fn new(path: impl Into<PathBuf>, keys: Arc<Keyring>) -> Self {
        Self {
            path: path.into(),
            keys,
        }
    }

    /// Another folder with files of the same keys.
    pub fn sibling(&self, path: &Path) -> Self {
        Self::new(path, self.keys.clone())
    }

    /// The keys of the folder's files.
    pub fn keys(&self) -> &Arc<Keyring> {
        &self.keys
    }
}

impl Deref for SpoolFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
impl From<&Path> for SpoolFolder {
    fn from(path: &Path) -> Self {
        Self::new(path, Arc::default())
    }
}
