//! The world of these tests: the binary with an empty environment, and a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is gone after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("monitor-config-{}-{serial}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What one run of the binary gave.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary with these arguments and nothing but these variables.
pub(crate) fn monitor(args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
    command.args(args).env_clear().envs(env.iter().copied());
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Run {
        code: status.code().expect("the process ended by itself"),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

/// `monitor check` of a YAML text.
pub(crate) fn check(role: &str, yaml: &str, env: &[(&str, &str)]) -> Run {
    let folder = Folder::new();
    let file = folder.file("f.yaml", yaml);
    let file = file.to_str().unwrap();
    let mut run = monitor(&["check", "--role", role, "--config", file], env);
    run.stdout = run.stdout.replace(file, "f.yaml");
    run.stderr = run.stderr.replace(file, "f.yaml");
    run
}

/// A line of the summary, by its name.
pub(crate) fn line<'r>(run: &'r Run, name: &str) -> &'r str {
    assert_eq!(run.code, 0, "{}", run.stderr);
    let start = format!("  {name}:");
    let found = run
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(&start));
    found
        .unwrap_or_else(|| panic!("no {name} in {}", run.stdout))
        .trim()
}
