//! What is shipped: the Debian package built and looked into, the image and the fleet of the examples, the
//! crates and licences the program is made of. The package is made of the program under test; whether it
//! installs is for `packaging/try-deb.sh` to show, in a system of its own.

mod architecture;
mod cargo_install;
mod contents;
mod deb;
mod fleet;
mod release;
mod supply;

use std::path::Path;
use std::process::{Command, Output};

/// A file of the project.
fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// Runs a program to its good end, and gives what it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {said}");
    String::from_utf8(stdout).unwrap()
}
