//! The alert rules for Prometheus: each one fires when it should and is silent when it should be, by
//! `promtool` over the cases in `alerts/`.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::stack::Folder;

const RULES: &str = "conf/prometheus/alerts.yaml";

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("tests/ops/alerts")).unwrap();
    let files: Vec<PathBuf> = folder.map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    files
}

/// The names of all rules.
fn rules() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(RULES)).unwrap();
    let name = Regex::new(r"(?m)^ *- alert: (\w+)$").unwrap();
    let names: Vec<String> = name
        .captures_iter(&text)
        .map(|found| found[1].to_owned())
        .collect();
    let unique: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(unique.len(), names.len(), "two rules share a name");
    unique
}

/// The expressions of all rules, by name, as the file has them.
fn expressions() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join(RULES)).unwrap();
    let rule = r"(?ms)^ *- alert: (\w+)$.*?^ *expr: (?:\|\n)?(.*?)^ {8}(?:for|labels):";
    let found = Regex::new(rule).unwrap();
    let found = found.captures_iter(&text);
    found
        .map(|rule| (rule[1].to_owned(), rule[2].trim().to_owned()))
        .collect()
}

/// The parts of an expression that are joined by `or` outside of parentheses.
fn branches(expression: &str) -> Vec<String> {
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for word in expression.split_inclusive([' ', '\n']) {
        if depth == 0 && word.trim() == "or" {
            parts.push(String::new());
            continue;
        }
        *parts.last_mut().unwrap() += word;
        depth += word.matches('(').count() as i32 - word.matches(')').count() as i32;
    }
    parts
}

/// Runs it; gives what it printed.
#[track_caller]
pub(super) fn promtool(command: &str, files: &[PathBuf], input: Stdio) -> String {
    let (succeeds, printed) = run(command, files, input);
    assert!(succeeds, "{command}:\n{printed}");
    printed
}

/// Runs it; gives whether it succeeded, and what it printed.
fn run(command: &str, files: &[PathBuf], input: Stdio) -> (bool, String) {
    let mut promtool = Command::new("promtool");
    let command_line = promtool.args(command.split(' ')).args(files);
    let output = command_line.stdin(input).output();
    let output = output.expect("promtool, of Prometheus");
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

#[test]
#[ignore = "needs promtool"]
fn prometheus_reads_the_alert_rules() {
    let rules_file = [root().join(RULES)];
    let said = promtool(
        "check rules --lint=all --lint-fatal",
        &rules_file,
        Stdio::null(),
    );
    assert!(
        said.contains(&format!("{} rules found", rules().len())),
        "{said}"
    );
}

#[test]
#[ignore = "needs promtool"]
fn every_alert_fires_and_stays_silent_as_its_cases_say() {
    promtool("test rules", &cases(), Stdio::null());
}

#[test]
#[ignore = "needs promtool"]
fn every_branch_of_an_alert_has_a_case_that_fires_by_it_alone() {
    let rules_file = std::fs::read_to_string(root().join(RULES)).unwrap();
    let folder = Folder::new();
    let rules_path = folder.path().join("alerts.yaml");
    let copies: Vec<(PathBuf, String)> = cases()
        .iter()
        .map(|case| {
            let text = std::fs::read_to_string(case).unwrap();
            let text = text.replace("../../../conf/prometheus/alerts.yaml", "alerts.yaml");
            let copy = folder.write(case.file_name().unwrap().to_str().unwrap(), &text);
            (copy, text)
        })
        .collect();
    let mut tried = 0;
    for (rule, expression) in expressions() {
        let parts = branches(&expression);
        if parts.len() == 1 {
            continue;
        }
        let of_rule = copies.iter().filter(|(_, text)| text.contains(&rule));
        let of_rule: Vec<PathBuf> = of_rule.map(|(copy, _)| copy.clone()).collect();
        for left_out in 0..parts.len() {
            let mut rest = parts.clone();
            let branch = rest.remove(left_out);
            let changed = rules_file.replace(&expression, &rest.join(" or "));
            assert_ne!(changed, rules_file, "{rule}");
            std::fs::write(&rules_path, changed).unwrap();
            let (succeeds, printed) = run("test rules", &of_rule, Stdio::null());
            assert!(!succeeds, "no case of {rule} fires by {branch}");
            assert!(printed.contains(&rule), "{printed}");
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_silent() {
    let case = Regex::new(r"(?m)^ +alertname: (\w+)\n +exp_alerts:( \[\])?$").unwrap();
    let mut seen: BTreeMap<String, BTreeSet<bool>> = BTreeMap::new();
    for file in cases() {
        let text = std::fs::read_to_string(&file).unwrap();
        let count = text.matches("alertname:").count();
        let found: Vec<_> = case.captures_iter(&text).collect();
        assert_eq!(found.len(), count, "{}", file.display());
        for found in found {
            let fires = found.get(2).is_none();
            seen.entry(found[1].to_owned()).or_default().insert(fires);
        }
    }
    for rule in rules() {
        let cases = seen.remove(&rule).unwrap_or_default();
        assert!(cases.contains(&true), "{rule} never fires");
        assert!(cases.contains(&false), "{rule} is never silent");
    }
    assert!(seen.is_empty(), "cases of rules that are gone: {seen:?}");
}
