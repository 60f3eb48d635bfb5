//! One version of a package: the script that drives it, what that printed, and its row in the table.

use serde_json::Value;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::KEY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Responses,
    Messages,
}

/// Packages for Python by the environment that has them.
pub(super) const PYTHON: [(&str, &str); 5] = [
    ("MONITOR_TEST_PYTHON", "openai"),
    ("MONITOR_TEST_PYTHON_OPENAI_2", "openai"),
    ("MONITOR_TEST_PYTHON_OPENAI_1", "openai"),
    ("MONITOR_TEST_PYTHON", "anthropic"),
    ("MONITOR_TEST_PYTHON_OPENAI_1", "anthropic"),
];

/// Packages of npm as they are installed, and by the names that they have there.
pub(super) const NODE: [(&str, &str); 4] = [
    ("openai", "openai"),
    ("openai-4", "openai"),
    ("@anthropic-ai/sdk", "@anthropic-ai/sdk"),
    ("@anthropic-ai/sdk-0", "@anthropic-ai/sdk"),
];

/// The columns of the table: what went wrong, and the cell and the call whose exception tells of it.
const COLUMNS: [(&str, &str, &str); 5] = [
    ("no access key", "no key", "ask"),
    ("beyond a limit", "limited", "ask"),
    ("model server gone", "gone", "ask"),
    ("stream that breaks", "broken", "events"),
    ("error event of the model server", "failing", "events"),
];

pub(super) struct Package {
    program: String,
    /// Copied beside the installed packages of npm, where module resolution finds them.
    script: PathBuf,
    is_copy: bool,
    /// As the script knows it.
    name: &'static str,
    title: String,
    version: String,
    cells: Vec<Value>,
}

impl Package {
    pub(super) fn of_python(environment: &str, name: &'static str) -> Self {
        Self {
            program: support::tool(environment),
            script: script("cells.py"),
            is_copy: false,
            name,
            title: format!("{name} (Python)"),
            version: String::new(),
            cells: Vec::new(),
        }
    }

    pub(super) fn of_node(name: &'static str, title: &str) -> Self {
        let folder = support::tool("MONITOR_TEST_NODE_DIR");
        Self {
            program: "node".to_owned(),
            script: Path::new(&folder).join(format!("cells-{}.mjs", std::process::id())),
            is_copy: true,
            name,
            title: format!("{title} (Node.js)"),
            version: String::new(),
            cells: Vec::new(),
        }
    }

    /// Fills its cells, in one process.
    #[track_caller]
    pub(super) fn ask(&mut self, model: &str, gateway: &str, cells: &Value) {
        if self.is_copy {
            std::fs::copy(script("cells.mjs"), &self.script).unwrap();
        }
        let mut command = Command::new(&self.program);
        let command = command.arg(&self.script).args([self.name, model, gateway]);
        let output = command.args([KEY, &cells.to_string()]).output().unwrap();
        if self.is_copy {
            std::fs::remove_file(&self.script).unwrap();
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{self}: {text}{error}");
        let mut lines = text.lines().map(|line| {
            serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{self}: {line}"))
        });
        let version = lines.next().unwrap()["version"]
            .as_str()
            .unwrap()
            .to_owned();
        self.cells = lines.collect();
        self.version = version;
    }

    pub(super) fn api(&self) -> Api {
        match self.name.contains("anthropic") {
            true => Api::Messages,
            false => Api::Responses,
        }
    }

    /// What the script printed for a cell.
    #[track_caller]
    pub(super) fn cell(&self, name: &str) -> &Value {
        let mut cells = self.cells.iter();
        cells
            .find(|cell| cell["cell"] == name)
            .unwrap_or_else(|| panic!("{self}, {name}: no cell"))
    }

    /// What the package got through the gateway.
    #[track_caller]
    pub(super) fn gateway(&self, name: &str) -> &Value {
        &self.cell(name)["gateway"]
    }

    fn row(&self) -> String {
        let raised = COLUMNS.map(|(_, cell, kind)| {
            let error = &self.gateway(cell)[kind]["error"];
            format!(
                "`{}`",
                error
                    .as_str()
                    .unwrap_or_else(|| panic!("{self}, {cell}: no error"))
            )
        });
        format!("| {self} | {:?} | {} |\n", self.api(), raised.join(" | "))
    }
}

impl Display for Package {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.title, self.version).trim_end())
    }
}

/// The exceptions that each package raises.
pub(super) fn table(packages: &[Package]) -> String {
    let titles = COLUMNS.map(|(title, ..)| title);
    let rule = "---|".repeat(titles.len());
    let rows: String = packages.iter().map(Package::row).collect();
    format!(
        "| Library | API | {} |\n|---|---|{rule}\n{rows}",
        titles.join(" | ")
    )
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(crate::script("agent_sdks")).join(name)
}
