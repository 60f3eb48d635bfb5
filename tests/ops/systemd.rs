//! What the service manager is told (`Type=notify`), over a socket of the test's own.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use support::PATIENCE;
use support::line::{Line, await_end, order};
use support::message::uninterrupted;
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

struct Manager {
    socket: UnixDatagram,
    folder: Arc<Folder>,
}

impl Manager {
    fn new() -> Self {
        let folder = Folder::new();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, folder }
    }

    fn path(&self) -> String {
        self.folder.path().join("notify").display().to_string()
    }

    /// Takes what was said so far.
    fn forget(&self) {
        self.socket.set_nonblocking(true).unwrap();
        while self.socket.recv(&mut [0; 4096]).is_ok() {}
        self.socket.set_nonblocking(false).unwrap();
    }

    /// The next message that holds this.
    #[track_caller]
    fn await_message(&self, part: &str) -> String {
        let mut bytes = [0; 4096];
        loop {
            let length = uninterrupted(|| self.socket.recv(&mut bytes)).expect(part);
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if text.contains(part) {
                return text;
            }
        }
    }
}

#[test]
fn it_says_when_it_is_ready_reloads_stops_and_who_is_the_main_process() {
    let (upstream, manager) = (Upstream::ok(), Manager::new());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("NOTIFY_SOCKET", manager.path())
        .start();
    manager.await_message("READY=1");
    order(&stack, "reload", "gateway");
    let reloading = manager.await_message("RELOADING=1");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    // Not which process is the main one: another may have become that meanwhile.
    assert_eq!(manager.await_message("READY=1"), "READY=1");
    let mut line = Line::default();
    let next = line.upgrade(&stack, "gateway");
    manager.await_message(&format!("MAINPID={next}"));
    await_end(stack.process.id() as i32);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    support::line::signal(next, "TERM");
    manager.await_message("STOPPING=1");
}

#[test]
fn it_says_that_it_is_alive_as_often_as_it_is_asked_to() {
    let (upstream, manager) = (Upstream::ok(), Manager::new());
    let _stack = Stack::gateway()
        .upstream(&upstream)
        .env("NOTIFY_SOCKET", manager.path())
        .env("WATCHDOG_USEC", "200000")
        .start();
    manager.await_message("READY=1");
    for _ in 0..3 {
        assert_eq!(manager.await_message("WATCHDOG=1"), "WATCHDOG=1");
    }
}

#[test]
fn upgrades_that_follow_each_other_closely_do_not_look_dead() {
    let (upstream, manager) = (Upstream::ok(), Manager::new());
    // No process lives long enough for its first regular word.
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("NOTIFY_SOCKET", manager.path())
        .env("WATCHDOG_USEC", "600000000")
        .start();
    manager.await_message("WATCHDOG=1");
    let mut line = Line::default();
    for _ in 0..3 {
        let next = line.upgrade(&stack, "gateway");
        let alive = manager.await_message("WATCHDOG=1");
        assert!(alive.contains(&format!("MAINPID={next}\n")), "{alive}");
    }
}

#[test]
fn it_is_alive_without_descriptors() {
    // Recovery without restart after descriptor exhaustion.
    let (upstream, manager) = (Upstream::ok(), Manager::new());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("NOTIFY_SOCKET", manager.path())
        .env("WATCHDOG_USEC", "200000")
        .under("ulimit -n 4096")
        .start();
    manager.await_message("WATCHDOG=1");
    let limits = |current| Rlimit {
        current: Some(current),
        maximum: Some(4096),
    };
    let process = Pid::from_raw(stack.process.id() as i32);
    // Fewer than it has: every further one is refused.
    prlimit(process, Resource::Nofile, limits(8)).unwrap();
    manager.forget();
    for _ in 0..3 {
        manager.await_message("WATCHDOG=1");
    }
    prlimit(process, Resource::Nofile, limits(4096)).unwrap();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
}

/// Names the stream of standard error as systemd does for the journal.
const JOURNAL: &str = "export JOURNAL_STREAM=$(stat -L -c %d:%i /dev/fd/2)";

#[test]
fn lines_for_the_journal_have_their_priority_and_no_time() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("log: {level: debug}");
    let stack = stack.under(JOURNAL).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    order(&stack, "reload", "gateway");
    std::fs::write(stack.configuration(), "limits: {threads: many}\n").unwrap();
    order(&stack, "reload", "gateway");
    let stderr = stack.process.await_stderr("the second reload", |text| {
        text.contains("limits.threads").then(|| text.to_owned())
    });
    let line = regex::Regex::new(r"^<([3467])>(?:\[([A-Z]+) +\S+\] )?(.*)$").unwrap();
    let mut levels = std::collections::BTreeSet::new();
    for text in stderr.lines() {
        let found = line.captures(text).unwrap_or_else(|| panic!("{text}"));
        let level = found.get(2).map(|level| level.as_str().to_owned());
        levels.insert((found[1].to_owned(), level.clone().unwrap_or_default()));
        assert!(
            level.is_some() || found[3].contains("MONITOR_URL"),
            "{text}"
        );
    }
    let seen = |priority: &str, level: &str| levels.contains(&(priority.into(), level.into()));
    assert!(seen("6", "INFO") && seen("4", ""), "{levels:?}\n{stderr}");
    let failed = stderr.lines().find(|line| line.contains("limits.threads"));
    assert!(failed.unwrap().starts_with("<3>[ERROR"), "{failed:?}");
    for (priority, level) in &levels {
        let expected = match level.as_str() {
            "ERROR" => "3",
            "WARN" | "" => "4",
            "INFO" => "6",
            _ => "7",
        };
        assert_eq!(priority, expected, "{level}");
    }
}

#[test]
fn json_lines_for_the_journal_have_their_priority_before_them() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("log: {format: json}");
    let stack = stack.under(JOURNAL).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let line = stack.process.await_stderr("the line of the call", |text| {
        let line = text
            .lines()
            .find(|line| line.contains("\"target\":\"access\""));
        line.map(str::to_owned)
    });
    let json = line.strip_prefix("<6>").unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    assert!(json["time"].is_string(), "{line}");
}

#[test]
fn lines_for_anything_but_the_journal_begin_with_their_time() {
    let upstream = Upstream::ok();
    let elsewhere = "export JOURNAL_STREAM=$(stat -L -c %d:%i /dev/null)";
    let stack = Stack::gateway()
        .upstream(&upstream)
        .under(elsewhere)
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let line = stack.process.await_stderr("the line of the call", |text| {
        let line = text.lines().find(|line| line.contains("access]"));
        line.map(str::to_owned)
    });
    let timed = regex::Regex::new(r"^\[\d{4}-\d\d-\d\dT").unwrap();
    assert!(timed.is_match(&line), "{line}");
}

#[test]
fn a_start_that_fails_is_an_error_in_the_journal() {
    let failing = Stack::gateway().yaml("limits: {threads: many}\nupstream: {timeout: soon}");
    let (status, stderr) = failing.under(JOURNAL).refused();
    assert_eq!(status.code(), Some(2));
    let lines: Vec<&str> = stderr.lines().collect();
    assert!(lines.len() > 1, "{stderr}");
    assert!(lines.iter().all(|line| line.starts_with("<3>")), "{stderr}");
}

/// The units as they are shipped, and with this program in the place of the installed one.
fn units() -> Vec<(String, Arc<Folder>)> {
    let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd");
    let mut found = Vec::new();
    for unit in std::fs::read_dir(shipped).unwrap() {
        let path = unit.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let folder = Folder::new();
        let here = text.replace("/usr/bin/monitor", env!("CARGO_BIN_EXE_monitor"));
        let name = path.file_name().unwrap().to_str().unwrap();
        let copy = folder.write(name, &here);
        found.push((copy.display().to_string(), folder));
    }
    assert_eq!(found.len(), 3);
    found
}

fn systemd_analyze(arguments: &[&str]) -> std::process::Output {
    std::process::Command::new("systemd-analyze")
        .args(arguments)
        .output()
        .expect("systemd-analyze is installed")
}

#[test]
#[ignore = "needs systemd-analyze"]
fn the_units_are_right_and_leave_little_to_attack() {
    for (unit, _folder) in units() {
        let out = systemd_analyze(&["verify", "--man=no", &unit]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(
            out.status.success() && said.trim().is_empty(),
            "{unit}: {said}"
        );
        // An exposure of 1.5 at most.
        let judged = ["security", "--offline=true", "--threshold=15", &unit];
        let out = systemd_analyze(&judged);
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{unit}: {said}");
    }
}

#[test]
fn the_units_commands_are_understood() {
    for (unit, _folder) in units() {
        let text = std::fs::read_to_string(unit).unwrap();
        for key in ["ExecStart=", "ExecReload="] {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap();
            let mut words = line.split_whitespace();
            let out = std::process::Command::new(words.next().unwrap())
                .args(words)
                .arg("--help")
                .output()
                .unwrap();
            assert!(out.status.success(), "{line}");
        }
    }
}

#[test]
fn a_service_that_the_watchdog_ends_leaves_no_core_file() {
    // systemd sends SIGABRT.
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream);
    let mut stack = stack.under("ulimit -S -c unlimited || true").start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    stack.process.signal("ABRT");
    let (status, _) = stack.process.await_exit();
    assert_eq!(status.signal(), Some(6));
    assert!(!status.core_dumped());
}
