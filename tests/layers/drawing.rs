//! The drawing of the modules' imports in docs/architecture.md, compared with the imports of the sources. Tests
//! of a module may import more and do not count; the lowest layer is left out, because every module may use it.

use super::{LAYERS, circles, code_only, imports, sources};
use regex::Regex;
use std::collections::BTreeSet;
use std::path::Path;

type Edges = BTreeSet<(String, String)>;

/// The modules that the drawing shows.
fn is_drawn(module: &str) -> bool {
    LAYERS[1..3].iter().any(|names| names.contains(&module))
}

/// The edges `a --> b & c` of the page's only chart from top to bottom.
fn drawn(page: &str) -> Edges {
    let (_, chart) = page.split_once("flowchart TD").expect("the chart");
    let (chart, _) = chart.split_once("```").expect("its end");
    let edge = Regex::new(r"(?m)^\s*(\w+) --> ([\w &]+)$").unwrap();
    let edges = edge.captures_iter(chart).flat_map(|found| {
        let to: Vec<&str> = found.get(2).unwrap().as_str().split('&').collect();
        let from = found[1].to_owned();
        to.into_iter()
            .map(move |to| (from.clone(), to.trim().to_owned()))
            .collect::<Vec<_>>()
    });
    edges.collect()
}

fn imported() -> Edges {
    let mut edges = Edges::new();
    for (path, source) in sources() {
        let module = path.split('/').next().unwrap_or_default();
        if !is_drawn(module) || circles::is_test(&path) {
            continue;
        }
        let product = circles::without_tests(&source);
        let targets = imports(&path, &code_only(product));
        let targets = targets
            .into_iter()
            .filter(|to| is_drawn(to) && to != module);
        edges.extend(targets.map(|to| (module.to_owned(), to)));
    }
    edges
}

#[test]
fn the_drawing_of_imports_is_that_of_the_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let drawn = drawn(&std::fs::read_to_string(page).unwrap());
    let imported = imported();
    let missing: Vec<_> = imported.difference(&drawn).collect();
    let wrong: Vec<_> = drawn.difference(&imported).collect();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "docs/architecture.md does not draw {missing:?}, and draws {wrong:?}"
    );
}
