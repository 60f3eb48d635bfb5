//! Files for request bodies that are too large to wait in memory while a client sends them, or too slow;
//! all of them together are bounded by `limits.spilled_bytes`. A file has no name from the moment it is
//! open, so that nothing is left of it however the call or the process ends.

use crate::observe::Metrics;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// Where they are, and how much there may be.
pub(crate) struct Spills {
    folder: Arc<Path>,
    metrics: Arc<Metrics>,
}

/// One body in a file.
pub(crate) struct Spilled {
    file: Arc<File>,
    bytes: usize,
    metrics: Arc<Metrics>,
}

impl Spills {
    /// The folder is made when it is needed. What a process that was killed between making a file and
    /// taking its name away has left there is removed.
    pub(crate) fn new(folder: PathBuf, limit: u64, metrics: Arc<Metrics>) -> Self {
        for left in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(left.path());
        }
        metrics.limits.spilled_limit.set(signed(limit));
        Self {
            folder: folder.into(),
            metrics,
        }
    }

    /// What there is already stays.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.metrics.limits.spilled_limit.set(signed(limit));
    }

    /// Whether so many bytes more are within the bound.
    pub(crate) fn have_room(&self, bytes: usize) -> bool {
        let limits = &self.metrics.limits;
        let wanted = limits
            .spilled_bytes
            .get()
            .saturating_add(signed(bytes as u64));
        wanted <= limits.spilled_limit.get()
    }

    /// # Errors
    /// When the disk refuses.
    pub(crate) async fn file(&self) -> io::Result<Spilled> {
        let folder = self.folder.clone();
        let file = spawn_blocking(move || nameless(&folder)).await??;
        Ok(Spilled {
            file: Arc::new(file),
            bytes: 0,
            metrics: self.metrics.clone(),
        })
    }
}

fn nameless(folder: &Path) -> io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let path = folder.join(Uuid::new_v4().to_string());
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path)?;
    // A process that starts beside this one may have removed it.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(file),
    }
}

impl Spilled {
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Adds bytes; gives the buffer back empty. After an error the file is of no use.
    ///
    /// # Errors
    /// When the bound is reached, or the disk is full or refuses.
    pub(crate) async fn write(&mut self, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        self.take(bytes.len())?;
        let file = self.file.clone();
        let written = spawn_blocking(move || (&*file).write_all(&bytes).map(|()| bytes));
        bytes = written.await??;
        bytes.clear();
        Ok(bytes)
    }

    /// Counted before it is written, and also where it is too much: what is dropped is counted off again.
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        let limits = &self.metrics.limits;
        self.bytes += bytes;
        limits.spilled_bytes.add(signed(bytes as u64));
        match limits.spilled_bytes.get() <= limits.spilled_limit.get() {
            true => Ok(()),
            false => Err(io::ErrorKind::QuotaExceeded.into()),
        }
    }

    /// Everything.
    ///
    /// # Errors
    /// When the disk refuses, or gives less than it was given.
    pub(crate) async fn read_back(self) -> io::Result<Vec<u8>> {
        let (file, length) = (self.file.clone(), self.bytes);
        let reading = spawn_blocking(move || {
            let mut bytes = Vec::with_capacity(length);
            (&*file).rewind()?;
            (&*file).take(length as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match reading.await? {
            Ok(bytes) if bytes.len() < length => Err(io::ErrorKind::UnexpectedEof.into()),
            read => read,
        }
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        let spilled = &self.metrics.limits.spilled_bytes;
        spilled.sub(signed(self.bytes as u64));
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
