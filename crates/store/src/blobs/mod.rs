//! The bytes of attachments, each stored once under its SHA-256 (CONTRACT 29), over the crate `object_store`:
//! in a folder or in a bucket. While its hash is not known yet, an upload is written to a folder under a
//! temporary name. Which record a file belongs to is `attachments`.

mod bucket;
mod bucket_client;
mod exports;
mod incoming;

pub use exports::{ExportStore, ExportUpload};

use crate::attachments::BlobHash;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use incoming::IncomingFile;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _};
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Bytes of an upload that are buffered before they are written, beside the piece that takes them over it.
const PART: usize = 256 * 1024;
/// Bytes of the beginning of a file that stay in memory for the analysis of its text.
const BEGINNING: usize = 1024 * 1024;
const INCOMING: &str = "incoming";

/// The bytes could not be written or read. The message contains no file name of a caller.
#[derive(Clone, Debug, Error)]
#[error("the file storage failed: {0}")]
pub struct BlobError(String);

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for BlobError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Bytes of a blob as they are read.
pub type Bytes = BoxStream<'static, Result<bytes::Bytes, BlobError>>;

/// Where the bytes are stored.
#[derive(Clone)]
pub struct BlobStore {
    /// Uploads in progress and, without a bucket, everything else.
    local: Arc<LocalFileSystem>,
    /// The folder of the former.
    incoming: PathBuf,
    /// The stored bytes, if they are not in the same folder.
    bucket: Option<Arc<dyn ObjectStore>>,
}

/// An upload in progress.
pub struct Upload {
    file: IncomingFile,
    buffered: Vec<bytes::Bytes>,
    buffered_bytes: usize,
    hasher: Sha256,
    size: u64,
    beginning: Vec<u8>,
}

/// A complete upload that is not stored yet. Its file is removed when it is dropped.
pub struct Received {
    /// SHA-256 of its bytes.
    pub hash: BlobHash,
    /// Size in bytes.
    pub size: u64,
    /// Its first bytes, up to 1 MiB.
    pub beginning: Vec<u8>,
    file: IncomingFile,
}

impl BlobStore {
    /// A folder; created with access for its owner only (0700, files 0600) if it does not exist.
    ///
    /// # Errors
    /// [`BlobError`] when it cannot be created or read.
    pub fn local(folder: &Path) -> Result<Self, BlobError> {
        let incoming = folder.join(INCOMING);
        private_folder(&incoming)?;
        incoming::remove_abandoned(&incoming)?;
        let local = Arc::new(LocalFileSystem::new_with_prefix(folder)?.with_fsync(true));
        Ok(Self {
            local,
            incoming,
            bucket: None,
        })
    }

    /// A bucket of an S3-compatible store, by name and key prefix, with a folder for uploads in progress.
    /// Endpoint and credentials come from the environment (AWS_*). No request is made yet.
    ///
    /// # Errors
    /// [`BlobError`] when the environment contradicts itself, or the folder cannot be created.
    pub fn bucket(name: &str, prefix: &str, folder: &Path) -> Result<Self, BlobError> {
        Ok(Self {
            bucket: Some(bucket::open(name, prefix)?),
            ..Self::local(folder)?
        })
    }

    /// Begins an upload.
    ///
    /// # Errors
    /// [`BlobError`] when nothing can be written; the same holds for every method here that writes.
    pub async fn begin(&self) -> Result<Upload, BlobError> {
        Ok(Upload {
            file: IncomingFile::create(&self.incoming)?,
            buffered: Vec::new(),
            buffered_bytes: 0,
            hasher: Sha256::new(),
            size: 0,
            beginning: Vec::new(),
        })
    }

    /// Stores an upload under its hash, even if there is one already; durable when this returns. Once more is no error.
    pub async fn keep(&self, received: &Received) -> Result<(), BlobError> {
        let key = key(received.hash);
        let incoming = Key::from_iter([INCOMING, received.file.name()]);
        if let Some(bucket) = &self.bucket {
            let coming = self.local.get(&incoming).await?.into_stream();
            return Ok(bucket::put(&**bucket, &key, received.size, coming).await?);
        }
        let path = self.path(&key)?;
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        Ok(self.local.copy(&incoming, &key).await?)
    }

    /// Opens an upload for reading.
    ///
    /// # Errors
    /// [`BlobError`] when it cannot be opened.
    pub fn open(&self, received: &Received) -> Result<File, BlobError> {
        Ok(File::open(received.file.path())?)
    }

    /// The stored bytes; None if there are none.
    ///
    /// # Errors
    /// [`BlobError`] when they cannot be read.
    pub async fn read(&self, hash: BlobHash) -> Result<Option<Bytes>, BlobError> {
        match self.kept().get(&key(hash)).await {
            Ok(found) => Ok(Some(found.into_stream().map_err(BlobError::from).boxed())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the stored bytes, if there are any.
    pub async fn remove(&self, hash: BlobHash) -> Result<(), BlobError> {
        match self.kept().delete(&key(hash)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn kept(&self) -> &dyn ObjectStore {
        self.bucket.as_deref().unwrap_or(&*self.local)
    }

    fn path(&self, key: &Key) -> Result<PathBuf, BlobError> {
        Ok(self.local.path_to_filesystem(key)?)
    }
}

impl Upload {
    /// Bytes written so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Writes the next bytes.
    pub async fn write(&mut self, bytes: bytes::Bytes) -> Result<(), BlobError> {
        self.hasher.update(&bytes);
        self.size += bytes.len() as u64;
        let room = BEGINNING - self.beginning.len();
        self.beginning.extend(bytes.iter().take(room));
        self.buffered_bytes += bytes.len();
        self.buffered.push(bytes);
        match self.buffered_bytes >= PART {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<(), BlobError> {
        self.buffered_bytes = 0;
        Ok(self.file.write(std::mem::take(&mut self.buffered)).await?)
    }

    /// Completes the upload.
    pub async fn finish(mut self) -> Result<Received, BlobError> {
        self.flush().await?;
        self.file.sync().await?;
        Ok(Received {
            hash: BlobHash(self.hasher.finalize().into()),
            size: self.size,
            beginning: self.beginning,
            file: self.file,
        })
    }
}

impl Received {
    /// Drops the upload; its file is gone when this returns.
    pub async fn discard(self) {
        self.file.remove().await;
    }
}

fn key(hash: BlobHash) -> Key {
    let name = hash.to_string();
    let shard = name.get(..2).unwrap_or_default().to_owned();
    Key::from_iter([shard, name])
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
