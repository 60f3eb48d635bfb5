//! The keys of detection with a model from a local folder. What a model's files must be, `detect` says;
//! whether this program can read models at all is checked here (CONTRACT 33).

use super::reader::{Raw, Reader, scalar};
use super::settings::{DetectSettings, TaggerSettings};
use super::units::{self, Form};
use super::yaml::Value;
use crate::model::PATTERN_NAMES;

/// What a program without the feature says about a model's folder.
const NOT_BUILT_IN: &str = "needs a program that can read models, and this one was built without; \
    build it with: cargo build --release --features onnx";
const LABELS: &str = "a pattern for each label, such as {PER: NAME, ORG: COMPANY}";

pub(super) fn read(r: &mut Reader<'_>, prefix: &str) -> DetectSettings {
    let key = |name: &str| format!("{prefix}tagger.{name}");
    let folder = r.read(&key("folder"), &units::path());
    let labels = labels(r, &key("labels"));
    let max_windows = r.read(&key("max_windows"), &units::count(1..=100_000));
    if folder.is_some() && !cfg!(feature = "onnx") {
        r.contradiction(&key("folder"), NOT_BUILT_IN);
    }
    if folder.is_none() && labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        let text = "are of no model; set detect.tagger.folder, or leave them out";
        r.contradiction(&key("labels"), text);
    }
    let tagger = folder.map(|folder| TaggerSettings {
        folder,
        labels: labels.unwrap_or_default(),
        max_windows: max_windows.unwrap_or(64),
    });
    DetectSettings { tagger }
}

/// A map of labels and the patterns they stand for.
fn labels(r: &mut Reader<'_>, key: &str) -> Option<Vec<(String, String)>> {
    let pattern = Form::new("the patterns of §2.8, such as NAME", |text| {
        let known = PATTERN_NAMES.contains(&text);
        known
            .then(|| text.to_owned())
            .ok_or_else(|| format!("{} is no pattern", units::quote(text)))
    });
    r.read_with(key, |r, raw| {
        let Raw::Node(node) = raw else {
            return Err(Some(format!("stands in the file only; allowed: {LABELS}")));
        };
        let Value::Map(entries) = &node.value else {
            let shape = node.value.shape();
            return Err(Some(format!("is {shape}; allowed: {LABELS}")));
        };
        let mut all = Some(Vec::with_capacity(entries.len()));
        for entry in entries {
            match scalar(&entry.node, &pattern) {
                Ok(name) => all
                    .iter_mut()
                    .for_each(|all| all.push((entry.key.clone(), name.clone()))),
                Err(text) => {
                    r.report_line(entry.line, &format!("{key}.{}", entry.key), text);
                    all = None;
                }
            }
        }
        all.ok_or(None)
    })
}
