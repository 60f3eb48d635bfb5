//! The benign corpus (`training/corpus`): rows are texts of their own, so that a share of them held apart
//! says something about texts nobody has seen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Words in a row that no two rows may share.
const RUN: usize = 8;

struct Row {
    place: String,
    words: Vec<String>,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("training/corpus");
    let mut files = Vec::new();
    for language in ["en", "ru"] {
        let listed = std::fs::read_dir(folder.join(language)).unwrap();
        files.extend(listed.map(|entry| entry.unwrap().path()));
    }
    files.sort();
    files
}

fn rows(file: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| {
            let row: HashMap<String, String> = serde_json::from_str(line).unwrap();
            let text = row["text"].to_lowercase();
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words = words.filter(|word| !word.is_empty());
            Row {
                place: format!("{}:{}", file.display(), number + 1),
                words: words.map(str::to_owned).collect(),
            }
        })
        .collect()
}

#[test]
fn no_two_rows_share_a_run_of_eight_words() {
    let all: Vec<Row> = files().iter().flat_map(|file| rows(file)).collect();
    let mut seen: HashMap<&[String], usize> = HashMap::new();
    for (number, row) in all.iter().enumerate() {
        for run in row.words.windows(RUN) {
            let other = *seen.entry(run).or_insert(number);
            let place = &all[other].place;
            assert_eq!(other, number, "{} repeats {place}: {run:?}", row.place);
        }
    }
}

#[test]
fn each_kind_stands_in_both_languages_and_there_are_enough_rows() {
    let mut kinds: HashMap<String, usize> = HashMap::new();
    let mut rows_of: HashMap<String, usize> = HashMap::new();
    for file in files() {
        let kind = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let language = file.parent().unwrap().file_name().unwrap();
        *kinds.entry(kind).or_default() += 1;
        *rows_of
            .entry(language.to_str().unwrap().to_owned())
            .or_default() += rows(&file).len();
    }
    assert!(kinds.len() >= 25, "{}", kinds.len());
    assert!(kinds.values().all(|count| *count == 2), "{kinds:?}");
    assert!(
        rows_of["ru"] >= 2_000 && rows_of["en"] >= 1_500,
        "{rows_of:?}"
    );
}
