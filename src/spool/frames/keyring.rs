//! The keys of a spool's files. New files are written with the current key, or unencrypted without one; files of all
//! keys are read. A file names its key by an id that tells nothing of the key.

use crate::config::SpoolEncryption;
pub use crate::config::key_file::KeyId;
use crate::config::key_file::{self, FileKey, Owners};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A key of a spool.
#[derive(Clone, Debug)]
pub struct SpoolKey {
    id: KeyId,
    key: FileKey,
}

impl From<FileKey> for SpoolKey {
    fn from(key: FileKey) -> Self {
        Self { id: key.id(), key }
    }
}

impl SpoolKey {
    /// The name of the key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    pub(super) fn expose(&self) -> &[u8] {
        self.key.expose()
    }
}

/// The keys of a spool's files.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    current: Option<SpoolKey>,
    older: Vec<SpoolKey>,
}

impl Keyring {
    /// New files are encrypted with `current`, or not at all without it.
    pub fn new(current: Option<SpoolKey>, older: Vec<SpoolKey>) -> Self {
        Self { current, older }
    }

    /// Reads the key files of the configuration.
    ///
    /// # Errors
    /// When one of them cannot be used; the text names it.
    pub fn load(files: &SpoolEncryption, owners: Owners) -> Result<Self, String> {
        let key = |path: &PathBuf| key_file::read(path, owners).map(SpoolKey::from);
        let current = files.key_file.as_ref().map(key).transpose()?;
        let older = files.old_key_files.iter().map(key);
        Ok(Self::new(current, older.collect::<Result<_, _>>()?))
    }

    /// The key of new files.
    pub fn current(&self) -> Option<&SpoolKey> {
        self.current.as_ref()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &SpoolKey> {
        self.current.iter().chain(&self.older)
    }

    pub(super) fn find(&self, id: KeyId) -> Option<&SpoolKey> {
        self.all().find(|key| key.id == id)
    }
}

/// A file is encrypted with a key that is not there.
#[derive(Debug, Error)]
#[error(
    "{} is encrypted with the key {id}, which is in no key file: name the file of that key in \
     spool.encryption.old_key_files; if the key is lost, so are these records: move the file away", file.display()
)]
pub struct MissingKey {
    file: PathBuf,
    id: KeyId,
}

impl MissingKey {
    pub(super) fn error(file: &Path, id: KeyId) -> io::Error {
        io::Error::other(Self {
            file: file.into(),
            id,
        })
    }

    /// Whether a file could not be read for want of its key.
    pub(crate) fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}
