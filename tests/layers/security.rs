//! SECURITY.md held to the tests: every line of its threat model names tests, and each of them exists and
//! is a test. Whether a test shows what the line says is for its reader.

use regex::Regex;
use std::path::Path;

/// A test as the page names it: `suite::file::test`, with the folders of nested files between.
fn is_test(root: &Path, name: &str) -> bool {
    let (file, test) = name.rsplit_once("::").unwrap_or(("", name));
    let path = root
        .join("tests")
        .join(file.replace("::", "/"))
        .with_extension("rs");
    let Ok(source) = std::fs::read_to_string(path) else {
        return false;
    };
    let declared = format!(r"#\[test\](?:\s*#\[[^\]]*\]|\s*//[^\n]*)*\s*fn {test}\(");
    Regex::new(&declared).unwrap().is_match(&source)
}

fn named(text: &str) -> Vec<String> {
    let test = Regex::new(
        r"`((?:analysis|clients|contract|detect|gateway|layers|ops|store|ui)(?:::[a-z0-9_]+){2,})`",
    );
    let test = test.unwrap();
    test.captures_iter(text)
        .map(|found| found[1].to_owned())
        .collect()
}

/// The rows of the threat model: those of tables whose last column says what shows them.
fn rows(page: &str) -> Vec<&str> {
    let tables = page.split("| Can | Cannot | Shown by |\n|---|---|---|\n");
    let lines = tables
        .skip(1)
        .flat_map(|table| table.lines().take_while(|line| line.starts_with('|')));
    lines.collect()
}

#[test]
fn every_line_of_the_threat_model_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let rows = rows(&page);
    assert!(rows.len() > 40, "{} rows", rows.len());
    for row in rows {
        assert!(!named(row).is_empty(), "no test shows: {row}");
    }
    let unknown: Vec<String> = named(&page)
        .into_iter()
        .filter(|name| !is_test(root, name))
        .collect();
    assert!(unknown.is_empty(), "no such tests: {unknown:#?}");
}

#[test]
fn the_checker_of_the_threat_model_sees_what_is_no_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let this = "layers::security::the_checker_of_the_threat_model_sees_what_is_no_test";
    assert!(is_test(root, this));
    for other in [
        "layers::security::rows",
        "layers::nowhere::every_line_of_the_threat_model_names_tests_that_exist",
        "layers::security::every_line",
    ] {
        assert!(!is_test(root, other), "{other}");
    }
}
