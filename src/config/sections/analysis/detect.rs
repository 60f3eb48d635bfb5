//! The keys of detection with models from local folders. `detect` checks the files of a model; whether this
//! program can read models at all is checked here (CONTRACT 33).

use crate::config::reading::collections;
use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, Form, MILLISECOND};
use monitor_model::{CATEGORY_NAMES, ShownWhen, is_pattern_name};
use std::path::PathBuf;
use std::time::Duration;

/// Models of others, in addition to the built-in detection; only in a program built with
/// the feature `onnx`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DetectSettings {
    /// One that marks words.
    pub tagger: Option<TaggerSettings>,
    /// One that classifies whole texts.
    pub classifier: Option<ClassifierSettings>,
}

/// A model that marks words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggerSettings {
    /// Where model.onnx, config.json and tokenizer.json or vocab.txt are.
    pub folder: PathBuf,
    /// Labels of the model and the patterns of §2.8 they map to; each pattern once or more.
    pub labels: Vec<(String, String)>,
    /// How much of one text it is shown.
    pub bounds: ModelBounds,
}

/// A model that classifies whole texts.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifierSettings {
    /// Where model.onnx, config.json and tokenizer.json or vocab.txt are.
    pub folder: PathBuf,
    /// Labels of the model and the guardrail categories they map to; each category once or more.
    pub labels: Vec<(String, String)>,
    /// Labels and the score of the model, above 0 and below 1, that is worth the default threshold of
    /// a category; 0.5 for those that are not named.
    pub thresholds: Vec<(String, f64)>,
    /// Which messages it is shown.
    pub when: ShownWhen,
    /// How much of one text it is shown.
    pub bounds: ModelBounds,
}

/// How much of one text a model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelBounds {
    /// Windows of 254 word pieces, default 64.
    pub max_windows: usize,
    /// After this no further window is begun, default 5 s.
    pub timeout: Duration,
}

const WHEN: &[(&str, ShownWhen)] = &[
    ("grey_zone", ShownWhen::GreyZone),
    ("always", ShownWhen::Always),
];
/// The problem of a model's folder in a program without the feature.
const NOT_BUILT_IN: &str = "needs a program that can read models, and this one was built without; \
    build it with: cargo build --release --features onnx";

pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> DetectSettings {
    DetectSettings {
        tagger: tagger(r, &format!("{prefix}tagger.")),
        classifier: classifier(r, &format!("{prefix}classifier.")),
    }
}

fn tagger(r: &mut Reader<'_>, prefix: &str) -> Option<TaggerSettings> {
    const LABELS: &str = "a pattern for each label, such as {PER: NAME, ORG: COMPANY}";
    let labels = format!("{prefix}labels");
    let folder = folder(r, prefix);
    let named = collections::named_values(r, &labels, LABELS, &pattern());
    let bounds = bounds(r, prefix);
    let Some(folder) = folder else {
        unplaced(r, &labels, named);
        return None;
    };
    Some(TaggerSettings {
        folder,
        labels: named.unwrap_or_default(),
        bounds,
    })
}

fn classifier(r: &mut Reader<'_>, prefix: &str) -> Option<ClassifierSettings> {
    const LABELS: &str = "a category for each label, such as {toxic: toxicity}";
    const THRESHOLDS: &str = "a number for each label, such as {toxic: 0.8}";
    let (labels, thresholds) = (format!("{prefix}labels"), format!("{prefix}thresholds"));
    let folder = folder(r, prefix);
    let named = collections::named_values(r, &labels, LABELS, &category());
    let from = collections::named_values(r, &thresholds, THRESHOLDS, &threshold());
    let when = r.read(&format!("{prefix}when"), &units::word(WHEN));
    let bounds = bounds(r, prefix);
    let Some(folder) = folder else {
        unplaced(r, &labels, named);
        unplaced(r, &thresholds, from);
        return None;
    };
    Some(ClassifierSettings {
        folder,
        labels: named.unwrap_or_default(),
        thresholds: from.unwrap_or_default(),
        when: when.unwrap_or_default(),
        bounds,
    })
}

fn folder(r: &mut Reader<'_>, prefix: &str) -> Option<PathBuf> {
    let key = format!("{prefix}folder");
    let folder = r.read(&key, &units::path());
    if folder.is_some() && !cfg!(feature = "onnx") {
        r.contradiction(&key, NOT_BUILT_IN);
    }
    folder
}

fn bounds(r: &mut Reader<'_>, prefix: &str) -> ModelBounds {
    let max_windows = r.read(
        &format!("{prefix}max_windows"),
        &units::count(1..=ModelBounds::MOST_WINDOWS),
    );
    let range = MILLISECOND..=ModelBounds::LONGEST;
    let timeout = r.read(&format!("{prefix}timeout"), &units::duration(range));
    ModelBounds {
        max_windows: max_windows.unwrap_or(64),
        timeout: timeout.unwrap_or(Duration::from_secs(5)),
    }
}

impl ModelBounds {
    /// More windows than any text takes that is held in memory.
    const MOST_WINDOWS: usize = 100_000;
    const LONGEST: Duration = Duration::from_secs(600);
}

impl DetectSettings {
    /// The same for `monitor scan`, where no caller waits: a file is searched whole.
    #[must_use]
    pub fn unhurried(mut self) -> Self {
        let tagger = self.tagger.as_mut().map(|tagger| &mut tagger.bounds);
        let classifier = self.classifier.as_mut();
        let classifier = classifier.map(|classifier| &mut classifier.bounds);
        for bounds in tagger.into_iter().chain(classifier) {
            bounds.max_windows = ModelBounds::MOST_WINDOWS;
            bounds.timeout = Duration::MAX;
        }
        self
    }
}

fn unplaced<T>(r: &mut Reader<'_>, key: &str, named: Option<Vec<T>>) {
    if named.is_some_and(|named| !named.is_empty()) {
        let folder = key.rsplit_once('.').map_or("", |(prefix, _)| prefix);
        let text = format!("have no effect without a model; set {folder}.folder or leave them out");
        r.contradiction(key, text);
    }
}

fn pattern() -> Form<String> {
    Form::new("the patterns of §2.8, such as NAME", |text| {
        let known = is_pattern_name(text);
        let wrong = || format!("{} is not a pattern", units::quote(text));
        known.then(|| text.to_owned()).ok_or_else(wrong)
    })
}

fn category() -> Form<String> {
    Form::new(
        "the categories of guardrails, such as prompt_injection",
        |text| {
            let known = CATEGORY_NAMES.contains(&text);
            let wrong = || format!("{} is not a category", units::quote(text));
            known.then(|| text.to_owned()).ok_or_else(wrong)
        },
    )
}

fn threshold() -> Form<f64> {
    Form::new("a number above 0 and below 1", |text| {
        let score: Option<f64> = text.parse().ok();
        let score = score.filter(|score| *score > 0.0 && *score < 1.0);
        score.ok_or_else(|| format!("{} is not a threshold", units::quote(text)))
    })
}
