//! Objects of scheduled exports, by their names: in a folder, or in the bucket of attached files.

use super::{BlobError, bucket, private_folder};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _, WriteMultipart};
use std::path::Path;
use std::sync::Arc;

/// Bytes in one request of an upload; S3 prescribes the minimum.
const PART: usize = 8 * 1024 * 1024;
/// What keys in the bucket begin with, after its prefix.
const IN_BUCKET: &str = "exports";
/// What the name of an upload in progress contains, in a folder.
const UNFINISHED: char = '#';

/// Where the objects of one export are.
#[derive(Clone)]
pub struct ExportStore {
    store: Arc<dyn ObjectStore>,
    /// What the names begin with.
    parts: Vec<String>,
}

/// An object in progress. A reader sees all of it or nothing.
pub struct ExportUpload(WriteMultipart);

impl ExportStore {
    /// A folder; created with access for its owner only if it does not exist. What an interrupted export
    /// left is removed.
    ///
    /// # Errors
    /// [`BlobError`] when it cannot be created or read.
    pub fn local(folder: &Path) -> Result<Self, BlobError> {
        private_folder(folder)?;
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let is_unfinished = entry.file_name().to_string_lossy().contains(UNFINISHED);
            if is_unfinished && entry.file_type()?.is_file() {
                std::fs::remove_file(entry.path())?;
            }
        }
        let store = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true);
        Ok(Self {
            store: Arc::new(store),
            parts: Vec::new(),
        })
    }

    /// A bucket, by its name and key prefix; the objects are below `exports` and the export's name. Endpoint and
    /// credentials come from the environment (AWS_*). No request is made yet.
    ///
    /// # Errors
    /// [`BlobError`] when the environment contradicts itself.
    pub fn bucket(name: &str, prefix: &str, export: &str) -> Result<Self, BlobError> {
        Ok(Self {
            store: bucket::open(name, prefix)?,
            parts: vec![IN_BUCKET.to_owned(), export.to_owned()],
        })
    }

    /// Whether the object is there.
    ///
    /// # Errors
    /// [`BlobError`] when the place cannot be read.
    pub async fn has(&self, name: &str) -> Result<bool, BlobError> {
        match self.store.head(&self.key(name)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins an object.
    ///
    /// # Errors
    /// [`BlobError`] when nothing can be written; the same holds for the methods of the upload.
    pub async fn begin(&self, name: &str) -> Result<ExportUpload, BlobError> {
        let upload = self.store.put_multipart(&self.key(name)).await?;
        let writing = WriteMultipart::new_with_chunk_size(upload, PART);
        Ok(ExportUpload(writing))
    }

    fn key(&self, name: &str) -> Key {
        let parts = self.parts.iter().map(String::as_str);
        Key::from_iter(parts.chain([name]))
    }
}

impl ExportUpload {
    /// Writes the next bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.0.wait_for_capacity(1).await?;
        self.0.write(bytes);
        Ok(())
    }

    /// Completes the object.
    pub async fn finish(self) -> Result<(), BlobError> {
        self.0.finish().await?;
        Ok(())
    }

    /// Leaves nothing of it, as far as the place lets it.
    pub async fn abort(self) {
        let _ = self.0.abort().await;
    }
}
