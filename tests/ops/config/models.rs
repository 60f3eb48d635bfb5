//! Models from local folders: what the configuration refuses of them (CONTRACT 33).

use super::world::check;

/// Two models and what is said of them.
const MODELS: &str = "\
detect:
  tagger:
    folder: models/ner
    labels: {PER: NAME, ORG: FIRM}
    max_windows: 0
    timeout: 0s
  classifier:
    folder: models/toxicity
    labels: {toxic: rudeness}
    thresholds: {toxic: 1, fine: 0.5}
    when: sometimes
";

#[test]
fn what_is_said_of_models_is_checked_key_by_key() {
    let run = check("analysis", MODELS, &[]);
    for told in [
        "f.yaml:4: detect.tagger.labels.ORG: \"FIRM\" is not a pattern",
        "f.yaml:5: detect.tagger.max_windows: \"0\" is out of range",
        "f.yaml:6: detect.tagger.timeout: \"0s\" is out of range",
        "f.yaml:9: detect.classifier.labels.toxic: \"rudeness\" is not a category",
        "f.yaml:10: detect.classifier.thresholds.toxic: \"1\" is not a threshold; allowed: a number \
            above 0 and below 1",
        "f.yaml:11: detect.classifier.when: \"sometimes\" is",
    ] {
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
    assert_eq!(run.code, 2);
}

#[test]
fn a_model_needs_a_program_that_can_read_models() {
    let run = check("analysis", MODELS, &[]);
    for place in ["3: detect.tagger.folder", "8: detect.classifier.folder"] {
        let unread = format!(
            "f.yaml:{place}: needs a program that can read models, and this one was built without; \
             build it with: cargo build --release --features onnx"
        );
        let refused = run.stderr.contains(&unread);
        assert_eq!(refused, !cfg!(feature = "onnx"), "{}", run.stderr);
    }
}

#[cfg(not(feature = "onnx"))]
#[test]
fn a_program_that_cannot_read_models_does_not_start_with_one() {
    let folder = super::world::Folder::new();
    let text = "analysis:\n  detect: {classifier: {folder: m}}\n";
    let file = folder.file("f.yaml", text);
    let file = file.to_str().unwrap();
    let data = folder.path().join("data");
    let env = [("MONITOR_DATA_DIR", data.to_str().unwrap())];
    for args in [["all", "--config", file], ["scan", "--config", file]] {
        let run = super::world::monitor(&args, &env);
        assert_eq!(run.code, 2, "{}", run.stderr);
        let told = "analysis.detect.classifier.folder: needs a program that can read models";
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert!(run.stderr.contains("cargo build --release --features onnx"));
    }
    assert!(!data.exists(), "nothing was begun");
}

#[test]
fn labels_and_thresholds_of_no_model_are_refused() {
    for (yaml, told) in [
        (
            "detect: {tagger: {labels: {PER: NAME}}}\n",
            "detect.tagger.labels: have no effect without a model; set detect.tagger.folder",
        ),
        (
            "detect: {classifier: {thresholds: {toxic: 0.8}}}\n",
            "detect.classifier.thresholds: have no effect without a model; set detect.classifier.folder",
        ),
    ] {
        let unmeant = check("analysis", yaml, &[]);
        assert!(unmeant.stderr.contains(told), "{}", unmeant.stderr);
    }
}
