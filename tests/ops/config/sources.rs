//! Which source wins: the command line, then the environment, then YAML, then the default.

use super::world::{Folder, check, line, monitor};
use monitor_gateway::config::{self, LogFormat, Overrides, Role};
use std::time::Duration;

#[test]
fn the_command_line_wins_over_the_environment_over_yaml_over_the_default() {
    let folder = Folder::new();
    let file = folder.file("f.yaml", "upstream: {url: http://yaml}\n");
    let host = |overrides: &Overrides, env: Option<&str>, yaml: bool| {
        let env = |name: &str| env.filter(|_| name == "UPSTREAM_URL").map(str::to_owned);
        let file = yaml.then_some(file.as_path());
        let settings = config::load(Role::All, file, overrides, &env).unwrap();
        settings.gateway.upstream.url.map(|url| url.host)
    };
    let nothing = Overrides::default();
    let flag = Overrides {
        upstream_url: Some("http://flag".to_owned()),
        ..Overrides::default()
    };
    assert_eq!(
        host(&flag, Some("http://env"), true).as_deref(),
        Some("flag")
    );
    assert_eq!(
        host(&nothing, Some("http://env"), true).as_deref(),
        Some("env")
    );
    assert_eq!(
        host(&nothing, Some(" "), true).as_deref(),
        Some("yaml"),
        "blank is not set"
    );
    assert_eq!(host(&nothing, None, true).as_deref(), Some("yaml"));
    assert_eq!(host(&nothing, None, false), None);
}

#[test]
fn a_wrong_value_is_reported_also_where_another_source_wins() {
    let run = check(
        "all",
        "listen: nowhere",
        &[("GATEWAY_LISTEN", "127.0.0.1:0")],
    );
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.starts_with("f.yaml:1: listen: "),
        "{}",
        run.stderr
    );
}

#[test]
fn flags_are_checked_like_every_source() {
    let run = monitor(
        &["gateway", "--listen", "nowhere", "--upstream-url", "x"],
        &[],
    );
    let expected = "\
command line: --listen: \"nowhere\" is not an address; allowed: IP:port, such as 0.0.0.0:4100 or \
[::1]:4100
command line: --upstream-url: is not an absolute URL; allowed: http://host[:port][/prefix] or \
https://…, without user, query and fragment
";
    assert_eq!((run.code, run.stderr.as_str()), (2, expected));
    let run = monitor(&["analysis", "--listen", "127.0.0.1:4201"], &[]);
    assert!(
        run.stderr
            .contains("conflicts with 127.0.0.1:4201 of listen"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_variable_sets_the_key_of_the_role_that_runs() {
    let env = [
        ("GATEWAY_LISTEN", "127.0.0.1:1,127.0.0.1:2"),
        ("ANALYSIS_LISTEN", "127.0.0.1:3"),
        ("OPERATIONS_LISTEN", "127.0.0.1:4"),
        ("UPSTREAM_URL", "http://model.example/v1"),
    ];
    let all = check("all", "", &env);
    assert_eq!(line(&all, "gateway"), "127.0.0.1:1, 127.0.0.1:2");
    assert_eq!(line(&all, "analysis"), "127.0.0.1:3");
    assert_eq!(line(&all, "operations"), "127.0.0.1:4");
    assert_eq!(
        line(&all, "upstream"),
        "http://model.example:80, timeout 120s"
    );
    let gateway = check("gateway", "", &env);
    assert_eq!(line(&gateway, "operations"), "127.0.0.1:4");
    assert_eq!(line(&gateway, "monitor"), "not set: no telemetry is sent");
    let analysis = check("analysis", "", &env);
    assert_eq!(line(&analysis, "analysis"), "127.0.0.1:3");
    assert_eq!(line(&analysis, "operations"), "127.0.0.1:4");
}

#[test]
fn a_variable_of_another_role_is_not_looked_at() {
    let env = [("UPSTREAM_URL", "wrong"), ("GATEWAY_LISTEN", "wrong")];
    assert_eq!(check("analysis", "", &env).stderr, "");
}

#[test]
fn the_file_can_be_named_by_its_variable() {
    let folder = Folder::new();
    let file = folder.file("g.yaml", "listen: 127.0.0.1:7\n");
    let env = [("MONITOR_CONFIG", file.to_str().unwrap())];
    assert_eq!(line(&monitor(&["check"], &env), "gateway"), "127.0.0.1:7");
    let run = monitor(&["check"], &[("MONITOR_CONFIG", "")]);
    assert!(
        run.stdout.starts_with("environment and defaults: ok\n"),
        "{}",
        run.stdout
    );
}

/// Values in all the ways they can be written.
const EVERY_SHAPE: &str = "\
listen: ['127.0.0.1:1', {address: '[::1]:2'}]
upstream: {url: 'https://model.example/base/v1/', timeout: 2m, http2: never}
monitor: {url: 'http://b', timeout: 1500ms, application_id: 00000000-0000-4000-8000-00000000000a}
stream: {heartbeat: 15}
limits: {threads: 3, recorded_bytes: 64KiB, idle_timeout: 0.5}
queue: {max_bytes: 1MB}
analysis: {first_token: mon_0123456789, database: x.db}
log: {level: 'info,pingora_core=warn', format: json}
";

#[test]
fn every_shape_of_value_is_read() {
    let folder = Folder::new();
    let file = folder.file("f.yaml", EVERY_SHAPE);
    let settings = config::load(Role::All, Some(&file), &Overrides::default(), &|_| None).unwrap();
    let gateway = settings.gateway;
    let ports: Vec<u16> = gateway
        .listen
        .iter()
        .map(|listener| listener.address.port())
        .collect();
    assert_eq!(ports, [1, 2]);
    let upstream = gateway.upstream;
    assert_eq!(
        upstream.url.unwrap().to_string(),
        "https://model.example:443/base"
    );
    assert_eq!(upstream.timeout, Duration::from_secs(120));
    assert_eq!(upstream.http2, config::Http2::Never);
    assert_eq!(gateway.monitor.timeout, Duration::from_millis(1500));
    assert!(gateway.monitor.application_id.is_some());
    assert_eq!(gateway.stream.heartbeat, Duration::from_secs(15));
    assert_eq!(gateway.limits.threads, Some(3));
    assert_eq!(gateway.limits.recorded_bytes, 65_536);
    assert_eq!(gateway.limits.idle_timeout, Duration::from_millis(500));
    assert_eq!(gateway.queue.max_bytes, 1_000_000);
    assert_eq!(
        settings.analysis.first_token.unwrap().expose(),
        "mon_0123456789"
    );
    assert_eq!(settings.analysis.database.unwrap().to_str(), Some("x.db"));
    assert_eq!(settings.log.format, LogFormat::Json);
}

#[test]
fn the_hash_tells_settings_apart_and_leaves_secrets_out() {
    let hash = |yaml: &str| line(&check("all", yaml, &[]), "configuration").to_owned();
    let plain = hash("");
    assert!(
        plain.len() == 12 && plain.bytes().all(|b| b.is_ascii_hexdigit()),
        "{plain}"
    );
    assert_eq!(
        hash("stream: {heartbeat: 1m}"),
        plain,
        "the same value in other words"
    );
    assert_ne!(hash("stream: {heartbeat: 61s}"), plain);
    let key = |key: &str| hash(&format!("analysis: {{first_token: {key}}}"));
    assert_eq!(key("mon_aaaaaaaa"), key("mon_bbbbbbbb"));
}
