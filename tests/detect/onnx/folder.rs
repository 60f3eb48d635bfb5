//! Folders with the files of a model, as an export leaves them, and what is done with the binary.

use monitor_detect::onnx::test_models::{self, LABELS, Scored};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use support::stack::{Folder, Stack};

/// Labels of the model for whole texts.
pub(crate) const OF_TEXTS: &[&str] = &["fine", "insult", "toxicity", "LABEL_3"];

/// A model that marks words, with `tokenizer.json`.
pub(crate) fn tagger() -> Arc<Folder> {
    let folder = Folder::new();
    std::fs::write(
        folder.path().join("model.onnx"),
        test_models::model(Scored::Words),
    )
    .unwrap();
    folder.write("tokenizer.json", &test_models::tokenizer());
    folder.write("config.json", &test_models::config(LABELS, false));
    folder
}

/// A model that classifies whole texts, with `vocab.txt`.
pub(crate) fn classifier() -> Arc<Folder> {
    let folder = Folder::new();
    std::fs::write(
        folder.path().join("model.onnx"),
        test_models::model(Scored::Texts),
    )
    .unwrap();
    folder.write("vocab.txt", &test_models::vocabulary());
    folder.write("config.json", &test_models::config(OF_TEXTS, true));
    folder
}

/// The lines under `detect:` that take a model from a folder, with further keys.
pub(crate) fn keys(model: &str, folder: &Folder, more: &str) -> String {
    let folder = folder.path().display();
    format!("detect: {{{model}: {{folder: \"{folder}\"{more}}}}}")
}

/// `monitor all` with a model.
pub(crate) fn stack(keys: &str) -> Stack {
    Stack::all().yaml(&format!("  {keys}")).start()
}

/// `monitor scan` of an input with the models of a configuration file.
pub(crate) fn scan(keys: &str, arguments: &[&str], input: &str) -> Output {
    let folder = Folder::new();
    let file = folder.write("monitor.yaml", keys);
    let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
    let role = ["--role", "analysis", "--config"];
    command.arg("scan").args(arguments).args(role).arg(file);
    let pipes = command.env_clear().stdin(Stdio::piped());
    let mut child = pipes
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Less than a pipe holds, so that nobody waits for the other. A scan that refuses to begin reads none.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// The lines of JSON that a scan answered.
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}
