//! The generated parts of the documentation: tables of variables, settings and metrics, each between two
//! HTML comments of its page. `UPDATE_DOCS=1 cargo test --test ops config::docs` writes them; without the
//! variable a test fails on a difference.

use super::reference_yaml::{Entry, entries};
use monitor_gateway::config::{Role, env, known_keys};
use monitor_gateway::observe::events::FailedOver;
use monitor_gateway::observe::{FailoverReason, Metrics, UpstreamName};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a part of a page with `expected`, or writes it.
#[track_caller]
fn generated(page: &str, part: &str, expected: &str) {
    support::markdown::generated(root(), page, part, expected);
}

#[test]
fn docs_configuration_holds_every_variable_and_setting() {
    let page = "docs/configuration.md";
    generated(page, "variables", &env::markdown_table());
    generated(page, "settings", &settings());
}

#[test]
fn docs_metrics_holds_every_metric() {
    generated("docs/metrics.md", "metrics", &metrics());
}

/// A table for each section of `conf/all.yaml`, in the order of the file.
fn settings() -> String {
    let text = std::fs::read_to_string(root().join("conf/all.yaml")).unwrap();
    let entries = entries(&text);
    let mut sections: Vec<(&str, Vec<&Entry>)> = vec![("", Vec::new())];
    for entry in &entries {
        let (parent, _) = entry.key.rsplit_once('.').unwrap_or(("", &entry.key));
        if entry.value.is_none() {
            sections.push((&entry.key, Vec::new()));
        } else {
            let section = sections.iter_mut().find(|(key, _)| *key == parent);
            section.expect("a section before its keys").1.push(entry);
        }
    }
    let about = |key: &str| entries.iter().find(|entry| entry.key == key);
    let mut page = String::new();
    for (key, entries) in sections {
        match key {
            "" => page.push_str("### Top level\n"),
            key => {
                let _ = write!(page, "\n### `{key}`\n");
            }
        }
        if let Some(section) = about(key).filter(|section| !section.comment.is_empty()) {
            let _ = write!(page, "\n{}\n", section.meaning());
        }
        if entries.is_empty() {
            continue;
        }
        page.push_str(
            "\n| Key | Default | Variable | Read by | Meaning |\n|---|---|---|---|---|\n",
        );
        for entry in &entries {
            page.push_str(&row(entry));
        }
        for entry in &entries {
            if let Some(example) = entry.example() {
                let _ = write!(
                    page,
                    "\nExample of `{}`:\n\n```yaml\n{example}\n```\n",
                    entry.key
                );
            }
        }
    }
    page
}

fn row(entry: &Entry) -> String {
    let variable = env::VARIABLES
        .iter()
        .find(|variable| variable.key_in(Role::All) == Some(&entry.key));
    // A role's own file has the keys below `analysis` at its top, where they hide others of their name.
    let of_analysis = match entry.key.strip_prefix("analysis.") {
        Some(key) => key,
        None if known_keys(Role::All).contains(&format!("analysis.{}", entry.key)) => "",
        None => &entry.key,
    };
    let mut roles = vec!["all"];
    for (role, name, key) in [
        (Role::Gateway, "gateway", entry.key.as_str()),
        (Role::Analysis, "analysis", of_analysis),
    ] {
        if known_keys(role).iter().any(|known| known == key) {
            roles.push(name);
        }
    }
    // The table of variables has the program's own default; the file may name another value and say so.
    let own = variable
        .map(|variable| variable.default)
        .filter(|own| !own.is_empty());
    let default = own.or(entry.value.as_deref()).unwrap_or_default();
    let variable = variable.map_or(String::new(), |variable| format!("`{}`", variable.name));
    format!(
        "| `{}` | `{default}` | {variable} | {} | {} |\n",
        entry.key,
        roles.join(", "),
        entry.meaning().replace('|', "\\|")
    )
}

/// One metric as `/metrics` shows it.
#[derive(Default)]
struct Metric {
    help: String,
    kind: String,
    labels: BTreeSet<String>,
}

/// The table of metrics, and what the values of their labels mean.
fn metrics() -> String {
    let metrics = Metrics::new().unwrap();
    // Their labels take values that the configuration and the API have: they show once they have one.
    metrics.analysis.add_route("/records");
    metrics.costs.set_currency("EUR");
    metrics.siem.add_destination("soc");
    let upstream = UpstreamName {
        group: "anthropic".to_owned(),
        address: "model.example:443".to_owned(),
    };
    metrics.upstreams.up(&upstream, true);
    let (reason, from, to) = (FailoverReason::Connect, &upstream, &upstream);
    FailedOver { reason, from, to }.emit(&metrics);
    let shown = rendered(&String::from_utf8(metrics.render()).unwrap());
    let sources = sources_of_observe();
    for name in Regex::new(r#""(monitor_[a-z_]+)""#)
        .unwrap()
        .captures_iter(&sources)
    {
        assert!(shown.contains_key(&name[1]), "{} does not show", &name[1]);
    }
    let mut page = String::from("| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n");
    for (name, metric) in &shown {
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} | {} |",
            metric.kind,
            labels.join(", "),
            metric.help
        );
    }
    page.push_str("\n### Values of labels\n");
    page + &label_values(&sources)
}

fn rendered(text: &str) -> BTreeMap<String, Metric> {
    let mut shown: BTreeMap<String, Metric> = BTreeMap::new();
    let label = Regex::new(r#"([a-z_]+)=""#).unwrap();
    for line in text.lines() {
        let (words, rest): (Vec<&str>, _) = (line.splitn(4, ' ').collect(), line);
        match words[..] {
            ["#", "HELP", name, help] => {
                shown.entry(name.to_owned()).or_default().help = help.to_owned()
            }
            ["#", "TYPE", name, kind] => {
                shown.entry(name.to_owned()).or_default().kind = kind.to_owned()
            }
            _ => {
                let name = rest.split(['{', ' ']).next().unwrap_or_default();
                let family = ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|end| {
                        name.strip_suffix(end)
                            .filter(|name| shown.contains_key(*name))
                    })
                    .unwrap_or(name);
                let metric = shown.get_mut(family).expect("a family before its samples");
                let labels = label.captures_iter(rest).map(|found| found[1].to_owned());
                metric.labels.extend(labels.filter(|label| label != "le"));
            }
        }
    }
    shown
}

/// The doc comments of the enums that labels take their values from.
fn label_values(sources: &str) -> String {
    let one = Regex::new(
        r#"(?m)((?:^\s*///.*\n)+)\s*\w+ \{\n((?:\s*///.*\n|\s*\w+ => "[^"]+",?\n)+)\s*\}"#,
    );
    let value = Regex::new(r#"((?:\s*///.*\n)+)\s*\w+ => "([^"]+)""#).unwrap();
    let mut page = String::new();
    for found in one.unwrap().captures_iter(sources) {
        let _ = write!(page, "\n{}\n\n", comment(&found[1]));
        for value in value.captures_iter(&found[2]) {
            let _ = writeln!(page, "- `{}`: {}", &value[2], comment(&value[1]));
        }
    }
    assert!(page.matches("\n- ").count() > 40, "{page}");
    page
}

/// The text of doc comments in one line, without what it says of the specification's sections.
fn comment(lines: &str) -> String {
    let lines = lines
        .lines()
        .map(|line| line.trim().trim_start_matches('/').trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let source = Regex::new(r" \((?:§|CONTRACT)[^)]*\)").unwrap();
    source.replace_all(&lines.join(" "), "").into_owned()
}

/// Every source file of `src/observe`, in the order of their paths.
fn sources_of_observe() -> String {
    let mut paths = Vec::new();
    collect(&root().join("src/observe"), &mut paths);
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, into),
            false => into.push(path),
        }
    }
}
