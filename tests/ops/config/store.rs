//! Where records are kept, and for how long: what a configuration amounts to, and what it must not say
//! together (CONTRACT 33, 34, 38).

use super::world::{check, line, monitor};

const STORE: [(&str, &str); 3] = [
    ("STORE_HOST", "db.example"),
    ("STORE_DB", "monitor"),
    ("STORE_USER", "owner"),
];

#[test]
fn check_says_which_database_it_is() {
    for role in ["all", "analysis"] {
        let run = monitor(&["check", "--role", role], &STORE);
        let said = line(&run, "database");
        assert_eq!(said, "PostgreSQL monitor at db.example:5432, as owner");
        let run = monitor(&["check", "--role", role], &[]);
        assert_eq!(line(&run, "database"), "./data/monitor.db");
    }
}

#[test]
fn a_file_and_postgresql_together_are_refused() {
    for (role, yaml, key) in [
        ("all", "analysis: {database: x.db}", "analysis.database"),
        ("analysis", "database: x.db", "database"),
    ] {
        let run = check(role, yaml, &STORE);
        let said = format!("f.yaml:1: {key}: conflicts with PostgreSQL (store.host)");
        assert!(run.stderr.starts_with(&said), "{}", run.stderr);
        assert_eq!(run.code, 2);
    }
}

#[test]
fn the_stores_keys_are_checked_for_an_analysis_server_too() {
    let run = check("analysis", "store: {host: db.example, port: 0}", &[]);
    for said in ["store.port", "store.db", "store.user"] {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

#[test]
fn retention_is_on_by_default_and_null_lifts_a_limit() {
    let run = monitor(&["check"], &[]);
    let default = "90 days, 10000000 records, 53687091200 bytes";
    assert_eq!(line(&run, "retention"), default);
    for (yaml, said) in [
        (
            "retention: {days: 7, rows: null}",
            "7 days, 53687091200 bytes",
        ),
        (
            "retention: {days: null, rows: null, bytes: null}",
            "unlimited",
        ),
        ("retention: null", default),
    ] {
        let run = check("analysis", yaml, &[]);
        assert_eq!(line(&run, "retention"), said, "{yaml}: {}", run.stderr);
    }
    assert_eq!(line(&run, "costs of users"), "400 days");
    let run = check("analysis", "retention: {cost_days: 7}", &[]);
    assert_eq!(line(&run, "costs of users"), "7 days");
    assert_eq!(line(&run, "retention"), default);
    for wrong in [
        "days: 0",
        "rows: many",
        "bytes: -1",
        "weeks: 3",
        "cost_days: 0",
        "cost_days: 401",
    ] {
        let run = check("analysis", &format!("retention: {{{wrong}}}"), &[]);
        assert_eq!(run.code, 2, "{wrong}");
    }
}
