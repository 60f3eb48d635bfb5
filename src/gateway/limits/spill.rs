//! Files for request bodies that are too large, or arrive too slowly, to wait in memory. Together they are
//! bounded by `limits.spilled_bytes`, and shared by access keys as memory is. A file is unlinked as soon as it is open,
//! so that nothing is left of it however the call or the process ends.

use super::memory::{MemoryBudget, MemoryReservation};
use crate::observe::Metrics;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// Threads that work on the files at a time. A slow disk gets no faster by more of them, and each one keeps memory for
/// seconds after its work.
const MAX_THREADS: usize = 16;

/// The folder that holds the files, and their common limit.
pub(crate) struct SpillFolder {
    folder: Arc<Path>,
    budget: Arc<MemoryBudget>,
    threads: DiskThreads,
    metrics: Arc<Metrics>,
}

/// One request body in a file.
pub(crate) struct SpillFile {
    file: Arc<File>,
    bytes: usize,
    reservation: MemoryReservation,
    threads: DiskThreads,
    metrics: Arc<Metrics>,
}

/// The threads that work on the files.
#[derive(Clone)]
struct DiskThreads(Arc<Semaphore>);

impl DiskThreads {
    /// Does the work on a thread of its own once one is free.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let free = self.0.clone().acquire_owned().await;
        let free = free.map_err(io::Error::other)?;
        let done = spawn_blocking(move || {
            let _until_the_end = free;
            work()
        });
        done.await?
    }
}

impl SpillFolder {
    /// Removes files left by a process that was killed between creating and unlinking one. The folder
    /// itself is created with the first file.
    pub(crate) fn new(folder: PathBuf, limit: u64, metrics: Arc<Metrics>) -> Self {
        for left in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(left.path());
        }
        metrics.limits.spilled_limit.set(signed(limit));
        Self {
            folder: folder.into(),
            budget: MemoryBudget::unmeasured(limit),
            threads: DiskThreads(Arc::new(Semaphore::new(MAX_THREADS))),
            metrics,
        }
    }

    /// Changes the limit. Files beyond a lower one stay.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.metrics.limits.spilled_limit.set(signed(limit));
        self.budget.set_limit(limit);
    }

    /// Whether `bytes` more are within the limit.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        let limits = &self.metrics.limits;
        let wanted = limits
            .spilled_bytes
            .get()
            .saturating_add(signed(bytes as u64));
        wanted <= limits.spilled_limit.get()
    }

    /// Creates an empty file for a call of this access key.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) async fn create_file(&self, holder: u64) -> io::Result<SpillFile> {
        let folder = self.folder.clone();
        let file = self.threads.run(move || unlinked_file(&folder)).await?;
        Ok(SpillFile {
            file: Arc::new(file),
            bytes: 0,
            reservation: MemoryReservation::new(&self.budget, holder),
            threads: self.threads.clone(),
            metrics: self.metrics.clone(),
        })
    }
}

fn unlinked_file(folder: &Path) -> io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let path = folder.join(Uuid::new_v4().to_string());
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path)?;
    // A process that has just started may have removed it already.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(file),
    }
}

impl SpillFile {
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Appends the bytes. After an error the file is unusable.
    ///
    /// # Errors
    /// When the limit is reached, or the access key has more than its share of what is nearly used up, or the
    /// disk is full or fails.
    pub(crate) async fn write(
        &mut self,
        bytes: impl AsRef<[u8]> + Send + 'static,
    ) -> io::Result<()> {
        self.reserve(bytes.as_ref().len())?;
        let file = self.file.clone();
        let writing = move || (&*file).write_all(bytes.as_ref());
        self.threads.run(writing).await
    }

    /// Counts the bytes before they are written: dropping the file subtracts them.
    fn reserve(&mut self, bytes: usize) -> io::Result<()> {
        let reserved = self.reservation.grow(bytes);
        reserved.map_err(|_| io::ErrorKind::QuotaExceeded)?;
        self.bytes += bytes;
        let spilled = &self.metrics.limits.spilled_bytes;
        spilled.add(signed(bytes as u64));
        Ok(())
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// When the disk fails or returns fewer bytes than were written.
    pub(crate) async fn read_back(self) -> io::Result<Vec<u8>> {
        let (file, length) = (self.file.clone(), self.bytes);
        let reading = self.threads.run(move || {
            let mut bytes = Vec::with_capacity(length);
            (&*file).rewind()?;
            (&*file).take(length as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let bytes = reading.await?;
        match bytes.len() < length {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => Ok(bytes),
        }
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        let spilled = &self.metrics.limits.spilled_bytes;
        spilled.sub(signed(self.bytes as u64));
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_key_that_fills_the_files_leaves_another_its_share() {
        let path = std::env::temp_dir().join(format!("monitor-spill-{}", Uuid::new_v4()));
        let metrics = Arc::new(Metrics::new().unwrap());
        let folder = SpillFolder::new(path.clone(), 1_000, metrics.clone());
        let mut quiet = folder.create_file(2).await.unwrap();
        quiet.write(vec![0u8; 10]).await.unwrap();
        let mut flooding = folder.create_file(1).await.unwrap();
        let mut written = 0;
        while flooding.write(vec![0u8; 10]).await.is_ok() {
            written += 10;
        }
        assert!((600..800).contains(&written), "{written}");
        quiet.write(vec![0u8; 200]).await.unwrap();
        assert_eq!(metrics.limits.spilled_bytes.get(), written + 210);
        drop((quiet, flooding));
        assert_eq!(metrics.limits.spilled_bytes.get(), 0);
        let _ = std::fs::remove_dir_all(path);
    }
}
