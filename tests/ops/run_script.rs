//! `tests/run.sh` names what is missing where it may not install it, and leaves nothing behind where it may.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use support::stack::Folder;

/// Runs `without_services service` of the script as this user, where installing ends like this.
fn install(folder: &Path, user: u32, installing: &str) -> Output {
    for (name, text) in [("id", &*format!("echo {user}")), ("apt-get", installing)] {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let script = "set -euo pipefail
        for name in must_install packages without_services; do
            eval \"$(sed -n \"/^$name() {/,/^}/p\" tests/run.sh)\"
        done
        policy=$1/policy
        without_services service";
    let path = std::env::var("PATH").unwrap();
    Command::new("bash")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-c", script, "bash"])
        .arg(folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .unwrap()
}

#[test]
fn without_root_the_missing_package_is_named() {
    let folder = Folder::new();
    let output = install(folder.path(), 1000, "true");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "missing: service; install it and run this again\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(!folder.path().join("policy").exists());
}

#[test]
fn no_service_is_forbidden_to_start_once_the_script_has_ended() {
    // It succeeds, fails, and is ended by a signal; each time the file was there meanwhile.
    for (installing, succeeds) in [
        ("true", true),
        ("false", false),
        ("kill -TERM $PPID", false),
    ] {
        let folder = Folder::new();
        let seen =
            format!("cp \"$(dirname \"$0\")/policy\" \"$(dirname \"$0\")/seen\"; {installing}");
        let output = install(folder.path(), 0, &seen);
        assert_eq!(output.status.success(), succeeds, "{output:?}");
        let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
        assert!(seen.contains("exit 101"), "{seen}");
        assert!(!folder.path().join("policy").exists(), "{installing}");
    }
}
