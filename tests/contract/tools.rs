//! The tools of others that read the documents: packages of Python and npm, which `run.sh` installs from the lists
//! beside this file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use support::stack::Folder;

/// The documents by the names of their files; what `monitor openapi` takes for each.
pub(crate) const DOCUMENTS: [(&str, &[&str]); 2] = [
    ("gateway", &["openapi"]),
    ("analysis", &["openapi", "--analysis"]),
];

/// A file beside this one.
pub(crate) fn beside(name: &str) -> PathBuf {
    root().join("tests/contract").join(name)
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Both documents as the program prints them: `gateway.json` and `analysis.json`.
#[track_caller]
pub(crate) fn documents() -> Arc<Folder> {
    let folder = Folder::new();
    for (name, arguments) in DOCUMENTS {
        let text = succeed(Command::new(support::monitor()).args(arguments));
        folder.write(&format!("{name}.json"), &text);
    }
    folder
}

/// A command in the environment of the tools.
pub(crate) fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", support::contract_path());
    // The linter neither reports its use nor looks for newer versions.
    command.env("REDOCLY_TELEMETRY", "off");
    command.env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    command
}

/// Go, which compiles into the environment of the tools and downloads nothing.
pub(crate) fn go() -> Command {
    let mut command = tool("go");
    let own = python().with_file_name("go-cache");
    command.env("GOCACHE", &own).env("GOPATH", own.join("path"));
    command.env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    command
}

fn python() -> PathBuf {
    support::tool("MONITOR_TEST_CONTRACT_PYTHON").into()
}

fn node_folder() -> PathBuf {
    support::tool("MONITOR_TEST_CONTRACT_NODE_DIR").into()
}

/// Runs a command that must succeed, and gives its output.
#[track_caller]
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}:\n{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// A folder in which Node.js finds the installed packages. It vanishes with its owner.
pub(crate) struct NodeFolder(pub(crate) PathBuf);

impl NodeFolder {
    pub(crate) fn new() -> Self {
        let folder = node_folder().join(format!("run-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
        Self(folder)
    }

    /// Compiles a script as strictly as the compiler can, and gives a command that runs it.
    #[track_caller]
    pub(crate) fn compiled(&self, script: &str) -> Command {
        std::fs::copy(beside(script), self.0.join(script)).unwrap();
        let strict = ["--strict", "--noUncheckedIndexedAccess"];
        let target = [
            "--target", "es2023", "--module", "nodenext", "--types", "node",
        ];
        let mut compiler = tool("tsc");
        succeed(
            compiler
                .current_dir(&self.0)
                .args(strict)
                .args(target)
                .arg(script),
        );
        let mut command = tool("node");
        command.arg(self.0.join(script).with_extension("js"));
        command
    }
}

impl Drop for NodeFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
