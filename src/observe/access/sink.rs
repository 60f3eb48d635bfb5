//! Where the lines of the access log go.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Who may read a file that is made here: the service and its group, which collectors are put into.
const MODE: u32 = 0o640;

/// A place for lines.
pub(super) enum Sink {
    Stdout,
    /// Appended to, so that two processes of one hand-over can share it.
    File(File),
}

impl Sink {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).mode(MODE).open(path);
        let named = |error: io::Error| {
            let text = format!(
                "log.access.file: {} cannot be written: {error}",
                path.display()
            );
            io::Error::new(error.kind(), text)
        };
        opened.map(Self::File).map_err(named)
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
