//! Where restored files go: into a new folder beside that of the configuration, or into its bucket.

use super::place::{PartialFolder, first_file};
use crate::analysis::blobs_folder;
use crate::config::{BlobPlace, Settings};
use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use monitor_store::{BlobHash, BlobStore, Upload};
use std::path::{Path, PathBuf};

/// The files of a store that is being filled.
pub(super) struct TargetFiles {
    store: BlobStore,
    folder: PartialFolder,
    /// The file whose bytes come next.
    current: Option<(BlobHash, Upload)>,
    /// Files that were kept, and files whose bytes have another hash than their name says.
    pub(super) kept: u64,
    pub(super) damaged: u64,
}

impl TargetFiles {
    /// # Errors
    /// When the folder of the configuration has files.
    pub(super) fn begin(settings: &Settings) -> Result<Self> {
        let place = blobs_folder(&settings.analysis, &settings.data_dir);
        let bucket = match &settings.analysis.blobs {
            Some(BlobPlace::Bucket { name, prefix }) => Some((name, prefix)),
            None | Some(BlobPlace::Folder(_)) => None,
        };
        if let (None, Some(file)) = (bucket, first_file(&place)?) {
            bail!(
                "the folder of attached files is not empty (it has {}): nothing is written over; move {} away, or name \
                 an empty folder (analysis.blobs)",
                file.display(),
                place.display()
            );
        }
        let folder = PartialFolder::begin(&place, ".restoring")?;
        let store = match bucket {
            Some((name, prefix)) => BlobStore::bucket(name, prefix, folder.path())?,
            None => BlobStore::local(folder.path())?,
        };
        Ok(Self {
            store,
            folder,
            current: None,
            kept: 0,
            damaged: 0,
        })
    }

    /// Begins a file.
    pub(super) async fn begin_file(&mut self, hash: BlobHash) -> Result<()> {
        self.end_file().await?;
        self.current = Some((hash, self.store.begin().await?));
        Ok(())
    }

    /// Writes the next bytes of the file that was begun.
    pub(super) async fn write(&mut self, bytes: Vec<u8>) -> Result<()> {
        ensure!(self.current.is_some(), "a file was not begun");
        if let Some((_, upload)) = &mut self.current {
            upload.write(Bytes::from(bytes)).await?;
        }
        Ok(())
    }

    /// Keeps the file that was begun.
    pub(super) async fn end_file(&mut self) -> Result<()> {
        let Some((hash, upload)) = self.current.take() else {
            return Ok(());
        };
        let received = upload.finish().await?;
        if received.hash == hash {
            self.store.keep(&received).await?;
            self.kept += 1;
        } else {
            self.damaged += 1;
        }
        received.discard().await;
        Ok(())
    }

    /// The folder that is being filled.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the folder in its place; None with a bucket, where everything is in its place already.
    pub(super) fn publish(self, settings: &Settings) -> Result<Option<PathBuf>> {
        match settings.analysis.blobs {
            Some(BlobPlace::Bucket { .. }) => Ok(None),
            None | Some(BlobPlace::Folder(_)) => self.folder.publish().map(Some),
        }
    }
}
