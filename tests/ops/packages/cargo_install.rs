//! `cargo install --path .`, in the quicker profile, with the target folder of the tests.

use super::run;
use std::path::Path;
use std::process::Command;
use support::stack::Folder;

#[test]
#[ignore = "needs minutes: it builds the program without what only its tests need"]
fn cargo_install_gives_a_program_that_runs() {
    let folder = Folder::new();
    // The folder above `tmp`, where cargo builds the tests.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut install = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    install
        .args(["install", "--path", ".", "--debug", "--locked", "--quiet"])
        .args(["--no-track", "--root"])
        .arg(folder.path())
        .env("CARGO_TARGET_DIR", target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    run(&mut install);
    let mut installed = Command::new(folder.path().join("bin/monitor"));
    let version = run(installed.arg("--version").env_clear());
    let expected = format!("monitor {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(version.trim(), expected);
    // It is the only one.
    let programs = std::fs::read_dir(folder.path().join("bin")).unwrap();
    assert_eq!(programs.count(), 1);
}
