//! What is found in ordinary messages: those of `training/corpus`, written for this project without any
//! person's data. `cargo bench --bench detect -- ordinary [TYPE]` counts the finds, and shows up to a
//! hundred of a type, evenly drawn, for somebody to judge.

use monitor_detect::{Compiled, Engine, Rules};
use monitor_gateway::config::Services;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const CORPUS: &str = "training/corpus";
const SHOWN: usize = 100;
/// Finds of the tagger that were drawn and judged by eye, and how many were what their type says: of a
/// NAME anybody's, of a book or a tale too; of a COMPANY any organization.
const JUDGED: [(&str, usize, usize); 4] = [
    ("NAME", 100, 72),
    ("COMPANY", 100, 16),
    ("JOB_ROLE", 100, 92),
    ("DIAGNOSIS", 42, 37),
];

/// Finds by type, each with what stands around it.
struct Finds {
    by_type: BTreeMap<String, Vec<String>>,
    messages: usize,
    words: usize,
}

/// Counts the finds, and shows those of one type.
pub(crate) fn run(shown: Option<&str>) {
    let engine = Engine::new(Services::default());
    let rules = Compiled::new(Rules::default());
    let finds = find(&engine, &rules);
    print!("{}", table(&finds));
    let all = shown.and_then(|shown| finds.by_type.get(shown));
    let all = all.map_or(&[][..], Vec::as_slice);
    let step = all.len().div_ceil(SHOWN).max(1);
    for (at, find) in all.iter().step_by(step).enumerate() {
        println!("{at}: {find}");
    }
}

/// The section of the report.
pub(crate) fn section(engine: &Engine, rules: &Compiled) -> String {
    table(&find(engine, rules))
}

fn table(finds: &Finds) -> String {
    let Finds {
        messages, words, ..
    } = finds;
    let mut text = format!(
        "\n### Ordinary messages\n\n{messages} messages of {CORPUS} ({words} words), which contain no real \
         personal data; they name made-up people, organizations and products. Reviewed: an even sample of the \
         findings, read by a person, and how many of them were what their type says.\n\n\
         | type | findings | per 1,000 words | reviewed | correct |\n|---|---:|---:|---:|---:|\n"
    );
    for (kind, found) in &finds.by_type {
        let rate = found.len() as f64 * 1e3 / *words as f64;
        let judged = JUDGED.iter().find(|(name, ..)| name == kind);
        let judged = judged.map_or(" | | ".to_owned(), |(_, seen, right)| {
            format!(" | {seen} | {right} ")
        });
        // Writing to a string has no failing case.
        let _ = writeln!(text, "| {kind} | {} | {rate:.2}{judged}|", found.len());
    }
    text
}

fn find(engine: &Engine, rules: &Compiled) -> Finds {
    let mut finds = Finds {
        by_type: BTreeMap::new(),
        messages: 0,
        words: 0,
    };
    for text in texts() {
        finds.messages += 1;
        finds.words += text.split_whitespace().count();
        let chars: Vec<char> = text.chars().collect();
        for entity in engine.sensitive_data(&text, rules, &|| 0).0.entities {
            let shown = around(&chars, entity.start, entity.end);
            finds
                .by_type
                .entry(entity.kind.to_string())
                .or_default()
                .push(shown);
        }
    }
    finds
}

/// Every message of the corpus.
pub(crate) fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for path in files() {
        let rows = std::fs::read_to_string(path).unwrap();
        texts.extend(rows.lines().map(|row| {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            row["text"].as_str().unwrap().to_owned()
        }));
    }
    texts
}

/// The files in the order of their names.
fn files() -> Vec<PathBuf> {
    let folder = |path: &Path| {
        let entries = std::fs::read_dir(path).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let languages = folder(Path::new(CORPUS)).into_iter();
    let files = languages.filter(|path| path.is_dir());
    files.flat_map(|path| folder(&path)).collect()
}

fn around(text: &[char], start: usize, end: usize) -> String {
    const REACH: usize = 30;
    let part = |from: usize, to: usize| text[from..to].iter().collect::<String>();
    let before = part(start.saturating_sub(REACH), start);
    let behind = part(end, text.len().min(end + REACH));
    format!("{before}[{}]{behind}", part(start, end)).replace('\n', " ")
}
