//! The files of uploads in progress. Each is locked while its process needs it, and removed after that. What a process
//! leaves behind that was killed is not locked: the next start removes it, whatever other processes use the folder.

use bytes::Bytes;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// What the names of locked files end with.
const LOCKED: &str = "upload";
/// Files that no lock protects, of earlier versions or where the file system has no locks, are removed after this time.
const ABANDONED: Duration = Duration::from_secs(86_400);
/// Attempts to create a file that no other process takes for abandoned before it is locked.
const TRIES: usize = 5;

/// A file that this process writes or reads; removed when it is dropped.
pub(super) struct IncomingFile {
    file: Arc<File>,
    path: PathBuf,
}

impl IncomingFile {
    /// An empty file with access for its owner only.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let path = folder
                .join(Uuid::new_v4().to_string())
                .with_extension(LOCKED);
            let mut options = OpenOptions::new();
            let file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            let incoming = Self {
                file: Arc::new(file),
                path,
            };
            match incoming.file.try_lock() {
                Err(TryLockError::WouldBlock) => {}
                // Without locks, age alone decides.
                Err(TryLockError::Error(_)) => return Ok(incoming),
                Ok(()) if incoming.file.metadata()?.nlink() > 0 => return Ok(incoming),
                Ok(()) => {}
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its name in the folder.
    pub(super) fn name(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.unwrap_or_default()
    }

    pub(super) async fn write(&self, parts: Vec<Bytes>) -> io::Result<()> {
        let file = self.file.clone();
        spawn_blocking(move || parts.iter().try_for_each(|part| (&*file).write_all(part))).await?
    }

    /// Returns when the file is on the disk.
    pub(super) async fn sync(&self) -> io::Result<()> {
        let file = self.file.clone();
        spawn_blocking(move || file.sync_all()).await?
    }

    /// Removes the file, before this returns.
    pub(super) async fn remove(mut self) {
        let path = std::mem::take(&mut self.path);
        // If it fails, a later start removes the file.
        let _ = spawn_blocking(move || std::fs::remove_file(path)).await;
    }
}

impl Drop for IncomingFile {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        if path.as_os_str().is_empty() {
            return;
        }
        let remove = move || drop(std::fs::remove_file(path));
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

/// Removes the files that no process needs any more.
pub(super) fn remove_abandoned(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        match remove_if_abandoned(&entry?.path()) {
            // Its process has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_file() {
        return Ok(());
    }
    let file = File::open(path)?;
    let has_lock = path.extension().is_some_and(|it| it == LOCKED);
    let is_abandoned = match has_lock.then(|| file.try_lock()) {
        Some(Ok(())) => true,
        Some(Err(TryLockError::WouldBlock)) => false,
        None | Some(Err(TryLockError::Error(_))) => {
            let age = SystemTime::now().duration_since(metadata.modified()?);
            age.is_ok_and(|age| age > ABANDONED)
        }
    };
    match is_abandoned {
        true => std::fs::remove_file(path),
        false => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::blobs::BlobStore;
    use std::time::Instant;

    fn files(folder: &Path) -> usize {
        std::fs::read_dir(folder.join("incoming")).unwrap().count()
    }

    #[test]
    fn an_upload_that_is_given_up_leaves_no_file_however_far_it_came() {
        let folder = std::env::temp_dir().join(format!("monitor-blobs-{}", Uuid::new_v4()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let blobs = BlobStore::local(&folder).unwrap();
        runtime.block_on(async {
            let mut begun = blobs.begin().await.unwrap();
            begun.write(Bytes::from_static(b"begun")).await.unwrap();
            let complete = blobs.begin().await.unwrap().finish().await.unwrap();
            let kept = blobs.begin().await.unwrap().finish().await.unwrap();
            blobs.keep(&kept).await.unwrap();
            assert_eq!(files(&folder), 3);
            // Another process begins.
            BlobStore::local(&folder).unwrap();
            assert_eq!(files(&folder), 3);
            drop((begun, complete));
            assert!(blobs.read(kept.hash).await.unwrap().is_some());
            drop(kept);
            // They are removed on other threads.
            let begun = Instant::now();
            while files(&folder) > 0 {
                assert!(begun.elapsed() < Duration::from_secs(15));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let _ = std::fs::remove_dir_all(folder);
    }
}
