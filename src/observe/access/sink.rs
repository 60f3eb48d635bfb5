//! Where the lines of the access log go.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The mode of a new file: readable for the service and its group, which collectors can join.
const MODE: u32 = 0o640;

/// A place for lines.
pub(super) enum Sink {
    Stdout,
    /// Appended to, so that two processes of one hand-over can share it.
    File(File),
}

impl Sink {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| {
            let text = format!(
                "log.access.file: {} cannot be written: {error}",
                path.display()
            );
            io::Error::new(error.kind(), text)
        };
        made_or_found(path).map(Self::File).map_err(named)
    }

    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(lines)?;
                out.flush()
            }
            Self::File(file) => file.write_all(lines),
        }
    }
}

/// A new file gets the mode regardless of the process's umask; an existing one keeps its own.
fn made_or_found(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match options.append(true).create_new(true).open(path) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(MODE))?;
            Ok(file)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            OpenOptions::new().append(true).create(true).open(path)
        }
        Err(error) => Err(error),
    }
}
