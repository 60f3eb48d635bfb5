//! The reference files and the long help: complete, and true to the program.

use super::reference_yaml::entries;
use super::world::{line, monitor};
use monitor_gateway::config::{Role, env, known_keys};

/// Variables and their values.
type Env = &'static [(&'static str, &'static str)];

/// Each file with its role, how `--role` names it, and what the role cannot do without.
const FILES: [(&str, Role, &str, Env); 3] = [
    ("conf/all.yaml", Role::All, "all", &[]),
    (
        "conf/gateway.yaml",
        Role::Gateway,
        "gateway",
        &[("UPSTREAM_URL", "http://127.0.0.1:9")],
    ),
    ("conf/analysis.yaml", Role::Analysis, "analysis", &[]),
];

#[test]
fn every_reference_file_is_valid_and_holds_the_defaults() {
    for (file, parsed, role, env) in FILES {
        let with = monitor(&["check", "--role", role, "--config", file], env);
        let without = monitor(
            &["check", "--role", role],
            &[env, addresses(parsed)].concat(),
        );
        assert_eq!(
            with.stdout.lines().next(),
            Some(format!("{file}: ok").as_str()),
            "{}",
            with.stderr
        );
        assert_eq!(
            line(&with, "configuration"),
            line(&without, "configuration"),
            "{file}"
        );
    }
}

/// `monitor all` listens on loopback by itself; its file is that of a service for other machines.
fn addresses(role: Role) -> Env {
    match role {
        Role::All => &[
            ("GATEWAY_LISTEN", "0.0.0.0:4100"),
            ("ANALYSIS_LISTEN", "0.0.0.0:4200"),
        ],
        Role::Gateway | Role::Analysis => &[],
    }
}

#[test]
fn every_known_key_stands_in_the_reference_file_of_its_role() {
    for (file, role, ..) in FILES {
        let text = read(file);
        let keys = entries(&text);
        for known in known_keys(role) {
            let is_there = keys.iter().any(|entry| entry.key == known);
            assert!(is_there, "{known} is missing in {file}");
        }
    }
}

#[test]
fn every_key_of_a_reference_file_has_an_explanation_of_its_own() {
    for (file, ..) in FILES {
        let text = read(file);
        for entry in entries(&text).iter().filter(|entry| entry.value.is_some()) {
            let meaning = entry.meaning();
            let is_own = !meaning.is_empty() && !meaning.contains("As above");
            assert!(is_own, "{file}: {} is not explained", entry.key);
        }
    }
}

#[test]
fn every_variable_is_named_in_the_reference_file_of_its_roles() {
    for (file, role, ..) in FILES {
        let text = read(file);
        for variable in env::VARIABLES.iter().filter(|v| v.key_in(role).is_some()) {
            assert!(
                text.contains(variable.name),
                "{} is missing in {file}",
                variable.name
            );
        }
    }
}

#[test]
fn the_long_help_lists_every_variable() {
    let help = monitor(&["--help"], &[]);
    for variable in env::VARIABLES {
        assert!(help.stdout.contains(variable.name), "{}", variable.name);
        assert!(help.stdout.contains(variable.default), "{}", variable.name);
    }
    assert_eq!(help.code, 0);
}

fn read(file: &str) -> String {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}
