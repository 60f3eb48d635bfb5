//! Reads the sources and fails on an import upward between the layers of the design, on a circle between
//! files, on a library in a layer that must not know it, on a parameter that hides two, on a file or a README
//! that is too long, on a drawing of the imports that is not that of the code, and on a line of SECURITY.md
//! without a test. The checker is checked too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod circles;
mod drawing;
mod security;
mod signatures;

use circles::Crate;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The layers, lowest first. Whatever is not named here stands on top.
const LAYERS: [&[&str]; 4] = [
    &[
        "model",
        "config",
        "observe",
        "http_client",
        "fair_queue",
        "edge",
    ],
    &["wire", "detect", "store", "policy", "spool", "backend"],
    &["gateway", "analysis", "judge", "demo"],
    &["app", "cli", "main", "lib"],
];

/// Modules that the first may never name, whatever their layers.
const APART: [(&str, &[&str]); 1] = [("gateway", &["analysis", "detect", "store"])];

/// A library (a pattern of its crates' names) and the only modules that may name it.
const ONLY_IN: [(&str, &[&str]); 3] = [
    ("pingora[a-z_]*", &["gateway", "app"]),
    ("axum", &["analysis", "demo", "app"]),
    ("sqlx", &["store", "policy"]),
];

/// Modules that know no runtime, no network and no database, and what they must not name.
const PURE: [&str; 3] = ["detect", "wire", "model"];
const IMPURE: &str = "tokio|reqwest|sqlx";

/// The rooms that are crates of their own.
const CRATES: [&str; 4] = ["model", "wire", "detect", "store"];

const LONGEST: usize = 400;

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|names| names.contains(&module))
        .unwrap_or(LAYERS.len() - 1)
}

fn is_module(name: &str) -> bool {
    LAYERS.iter().any(|names| names.contains(&name))
}

/// Everything wrong with one file; `path` is relative to `src`.
fn violations(path: &str, source: &str) -> Vec<String> {
    let top = path
        .split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs");
    let code = code_only(source);
    let mut found = Vec::new();
    for target in imports(path, &code) {
        if layer(&target) > layer(top) {
            found.push(format!(
                "{path}: {top} must not import {target}: it is in a higher layer"
            ));
        }
        if APART
            .iter()
            .any(|(from, to)| *from == top && to.contains(&target.as_str()))
        {
            found.push(format!("{path}: {top} must never import {target}"));
        }
    }
    let names = |pattern: &str| {
        Regex::new(&format!(r"\b({pattern})\s*(::|;|\{{)"))
            .unwrap()
            .is_match(&code)
    };
    for (library, homes) in ONLY_IN {
        if !homes.contains(&top) && names(library) {
            found.push(format!(
                "{path}: {library} is named only in {}",
                homes.join(", ")
            ));
        }
    }
    if PURE.contains(&top) && names(IMPURE) {
        found.push(format!("{path}: {top} knows none of {IMPURE}"));
    }
    let lines = source.lines().count();
    if lines > LONGEST
        && !source
            .lines()
            .any(|line| line.starts_with("//! Long because:"))
    {
        found.push(format!(
            "{path}: {lines} lines, more than {LONGEST}, without a `//! Long because:` line"
        ));
    }
    found
}

/// The top-level modules that the code names: `monitor_x::…` for the crates, `crate::x`,
/// `monitor_gateway::x`, groups of them, and `super::…::x` where the supers lead out of the file's
/// top-level module.
fn imports(path: &str, code: &str) -> Vec<String> {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(crate|monitor_gateway|(?:super\s*::\s*)*super)\s*::\s*(\{|\w+)").unwrap()
    });
    let depth = path
        .trim_end_matches("mod.rs")
        .trim_end_matches('/')
        .split('/')
        .count();
    let mut targets: Vec<String> = CRATES
        .iter()
        .filter(|name| code.contains(&format!("monitor_{name}")))
        .map(|name| (*name).to_owned())
        .collect();
    let top = path.split('/').next().unwrap_or_default();
    if CRATES.contains(&top) {
        // Inside a crate, `crate` and `super` lead nowhere else.
        return targets;
    }
    for found in NAMED.captures_iter(code) {
        let (root, next) = (&found[1], found.get(2).unwrap());
        if root.contains("super") && root.matches("super").count() < depth {
            continue;
        }
        match next.as_str() {
            "{" => targets.extend(group_heads(&code[next.end()..])),
            name => targets.push(name.to_owned()),
        }
    }
    targets.retain(|name| is_module(name));
    targets
}

/// First words of the items of a `{…}` group whose opening brace is already read.
fn group_heads(rest: &str) -> Vec<String> {
    let mut depth = 0;
    let mut item = String::new();
    let mut items = Vec::new();
    for letter in rest.chars() {
        match letter {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            _ => {}
        }
        if letter != ',' || depth > 0 {
            item.push(letter);
        }
    }
    items.push(item);
    let head = |item: &String| {
        item.split("::")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    items.iter().map(head).collect()
}

/// The source without comments and string contents, so that prose never counts as code.
fn code_only(source: &str) -> String {
    static PROSE: LazyLock<Regex> = LazyLock::new(|| {
        let comment = r"//[^\n]*|(?s:/\*.*?\*/)";
        let raw = r##"(?s:b?r#+".*?"#+)|b?r"[^"]*""##;
        let text = r#"b?"(?s:\\.|[^"\\])*""#;
        let letter = r"b?'(?:\\u\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\.|[^'\\])'";
        Regex::new(&format!("{comment}|{raw}|{text}|{letter}")).unwrap()
    });
    PROSE.replace_all(source, " ").into_owned()
}

/// Every source file: those of `src` by their path in it, those of a crate by the crate's name and
/// their path in it.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = sources_below(&root.join("src"), "");
    for name in CRATES {
        let folder = root.join("crates").join(name).join("src");
        found.extend(sources_below(&folder, &format!("{name}/")));
    }
    found
}

fn sources_below(root: &Path, prefix: &str) -> Vec<(String, String)> {
    let mut folders = vec![root.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|e| e == "rs") => files.push(path),
                false => {}
            }
        }
    }
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_string_lossy();
        (
            format!("{prefix}{name}"),
            std::fs::read_to_string(path).unwrap(),
        )
    };
    files.iter().map(read).collect()
}

#[test]
fn the_layers_hold() {
    let sources = sources();
    assert!(sources.len() > 40, "the sources are found");
    let found: Vec<String> = sources
        .iter()
        .flat_map(|(path, source)| violations(path, source))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (path, source) in sources() {
        let top = path.split('/').next().unwrap_or_default();
        let (name, path) = match CRATES.contains(&top) {
            true => path.split_once('/').unwrap(),
            false => ("root", path.as_str()),
        };
        let file = (path.to_owned(), code_only(&source));
        crates.entry(name.to_owned()).or_default().push(file);
    }
    let mut found = Vec::new();
    for (name, files) in crates {
        for circle in Crate::new(files).circles() {
            found.push(format!("{name}: {}", circle.join(" <-> ")));
        }
    }
    assert!(found.is_empty(), "circles:\n{}", found.join("\n"));
}

#[test]
fn no_parameter_is_a_tuple_of_unlike_things() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let product = sources()
        .into_iter()
        .filter(|(path, _)| !circles::is_test(path));
    let around =
        ["benches", "tests"].map(|folder| sources_below(&root.join(folder), &format!("{folder}/")));
    let mut found = Vec::new();
    for (path, source) in product.chain(around.into_iter().flatten()) {
        let tuples = signatures::tuples(&code_only(&source));
        found.extend(tuples.iter().map(|tuple| format!("{path}: {tuple}")));
    }
    assert!(found.is_empty(), "name them:\n{}", found.join("\n"));
}

#[test]
fn the_readme_stays_short() {
    const LONGEST: u64 = 12 * 1024;
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let bytes = readme.metadata().unwrap().len();
    assert!(
        bytes <= LONGEST,
        "README.md has {bytes} bytes, at most {LONGEST}: a page of docs/ is the place"
    );
}

#[test]
fn every_source_file_says_what_it_is() {
    for (path, source) in sources() {
        assert!(
            source.starts_with("//! "),
            "{path} opens with what it is and what it is not"
        );
    }
}

#[test]
fn the_checker_sees_a_wrong_arrow_however_it_is_written() {
    for (path, source) in [
        ("observe/events.rs", "use crate::gateway::Front;"),
        ("backend/http.rs", "use crate :: app::x;"),
        ("policy/file.rs", "fn f() { crate::analysis::start() }"),
        (
            "policy/mod.rs",
            "use crate::{spool::Spool, gateway::{self, route}};",
        ),
        (
            "config/env.rs",
            "use crate::{\n    observe::Metrics,\n    spool,\n};",
        ),
        ("policy/copy.rs", "use super::super::cli::run;"),
        ("policy/mod.rs", "use super::demo;"),
        ("policy.rs", "use super::app;"),
        ("model/ids.rs", "use monitor_wire::json::scan;"),
        ("gateway/proxy.rs", "use crate::analysis::Services;"),
        ("gateway/proxy.rs", "use monitor_detect::Engine;"),
        ("gateway/docs/mod.rs", "use super::super::analysis::Page;"),
        ("gateway/proxy.rs", "use axum::Router;"),
        ("spool/writer.rs", "use pingora_core::server::Server;"),
        ("analysis/services.rs", "sqlx::query(sql)"),
        ("detect/engine.rs", "use tokio::sync::mpsc;"),
        ("model/ids.rs", "use reqwest;"),
        ("wire/json/scan.rs", "use sqlx::{Row, Pool};"),
    ] {
        assert!(!violations(path, source).is_empty(), "{path}: {source}");
    }
    assert!(!violations("app/gateway.rs", &"\n".repeat(401)).is_empty());
}

#[test]
fn the_checker_lets_right_arrows_and_prose_pass() {
    let long = format!("//! Long because: it is one table.\n{}", "\n".repeat(500));
    for (path, source) in [
        (
            "gateway/proxy.rs",
            "use crate::{model, spool::Spool};\nuse pingora_core::apps::HttpServerApp;",
        ),
        (
            "app/mod.rs",
            "use crate::{analysis, gateway, store}; use axum::Router; use pingora_proxy::x;",
        ),
        (
            "store/sqlite/mod.rs",
            "use sqlx::Row; use super::super::error::StoreError;",
        ),
        (
            "observe/logging.rs",
            "const QUIET: &str = \"pingora_core=error,sqlx::x=warn\"; // crate::gateway::x",
        ),
        (
            "model/mod.rs",
            "/* tokio::spawn */ mod ids; use self::ids::gateway;",
        ),
        ("backend/mod.rs", "mod store { use super::queue; }"),
        (
            "detect/engine.rs",
            "const QUOTE: char = '\"'; fn f<'a>(x: &'a str) {} const TEXT: &str = r#\"use tokio::x\"#;",
        ),
        ("app/table.rs", long.as_str()),
    ] {
        assert_eq!(
            violations(path, source),
            Vec::<String>::new(),
            "{path}: {source}"
        );
    }
}
