//! Standard output of a command.

use super::failure::Failure;
use std::io::{self, Write};

/// Writes and flushes everything.
pub(super) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            // The reader has closed the pipe, as in `monitor openapi | head`.
            io::ErrorKind::BrokenPipe => {
                Failure::Runtime(anyhow::anyhow!("standard output is closed"))
            }
            _ => Failure::Runtime(anyhow::Error::new(error).context("cannot write")),
        })
}
