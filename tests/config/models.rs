//! Models from a local folder: what the configuration refuses of them.

use crate::world::check;

/// A model and what is said of it.
const MODEL: &str = "\
detect:
  tagger:
    folder: models/ner
    labels: {PER: NAME, ORG: FIRM}
    max_windows: 0
";

#[test]
fn a_model_needs_a_program_that_can_read_models_and_patterns_that_there_are() {
    let run = check("analysis", MODEL, &[]);
    for told in [
        "f.yaml:4: detect.tagger.labels.ORG: \"FIRM\" is no pattern",
        "f.yaml:5: detect.tagger.max_windows: \"0\" is out of range",
    ] {
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    let unread = "f.yaml:3: detect.tagger.folder: needs a program that can read models, and this one \
        was built without; build it with: cargo build --release --features onnx";
    let refused = run.stderr.contains(unread);
    assert_eq!(refused, !cfg!(feature = "onnx"), "{}", run.stderr);
    assert_eq!(run.code, 2);
    let unmeant = check("analysis", "detect: {tagger: {labels: {PER: NAME}}}\n", &[]);
    let told = "detect.tagger.labels: are of no model; set detect.tagger.folder";
    assert!(unmeant.stderr.contains(told), "{}", unmeant.stderr);
}
