//! The destinations of events and the scheduled exports: what they take, and what they refuse with the way out
//! (CONTRACT 33).

use super::world::{Folder, check};

fn destinations(list: &str) -> String {
    format!("siem:\n  destinations:\n    - {list}\n")
}

#[test]
fn destinations_are_taken_under_the_analysis_servers_keys_in_every_role() {
    let folder = Folder::new();
    let token = folder.file("token", "0f0e-token\n");
    let own = format!(
        "siem:\n  include_user: false\n  outbox_rows: 1000\n  destinations:\n    \
         - {{name: soc, kind: syslog, url: \"tcp://siem.example:601\", format: cef, what: [audit]}}\n    \
         - {{name: tls-1, kind: syslog, url: \"tls://[::1]:6514\"}}\n    \
         - {{name: hec, kind: splunk_hec, url: \"https://splunk.example:8088\", token: t0ken}}\n    \
         - {{name: file, kind: splunk_hec, url: \"http://splunk.example\", token_file: {}}}\n",
        token.display()
    );
    let run = check("analysis", &own, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let below: String = own.lines().map(|line| format!("  {line}\n")).collect();
    let run = check("all", &format!("analysis:\n{below}"), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn what_is_wrong_with_a_destination_is_named_with_its_key_and_no_secret() {
    let hec = "name: a, kind: splunk_hec, url: \"http://s.example\"";
    let syslog = "name: a, kind: syslog, url: \"tcp://s.example:601\"";
    for (list, said) in [
        (
            "{kind: syslog, url: \"tcp://s:1\"}".to_owned(),
            "siem.destinations[0].name: is not set",
        ),
        (
            "{name: a, url: \"tcp://s:1\"}".to_owned(),
            "siem.destinations[0].kind: is not set; allowed: syslog, splunk_hec",
        ),
        (
            "{name: a, kind: syslog}".to_owned(),
            "siem.destinations[0].url: is not set",
        ),
        (
            "{name: a, kind: syslog, url: \"udp://s:514\"}".to_owned(),
            "siem.destinations[0].url: has another scheme than tcp and tls; allowed: tcp://host:port, or tls://host:port",
        ),
        (
            "{name: a, kind: syslog, url: \"tls://s\"}".to_owned(),
            "siem.destinations[0].url: names no port",
        ),
        (
            format!("{{{syslog}, token: s3cret}}"),
            "siem.destinations[0].token: is for splunk_hec only; allowed: no token for syslog",
        ),
        (
            format!("{{{syslog}, ca: /none.pem}}"),
            "siem.destinations[0].ca: is used over TLS only",
        ),
        (
            format!("{{{hec}}}"),
            "siem.destinations[0].token: is not set; allowed: the token of the collector",
        ),
        (
            format!("{{{hec}, token: s3cret, token_file: /none}}"),
            "siem.destinations[0].token_file: conflicts with token; allowed: one of the two",
        ),
        (
            format!("{{{hec}, token_file: /none/there}}"),
            "siem.destinations[0].token_file: /none/there cannot be read",
        ),
        (
            format!("{{{hec}, token: s3cret, format: cef}}"),
            "siem.destinations[0].format: cef is for syslog only; allowed: ocsf",
        ),
        (
            format!("{{{syslog}, what: [prompts]}}"),
            "siem.destinations[0].what[0]: \"prompts\" is unknown; allowed: verdicts, audit",
        ),
        (
            format!("{{{syslog}, udp: true}}"),
            "siem.destinations[0].udp: is an unknown key",
        ),
        (
            format!("{{{syslog}}}\n    - {{{syslog}}}"),
            "siem.destinations[1].name: is the name of another destination",
        ),
        (
            "{name: a, kind: syslog, url: \"tls://s:1\", ca: /none.pem}".to_owned(),
            "siem.destinations[0].ca: /none.pem cannot be read",
        ),
    ] {
        let run = check("analysis", &destinations(&list), &[]);
        assert_eq!(run.code, 2, "{list}");
        assert!(run.stderr.contains(said), "{list}: {}", run.stderr);
        assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
    }
}

#[test]
fn exports_have_a_name_and_a_place() {
    let places = "blobs: s3://files\nexports:\n  - {name: a, to: bucket, verdict: blocked, type: EMAILS}\n  \
                  - {name: b, to: lake, application: 00000000-0000-4000-8000-000000000000, days: 366}\n";
    let run = check("analysis", places, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for (list, said) in [
        ("{to: lake}", "exports[0].name: is not set"),
        (
            "{name: a}",
            "exports[0].to: is not set; allowed: bucket, or a folder",
        ),
        (
            "{name: a, to: bucket}",
            "exports[0].to: is that of blobs, which names none; allowed: a folder, or blobs: s3://…",
        ),
        ("{name: a, to: \"s3://b\"}", "exports[0].to: is no folder"),
        (
            "{name: a, to: lake, verdict: bad}",
            "exports[0].verdict: \"bad\" is unknown",
        ),
        ("{name: a, to: lake, days: 0}", "exports[0].days: "),
        (
            "{name: a, to: lake, format: parquet}",
            "exports[0].format: is an unknown key",
        ),
        (
            "{name: a, to: lake}\n  - {name: a, to: lake}",
            "exports[1].name: is the name of another export",
        ),
    ] {
        let run = check("analysis", &format!("exports:\n  - {list}\n"), &[]);
        assert_eq!(run.code, 2, "{list}");
        assert!(run.stderr.contains(said), "{list}: {}", run.stderr);
    }
}
