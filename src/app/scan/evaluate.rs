//! `monitor scan --evaluate`: the detectors over an evaluation set, which people made by deciding about findings
//! (`GET /findings/evaluation`). Only what was decided about counts: a find of a type that nobody has judged in a text
//! is neither right nor wrong.

use super::{ScanRequest, Scanner};
use anyhow::Context;
use monitor_detect::guardrails::Category;
use monitor_model::PATTERN_NAMES;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// What begins the name of a guardrail category.
const CATEGORY: &str = "guardrail:";

/// A line of an evaluation set.
#[derive(Deserialize)]
struct Line {
    text: String,
    /// Nothing is masked in the text.
    #[serde(default)]
    is_original: bool,
    #[serde(default)]
    stage: String,
    /// What was found when the message came in.
    found: BTreeSet<String>,
    /// What should be found of it.
    expected: BTreeSet<String>,
}

/// How often a type was found rightly, wrongly, and not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// It is there and was found.
    pub true_positives: u64,
    /// It is not there and was found.
    pub false_positives: u64,
    /// It is there and was not found.
    pub false_negatives: u64,
}

/// The result of an evaluation.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// By type and category.
    pub types: BTreeMap<String, Counts>,
    /// Texts that were checked.
    pub texts: u64,
    /// Decisions about what is not looked for here: custom types and policies, types in cleaned texts,
    /// categories of answers.
    pub skipped: u64,
    /// Lines that could not be read.
    pub problems: u64,
}

/// A type of an evaluation as a line of JSON.
#[derive(Serialize)]
struct Report<'e> {
    r#type: &'e str,
    true_positives: u64,
    false_positives: u64,
    false_negatives: u64,
    precision: Option<f64>,
    recall: Option<f64>,
}

impl Counts {
    /// The share of what was found that is there; None where nothing was found.
    pub fn precision(self) -> Option<f64> {
        share(self.true_positives, self.false_positives)
    }

    /// The share of what is there that was found; None where nothing is there.
    pub fn recall(self) -> Option<f64> {
        share(self.true_positives, self.false_negatives)
    }

    fn count(&mut self, is_there: bool, is_found: bool) {
        match (is_there, is_found) {
            (true, true) => self.true_positives += 1,
            (true, false) => self.false_negatives += 1,
            (false, true) => self.false_positives += 1,
            (false, false) => {}
        }
    }
}

fn share(part: u64, rest: u64) -> Option<f64> {
    let whole = part + rest;
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Evaluation {
    /// A line of JSON for each type.
    pub fn json_lines(&self) -> String {
        let mut lines = String::new();
        for (name, counts) in &self.types {
            let report = Report {
                r#type: name,
                true_positives: counts.true_positives,
                false_positives: counts.false_positives,
                false_negatives: counts.false_negatives,
                precision: counts.precision(),
                recall: counts.recall(),
            };
            // Numbers and a name always become JSON.
            lines.push_str(&serde_json::to_string(&report).unwrap_or_default());
            lines.push('\n');
        }
        lines
    }
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (texts, skipped) = (self.texts, self.skipped);
        write!(
            f,
            "{:<36}{:>7}{:>7}{:>7}{:>11}{:>8}",
            "type", "right", "wrong", "missed", "precision", "recall"
        )?;
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        for (name, counts) in &self.types {
            write!(
                f,
                "\n{name:<36}{:>7}{:>7}{:>7}{:>11}{:>8}",
                counts.true_positives,
                counts.false_positives,
                counts.false_negatives,
                percent(counts.precision()),
                percent(counts.recall())
            )?;
        }
        write!(
            f,
            "\ntexts: {texts}, decisions that are not evaluated: {skipped}"
        )
    }
}

/// Checks every text of an evaluation set; `-` is standard input.
///
/// # Errors
/// A model that cannot be used, a file that cannot be read or is not UTF-8.
pub fn evaluate(request: &ScanRequest, file: &Path) -> anyhow::Result<Evaluation> {
    let request = ScanRequest {
        jsonl: true,
        ..request.clone()
    };
    let scanner = Scanner::new(&request)?;
    let searched = searched(&request);
    let name = || format!("cannot read {}", file.display());
    let source: Box<dyn BufRead> = match file.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(file).with_context(name)?)),
    };
    let mut evaluation = Evaluation::default();
    for line in source.lines() {
        let line = line.with_context(name)?;
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Line>(&line) {
            Ok(line) => add(&mut evaluation, &scanner, &line, &searched),
            Err(_) => evaluation.problems += 1,
        }
    }
    Ok(evaluation)
}

/// The names of the patterns that are searched for.
fn searched(request: &ScanRequest) -> BTreeSet<String> {
    match &request.patterns {
        Some(names) => names.iter().map(|name| name.as_str().to_owned()).collect(),
        None => PATTERN_NAMES
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
    }
}

fn add(evaluation: &mut Evaluation, scanner: &Scanner, line: &Line, searched: &BTreeSet<String>) {
    let (report, errors) = scanner.look(&line.text);
    let (guardrails, failures) = scanner.judge(&line.text);
    evaluation.texts += 1;
    evaluation.problems += (errors.len() + failures.len()) as u64;
    let types = report.types.into_iter().map(|found| found.kind);
    let categories = guardrails.categories.into_iter();
    let categories = categories.filter(|category| category.flagged);
    let categories = categories.map(|category| format!("{CATEGORY}{}", category.name));
    let found: BTreeSet<String> = types.chain(categories).collect();
    for label in line.found.union(&line.expected) {
        let is_evaluated = match label.strip_prefix(CATEGORY) {
            Some(name) => line.stage != "post" && name.parse::<Category>().is_ok(),
            None => line.is_original && searched.contains(label),
        };
        if !is_evaluated {
            evaluation.skipped += 1;
            continue;
        }
        let counts = evaluation.types.entry(label.clone()).or_default();
        counts.count(line.expected.contains(label), found.contains(label));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_and_recall_are_shares_of_what_was_found_and_of_what_is_there() {
        let mut counts = Counts::default();
        for (is_there, is_found) in [(true, true), (true, true), (true, false), (false, true)] {
            counts.count(is_there, is_found);
        }
        counts.count(false, false);
        let rounded = |share: Option<f64>| share.map(|share| (share * 100.0).round());
        assert_eq!(rounded(counts.precision()), Some(67.0));
        assert_eq!(rounded(counts.recall()), Some(67.0));
        assert_eq!(Counts::default().precision(), None);
    }
}
