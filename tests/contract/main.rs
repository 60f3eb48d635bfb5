//! Reads the tests and fails where an item of the gateway's contract has none that names it:
//! `CONTRACT n` in a comment or an assertion inside the test. Whether the test holds the item to its
//! word is the reader's to judge; `cargo test --test contract -- --nocapture` prints the table.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod api;
mod generated;
mod linters;
mod packages;
mod tools;

use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The gateway's items: requests, modes and verdicts, streams, `upstream_error`, opt-in departures.
fn items() -> impl Iterator<Item = u32> {
    (1..=22).chain([40, 41])
}

/// Item to the names of the tests that name it, each once.
type Table = BTreeMap<u32, Vec<String>>;

/// Adds what one file's tests name.
fn add(table: &mut Table, source: &str) {
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*(?:async )?fn (\w+)").unwrap());
    let (mut announced, mut test) = (false, None::<String>);
    for line in source.lines() {
        announced |= line == "#[test]";
        if let Some(name) = NAME.captures(line).filter(|_| announced) {
            (announced, test) = (false, Some(name[1].to_owned()));
        }
        let Some(name) = &test else { continue };
        for item in named(line) {
            let tests = table.entry(item).or_default();
            if !tests.contains(name) {
                tests.push(name.clone());
            }
        }
        if line == "}" {
            test = None;
        }
    }
}

/// The items that a line names: `CONTRACT 3`, `CONTRACT 3, 7 and 14`, `CONTRACT 18 to 20`.
fn named(line: &str) -> Vec<u32> {
    static LIST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"CONTRACT (\d+(?:(?:, | and | to )\d+)*)").unwrap());
    static PART: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(to )?(\d+)").unwrap());
    let mut items: Vec<u32> = Vec::new();
    for list in LIST.captures_iter(line) {
        for part in PART.captures_iter(&list[1]) {
            let item = part[2].parse().unwrap();
            match (part.get(1), items.last()) {
                (Some(_), Some(first)) => items.extend(first + 1..=item),
                _ => items.push(item),
            }
        }
    }
    items
}

fn sources() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                // This file names items only as examples.
                false if path.ends_with("contract/main.rs") => {}
                false if path.extension().is_some_and(|e| e == "rs") => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn every_item_of_the_gateways_contract_has_a_test_that_names_it() {
    let mut table = Table::new();
    sources().iter().for_each(|source| add(&mut table, source));
    for (item, tests) in &table {
        println!("CONTRACT {item}: {}", tests.join(", "));
    }
    let without: Vec<u32> = items().filter(|item| !table.contains_key(item)).collect();
    assert!(without.is_empty(), "no test names CONTRACT {without:?}");
}

#[test]
fn only_what_stands_inside_a_test_counts() {
    let mut table = Table::new();
    let source = "//! CONTRACT 1.\n/// CONTRACT 2.\nfn helper() {\n    // CONTRACT 3.\n}\n\
        #[test]\nfn first() {\n    // §1.3, CONTRACT 4, 5 and 7, RFC 9112 6.3.\n}\n// CONTRACT 6.\n\
        #[test]\nfn second() {\n    // CONTRACT 18 to 20; CONTRACT 4.\n    f(1, \"CONTRACT 9\");\n}\n";
    add(&mut table, source);
    let items: Vec<u32> = table.keys().copied().collect();
    assert_eq!(items, [4, 5, 7, 9, 18, 19, 20]);
    assert_eq!(table[&4], ["first", "second"]);
}
