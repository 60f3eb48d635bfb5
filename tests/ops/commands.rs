//! `monitor reload` and `monitor upgrade` find the running process by its data folder, and `monitor all`
//! says whom its listeners serve.

use std::path::Path;
use std::process::{Command, Output};
use support::line::{Line, await_end};
use support::process::Process;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

/// A command with nothing but the data folder to go by.
fn command(data_dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_monitor"))
        .args(arguments)
        .env_clear()
        .env("MONITOR_DATA_DIR", data_dir)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_one_running_process_of_a_data_folder_is_found_without_its_role() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let reloaded = command(&stack.data_dir(), &["reload"]);
    assert!(reloaded.status.success(), "{}", text(&reloaded.stderr));
    let upgraded = command(&stack.data_dir(), &["upgrade"]);
    let said = text(&upgraded.stdout);
    assert!(upgraded.status.success(), "{}", text(&upgraded.stderr));
    let number = said.split_whitespace().nth(1).unwrap();
    Line::default().announced(number.parse().unwrap());
    await_end(stack.process.id() as i32);
}

#[test]
fn the_role_is_asked_for_only_where_two_processes_share_a_data_folder() {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let gateway = Stack::gateway().upstream(&upstream).folder(&folder).start();
    let _analysis = Stack::analysis_bare().folder(&folder).start();
    let asked = command(&gateway.data_dir(), &["reload"]);
    let said = text(&asked.stderr);
    assert_eq!(asked.status.code(), Some(1), "{said}");
    assert!(
        said.contains("gateway and analysis") && said.contains("--role"),
        "{said}"
    );
    for role in ["gateway", "analysis"] {
        let reloaded = command(&gateway.data_dir(), &["reload", "--role", role]);
        assert!(
            reloaded.status.success(),
            "{role}: {}",
            text(&reloaded.stderr)
        );
    }
}

#[test]
fn a_data_folder_without_a_process_is_named() {
    let folder = Folder::new();
    for arguments in [&["reload"][..], &["upgrade"], &["reload", "--role", "all"]] {
        let refused = command(folder.path(), arguments);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        let expected =
            "no running monitor found for this data folder (no control socket at ".to_owned();
        assert!(
            said.contains(&format!("{expected}{}", folder.path().display())),
            "{said}"
        );
    }
}

#[test]
fn all_in_one_listens_on_loopback_unless_it_is_told_and_says_so() {
    let folder = Folder::new();
    let listening = |arguments: &[&str]| {
        let checked = command(folder.path(), &[&["check"], arguments].concat());
        let said = text(&checked.stdout);
        let line = |name: &str| {
            let line = said
                .lines()
                .find_map(|line| line.trim().strip_prefix(name).map(str::trim));
            line.unwrap_or_default().to_owned()
        };
        (line("gateway:"), line("analysis:"))
    };
    let loopback = ("127.0.0.1:4100".to_owned(), "127.0.0.1:4200".to_owned());
    assert_eq!(listening(&[]), loopback);
    let analysis = listening(&["--role", "analysis"]);
    assert_eq!(analysis.1, "0.0.0.0:4200", "a server of its own");

    for (host, says_so) in [("127.0.0.1", true), ("0.0.0.0", false)] {
        let mut all = Command::new(env!("CARGO_BIN_EXE_monitor"));
        all.args(["all", "--listen", &format!("{host}:0")])
            .env_clear()
            .env("ANALYSIS_LISTEN", "127.0.0.1:0")
            .env("OPERATIONS_LISTEN", "127.0.0.1:0")
            .env("MONITOR_DATA_DIR", folder.path().join(host));
        let process = Process::start(&mut all);
        let printed = process.await_stdout("the start text", |text| {
            text.contains("Try it:").then(|| text.to_owned())
        });
        assert_eq!(printed.contains("loopback only"), says_so, "{printed}");
    }
}
