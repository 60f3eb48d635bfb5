//! What is shipped for operators beside the program names only what there is: metrics of dashboards
//! and alerts, labels of the metrics, variables and commands of the example of a fleet.

use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn names(pattern: &str, text: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    let found = pattern.captures_iter(text).map(|found| found[1].to_owned());
    found.collect()
}

fn sources(folder: &Path, into: &mut String) {
    for file in std::fs::read_dir(folder).unwrap() {
        let path: PathBuf = file.unwrap().path();
        match path.is_dir() {
            true => sources(&path, into),
            false => *into += &std::fs::read_to_string(path).unwrap(),
        }
    }
}

/// Every metric's name, as the table has it.
fn metrics() -> BTreeSet<String> {
    let mut text = String::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/observe"),
        &mut text,
    );
    names(r#""(monitor_[a-z_]+)""#, &text)
}

#[test]
fn dashboards_and_alerts_ask_for_metrics_that_there_are() {
    let known = metrics();
    assert!(known.contains("monitor_requests_total"), "{known:?}");
    for path in ["conf/grafana/monitor.json", "conf/prometheus/alerts.yaml"] {
        let asked = names(r"\b(monitor_[a-z_]+)\b", &read(path));
        assert!(asked.len() > 8, "{path}: {asked:?}");
        for name in asked {
            let of_histogram = name.strip_suffix("_bucket").unwrap_or(&name);
            assert!(known.contains(of_histogram), "{path} asks for {name}");
        }
    }
}

#[test]
fn dashboards_and_alerts_ask_for_labels_and_values_that_there_are() {
    let mut text = String::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/observe"),
        &mut text,
    );
    let values = names(r#"=> "([a-z_0-9]+)""#, &text);
    for path in ["conf/grafana/monitor.json", "conf/prometheus/alerts.yaml"] {
        let asked = read(path).replace("\\\"", "\"");
        let given = names(r#"[a-z]!?="([a-z_]+)""#, &asked);
        assert!(!given.is_empty() && given.is_subset(&values), "{given:?}");
        for group in names(r"by \(([a-z, ]+)\)", &asked) {
            for label in group.split(", ") {
                let is_known = text.contains(&format!("\"{label}\""));
                // Prometheus has these two by itself.
                assert!(is_known || label == "instance" || label == "le", "{label}");
            }
        }
    }
}

#[test]
fn panels_of_monitored_calls_show_every_monitored_route() {
    let routes = names(
        r"(?m)^ +label: RouteLabel::(\w+),",
        &read("src/gateway/route.rs"),
    );
    let routes: BTreeSet<String> = routes.iter().map(|name| name.to_lowercase()).collect();
    assert!(routes.contains("chat"), "{routes:?}");
    let asked = names(
        r#"route=~\\"([a-z|]+)\\""#,
        &read("conf/grafana/monitor.json"),
    );
    assert!(!asked.is_empty());
    for list in asked {
        let shown: BTreeSet<String> = list.split('|').map(str::to_owned).collect();
        assert_eq!(shown, routes);
    }
}

#[test]
fn docs_metrics_explains_panels_that_there_are() {
    let page = read("docs/metrics.md");
    let (_, table) = page.split_once("| Panel | Should be |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let board = read("conf/grafana/monitor.json");
    let explained = names(r"(?m)^\| ([^|]+) \|", table);
    assert!(explained.len() > 8, "{explained:?}");
    for panel in explained.iter().flat_map(|panels| panels.split(", ")) {
        let title = format!("\"title\": \"{panel}\"");
        assert!(board.contains(&title), "no panel {panel}");
    }
}

#[test]
fn every_metric_stands_on_the_dashboard() {
    let board = read("conf/grafana/monitor.json");
    let shown = names(r"\b(monitor_[a-z_]+?)(?:_bucket)?\b", &board);
    let hidden: Vec<_> = metrics().difference(&shown).cloned().collect();
    assert!(hidden.is_empty(), "the dashboard does not show {hidden:?}");
}

#[test]
fn the_alert_about_lost_records_and_the_panel_count_the_same() {
    let board: serde_json::Value =
        serde_json::from_str(&read("conf/grafana/monitor.json")).unwrap();
    let mut panels = board["panels"].as_array().unwrap().iter();
    let panel = panels.find(|panel| panel["title"] == "Records lost");
    let asked = panel.unwrap()["targets"].to_string();
    let alerts = read("conf/prometheus/alerts.yaml");
    let (_, rule) = alerts.split_once("alert: MonitorRecordsLost").unwrap();
    let (rule, _) = rule.split_once("labels:").unwrap();
    let lost = names(r"\b(monitor_[a-z_]+)\b", rule);
    assert_eq!(lost, names(r"\b(monitor_[a-z_]+)\b", &asked));
    assert_eq!(lost.len(), 3, "{lost:?}");
}

#[test]
fn what_is_refused_stands_in_one_panel_of_the_dashboard() {
    let board: serde_json::Value =
        serde_json::from_str(&read("conf/grafana/monitor.json")).unwrap();
    let refused = ["overloaded", "rate_limited", "analysis_refused"];
    let names = refused.map(|it| format!("monitor_{it}_total"));
    for panel in board["panels"].as_array().unwrap() {
        let asked = panel["targets"].to_string();
        let shown = names.iter().filter(|name| asked.contains(*name)).count();
        assert!(shown == 0 || shown == names.len(), "{}", panel["title"]);
    }
}

#[test]
fn every_metric_is_explained_in_docs_metrics() {
    let page = read("docs/metrics.md");
    for name in metrics() {
        assert!(
            page.contains(&name),
            "docs/metrics.md does not explain {name}"
        );
    }
}

#[test]
fn the_dashboard_is_json_whose_panels_lie_beside_each_other() {
    let board: serde_json::Value =
        serde_json::from_str(&read("conf/grafana/monitor.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let mut taken = BTreeSet::new();
    for panel in panels {
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{} covers another", panel["title"]);
            }
        }
    }
}

#[test]
fn the_example_of_a_fleet_sets_variables_that_there_are() {
    let known: BTreeSet<&str> = monitor_gateway::config::env::VARIABLES
        .iter()
        .map(|variable| variable.name)
        .collect();
    let text = read("packaging/compose.yaml");
    let set = names(r"(?m)^ {6}([A-Z][A-Z_]+):", &text);
    let ours = set.iter().filter(|name| !name.starts_with("POSTGRES_"));
    let ours: Vec<&String> = ours.collect();
    assert!(ours.len() > 5, "{set:?}");
    for name in ours {
        assert!(known.contains(name.as_str()), "{name} is no variable");
    }
}
