//! A line of processes, each in the place of the one before: those that the first one started are no
//! children of the test, so they are ended by the number they announced.

use crate::eventually;
use crate::stack::Stack;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The processes that followed the first one.
#[derive(Default)]
pub struct Line(Vec<i32>);

impl Line {
    /// `monitor upgrade`; gives the number of the process that serves.
    #[track_caller]
    pub fn upgrade(&mut self, stack: &Stack, role: &str) -> i32 {
        let out = order(stack, "upgrade", role);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{text}{:?}", out.stderr);
        let words: Vec<&str> = text.split_whitespace().collect();
        let [_, number, _] = words[..] else {
            panic!("{text}");
        };
        self.announced(number.parse().unwrap())
    }

    /// Notes a process that is to be ended.
    pub fn announced(&mut self, process: i32) -> i32 {
        self.0.push(process);
        process
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for process in &self.0 {
            signal(*process, "KILL");
        }
    }
}

/// `monitor reload` or `monitor upgrade` for that process's folder, as the units of systemd call it.
pub fn order(stack: &Stack, what: &str, role: &str) -> Output {
    Command::new(crate::monitor())
        .args([what, "--role", role, "--config"])
        .arg(stack.configuration())
        .env_clear()
        .env("MONITOR_DATA_DIR", stack.data_dir())
        .env("UPSTREAM_URL", "http://127.0.0.1:9")
        .output()
        .unwrap()
}

/// Sends a signal by number of the process.
pub fn signal(process: i32, name: &str) {
    let _ = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .output();
}

/// Waits until a process is gone, or only waits for its parent to look.
#[track_caller]
pub fn await_end(process: i32) {
    eventually("the process ends", || has_ended(process).then_some(()));
}

/// Whether it has ended.
pub fn has_ended(process: i32) -> bool {
    let status = PathBuf::from(format!("/proc/{process}/stat"));
    match std::fs::read_to_string(status) {
        Err(_) => true,
        Ok(text) => text.rsplit(')').next().unwrap().trim().starts_with('Z'),
    }
}
