//! What the program is made of: crates, their licences and where they come from, held to `deny.toml`,
//! which `cargo deny` reads as well.

use super::{read, run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// One crate of the program, or of what only builds or tests it.
struct Crate {
    name: String,
    version: String,
    licence: String,
    source: Option<String>,
    /// It becomes part of the program.
    shipped: bool,
}

fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    run(command.args(arguments).arg("--locked"))
}

fn crates() -> Vec<Crate> {
    let tree = cargo(&[
        "tree",
        "--edges=normal",
        "--prefix=none",
        "--no-dedupe",
        "--format={p}",
    ]);
    let shipped: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?.trim_start_matches('v')))
        })
        .collect();
    let data: Value = serde_json::from_str(&cargo(&["metadata", "--format-version=1"])).unwrap();
    let packages = data["packages"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let read = packages.map(|package| {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        Crate {
            shipped: shipped.contains(&(name.as_str(), version.as_str())),
            licence: text(&package["license"]),
            source: package["source"].as_str().map(str::to_owned),
            name,
            version,
        }
    });
    read.collect()
}

fn rules() -> toml::Table {
    read("deny.toml").parse().unwrap()
}

fn listed(section: &str, key: &str) -> BTreeSet<String> {
    let rules = rules();
    let list = rules[section][key].as_array().unwrap();
    list.iter()
        .map(|entry| entry.as_str().unwrap().to_owned())
        .collect()
}

/// Whether an SPDX expression is satisfied by these licences. `AND` binds closer than `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any_of(&mut words, allowed)
}

type Words<'a, 'b> = &'b mut std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: Words<'_, '_>, allowed: &BTreeSet<String>) -> bool {
    let mut good = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        good |= all_of(words, allowed);
    }
    good
}

fn all_of(words: Words<'_, '_>, allowed: &BTreeSet<String>) -> bool {
    let mut good = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        good &= one(words, allowed);
    }
    good
}

fn one(words: Words<'_, '_>, allowed: &BTreeSet<String>) -> bool {
    let Some(name) = words.next() else {
        return false;
    };
    if name == "(" {
        let good = any_of(words, allowed);
        return words.next() == Some(")") && good;
    }
    match words.next_if_eq(&"WITH").and_then(|_| words.next()) {
        Some(exception) => allowed.contains(&format!("{name} WITH {exception}")),
        None => allowed.contains(name),
    }
}

#[test]
fn licence_expressions_are_read() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "A WITH E".to_owned()]);
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "GPL-3.0/MIT",
        "(GPL-3.0 OR MIT) AND MIT",
        "A WITH E",
    ] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "A",
        "MIT WITH E",
        "(MIT",
        "GPL-3.0 OR X AND MIT",
    ] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

#[test]
fn every_crate_has_a_licence_that_is_allowed() {
    let allowed = listed("licenses", "allow");
    let mut used = String::new();
    for Crate {
        name,
        version,
        licence,
        shipped,
        ..
    } in crates()
    {
        assert!(
            !shipped || is_allowed(&licence, &allowed),
            "{name} {version}: {licence:?}"
        );
        used += &licence;
    }
    for licence in allowed {
        assert!(
            used.contains(&licence),
            "no crate has the licence {licence}"
        );
    }
}

#[test]
fn every_crate_comes_from_the_registry_or_from_this_project() {
    for Crate { name, source, .. } in crates() {
        let own = name == "libz-ng-sys" || name.starts_with("monitor-");
        let of_registry = source.is_some_and(|source| source.starts_with("registry+"));
        assert!(own != of_registry, "{name}");
    }
}

#[test]
fn no_crate_is_banned_and_none_comes_twice_that_is_not_known_to() {
    let (banned, twice) = (listed("bans", "deny"), listed("bans", "skip"));
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in crates().into_iter().filter(|part| part.shipped) {
        assert!(!banned.contains(&part.name), "{} is banned", part.name);
        versions.entry(part.name).or_default().push(part.version);
    }
    for (name, versions) in &versions {
        assert!(
            versions.len() == 1 || twice.contains(name),
            "{name} comes in {versions:?}"
        );
    }
    for name in twice {
        let comes = versions
            .get(&name)
            .is_some_and(|versions| versions.len() > 1);
        assert!(comes, "{name} does not come twice any more");
    }
}
