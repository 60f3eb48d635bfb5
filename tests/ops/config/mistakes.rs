//! Mistakes that people make in a hurry: each is answered with the thing, what is wrong with it and the way out.

use super::world::{Folder, check, line, monitor};

#[test]
fn an_endpoint_in_a_base_url_is_refused() {
    for (name, url, endpoint) in [
        (
            "UPSTREAM_URL",
            "https://model.example/v1/chat/completions",
            "/chat/completions",
        ),
        (
            "UPSTREAM_URL",
            "https://model.example/v1/responses/",
            "/v1/responses",
        ),
        (
            "MONITOR_URL",
            "http://backend.example/process_request/",
            "/process_request",
        ),
    ] {
        let run = monitor(&["check"], &[(name, url)]);
        let said = format!(
            "environment: {name}: ends with the endpoint {endpoint}, which calls add to it: leave it out; allowed: "
        );
        assert!(run.stderr.starts_with(&said), "{}", run.stderr);
        assert_eq!(run.code, 2);
    }
}

#[test]
fn a_mistyped_variable_is_warned_about_and_named_without_its_value() {
    for (name, meant) in [
        ("MONITOR_TIMOUT", "did you mean MONITOR_TIMEOUT?"),
        ("UPSTREM_URL", "did you mean UPSTREAM_URL?"),
        ("JUDGE_KEY", "`monitor --help` lists the variables"),
        ("ANALYSIS_LISTENER", "did you mean ANALYSIS_LISTEN?"),
        ("OPERATIONS_ADDRESS", "`monitor --help` lists the variables"),
        ("GATEWAY_PORT", "`monitor --help` lists the variables"),
    ] {
        let run = monitor(&["check"], &[(name, "hidden")]);
        let said = format!("warning: environment: {name} is unknown and has no effect; {meant}\n");
        assert_eq!((run.code, run.stderr.as_str()), (0, said.as_str()));
        line(&run, "gateway");
    }
}

#[test]
fn variables_of_others_are_not_warned_about() {
    let others = [
        // Kubernetes sets these for services called monitor and store.
        ("MONITOR_SERVICE_HOST", "10.0.0.1"),
        ("MONITOR_SERVICE_PORT_HTTP", "4100"),
        ("MONITOR_PORT", "tcp://10.0.0.1:4100"),
        ("STORE_PORT_5432_TCP_ADDR", "10.0.0.2"),
        ("PATH", "/bin"),
        ("STORAGE_HOST", "s3.example"),
        ("MONITOR_URL", "http://backend.example"),
    ];
    let run = monitor(&["check"], &others);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn an_encrypted_key_is_called_so() {
    let folder = Folder::new();
    let (cert, _) = super::files::pair(&folder);
    for (name, begins) in [
        ("pkcs8.pem", "-----BEGIN ENCRYPTED PRIVATE KEY-----"),
        (
            "pkcs1.pem",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00",
        ),
    ] {
        let key = folder
            .file(name, format!("{begins}\n\nAAAA\n-----END"))
            .display()
            .to_string();
        let run = check(
            "gateway",
            &format!(
                "upstream: {{url: \"http://m\"}}\nlisten:\n- {{address: 127.0.0.1:0, tls: {{cert: {cert}, key: {key}}}}}"
            ),
            &[],
        );
        let said =
            format!("{name}: the private key is encrypted; decrypt it: openssl pkey -in {key}");
        assert!(run.stderr.contains(&said), "{}", run.stderr);
        assert_eq!(run.code, 2);
    }
}

#[test]
fn no_command_of_the_program_for_itself_is_suggested() {
    let run = monitor(&["start"], &[]);
    assert_eq!(run.code, 2);
    assert!(!run.stderr.contains("detached"), "{}", run.stderr);
    let run = monitor(&["gatewy"], &[]);
    assert!(run.stderr.contains("'gateway'"), "{}", run.stderr);
}

#[test]
fn a_duration_that_is_refused_names_days_among_the_units() {
    let run = check("all", "spool: {max_age: 7 days}", &[]);
    assert!(run.stderr.contains("1h, 7d or"), "{}", run.stderr);
    assert_eq!(check("all", "spool: {max_age: 7d}", &[]).code, 0);
}

#[test]
fn a_database_that_cannot_be_reached_is_named_with_its_setting() {
    let folder = Folder::new();
    let data = folder.path().display().to_string();
    let env = [
        ("STORE_HOST", "127.0.0.1"),
        // Nobody listens on the port that is reserved for tcpmux.
        ("STORE_PORT", "1"),
        ("STORE_DB", "monitor"),
        ("STORE_USER", "owner"),
        ("STORE_PASSWORD", "hidden"),
    ];
    let run = monitor(&["migrate", "--data-dir", &data], &env);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let place = "PostgreSQL at 127.0.0.1:1 (store.host, STORE_HOST): ";
    assert!(run.stderr.contains(place), "{}", run.stderr);
    assert!(!run.stderr.contains("hidden"), "{}", run.stderr);
}
