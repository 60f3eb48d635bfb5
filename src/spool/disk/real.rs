//! The operating system's file system.

use super::About;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// An open file.
#[derive(Debug)]
pub(crate) struct File(std::fs::File);

impl File {
    pub(crate) fn about(&self) -> io::Result<About> {
        about_of(&self.0.metadata()?)
    }

    pub(crate) fn set_length(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    /// Returns once the disk has confirmed every byte of the file.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Reads at an offset; fewer bytes only at the file's end.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < bytes.len() {
            match self.0.read_at(&mut bytes[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    /// Waits until no other process has the file locked, and locks it until it is closed.
    pub(crate) fn lock(&self) -> io::Result<()> {
        self.0.lock()
    }

    /// Locks the file until it is closed; false while another process has it locked.
    pub(crate) fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(std::fs::TryLockError::WouldBlock) => Ok(false),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        Self(file)
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_regular(options.read(true), path)
}

/// Opens a folder, for its lock.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    std::fs::File::open(path).map(File)
}

/// Creates a file (0600) that must not exist, to append to it.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    private().append(true).create_new(true).open(path).map(File)
}

/// Opens a file to append to it; creates it (0600) if it is missing.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    open_regular(private().append(true).create(true), path)
}

/// Opens a file to read and to write it at offsets; creates it (0600) if it is missing.
pub(crate) fn open_update(path: &Path) -> io::Result<File> {
    let mut options = private();
    options.read(true).write(true).create(true).truncate(false);
    open_regular(&mut options, path)
}

/// A pipe would keep the spool waiting, and a device may never end. Looked at first, as a device may act when it is
/// opened, and again, as it may be another file by then.
fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match std::fs::metadata(path) {
        // It is created, or its error says so.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        about => regular(path, &about?)?,
    }
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = options.custom_flags(flags).open(path)?;
    regular(path, &file.metadata()?)?;
    Ok(File(file))
}

fn regular(path: &Path, about: &Metadata) -> io::Result<()> {
    match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} is not a regular file: remove it", path.display()),
        )),
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Creates a folder (0700) and those it is in, unless they exist.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)
}

/// Returns once the names in a folder are on disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}

/// The paths in a folder, in no particular order.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let found = std::fs::read_dir(folder)?;
    found.map(|entry| entry.map(|entry| entry.path())).collect()
}

pub(crate) fn about(path: &Path) -> io::Result<About> {
    about_of(&std::fs::metadata(path)?)
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Gives a file a second name.
pub(crate) fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from, to)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

fn about_of(metadata: &Metadata) -> io::Result<About> {
    let last_ms = ms(metadata.modified()?);
    Ok(About {
        bytes: metadata.len(),
        // Not every file system knows when a file was created.
        begun_ms: metadata.created().map_or(last_ms, ms).min(last_ms),
        last_ms,
        identity: (metadata.dev(), metadata.ino()),
    })
}

fn ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
