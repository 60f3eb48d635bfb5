//! Files for request bodies that are too large to wait in memory while a client sends them. A file has
//! no name from the moment it is open, so that nothing is left of it however the call or the process
//! ends.

use crate::observe::Metrics;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// Where they are.
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
    pub(crate) fn new(folder: PathBuf, metrics: Arc<Metrics>) -> Self {
        for left in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(left.path());
        }
        Self {
            folder: folder.into(),
            metrics,
        }
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

    /// Adds bytes; gives the buffer back empty.
    ///
    /// # Errors
    /// When the disk is full or refuses.
    pub(crate) async fn write(&mut self, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let file = self.file.clone();
        let written = spawn_blocking(move || (&*file).write_all(&bytes).map(|()| bytes));
        bytes = written.await??;
        self.bytes += bytes.len();
        let spilled = &self.metrics.limits.spilled_bytes;
        spilled.add(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        bytes.clear();
        Ok(bytes)
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
        spilled.sub(i64::try_from(self.bytes).unwrap_or(i64::MAX));
    }
}
