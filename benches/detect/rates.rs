//! What a threshold of the categories that go by rules costs and gives: flags on the corpus, finds among the
//! fixtures. Their rows of `crates/detect/src/guardrails/rates.tsv` are written here, those of the learned categories
//! by the trainer; the report shows all of them. The next build has the new rows.

use monitor_detect::Engine;
use monitor_detect::guardrails::Category;
use monitor_model::{GuardrailsReport, Stage};
use std::fmt::Write as _;
use std::path::Path;

const TABLE: &str = "crates/detect/src/guardrails/rates.tsv";
const FIXTURES: &str = "tests/fixtures/guardrails";
/// Steps between no score and a full one.
const STEPS: u32 = 20;
/// Categories without a model of their own.
const BY_RULES: [Category; 4] = [
    Category::Toxicity,
    Category::SystemPromptLeak,
    Category::SecretLeak,
    Category::HarmfulContent,
];

/// Measures the categories that go by rules, writes the table, and gives the section of the report.
pub(crate) fn section(engine: &Engine, corpus: &[String]) -> String {
    let mut rows = String::new();
    for category in BY_RULES {
        let ordinary = scores(engine, category, corpus);
        let wanted = scores(engine, category, &positives(category));
        for step in 1..STEPS {
            let threshold = f64::from(step) / f64::from(STEPS);
            let count = |scores: &[f64]| scores.iter().filter(|score| **score >= threshold).count();
            let _ = writeln!(
                rows,
                "{category}\t{threshold:.2}\t{}\t{}\t{}\t{}",
                ordinary.len(),
                count(&ordinary),
                wanted.len(),
                count(&wanted)
            );
        }
    }
    let old = std::fs::read_to_string(TABLE).unwrap();
    let learnt = old.lines().filter(|line| {
        let name = line.split('\t').next().unwrap_or_default();
        BY_RULES.iter().all(|category| category.as_str() != name)
    });
    let mut table: String = learnt.map(|line| format!("{line}\n")).collect();
    table += &rows;
    std::fs::write(TABLE, &table).unwrap();
    shown(&table)
}

fn scores(engine: &Engine, category: Category, texts: &[String]) -> Vec<f64> {
    let stage = match Category::of(Stage::PreCall).any(|other| other == category) {
        true => Stage::PreCall,
        false => Stage::PostCall,
    };
    let rules = super::guard::rules(stage);
    let score = |report: GuardrailsReport| {
        let own = report
            .categories
            .iter()
            .find(|own| own.name == category.as_str());
        own.map_or(0.0, |own| own.score)
    };
    let each = texts
        .iter()
        .map(|text| score(engine.guardrails(text, &rules).0));
    each.collect()
}

fn positives(category: Category) -> Vec<String> {
    let file = Path::new(FIXTURES).join(format!("{category}.toml"));
    let table: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
    let rows = table["positive"].as_array().unwrap().iter();
    rows.map(|row| row["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Some thresholds of every category.
fn shown(table: &str) -> String {
    const SHOWN: [&str; 4] = ["0.30", "0.50", "0.70", "0.90"];
    let mut text = String::from(
        "\n### Guardrails: thresholds\n\nFor each category and threshold: the share of ordinary prompts (the corpus; for learned \
         categories also the harmless English prompts) that is flagged, and the share of the texts to find that is: \
         attacks of the category's kind, or harmful requests that are mainly about it, all of kinds held out. For \
         categories that work by rules (toxicity and those of answers) the texts to find are their test fixtures, \
         which says little. `crates/detect/src/guardrails/rates.tsv` has all thresholds.\n\n| category | ordinary | to find |",
    );
    for threshold in SHOWN {
        let _ = write!(text, " flagged at {threshold} | found |");
    }
    text += "\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    for first in rows.iter().filter(|row| row[1] == SHOWN[0]) {
        let _ = write!(text, "| {} | {} | {} |", first[0], first[2], first[4]);
        for threshold in SHOWN {
            let own = |row: &&Vec<&str>| row[0] == first[0] && row[1] == threshold;
            let row = rows.iter().find(own).unwrap();
            let number = |at: usize| row[at].parse::<f64>().unwrap();
            let share = |part: usize, whole: usize| number(part) / number(whole).max(1.0);
            let _ = write!(text, " {:.4} | {:.3} |", share(3, 2), share(5, 4));
        }
        text.push('\n');
    }
    text
}
