//! Standard output of a command, and what happens when nobody reads it any longer.

use super::failure::Failure;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Write};
use std::thread;

/// The exit code that a shell gives a process which SIGPIPE ended: 128 and the signal's number.
const CLOSED: i32 = 128 + 13;

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

/// Starts a thread that ends the process when the reader of standard output is gone, even while there is
/// nothing to write. It does nothing where the output is a file.
pub(super) fn end_with_reader() {
    let watch = || {
        if wait_until_closed() {
            end();
        }
    };
    let thread = thread::Builder::new().name("output-watch".to_owned());
    // Without it the next write finds the reader gone.
    let _ = thread.spawn(watch);
}

/// Ends the process without a word, as SIGPIPE ends other tools.
pub(super) fn end() -> ! {
    std::process::exit(CLOSED)
}

/// Waits until the other end is closed; false if that cannot be told.
fn wait_until_closed() -> bool {
    let stdout = io::stdout();
    loop {
        // No event is asked for: an error is always reported, and nothing else is waited for.
        let mut output = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut output, None) {
            Ok(_) => {
                let seen = output[0].revents();
                if seen.intersects(PollFlags::ERR | PollFlags::HUP) {
                    return true;
                }
                if seen.contains(PollFlags::NVAL) {
                    return false;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
