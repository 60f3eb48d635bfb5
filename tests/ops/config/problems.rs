//! What is refused: every problem at once, each with its place, its key and what is allowed.

use super::world::{check, monitor};

/// One mistake in nearly every line.
const WRONG: &str = "\
listen: 4100
upstream:
  url: ftp://model.example
  timeout: 0s
  timout: 5s
  http2: sometimes
monitor:
  timeout: [1s]
  application_id: nobody
stream: 60s
limits:
  threads: 0
  recorded_bytes: 9 parsecs
limits:
  threads: 3
heartbeat: 60s
colour: red
";

/// How each of them is reported.
const REPORT: [&str; 15] = [
    "f.yaml:1: listen: is a number; allowed: IP:port",
    "f.yaml:3: upstream.url: has a scheme other than http and https; allowed: http://host",
    "f.yaml:4: upstream.timeout: \"0s\" is out of range; allowed: 1ms to 24h, written 500ms",
    "f.yaml:5: upstream.timout: is an unknown key; did you mean upstream.timeout?",
    "f.yaml:6: upstream.http2: \"sometimes\" is unknown; allowed: auto, always, never",
    "f.yaml:8: monitor.timeout: is a list; allowed: 1ms to 1h",
    "f.yaml:9: monitor.application_id: is not a UUID; allowed: a UUID",
    "f.yaml:10: stream: is text; allowed: heartbeat",
    "f.yaml:12: limits.threads: \"0\" is out of range; allowed: auto, or a whole number from 1",
    "f.yaml:13: limits.recorded_bytes: \"9 parsecs\" is not a size; allowed: 1B to 128MiB",
    "f.yaml:14: limits: is set twice; allowed: once in its group",
    "f.yaml:16: heartbeat: is an unknown key; did you mean stream.heartbeat?",
    "f.yaml:17: colour: is an unknown key; allowed: listen, operations, trusted_proxies, cors, upstream,",
    "environment: GATEWAY_LISTEN: \"everywhere\" is not an address; allowed: IP:port",
    "environment: MONITOR_URL: is not an absolute URL; allowed: http://host",
];

#[test]
fn all_problems_of_all_sources_are_reported_at_once() {
    let run = check(
        "gateway",
        WRONG,
        &[("GATEWAY_LISTEN", "everywhere"), ("MONITOR_URL", "x")],
    );
    let found: Vec<&str> = run.stderr.lines().collect();
    for (found, expected) in found.iter().zip(REPORT) {
        assert!(
            found.starts_with(expected),
            "{found}\ninstead of\n{expected}"
        );
    }
    assert_eq!(found.len(), REPORT.len(), "{}", run.stderr);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

/// Role, file, and how the report begins.
const SINGLE: [(&str, &str, &str); 19] = [
    (
        "all",
        "stream: {heartbeat: 0}",
        "f.yaml:1: stream.heartbeat: \"0\" is out of range",
    ),
    (
        "all",
        "monitor: {timeout: 0ms}",
        "f.yaml:1: monitor.timeout: \"0ms\" is out of range",
    ),
    (
        "all",
        "data_dir: 7",
        "f.yaml:1: data_dir: is a number; allowed: a path",
    ),
    (
        "all",
        "upstream:\n  http2: true",
        "f.yaml:2: upstream.http2: is true or false",
    ),
    (
        "all",
        "log: {level: inof}",
        "f.yaml:1: log.level: \"inof\" is not a log level",
    ),
    (
        "all",
        "log: {format: xml}",
        "f.yaml:1: log.format: \"xml\" is unknown; allowed: text,",
    ),
    (
        "all",
        "queue: {max_bytes: -1}",
        "f.yaml:1: queue.max_bytes: \"-1\" is not a size",
    ),
    (
        "all",
        "listen: []",
        "f.yaml:1: listen: is an empty list; allowed: at least one",
    ),
    (
        "all",
        "listen:\n- x:1\n",
        "f.yaml:2: listen[0]: \"x:1\" is not an address",
    ),
    (
        "all",
        "listen: localhost:4100",
        "f.yaml:1: listen: \"localhost:4100\" is not an address",
    ),
    (
        "all",
        "listen: {tls: {cert: c, key: k}}",
        "f.yaml:1: listen.address: has no address",
    ),
    (
        "all",
        "database: x.db",
        "f.yaml:1: database: is an unknown key; did you mean analysis.",
    ),
    (
        "all",
        "analysis: {operations: 127.0.0.1:1}",
        "f.yaml:1: analysis.operations: is an unkn",
    ),
    (
        "analysis",
        "upstream: {}",
        "f.yaml:1: upstream: is an unknown key; allowed: listen,",
    ),
    (
        "analysis",
        "analysis: {listen: x}",
        "f.yaml:1: analysis: is an unknown key",
    ),
    (
        "gateway",
        "upstream: {url: http://m}\nanalysis: {}",
        "f.yaml:2: analysis: is an unknown",
    ),
    (
        "all",
        "- listen\n",
        "f.yaml:1: is a list; allowed: keys with values",
    ),
    ("all", "a: 1\nlisten: 'x\n", "f.yaml:"),
    (
        "all",
        "listen: !!int x\n",
        "f.yaml:1: listen: is a tagged value",
    ),
];

#[test]
fn single_mistakes_are_named_at_their_line() {
    for (role, yaml, expected) in SINGLE {
        let run = check(role, yaml, &[]);
        let found: Vec<&str> = run.stderr.lines().collect();
        assert_eq!((run.code, found.len()), (2, 1), "{yaml:?}: {}", run.stderr);
        assert!(found[0].starts_with(expected), "{yaml:?}: {}", found[0]);
    }
}

#[test]
fn listeners_must_not_share_an_address() {
    for (yaml, key) in [
        ("listen: 127.0.0.1:4101", "operations"),
        ("listen: [127.0.0.1:5000, 127.0.0.1:5000]", "listen"),
        (
            "listen: 0.0.0.0:5000\noperations: 127.0.0.1:5000",
            "operations",
        ),
        ("analysis: {listen: 0.0.0.0:4100}", "analysis.listen"),
    ] {
        let run = check("all", yaml, &[]);
        assert_eq!(run.code, 2, "{yaml:?}");
        assert!(
            run.stderr.contains(&format!("{key}: ")),
            "{yaml:?}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("conflicts with"),
            "{yaml:?}: {}",
            run.stderr
        );
    }
    for yaml in [
        "listen: [127.0.0.1:0, 127.0.0.1:0]\noperations: 127.0.0.1:0",
        "listen: [127.0.0.1:5000, 127.0.0.2:5000]",
        "listen: ['0.0.0.0:5000', '[::]:5000']",
    ] {
        assert_eq!(check("all", yaml, &[]).stderr, "", "{yaml:?}");
    }
}

#[test]
fn a_disk_that_nobody_waits_for_cannot_close_the_way() {
    let env = [("UPSTREAM_URL", "http://model.example")];
    let run = check("gateway", "spool: {on_disk_failure: closed}", &env);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("closed has no effect with durability batched")
    );
    let text = "spool: {on_disk_failure: closed, durability: before_upstream}";
    assert_eq!(check("gateway", text, &env).stderr, "");
}

#[test]
fn a_gateway_needs_an_upstream_that_is_not_itself() {
    let run = check("gateway", "", &[]);
    let expected = "configuration: upstream.url: is not set; set UPSTREAM_URL or upstream.url\n";
    assert_eq!((run.code, run.stderr.as_str()), (2, expected));

    for (listen, url) in [
        ("0.0.0.0:4100", "http://localhost:4100/v1"),
        ("0.0.0.0:4100", "http://127.0.0.1:4100"),
        ("10.1.2.3:80", "http://10.1.2.3"),
        ("[::1]:4100", "http://[::1]:4100"),
    ] {
        let env = [("GATEWAY_LISTEN", listen), ("UPSTREAM_URL", url)];
        let run = check("gateway", "", &env);
        let expected = "environment: UPSTREAM_URL: is this gateway's own listener";
        assert!(run.stderr.starts_with(expected), "{url}: {}", run.stderr);
        let run = check(
            "all",
            "",
            &[("GATEWAY_LISTEN", listen), ("MONITOR_URL", url)],
        );
        let expected = "environment: MONITOR_URL: is this gateway's own listener";
        assert!(run.stderr.starts_with(expected), "{url}: {}", run.stderr);
    }
    for url in ["http://127.0.0.1:4200", "http://model.example:4100"] {
        assert_eq!(
            check("gateway", "", &[("UPSTREAM_URL", url)]).stderr,
            "",
            "{url}"
        );
    }
}

#[test]
fn secrets_are_never_quoted() {
    for (yaml, env) in [
        ("analysis: {first_token: 'hidden key'}", ("X", "")),
        ("analysis:\n  first_token:\n  - hidden-key\n", ("X", "")),
        ("upstream: {url: 'http://user:hidden@host'}", ("X", "")),
        ("monitor: {url: 'http://host?key=hidden'}", ("X", "")),
        ("monitor: {application_id: mon_hidden}", ("X", "")),
        ("", ("UPSTREAM_URL", "http://user:hidden@host/")),
        ("", ("MONITOR_APPLICATION_ID", "mon_hidden")),
    ] {
        let run = check("all", yaml, &[env]);
        assert_eq!(run.code, 2, "{yaml:?} {env:?}");
        assert!(!run.stderr.contains("hidden"), "{}", run.stderr);
    }
    let run = check("all", "analysis: {first_token: mon_hidden}", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stdout.contains("hidden"), "{}", run.stdout);
}

#[test]
fn nothing_starts_on_a_wrong_configuration() {
    for command in ["all", "gateway", "analysis"] {
        let run = monitor(&[command], &[("OPERATIONS_LISTEN", "nowhere")]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{command}");
        assert!(
            run.stderr.contains("environment: OPERATIONS_LISTEN: "),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_secret_that_no_header_can_carry_is_refused_and_not_quoted() {
    // RFC 9110 5.5: CR, LF, NUL and other control characters.
    let yaml = |key: &str, end: &str| match key {
        "trace.authorization" => {
            format!("trace: {{endpoint: 'https://c', authorization: \"hid{end}den\"}}")
        }
        "analysis.judge.api_key" => {
            format!("analysis: {{judge: {{url: 'https://j', model: m, api_key: \"hid{end}den\"}}}}")
        }
        _ => format!(
            "analysis: {{checks: {{guard: {{url: 'https://g', api_key: \"hid{end}den\"}}}}}}"
        ),
    };
    let text = "contains a character that cannot be sent in a header; allowed: visible ASCII";
    for key in [
        "trace.authorization",
        "analysis.judge.api_key",
        "analysis.checks.guard.api_key",
    ] {
        for end in ["\\n", "\\r", "\\r\\n", "\\0", "\\u007f", "\\u0001", "é"] {
            let run = check("all", &yaml(key, end), &[]);
            let expected = format!("f.yaml:1: {key}: {text}");
            assert!(run.stderr.starts_with(&expected), "{end}: {}", run.stderr);
            assert!(!run.stderr.contains("hid") && !run.stderr.contains("den"));
            assert_eq!(run.code, 2);
        }
        let run = check("all", &yaml(key, " "), &[]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{key}");
    }
    let run = check("all", "", &[("JUDGE_API_KEY", "hid\nden")]);
    let expected = format!("environment: JUDGE_API_KEY: {text}");
    assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
}
