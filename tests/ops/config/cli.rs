//! The command line itself: version, help, exit codes.

use super::world::{Folder, monitor};

#[test]
fn the_version_is_the_gateway_contracts() {
    let run = monitor(&["--version"], &[]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "monitor 4.1.0\n"));
}

#[test]
fn the_help_names_the_subcommands() {
    let help = monitor(&["-h"], &[]).stdout;
    for command in [
        "all",
        "gateway",
        "analysis",
        "check",
        "migrate",
        "backup",
        "restore",
        "copy",
        "token",
        "user",
        "spool",
        "openapi",
        "demo-upstream",
        "demo-data",
    ] {
        assert!(
            help.lines()
                .any(|line| line.trim_start().starts_with(command)),
            "{command}"
        );
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    for args in [
        &["fly"][..],
        &["gateway", "--colour", "red"],
        &["check", "--role", "king"],
        &["token", "create"],
        &["token", "create", "--name", ""],
        &["token", "create", "--name", "x", "--scope", "everything"],
        &["user", "link"],
        &["spool", "empty"],
        &["demo-upstream", "--listen", "nowhere"],
        &["demo-data", "--days", "0"],
        &["analysis", "--upstream-url", "http://m"],
    ] {
        let run = monitor(args, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
        assert!(
            run.stderr.starts_with("error: "),
            "{args:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_failure_while_running_ends_with_1() {
    let folder = Folder::new();
    let file = folder.file("in-the-way", "");
    let data_dir = format!("{}/data", file.display());
    let run = monitor(
        &["token", "create", "--name", "x", "--data-dir", &data_dir],
        &[],
    );
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert!(run.stderr.starts_with("monitor: "), "{}", run.stderr);
}

#[test]
fn migrate_says_from_which_version_to_which_and_starts_nothing() {
    // CONTRACT 32.
    let folder = Folder::new();
    let data_dir = folder.path().join("data").display().to_string();
    let migrate = ["migrate", "--data-dir", &data_dir];
    let first = monitor(&migrate, &[]);
    assert!(
        first.stdout.starts_with("schema version 0 -> "),
        "{}",
        first.stdout
    );
    let again = monitor(&migrate, &[]);
    assert!(
        again.stdout.ends_with(", nothing to do\n"),
        "{}",
        again.stdout
    );
    assert_eq!((first.code, again.code), (0, 0));
}

#[test]
fn openapi_is_printed_as_json() {
    let run = monitor(&["openapi"], &[]);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        document["openapi"].as_str().map(|version| &version[..3]),
        Some("3.1")
    );
    assert_eq!(document["info"]["version"], "4.1.0");
    assert_eq!(run.code, 0);
}
