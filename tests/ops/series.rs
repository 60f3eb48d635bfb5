//! Every series that a dashboard or an alert asks for is in `/metrics` of a process that has just started:
//! a series that appears with its first event hides that event from `increase()`.

use super::alerts::{promtool, root};
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use support::eventually;
use support::fault::refusing_address;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

const BOARD: &str = "conf/grafana/monitor.json";
const RULES: &str = "conf/prometheus/alerts.yaml";
/// Labels that Prometheus adds by itself.
const ADDED: [&str; 2] = ["instance", "job"];

/// One line of `/metrics`.
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// What an expression asks for: a name and conditions on labels.
#[derive(Debug)]
struct Selector {
    name: String,
    matchers: Vec<Matcher>,
}

#[derive(Debug)]
struct Matcher {
    label: String,
    operator: String,
    value: String,
}

impl Matcher {
    fn accepts(&self, labels: &BTreeMap<String, String>) -> bool {
        let found = labels.get(&self.label).map_or("", String::as_str);
        let whole = || Regex::new(&format!("^(?:{})$", self.value)).unwrap();
        match self.operator.as_str() {
            "=" => found == self.value,
            "!=" => found != self.value,
            "=~" => whole().is_match(found),
            "!~" => !whole().is_match(found),
            other => panic!("{other}"),
        }
    }
}

impl Selector {
    fn finds<'a>(&self, samples: &'a [Sample]) -> Vec<&'a Sample> {
        let is_meant = |sample: &&Sample| {
            sample.name == self.name
                && self
                    .matchers
                    .iter()
                    .all(|matcher| matcher.accepts(&sample.labels))
        };
        samples.iter().filter(is_meant).collect()
    }
}

fn samples(text: &str) -> Vec<Sample> {
    let line = Regex::new(r"^(\w+)(?:\{(.*)\})? (\S+)$").unwrap();
    let label = Regex::new(r#"(\w+)="([^"]*)""#).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|text| {
            let found = line.captures(text).expect(text);
            let labels = found.get(2).map_or("", |labels| labels.as_str());
            Sample {
                name: found[1].to_owned(),
                labels: label
                    .captures_iter(labels)
                    .map(|label| (label[1].to_owned(), label[2].to_owned()))
                    .collect(),
                value: found[3].parse().unwrap(),
            }
        })
        .collect()
}

/// The series that an expression names, without its functions, operators, groups and ranges.
fn selectors(expression: &str) -> Vec<Selector> {
    const GROUPING: &str = r"\b(?:by|without|on|ignoring|group_left|group_right) *\([^)]*\)";
    let no_groups = Regex::new(GROUPING).unwrap();
    let no_ranges = Regex::new(r"\[[^\]]*\]|\boffset \w+").unwrap();
    let text = no_ranges.replace_all(expression, "");
    let text = no_groups.replace_all(&text, "");
    let name = Regex::new(r"([a-z_:][\w:]*)\s*(\(|\{[^}]*\})?").unwrap();
    let matcher = Regex::new(r#"(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)""#).unwrap();
    let mut found = Vec::new();
    for part in name.captures_iter(&text) {
        let rest = part.get(2).map_or("", |rest| rest.as_str());
        if rest == "(" || ["and", "or", "unless"].contains(&&part[1]) {
            continue;
        }
        let matchers = matcher.captures_iter(rest).map(|one| Matcher {
            label: one[1].to_owned(),
            operator: one[2].to_owned(),
            value: one[3].to_owned(),
        });
        found.push(Selector {
            name: part[1].to_owned(),
            matchers: matchers
                .filter(|one| !ADDED.contains(&one.label.as_str()))
                .collect(),
        });
    }
    assert!(!found.is_empty(), "{expression}");
    found
}

#[test]
fn series_are_found_in_an_expression() {
    let found = selectors(
        r#"histogram_quantile(0.9, sum by (le) (rate(a_bucket{instance=~"$instance",x!="y"}[5m]))) > 0
            and on (job, instance) up or absent(b) unless b offset 10m"#,
    );
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a_bucket", "up", "b", "b"]);
    let [matcher] = &found[0].matchers[..] else {
        panic!("{found:?}")
    };
    assert_eq!((matcher.label.as_str(), matcher.value.as_str()), ("x", "y"));
    assert!(matcher.accepts(&[("x".to_owned(), "z".to_owned())].into()));
    assert!(!matcher.accepts(&[("x".to_owned(), "y".to_owned())].into()));
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The expressions of the alert rules, by their names.
fn of_rules() -> Vec<(String, String)> {
    const RULE: &str =
        r"(?m)^ +- alert: (\w+)\n(?: +#.*\n)* +expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)";
    let rule = Regex::new(RULE).unwrap();
    let text = read(RULES);
    let found: Vec<_> = rule
        .captures_iter(&text)
        .map(|found| {
            let expression = found.get(2).or(found.get(3)).unwrap();
            (found[1].to_owned(), expression.as_str().to_owned())
        })
        .collect();
    assert_eq!(found.len(), text.matches("- alert:").count());
    found
}

/// The expressions of the dashboard, by the titles of their panels.
fn of_board() -> Vec<(String, String)> {
    let board: Value = serde_json::from_str(&read(BOARD)).unwrap();
    let mut found = Vec::new();
    for panel in board["panels"].as_array().unwrap() {
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        let is_row = panel["type"] == "row";
        assert_eq!(is_row, targets.is_empty(), "{}", panel["title"]);
        for target in targets {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            found.push((text(&panel["title"]), text(&target["expr"])));
        }
    }
    found
}

/// Processes of each role that have just started, and their series.
struct Fleet {
    _stacks: [Stack; 3],
    /// `all`, `gateway`, `analysis`.
    metrics: [String; 3],
}

fn fleet() -> Fleet {
    let upstream = Upstream::ok();
    let standby = format!("upstream:\n  standby: [http://{}]", refusing_address());
    let gateway = Stack::gateway().upstream(&upstream).yaml(&standby).start();
    eventually("the health of the model servers shows", || {
        gateway
            .metrics()
            .contains("monitor_upstream_up{")
            .then_some(())
    });
    let siem = |indent: &str| {
        let url = format!("tcp://{}", refusing_address());
        format!("{indent}siem: {{destinations: [{{name: soc, kind: syslog, url: \"{url}\"}}]}}")
    };
    let stacks = [
        Stack::all().yaml(&siem("  ")).start(),
        gateway,
        Stack::analysis_server().yaml(&siem("")).start(),
    ];
    let metrics = stacks.each_ref().map(Stack::metrics);
    Fleet {
        _stacks: stacks,
        metrics,
    }
}

fn families(metrics: &str) -> BTreeSet<&str> {
    let lines = metrics.lines();
    let types = lines.filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).collect()
}

#[test]
fn what_dashboards_and_alerts_ask_for_is_there_from_the_start() {
    let fleet = fleet();
    let there: Vec<Sample> = fleet
        .metrics
        .iter()
        .flat_map(|text| samples(text))
        .collect();
    let (rules, board) = (of_rules(), of_board());
    assert!(rules.len() > 20 && board.len() > 50, "{rules:?} {board:?}");
    for (name, expression) in rules.iter().chain(&board) {
        for selector in selectors(expression) {
            let found = selector.finds(&there);
            let is_added = selector.name == "up";
            assert!(is_added || !found.is_empty(), "{name}: {selector:?}");
        }
    }
    for (name, expression) in rules {
        for selector in selectors(&expression) {
            let counters = selector.finds(&there).into_iter();
            for counter in counters.filter(|sample| sample.name.ends_with("_total")) {
                assert!(counter.value == 0.0, "{name}: {selector:?}");
            }
        }
    }
}

#[test]
fn a_process_shows_the_series_of_its_own_parts() {
    let fleet = fleet();
    let [all, gateway, analysis] = fleet.metrics.each_ref().map(|text| families(text));
    let of_all: BTreeSet<&str> = gateway.union(&analysis).copied().collect();
    let only_with_standby = BTreeSet::from(["monitor_upstream_up"]);
    assert_eq!(&of_all - &all, only_with_standby);
    assert_eq!(&all - &of_all, BTreeSet::new());
    let shared: Vec<&str> = gateway.intersection(&analysis).copied().collect();
    let of_every_process = [
        "monitor_accept_errors_total",
        "monitor_accept_pauses_total",
        "monitor_build_info",
        "monitor_clear_text_secrets_total",
        "monitor_clock_jumps_total",
        "monitor_connections_ended_total",
        "monitor_draining",
        "monitor_log_lines_lost_total",
        "monitor_log_lines_suppressed_total",
        "monitor_overloaded_total",
        "monitor_reloads_total",
        "monitor_upgrades_total",
    ];
    assert_eq!(shared, of_every_process);
    for (part, shows, hides) in [
        ("monitor_requests_total", &gateway, &analysis),
        ("monitor_connections_limit", &gateway, &analysis),
        ("monitor_spool_lost_total", &gateway, &analysis),
        ("monitor_api_requests_total", &analysis, &gateway),
        ("monitor_store_up", &analysis, &gateway),
        ("monitor_remote_down", &analysis, &gateway),
    ] {
        assert!(shows.contains(part) && !hides.contains(part), "{part}");
    }
}

#[test]
#[ignore = "needs promtool"]
fn prometheus_reads_the_metrics_and_every_expression_of_the_dashboard() {
    let folder = Folder::new();
    for (number, text) in fleet().metrics.iter().enumerate() {
        let file = folder.write(&format!("metrics-{number}"), text);
        let file = std::fs::File::open(file).unwrap();
        let said = promtool("check metrics", &[], file.into());
        assert_eq!(said, "");
    }
    let mut rules = String::from("groups:\n  - name: dashboard\n    rules:\n");
    for (number, (_, expression)) in of_board().iter().enumerate() {
        let variables = [
            ("$instance", ".*"),
            ("$__rate_interval", "5m"),
            ("$__range", "1h"),
        ];
        let expression = variables
            .iter()
            .fold(expression.clone(), |text, (name, value)| {
                text.replace(name, value)
            });
        assert!(!expression.contains('$'), "{expression}");
        let expression = Value::from(expression);
        let _ = writeln!(
            rules,
            "      - record: panel_{number}\n        expr: {expression}"
        );
    }
    let file = folder.write("dashboard.yaml", &rules);
    promtool("check rules", &[file], std::process::Stdio::null());
}
