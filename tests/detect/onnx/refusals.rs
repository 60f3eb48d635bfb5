//! What a model's folder has to hold: nothing starts with one that cannot be used (CONTRACT 26, 33).

use super::folder::{classifier, keys, scan, tagger};
use monitor_detect::onnx::test_models::{self, LABELS, Scored};
use std::sync::Arc;
use support::stack::{Folder, Stack};

const OF_WORDS: &str = ", labels: {PER: NAME}";
const OF_TEXTS: &str = ", labels: {insult: toxicity}";

/// What is said instead of a start.
#[track_caller]
fn refused(keys: &str) -> String {
    let (status, stderr) = Stack::analysis_server().yaml(keys).refused();
    assert_eq!(status.code(), Some(1), "{stderr}");
    stderr
}

fn without(folder: &Arc<Folder>, file: &str) {
    std::fs::remove_file(folder.path().join(file)).unwrap();
}

/// What is done to a folder, and what is said of it.
type Broken = (fn(&Arc<Folder>), &'static str);

const BROKEN: [Broken; 8] = [
    (
        |folder| without(folder, "model.onnx"),
        "model.onnx: No such file",
    ),
    (
        |folder| without(folder, "config.json"),
        "config.json: No such file",
    ),
    (
        |folder| without(folder, "tokenizer.json"),
        "vocab.txt: No such file",
    ),
    (
        |folder| drop(folder.write("model.onnx", "version https://git-lfs.github.com/spec/v1")),
        "model.onnx: ",
    ),
    (
        |folder| {
            drop(folder.write(
                "tokenizer.json",
                r#"{"model": {"type": "BPE", "vocab": {}}}"#,
            ))
        },
        "tokenizer.json is no WordPiece tokenizer; allowed: those of BERT models",
    ),
    (
        |folder| drop(folder.write("config.json", "{\"num_labels\": 4}")),
        "config.json has no id2label",
    ),
    (
        |folder| drop(folder.write("config.json", &test_models::config(&["O", "PER"], false))),
        "the model answers with 4 labels and config.json has 2",
    ),
    (
        |folder| {
            drop(folder.write(
                "config.json",
                &test_models::config(&["a", "b", "c", "d"], false),
            ))
        },
        "it has no label PER; its labels are a, b, c, d",
    ),
];

#[test]
fn a_folder_that_is_no_usable_model_stops_the_start_and_says_why() {
    for (harm, why) in BROKEN {
        let folder = tagger();
        harm(&folder);
        let said = refused(&keys("tagger", &folder, OF_WORDS));
        let place = format!("cannot use the model in {}: ", folder.path().display());
        assert!(said.contains(&place) && said.contains(why), "{why}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_model_of_the_other_kind_stops_the_start() {
    let words = refused(&keys("tagger", &classifier(), OF_WORDS));
    assert!(words.contains("the model answers no scores"), "{words}");
    let folder = classifier();
    std::fs::write(
        folder.path().join("model.onnx"),
        test_models::model(Scored::Words),
    )
    .unwrap();
    let texts = refused(&keys("classifier", &folder, OF_TEXTS));
    assert!(texts.contains("the model answers no scores"), "{texts}");
}

#[test]
fn labels_of_a_classifier_are_checked_too() {
    let unknown = refused(&keys(
        "classifier",
        &classifier(),
        ", thresholds: {rude: 0.7}",
    ));
    let told = "it has no label rude; its labels are fine, insult, toxicity, LABEL_3";
    assert!(unknown.contains(told), "{unknown}");
    let folder = tagger();
    folder.write("config.json", &test_models::config(LABELS, true));
    std::fs::write(
        folder.path().join("model.onnx"),
        test_models::model(Scored::Texts),
    )
    .unwrap();
    let none = refused(&keys("classifier", &folder, ""));
    assert!(
        none.contains("none of its labels stands for a category"),
        "{none}"
    );
}

#[test]
fn a_scan_does_not_begin_with_a_model_that_cannot_be_used() {
    let folder = tagger();
    without(&folder, "config.json");
    let output = scan(&keys("tagger", &folder, OF_WORDS), &[], "зубр");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("config.json: No such file"), "{stderr}");
    assert!(output.stdout.is_empty());
}
