//! Ends a command whose output nobody reads any longer, even while it has nothing to write: as the signal
//! SIGPIPE ends other Unix tools.

use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::thread;

/// The exit code that a shell gives a process which SIGPIPE ended: 128 and the signal's number.
const CLOSED: i32 = 128 + 13;

/// Starts a thread that ends the process when the reader of standard output is gone. It does nothing where
/// the output is a file or no thread can be started.
pub(super) fn start() {
    let watch = || {
        if wait_until_closed() {
            end();
        }
    };
    let name = "output-watch".to_owned();
    // Without it the next write finds the reader gone.
    let _ = thread::Builder::new().name(name).spawn(watch);
}

/// Ends the process without a word.
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
