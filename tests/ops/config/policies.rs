//! `applications:` and `store:` (CONTRACT 16, 34): what is read, and what is refused at which line.

use super::world::{Folder, check};
use monitor_gateway::config::{self, Overrides, Role, Settings, StoreSsl};
use monitor_model::{AppMode, Policy, ScanRole, StreamInSync};

/// Every field, in block and in flow style.
const RIGHT: &str = "\
applications:
- id: 6F1C0000-0000-4000-8000-000000000001
  name: support-bot
  app_mode: sync
  phrase: \"No: \\u00e9\"
  block_on: {guardrails: false, dataclean: false}
  on_backend_failure: closed
  scan_roles: [system, tool]
  stream_in_sync: off
  redact_upstream: false
- {id: 6f1c0000-0000-4000-8000-000000000002, app_mode: async, stream_in_sync: off, phrase: null}
- {id: 6f1c0000-0000-4000-8000-000000000003, app_mode: async, redact_upstream: true, local_patterns: [IP, EMAILS]}
";

fn load(yaml: &str) -> Settings {
    let folder = Folder::new();
    let file = folder.file("f.yaml", yaml);
    config::load(Role::All, Some(&file), &Overrides::default(), &|_| None).unwrap()
}

#[test]
fn every_field_of_an_application_is_read() {
    let applications = load(RIGHT).gateway.applications;
    assert_eq!(applications.len(), 3);
    let first = &applications[0];
    assert_eq!(first.id.to_string(), "6f1c0000-0000-4000-8000-000000000001");
    assert_eq!(first.name, "support-bot");
    let policy = &first.policy;
    assert_eq!(
        (policy.app_mode, policy.phrase.as_str()),
        (AppMode::Sync, "No: é")
    );
    let block_on = policy.block_on;
    assert!(!block_on.guardrails && block_on.custom_policy && !block_on.dataclean);
    assert_eq!(policy.on_backend_failure.as_str(), "closed");
    assert_eq!(policy.scan_roles, [ScanRole::System, ScanRole::Tool]);
    assert_eq!(policy.stream_in_sync, StreamInSync::Off);
    assert!(!policy.redact_upstream && !policy.replace_response);
    assert_eq!(applications[1].policy, Policy::new(AppMode::Async, ""));
    let redacts = &applications[2].policy;
    assert!(redacts.redact_upstream);
    let patterns: Vec<_> = redacts.local_patterns().names().collect();
    assert_eq!(patterns, ["EMAILS", "IP"]);
    assert!(load("applications: []").gateway.applications.is_empty());
    assert!(load("").gateway.store.is_none());
}

/// One mistake in nearly every line.
const WRONG: &str = "\
applications:
- id: 6f1c0000-0000-4000-8000-000000000001
  app_mode: synk
  phrase: 7
- app_mode: sync
- id: support-bot
  app_mode: async
  colour: red
  block_on:
    guardrails: yes please
    regex: true
  scan_roles:
  - tool
  - user
- id: 6F1C0000-0000-4000-8000-000000000001
  app_mode: async
  replace_response: true
- just text
- id: 6f1c0000-0000-4000-8000-000000000004
  app_mode: async
  local_patterns:
  - IP
  - EMAIL
";

const REPORT: [&str; 10] = [
    "f.yaml:3: applications[0].app_mode: \"synk\" is unknown; allowed: sync, async",
    "f.yaml:4: applications[0].phrase: is a number; allowed: text",
    "f.yaml:5: applications[1].id: is not set; allowed: the UUID that X-Application-Id names",
    "f.yaml:5: applications[1].phrase: is not set; app_mode sync needs",
    "f.yaml:6: applications[2].id: is not a UUID; allowed: a UUID",
    "f.yaml:8: applications[2].colour: is an unknown field; allowed: app_mode, phrase,",
    "f.yaml:10: applications[2].block_on.guardrails: is text; allowed: true or false",
    "f.yaml:11: applications[2].block_on.regex: is an unknown field; allowed: guardrails,",
    "f.yaml:14: applications[2].scan_roles[1]: \"user\" is unknown; allowed: last_user,",
    "f.yaml:15: applications[3].id: is also the id of applications[0]; allowed: one entry",
];

#[test]
fn everything_wrong_with_applications_is_named_at_its_line() {
    let run = check("all", WRONG, &[]);
    let found: Vec<&str> = run.stderr.lines().collect();
    let rest = [
        "f.yaml:17: applications[3].replace_response: needs app_mode sync",
        "f.yaml:18: applications[4]: is text; allowed: {id, name, app_mode, …}",
        "f.yaml:23: applications[5].local_patterns[1]: \"EMAIL\" is unknown; allowed: BANK_CARD_NUMBER,",
    ];
    let expected: Vec<&str> = REPORT.into_iter().chain(rest).collect();
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            found.starts_with(expected),
            "{found}\ninstead of\n{expected}"
        );
    }
    assert_eq!(
        (run.code, found.len()),
        (2, expected.len()),
        "{}",
        run.stderr
    );
}

/// File, variables, and how the report begins.
const STORES: [(&str, Env, &str); 10] = [
    (
        "",
        &[HOST, DB],
        "configuration: store.user: is not set, but a host is",
    ),
    (
        "",
        &[HOST, USER],
        "configuration: store.db: is not set, but a host is",
    ),
    (
        "",
        &[DB],
        "environment: STORE_DB: has no effect without a host",
    ),
    (
        "store: {password: x}",
        &[],
        "f.yaml:1: store.password: has no effect without a host",
    ),
    (
        "store: {port: 0}",
        &[],
        "f.yaml:1: store.port: \"0\" is out of range",
    ),
    (
        "store: {ssl: verify}",
        &[],
        "f.yaml:1: store.ssl: \"verify\" is unknown; allowed: auto,",
    ),
    (
        "store: {hosts: x}",
        &[],
        "f.yaml:1: store.hosts: is an unknown key; did you mean store.host?",
    ),
    (
        "store: {ca: none.pem, ssl: true}",
        RIGHT_STORE,
        "f.yaml:1: store.ca: none.pem cannot be read",
    ),
    (
        "\nstore: {ca: conf/all.yaml}",
        RIGHT_STORE,
        "f.yaml:2: store.ca: is used with ssl: true",
    ),
    (
        "applications: {}",
        &[],
        "f.yaml:1: applications: is a group of keys; allowed: a list",
    ),
];

type Env = &'static [(&'static str, &'static str)];
const HOST: (&str, &str) = ("STORE_HOST", "db.example");
const DB: (&str, &str) = ("STORE_DB", "monitor");
const USER: (&str, &str) = ("STORE_USER", "gateway");
const RIGHT_STORE: Env = &[HOST, DB, USER];

#[test]
fn a_store_needs_what_belongs_to_it() {
    for beside in ["", RIGHT] {
        let yaml = format!("upstream: {{url: http://m}}\n{beside}");
        assert_eq!(check("gateway", &yaml, RIGHT_STORE).stderr, "");
    }
    for (yaml, env, expected) in STORES {
        let run = check("all", yaml, env);
        assert!(run.stderr.starts_with(expected), "{yaml:?}: {}", run.stderr);
        assert_eq!(
            (run.code, run.stderr.lines().count()),
            (2, 1),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_store_is_read_in_all_the_ways_it_can_be_written() {
    let store = |rest: &str| {
        let yaml = format!("store: {{host: '::1', db: d, user: u, {rest}}}");
        load(&yaml).gateway.store.unwrap()
    };
    let plain = store("");
    assert_eq!(
        (plain.host.as_str(), plain.port, plain.ssl),
        ("::1", 5432, StoreSsl::Auto)
    );
    assert!(plain.password.is_none() && plain.ca.is_none());
    let full = store("port: 6543, password: '0123', ssl: true, ca: conf/all.yaml");
    assert_eq!((full.port, full.ssl), (6543, StoreSsl::On));
    assert_eq!(full.password.unwrap().expose(), "0123");
    assert_eq!(store("ssl: 'false'").ssl, StoreSsl::Off);
    assert_eq!(store("ssl: auto").ssl, StoreSsl::Auto);
}

#[test]
fn neither_phrase_nor_password_is_ever_quoted() {
    let id = "6f1c0000-0000-4000-8000-000000000001";
    for (yaml, env) in [
        (
            format!("applications: [{{id: {id}, app_mode: async, phrase: [hidden]}}]"),
            ("X", ""),
        ),
        (
            format!(
                "applications: [{{id: {id}, app_mode: {}}}]",
                "hidden".repeat(9)
            ),
            ("X", ""),
        ),
        ("store: {password: [hidden]}".to_owned(), ("X", "")),
        (
            String::new(),
            ("STORE_HOST", "postgres://user:hidden@host/db"),
        ),
        (String::new(), ("STORE_PASSWORD", "hidden")),
    ] {
        let run = check("all", &yaml, &[env]);
        assert_eq!(run.code, 2, "{yaml} {env:?}");
        assert!(!run.stderr.contains("hidden"), "{}", run.stderr);
    }
}
