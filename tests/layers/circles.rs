//! Finds files of one crate that import each other in a circle. An import of one's own parent module
//! does not count: a parent declares its children, and they may name what it exports.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A crate's modules by their path (`analysis::api`, empty for the root), each with its source.
pub(crate) struct Crate {
    sources: BTreeMap<String, String>,
    /// What a module exports again: name to the path it was written as.
    exports: BTreeMap<String, BTreeMap<String, String>>,
}

impl Crate {
    /// From files as path (relative to the crate's `src`) and source, without comments and strings.
    pub(crate) fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        static EXPORT: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\bpub(?:\([a-z]+\))?\s+use\s+([^;]+);").unwrap());
        let mut sources = BTreeMap::new();
        for (path, source) in files {
            if !is_test(&path) {
                sources.insert(module(&path), without_tests(&source).to_owned());
            }
        }
        let mut exports: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (name, source) in &sources {
            for found in EXPORT.captures_iter(source) {
                for path in expanded(&found[1]) {
                    let last = path.rsplit("::").next().unwrap_or_default().to_owned();
                    exports.entry(name.clone()).or_default().insert(last, path);
                }
            }
        }
        Self { sources, exports }
    }

    /// Every group of modules that can be reached from each other, sorted.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let names: Vec<&String> = self.sources.keys().collect();
        let edges: BTreeMap<&str, BTreeSet<String>> = names
            .iter()
            .map(|name| (name.as_str(), self.imports(name)))
            .collect();
        let reach: BTreeMap<&str, BTreeSet<&str>> = names
            .iter()
            .map(|name| (name.as_str(), reachable(name, &edges)))
            .collect();
        let mut circles = BTreeSet::new();
        for (name, reached) in &reach {
            let mut group: Vec<String> = reached
                .iter()
                .filter(|other| *other != name && reach[*other].contains(name))
                .map(|other| (*other).to_owned())
                .collect();
            if !group.is_empty() {
                group.push((*name).to_owned());
                group.sort();
                circles.insert(group);
            }
        }
        circles.into_iter().collect()
    }

    fn imports(&self, name: &str) -> BTreeSet<String> {
        static USE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(\bpub(?:\([a-z]+\))?\s+)?\buse\s+([^;]+);").unwrap());
        static PATH: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").unwrap());
        let source = &self.sources[name];
        let used = USE
            .captures_iter(source)
            .filter(|found| found.get(1).is_none())
            .flat_map(|found| expanded(&found[2]));
        let named = PATH
            .find_iter(source)
            .map(|found| found.as_str().to_owned());
        let parent = name.rsplit_once("::").map_or("", |(parent, _)| parent);
        used.chain(named)
            .filter_map(|path| self.resolve(name, &path, 0))
            .filter(|target| target != name && target != parent)
            .collect()
    }

    /// The module that a path leads to as seen from `here`, through re-exports.
    fn resolve(&self, here: &str, path: &str, depth: usize) -> Option<String> {
        let mut parts: Vec<&str> = path
            .split("::")
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let mut base: Vec<&str> = here.split("::").filter(|part| !part.is_empty()).collect();
        let first = *parts.first()?;
        if first == "crate" {
            base.clear();
            parts.remove(0);
        } else if first == "self" {
            parts.remove(0);
        } else if first == "super" {
            while parts.first() == Some(&"super") {
                base.pop();
                parts.remove(0);
            }
        } else if !self.has(&base, first) {
            return None;
        }
        while let Some(next) = parts.first().filter(|next| self.has(&base, next)) {
            base.push(next);
            parts.remove(0);
        }
        let found = base.join("::");
        let again = parts
            .first()
            .filter(|_| depth < 5)
            .and_then(|name| self.exports.get(&found)?.get(*name));
        let further = again.and_then(|path| self.resolve(&found, path, depth + 1));
        let target = further.unwrap_or(found);
        self.sources.contains_key(&target).then_some(target)
    }

    fn has(&self, base: &[&str], name: &str) -> bool {
        let path = [base, &[name]].concat().join("::");
        self.sources.contains_key(&path)
    }
}

fn reachable<'a>(start: &str, edges: &'a BTreeMap<&'a str, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = edges[start].iter().map(String::as_str).collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(edges[next].iter().map(String::as_str));
        }
    }
    reached
}

/// `gateway/exchange/mod.rs` is `gateway::exchange`; the crate's root is empty.
fn module(path: &str) -> String {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    match path {
        "lib" | "main" | "mod" => String::new(),
        path => path.replace('/', "::"),
    }
}

pub(crate) fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests") || path.ends_with("tests.rs")
}

/// The source up to its test module.
pub(crate) fn without_tests(source: &str) -> &str {
    static TESTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^#\[cfg\(test\)\]\s*\n(?:#\[[^\n]*\n)*\s*mod \w+ \{").unwrap()
    });
    TESTS
        .find(source)
        .map_or(source, |found| &source[..found.start()])
}

/// The paths of one `use`: groups taken apart, `as` left out.
fn expanded(import: &str) -> Vec<String> {
    let import = import.trim();
    let Some((head, group)) = import
        .strip_suffix('}')
        .and_then(|text| text.split_once('{'))
    else {
        let path = import.split_whitespace().next().unwrap_or_default();
        return vec![path.to_owned()];
    };
    let mut items = vec![String::new()];
    let mut depth = 0;
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(letter);
        }
    }
    items
        .iter()
        .filter(|item| !item.trim().is_empty())
        .flat_map(|item| expanded(&format!("{}{}", head.trim(), item.trim())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Crate;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files = files.iter();
        Crate::new(files.map(|(path, source)| ((*path).to_owned(), (*source).to_owned()))).circles()
    }

    #[test]
    fn a_circle_is_seen_through_groups_and_re_exports() {
        let found = circles(&[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod deep; pub use deep::Thing;"),
            ("a/deep.rs", "use crate::{b::Other, x};"),
            ("b.rs", "use crate::a::{self, Thing};"),
        ]);
        assert_eq!(found, [["a::deep", "b"]]);
        let direct = circles(&[
            ("room/one.rs", "fn f() { super::two::g() }"),
            ("room/two.rs", "use super::one;"),
        ]);
        assert_eq!(direct, [["room::one", "room::two"]]);
    }

    #[test]
    fn a_parent_tests_and_a_way_down_are_no_circle() {
        assert!(
            circles(&[
                ("room/mod.rs", "mod one; mod two; pub use one::Thing;"),
                ("room/one.rs", "use super::Shared; use super::two::Lower;"),
                (
                    "room/two.rs",
                    "#[cfg(test)]\nmod tests {\n use super::super::one::Thing; }"
                ),
            ])
            .is_empty()
        );
    }
}
