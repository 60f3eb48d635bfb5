//! The pages of the documentation, held to what they name: links and anchors lead somewhere, the tests that a
//! promise rests on exist; and to the length of a line.

use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "training/README.md",
    ]
    .iter()
    .map(|page| root().join(page))
    .collect();
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|end| end == "md")));
    pages
}

/// The text without its fenced blocks.
fn prose(text: &str) -> String {
    let lines = numbered_prose(text).map(|(_, line)| format!("{line}\n"));
    lines.collect()
}

/// The lines outside of fenced blocks, each with its number.
fn numbered_prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors of a page, as GitHub makes them of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut made: Vec<String> = Vec::new();
    for line in prose(text).lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let before = made.iter().filter(|other| **other == anchor).count();
        made.push(anchor.clone());
        if before > 0 {
            made.push(format!("{anchor}-{before}"));
        }
    }
    made.into_iter().collect()
}

#[test]
fn every_relative_link_and_anchor_of_the_documentation_resolves() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let mut count = 0;
    for page in pages() {
        for found in link.captures_iter(&prose(&read(&page))) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            assert!(path.exists(), "{}: no file {target}", page.display());
            let is_known = anchor.is_empty() || anchors(&read(&path)).contains(anchor);
            assert!(is_known, "{}: no anchor {target}", page.display());
        }
    }
    assert!(count > 60, "{count} links");
}

/// Tables and fenced blocks may be wider: they cannot be broken.
#[test]
fn no_line_of_prose_is_longer_than_120_characters() {
    let mut pages = pages();
    for package in ["npm", "python"] {
        let folder = root().join("packaging/clients").join(package);
        pages.push(folder.join("README.md"));
    }
    let mut long = Vec::new();
    for page in pages {
        for (number, line) in numbered_prose(&read(&page)) {
            if line.chars().count() > 120 && !line.trim_start().starts_with('|') {
                long.push(format!("{}:{number}", page.display()));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn every_page_of_the_documentation_is_linked_from_the_readme() {
    let readme = read(&root().join("README.md"));
    let docs = root().join("docs");
    for page in pages().iter().filter(|page| page.starts_with(&docs)) {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        assert!(readme.contains(&format!("(docs/{name})")), "{name}");
    }
}

/// Names of tests in the files below a folder, and of the files themselves, which stand in a test's path.
fn tests_below(folder: &Path, names: &mut BTreeSet<String>) {
    let test =
        r"#\[(?:tokio::)?test[^\]]*\](?:\s*#\[[^\]]*\]|\s*//[^\n]*)*\s*(?:async\s+)?fn (\w+)";
    let test = Regex::new(test).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, names);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = read(&path);
            names.extend(test.captures_iter(&text).map(|found| found[1].to_owned()));
            names.insert(path.file_stem().unwrap().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn every_test_that_guarantees_md_names_exists() {
    let [mut gateway, mut ops, mut units] = [(); 3].map(|()| BTreeSet::new());
    tests_below(&root().join("tests/gateway"), &mut gateway);
    tests_below(&root().join("tests/ops"), &mut ops);
    for sources in ["src", "crates"] {
        tests_below(&root().join(sources), &mut units);
    }
    let page = read(&root().join("docs/guarantees.md"));
    let (_, table) = page.split_once("| Shown by |").unwrap();
    let (table, below) = table.split_once("\n\n").unwrap();
    // The second table names its tests in a row, for each column.
    let across = below.lines().find(|row| row.starts_with("| shown by |"));
    let across = across
        .unwrap()
        .trim_start_matches("| shown by ")
        .split(" | ");
    let named = Regex::new(r"`([a-z_]+)`([*†]?)").unwrap();
    let mut count = 0;
    let rows = table.lines().filter(|row| row.starts_with("| "));
    let last = rows.map(|row| row.trim_end_matches(" |").rsplit(" | ").next().unwrap());
    for shown_by in last.chain(across) {
        for found in named.captures_iter(shown_by) {
            let known = match &found[2] {
                "*" => &units,
                "†" => &ops,
                _ => &gateway,
            };
            assert!(
                known.iter().any(|test| test.contains(&found[1])),
                "no test {}",
                &found[0]
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count} tests are named");
}

#[test]
fn every_test_that_reliability_md_names_exists() {
    let mut tests = BTreeSet::new();
    for folder in ["tests", "src", "crates"] {
        tests_below(&root().join(folder), &mut tests);
    }
    // `store_contract!` makes two tests of each of these functions.
    let of_each_store = Regex::new(r"async fn (\w+)\(bed: &Bed\)").unwrap();
    for entry in std::fs::read_dir(root().join("tests/store")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = read(&path);
            tests.extend(of_each_store.captures_iter(&text).map(|f| f[1].to_owned()));
        }
    }
    let page = read(&root().join("docs/reliability.md"));
    let named = Regex::new(r"`([\w./-]+)`").unwrap();
    let tables = page.split("| Shown by |").skip(1);
    let tables: Vec<Vec<&str>> = tables
        .map(|rest| rest.split("\n\n").next().unwrap().lines().skip(2).collect())
        .collect();
    // What the adversarial test found, and what was found since.
    assert!(tables.len() == 2 && tables[0].len() == 17 && tables[1].len() >= 11);
    for row in tables.concat() {
        let shown_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<_> = named.captures_iter(shown_by).collect();
        assert!(!names.is_empty(), "no test: {row}");
        for name in names {
            let is_file = name[1].starts_with("tests/") && root().join(&name[1]).is_file();
            assert!(is_file || tests.contains(&name[1]), "no test {}", &name[1]);
        }
    }
}

#[test]
fn every_file_that_the_documentation_names_exists() {
    let file =
        Regex::new(r"`((?:src|crates|tests|conf|benches|packaging|training)/[\w./-]*)`").unwrap();
    let mut named_in = pages();
    named_in.push(root().join("src/lib.rs"));
    let mut count = 0;
    for page in named_in {
        for found in file.captures_iter(&read(&page)) {
            // A new file is written with NAME.
            if !found[1].contains("NAME") {
                let exists = root().join(&found[1]).exists();
                assert!(exists, "{}: no {}", page.display(), &found[1]);
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count} files are named");
}
