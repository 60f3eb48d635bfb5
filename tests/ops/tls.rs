//! TLS on every side (CONTRACT 34 `tls`): clients with certificates, a backend and an upstream that ask
//! for ours, files that are wrong, reloads, old versions, secrets in clear text.

use std::net::SocketAddr;
use std::sync::Arc;
use support::backend::{Backend, verdict};
use support::eventually;
use support::fault::free_port;
use support::http::Conn;
use support::line::order;
use support::request::{EMBEDDINGS, HELLO, Request};
use support::server::Peer;
use support::stack::{Builder, Folder, Stack};
use support::tls::{Authority, Identity};
use support::upstream::{ANSWER, Upstream, json};

/// A folder of PEM files.
pub(crate) struct Files(Arc<Folder>);

impl Files {
    pub(crate) fn new() -> Self {
        Self(Folder::new())
    }

    /// Writes both files of an identity and gives their paths.
    pub(crate) fn put(&self, name: &str, identity: &Identity) -> (String, String) {
        let cert = self.write(&format!("{name}.pem"), &identity.cert_pem);
        (cert, self.write(&format!("{name}.key"), &identity.key_pem))
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        self.0.write(name, text).display().to_string()
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Starts with a clear listener and one with these TLS keys; gives the address of the second.
#[track_caller]
pub(crate) fn listening(make: impl Fn(&str) -> Builder, tls: &str) -> (Stack, SocketAddr) {
    let started = (0..5).find_map(|_| {
        let (clear, secure) = (free_port(), free_port());
        let list =
            format!("- 127.0.0.1:{clear}\n  - {{address: \"127.0.0.1:{secure}\", tls: {{{tls}}}}}");
        let stack = make(&list).listening_by_yaml(clear).try_start()?;
        Some((stack, local(secure)))
    });
    started.expect("free ports")
}

/// The status of a call over TLS; None where the connection is refused, in whatever moment.
fn status(authority: &Authority, address: SocketAddr, client: Option<&Identity>) -> Option<u16> {
    let mut conn = authority.connect(address, client)?;
    conn.try_send(&Request::chat(HELLO).bytes()).ok()?;
    Some(conn.try_head()?.status())
}

#[test]
fn a_listener_that_asks_for_certificates_serves_who_has_a_right_one() {
    let (authority, files, upstream) = (Authority::new(), Files::new(), Upstream::ok());
    let (cert, key) = files.put("server", &authority.identity());
    let ca = files.write("ca.pem", &authority.pem);
    let (right, wrong) = (authority.identity(), Authority::new().identity());
    let expired = authority.identity_until(2001);
    for (auth, without) in [
        (", client_auth: required", None),
        ("", None),
        (", client_auth: optional", Some(200)),
    ] {
        let tls = format!("cert: \"{cert}\", key: \"{key}\", client_ca: \"{ca}\"{auth}");
        let gateway = |list: &str| {
            Stack::gateway()
                .upstream(&upstream)
                .yaml(&format!("listen:\n  {list}"))
        };
        let (_stack, secure) = listening(gateway, &tls);
        assert_eq!(
            status(&authority, secure, Some(&right)),
            Some(200),
            "{auth}"
        );
        assert_eq!(status(&authority, secure, Some(&wrong)), None, "{auth}");
        assert_eq!(status(&authority, secure, Some(&expired)), None, "{auth}");
        assert_eq!(status(&authority, secure, None), without, "{auth}");
    }
}

#[test]
fn the_analysis_listener_asks_for_certificates_too() {
    let (authority, files) = (Authority::new(), Files::new());
    let (cert, key) = files.put("server", &authority.identity());
    let ca = files.write("ca.pem", &authority.pem);
    let port = free_port();
    let stack = Stack::all_with_printed_key().yaml(&format!(
        "analysis:\n  listen: {{address: \"127.0.0.1:{port}\", tls: {{cert: \"{cert}\", key: \"{key}\", client_ca: \"{ca}\"}}}}"
    ));
    let _stack = stack.analysis_by_yaml(port).start();
    let get = |client: Option<&Identity>| {
        let mut conn = authority.connect(local(port), client)?;
        conn.try_send(&Request::get("/openapi.json").bytes()).ok()?;
        Some(conn.try_head()?.status())
    };
    assert_eq!(get(Some(&authority.identity())), Some(200));
    assert_eq!(get(None), None);
}

#[test]
fn the_analysis_listener_offers_what_it_speaks() {
    let (identity, files, port) = (Identity::new(), Files::new(), free_port());
    let (cert, key) = files.put("server", &identity);
    let stack = Stack::all_with_printed_key().yaml(&format!(
        "analysis:\n  listen: {{address: \"127.0.0.1:{port}\", tls: {{cert: \"{cert}\", key: \"{key}\"}}}}"
    ));
    let _stack = stack.analysis_by_yaml(port).start();
    let (mut conn, chosen) = identity.connect(local(port), &["h2", "http/1.1"]);
    assert_eq!(chosen.as_deref(), Some("http/1.1"));
    conn.send(&Request::get("/openapi.json").bytes());
    assert_eq!(conn.head().status(), 200);
}

#[test]
fn a_request_in_clear_text_to_the_analysis_apis_tls_port_is_answered_in_clear_text() {
    let (identity, files, port) = (Identity::new(), Files::new(), free_port());
    let (cert, key) = files.put("server", &identity);
    let stack = Stack::all_with_printed_key().yaml(&format!(
        "analysis:\n  listen: {{address: \"127.0.0.1:{port}\", tls: {{cert: \"{cert}\", key: \"{key}\"}}}}"
    ));
    let _stack = stack.analysis_by_yaml(port).start();
    for request in [
        Request::get("/openapi.json"),
        Request::post("/process_request/", r#"{"message": "a private text"}"#),
    ] {
        let mut client = Conn::open(local(port));
        client.send(&request.bytes());
        let answer = client.response();
        assert_eq!(answer.status(), 400);
        assert!(answer.text().contains("use https"), "{}", answer.text());
        assert!(client.is_closed());
    }
    let (mut conn, _) = identity.connect(local(port), &["http/1.1"]);
    conn.send(&Request::get("/openapi.json").bytes());
    assert_eq!(conn.head().status(), 200);
}

#[test]
fn contract_35_a_reload_brings_other_authorities_of_clients_or_changes_nothing() {
    let (one, two, files) = (Authority::new(), Authority::new(), Files::new());
    let (upstream, server) = (Upstream::ok(), one.identity());
    let (cert, key) = files.put("server", &server);
    let ca = files.write("ca.pem", &one.pem);
    let tls = format!("cert: \"{cert}\", key: \"{key}\", client_ca: \"{ca}\"");
    let gateway = |list: &str| {
        Stack::gateway()
            .upstream(&upstream)
            .yaml(&format!("listen:\n  {list}"))
    };
    let (stack, secure) = listening(gateway, &tls);
    let (old, new) = (one.identity(), two.identity());
    assert_eq!(status(&one, secure, Some(&old)), Some(200));
    files.write("ca.pem", &two.pem);
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(status(&one, secure, Some(&new)), Some(200));
    assert_eq!(status(&one, secure, Some(&old)), None);
    // A wrong authority, an expired certificate, a key of another one: all or nothing.
    for (name, text) in [
        ("ca.pem", "nothing".to_owned()),
        ("server.pem", one.identity_until(2001).cert_pem),
        ("server.key", two.identity().key_pem),
    ] {
        let path = files.0.path().join(name);
        let before = std::fs::read_to_string(&path).unwrap();
        files.write(name, &text);
        let out = order(&stack, "reload", "gateway");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(
            !out.status.success() && said.contains(name),
            "{name}: {said}"
        );
        assert!(!said.contains("PRIVATE KEY"), "{said}");
        assert_eq!(status(&one, secure, Some(&new)), Some(200), "{name}");
        std::fs::write(path, before).unwrap();
    }
}

#[test]
fn contract_33_files_that_cannot_serve_are_refused_by_name_at_the_start_and_by_check() {
    let (authority, files) = (Authority::new(), Files::new());
    let (cert, key) = files.put("server", &authority.identity());
    let (expired, expired_key) = files.put("expired", &authority.identity_until(2001));
    let text = files.write("text.pem", "no certificate");
    for (tls, said) in [
        (
            format!("cert: \"{expired}\", key: \"{expired_key}\""),
            ["expired.pem", "expired on"],
        ),
        (
            format!("cert: \"{cert}\", key: \"{expired_key}\""),
            ["server.pem", "do not match"],
        ),
        (
            format!("cert: \"{text}\", key: \"{key}\""),
            ["text.pem", "no certificate"],
        ),
        (
            format!("cert: \"{cert}\", key: \"{text}\""),
            ["text.pem", "no private key"],
        ),
        (
            format!("cert: \"{cert}\", key: \"{key}\", client_ca: \"{text}\""),
            ["text.pem", "no certificate"],
        ),
        (
            format!("cert: \"{cert}\", key: \"{key}\", client_auth: optional"),
            ["client_auth", "client_ca"],
        ),
        (
            format!("cert: \"{cert}\", key: \"{key}\", client_ca: \"{cert}\", client_auth: maybe"),
            ["client_auth", "maybe"],
        ),
    ] {
        let yaml = format!("listen: {{address: \"127.0.0.1:0\", tls: {{{tls}}}}}");
        let stack = Stack::gateway().upstream(&Upstream::ok()).yaml(&yaml);
        let (status, stderr) = stack.listening_by_yaml(0).refused();
        assert_eq!(status.code(), Some(2), "{tls}: {stderr}");
        assert!(
            said.iter().all(|word| stderr.contains(word)),
            "{tls}: {stderr}"
        );
    }
}

/// Serves every request of a connection like [`Upstream::ok`].
fn answer(peer: &mut Peer) {
    while peer.read_request().is_some() {
        peer.send(json(200, ANSWER));
    }
}

#[test]
fn an_upstream_that_asks_who_we_are_is_shown_our_certificate() {
    let (authority, files) = (Authority::new(), Files::new());
    let upstream = Upstream::over(
        "https",
        authority.wrap(&authority.identity()),
        Box::new(answer),
    );
    let ca = files.write("ca.pem", &authority.pem);
    let (cert, key) = files.put("client", &authority.identity());
    let url = upstream.url();
    let yaml = format!(
        "upstream: {{url: \"{url}\", ca: \"{ca}\", client_cert: \"{cert}\", client_key: \"{key}\"}}"
    );
    let stack = Stack::gateway().yaml(&yaml).start();
    for path in ["/v1/chat/completions", EMBEDDINGS] {
        assert_eq!(
            stack.call(&Request::post(path, HELLO)).status(),
            200,
            "{path}"
        );
    }
    // Another certificate is in force with the next connection, without a restart; a wrong one is none.
    files.put("client", &Authority::new().identity());
    assert!(order(&stack, "reload", "gateway").status.success());
    for path in ["/v1/chat/completions", EMBEDDINGS] {
        assert_eq!(
            stack.call(&Request::post(path, HELLO)).status(),
            502,
            "{path}"
        );
    }
    files.write("client.key", "nothing");
    let out = order(&stack, "reload", "gateway");
    assert!(!out.status.success() && String::from_utf8_lossy(&out.stderr).contains("client.key"));
    files.put("client", &authority.identity());
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    // And none at all.
    std::fs::write(
        stack.configuration(),
        format!("upstream: {{url: \"{url}\", ca: \"{ca}\"}}\n"),
    )
    .unwrap();
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
}

#[test]
fn a_backend_of_a_private_authority_that_asks_who_we_are_gets_the_records() {
    let (authority, files) = (Authority::new(), Files::new());
    let wrap = authority.wrap(&authority.identity());
    let backend = Backend::over("https", wrap, |_| verdict(&[]));
    let ca = files.write("ca.pem", &authority.pem);
    let (cert, key) = files.put("client", &Authority::new().identity());
    let upstream = Upstream::ok();
    let url = backend.url();
    let yaml = format!(
        "monitor: {{url: \"{url}\", ca: \"{ca}\", client_cert: \"{cert}\", client_key: \"{key}\"}}"
    );
    let stack = Stack::gateway().upstream(&upstream).yaml(&yaml).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("the wrong certificate is refused", || {
        (stack.metric("monitor_telemetry_retries_total") > 0.0).then_some(())
    });
    assert!(backend.calls().is_empty());
    files.put("client", &authority.identity());
    assert!(order(&stack, "reload", "gateway").status.success());
    backend.await_posts(1);
}

#[test]
fn contract_33_a_certificate_of_our_own_needs_both_files_and_https() {
    let (authority, files) = (Authority::new(), Files::new());
    let (cert, key) = files.put("client", &authority.identity());
    let (expired, expired_key) = files.put("expired", &authority.identity_until(2001));
    for (yaml, said) in [
        (
            format!("upstream: {{url: \"https://m\", client_cert: \"{cert}\"}}"),
            "upstream.client_key",
        ),
        (
            format!("upstream: {{url: \"https://m\", client_key: \"{key}\"}}"),
            "upstream.client_cert",
        ),
        (
            format!(
                "upstream: {{url: \"http://m\", client_cert: \"{cert}\", client_key: \"{key}\"}}"
            ),
            "https only",
        ),
        (
            format!(
                "upstream: {{url: \"https://m\", client_cert: \"{expired}\", client_key: \"{expired_key}\"}}"
            ),
            "expired.pem",
        ),
        (
            format!(
                "upstream: {{url: \"https://m\"}}\nmonitor: {{url: \"https://b\", client_cert: \"{cert}\", client_key: \"{expired_key}\"}}"
            ),
            "do not match",
        ),
        (
            format!(
                "upstream: {{url: \"https://m\"}}\nmonitor: {{url: \"https://b\", ca: \"{key}\"}}"
            ),
            "monitor.ca",
        ),
    ] {
        let (status, stderr) = Stack::gateway().yaml(&yaml).refused();
        assert_eq!(status.code(), Some(2), "{yaml}: {stderr}");
        assert!(stderr.contains(said), "{yaml}: {stderr}");
    }
}

#[test]
fn secrets_in_clear_text_off_this_machine_are_said_once_for_each_target_and_start() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .yaml(
            "upstream: {url: \"http://model.example\"}\nmonitor: {url: \"http://backend.example\"}\n\
             trace: {endpoint: \"http://collector.example\", authorization: x}",
        )
        .start();
    let counted = |target: &str| {
        stack.metric(&format!(
            "monitor_clear_text_secrets_total{{target=\"{target}\"}}"
        ))
    };
    for (target, setting) in [
        ("upstream", "upstream.url"),
        ("monitor", "monitor.url"),
        ("trace", "trace.endpoint"),
    ] {
        assert_eq!(counted(target), 1.0, "{target}");
        let said = format!("{setting} is http and not on this machine");
        assert_eq!(stack.stderr().matches(&said).count(), 1, "{target}");
    }
    let keys = "upstream.url is http and not on this machine: the clients' Authorization and x-api-key and";
    assert!(stack.stderr().contains(keys), "{}", stack.stderr());
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(counted("monitor"), 2.0);
    let policies = "store: {host: database.example, db: monitor, user: monitor, ssl: false}";
    let policies = Stack::gateway().upstream(&upstream).yaml(policies).start();
    let store = "monitor_clear_text_secrets_total{target=\"store\"}";
    assert_eq!(policies.metric(store), 1.0);
    assert!(policies.stderr().contains("store.ssl is not true"));
    let quiet = Stack::before(&upstream);
    assert_eq!(
        quiet.metric("monitor_clear_text_secrets_total{target=\"upstream\"}"),
        0.0
    );
}
