//! docs/networks.md in front of the real binary: its configurations run in nginx and HAProxy, with the addresses of
//! the test in place of the page's; those of Envoy and Kubernetes are read. What a balancer notices at a stop.
//!
//! Long because: nginx and HAProxy share what starts them and what is asked of them.

use saphyr::{LoadableYamlNode, Yaml};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::fault::free_port;
use support::http::{Conn, Response};
use support::process::Process;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Builder, Folder, Stack};
use support::tls::Identity;
use support::upstream::{ANSWER, DONE, Upstream, delta};
use support::{KEY, PATIENCE, eventually};
use tokio::net::TcpSocket;

/// Where clients of the balancers connect from; the balancers themselves are at 127.0.0.1.
const CLIENT: &str = "127.0.0.2";
/// What a client claims to be.
const CLAIMED: &str = "203.0.113.66";

/// The fenced blocks of a kind, in their order.
fn blocks(kind: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/networks.md");
    let page = std::fs::read_to_string(page).unwrap();
    let fence = format!("\n```{kind}\n");
    let parts = page.split(&fence).skip(1);
    let blocks = parts.map(|part| part.split_once("\n```").unwrap().0.to_owned());
    blocks.collect()
}

/// The only block of a kind that holds these words, with other words in place of the page's; each must be there.
fn only_block(kind: &str, holding: &str, changes: &[(&str, String)]) -> String {
    let mut blocks = blocks(kind);
    blocks.retain(|block| block.contains(holding));
    assert_eq!(blocks.len(), 1, "{kind} with {holding}");
    let mut text = blocks[0].clone() + "\n";
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

/// A program of the system, which may be outside of the path of users.
fn program(name: &str) -> PathBuf {
    let places = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"];
    let found = places.iter().map(|place| Path::new(place).join(name));
    found
        .into_iter()
        .find(|path| path.exists())
        .expect("it is installed")
}

/// A balancer on loopback, and its certificate.
struct Balancer {
    address: SocketAddr,
    identity: Identity,
    process: Process,
    _folder: Arc<Folder>,
}

impl Balancer {
    fn start(command: &mut Command, port: u16, identity: Identity, folder: Arc<Folder>) -> Self {
        let mut process = Process::start(command);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        eventually("the balancer listens", || {
            assert!(process.exited().is_none(), "{}", process.stderr());
            std::net::TcpStream::connect(address).ok()
        });
        Self {
            address,
            identity,
            process,
            _folder: folder,
        }
    }

    fn nginx(gateways: [SocketAddr; 2]) -> Self {
        Self::nginx_site(
            "upstream monitor_gateway",
            &[
                ("10.0.0.11:4100", gateways[0].to_string()),
                ("10.0.0.12:4100", gateways[1].to_string()),
            ],
        )
    }

    /// nginx with the site of the page that holds these words, and with these servers behind it.
    fn nginx_site(holding: &str, servers: &[(&str, String)]) -> Self {
        let (folder, identity, port) = (Folder::new(), Identity::new(), free_port());
        let here = folder.path().display();
        let cert = folder.write("cert.pem", &identity.cert_pem);
        let key = folder.write("key.pem", &identity.key_pem);
        let own = [
            ("listen 443 ssl", format!("listen 127.0.0.1:{port} ssl")),
            ("/etc/nginx/monitor-cert.pem", cert.display().to_string()),
            ("/etc/nginx/monitor-key.pem", key.display().to_string()),
        ];
        let site = only_block("nginx", holding, &[servers, &own].concat());
        let site = folder.write("monitor.conf", &site);
        let whole = format!(
            "daemon off;\nmaster_process off;\npid {here}/nginx.pid;\nerror_log stderr warn;\nevents {{}}\nhttp {{\n\
             access_log off;\nclient_body_temp_path {here}/bodies;\nproxy_temp_path {here}/answers;\n\
             fastcgi_temp_path {here}/f;\nuwsgi_temp_path {here}/u;\nscgi_temp_path {here}/s;\ninclude {};\n}}\n",
            site.display()
        );
        let configuration = folder.write("nginx.conf", &whole);
        let mut command = Command::new(program("nginx"));
        command.args(["-e", "stderr", "-p"]).arg(folder.path());
        command.arg("-c").arg(configuration);
        Self::start(&mut command, port, identity, folder)
    }

    /// With the operations listener of each gateway.
    fn haproxy(gateways: [&Stack; 2]) -> Self {
        let (folder, identity, port) = (Folder::new(), Identity::new(), free_port());
        let both = format!("{}{}", identity.cert_pem, identity.key_pem);
        let pem = folder.write("monitor.pem", &both);
        let server = |stack: &Stack| {
            // Each gateway of the test has an operations port of its own.
            format!(
                "{} port {}",
                stack.gateway_addr,
                stack.operations_addr.port()
            )
        };
        let text = only_block(
            "haproxy",
            "backend gateways",
            &[
                ("10.0.0.11:4100", server(gateways[0])),
                ("10.0.0.12:4100", server(gateways[1])),
                ("bind :443", format!("bind 127.0.0.1:{port}")),
                ("/etc/haproxy/monitor.pem", pem.display().to_string()),
            ],
        );
        let configuration = folder.write("haproxy.cfg", &text);
        let mut command = Command::new(program("haproxy"));
        command.arg("-db").arg("-f").arg(configuration);
        Self::start(&mut command, port, identity, folder)
    }

    /// A connection from the client's address.
    fn connect(&self) -> Conn {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let socket = runtime.block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket
                .bind(SocketAddr::new(CLIENT.parse().unwrap(), 0))
                .unwrap();
            socket
                .connect(self.address)
                .await
                .unwrap()
                .into_std()
                .unwrap()
        });
        socket.set_nonblocking(false).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        self.identity.connect_on(socket)
    }

    fn call(&self, request: &Request) -> Response {
        let mut conn = self.connect();
        conn.send(&request.bytes());
        conn.response()
    }
}

/// A gateway behind a balancer, with an access log.
fn gateway(upstream: &Upstream, yaml: &str) -> (Builder, PathBuf) {
    let folder = Folder::new();
    let log = folder.path().join("access.log");
    let to = format!("log: {{access: {{to: file, file: \"{}\"}}}}", log.display());
    let builder = Stack::gateway().upstream(upstream).folder(&folder);
    (builder.yaml(&to).yaml(yaml), log)
}

/// The client in the latest line of either log.
#[track_caller]
fn await_client(logs: [&Path; 2], lines: usize) -> String {
    eventually("a line of the access log", || {
        let texts = logs.map(|log| std::fs::read_to_string(log).unwrap_or_default());
        let all: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
        let latest = (all.len() >= lines).then(|| all.iter().max())??;
        let line: serde_json::Value = serde_json::from_str(latest).unwrap();
        Some(line["client"].as_str()?.to_owned())
    })
}

/// What every client may expect of a balancer: streams as they come, large bodies, long heads, and its own address in
/// the log, whatever it claims to be.
fn serves(balancer: &Balancer, upstream: &Upstream, logs: [&Path; 2]) {
    let call = Request::chat(HELLO).header("X-Forwarded-For", CLAIMED);
    let answer = balancer.call(&call);
    assert_eq!(answer.text(), ANSWER, "{}", balancer.process.stderr());
    assert_eq!(await_client(logs, 1), CLIENT);
    let large = HELLO.replace("hello", &"x".repeat(3 << 20));
    assert_eq!(balancer.call(&Request::chat(&large)).text(), ANSWER);
    assert_eq!(upstream.last().body.len(), large.len());
    let long = Request::chat(HELLO).header("X-Long", &"h".repeat(30_000));
    assert_eq!(balancer.call(&long).text(), ANSWER);
}

/// The first event reaches the client while the model server waits with the next.
fn passes_streams_at_once(start: impl FnOnce(&Upstream) -> (Balancer, [Stack; 2])) {
    let (upstream, feed) = Upstream::fed();
    let (balancer, _gateways) = start(&upstream);
    let mut conn = balancer.connect();
    conn.send(&Request::chat(HELLO_STREAM).bytes());
    feed.send(support::upstream::SSE_HEAD);
    feed.chunk(delta(0, "first"));
    let first = conn.read_head_once_and_until(b"first");
    assert!(!first.is_empty());
    feed.chunk(DONE);
    feed.end();
    let (rest, complete) = conn.rest();
    assert!(complete && String::from_utf8_lossy(&rest).ends_with(DONE));
}

fn behind_nginx(upstream: &Upstream) -> (Balancer, [Stack; 2], [PathBuf; 2]) {
    let yaml = "trusted_proxies: {networks: [127.0.0.1]}";
    let (first, first_log) = gateway(upstream, yaml);
    let (second, second_log) = gateway(upstream, yaml);
    let gateways = [first.start(), second.start()];
    let balancer = Balancer::nginx([gateways[0].gateway_addr, gateways[1].gateway_addr]);
    (balancer, gateways, [first_log, second_log])
}

fn behind_haproxy(upstream: &Upstream, more: &str) -> (Balancer, [Stack; 2], [PathBuf; 2]) {
    let start = || {
        let port = free_port();
        let (builder, log) = gateway(
            upstream,
            &format!(
                "listen: [{{address: 127.0.0.1:{port}, proxy_protocol: true}}]\n\
                 trusted_proxies: {{networks: [127.0.0.1], header: none}}\n{more}"
            ),
        );
        (builder.listening_by_yaml(port).start(), log)
    };
    let ((first, first_log), (second, second_log)) = (start(), start());
    let balancer = Balancer::haproxy([&first, &second]);
    (balancer, [first, second], [first_log, second_log])
}

#[test]
#[ignore = "needs nginx"]
fn nginx_as_documented_serves_streams_large_calls_and_names_the_client() {
    let upstream = Upstream::ok();
    let (balancer, _gateways, logs) = behind_nginx(&upstream);
    serves(&balancer, &upstream, [&logs[0], &logs[1]]);
    passes_streams_at_once(|upstream| {
        let (balancer, gateways, _) = behind_nginx(upstream);
        (balancer, gateways)
    });
}

#[test]
#[ignore = "needs nginx"]
fn nginx_as_documented_serves_the_api_and_the_web_ui_and_names_the_client() {
    let server = Stack::analysis_server()
        .yaml("trusted_proxies: {networks: [127.0.0.1]}\nui: {public_url: \"https://monitor-ui.example\"}")
        .start();
    let behind = [("10.0.0.20:4200", server.analysis_addr.to_string())];
    let balancer = Balancer::nginx_site("monitor-ui.example", &behind);
    let with_key = |request: Request| {
        let bearer = format!("Bearer {KEY}");
        request.without_key().header("Authorization", &bearer)
    };
    // Longer than nginx takes by default (1 MiB).
    let message = format!(
        r#"{{"application_id":"{}","message":"{}"}}"#,
        server.application_id(),
        "words ".repeat(300_000)
    );
    let analyzed = with_key(Request::json("POST", "/process_request/", message));
    let analyzed = balancer.call(&analyzed);
    assert_eq!(analyzed.status(), 200, "{}", analyzed.text());

    // A sign-in that fails is audited with the client's address, whatever it claims to be.
    let page = Request::get("/ui/sign-in").without_key();
    let page = balancer.call(&page.header("X-Forwarded-For", CLAIMED));
    let cookie = page.head.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("Secure"), "{cookie}");
    let token = regex::Regex::new(r#"name="form_token" value="([^"]*)""#).unwrap();
    let token = token.captures(&page.text()).unwrap()[1].to_owned();
    let form = format!("form_token={token}&name=admin&password=not+the+password");
    let wrong = Request::post("/ui/sign-in", form)
        .content_type("application/x-www-form-urlencoded")
        .header("Cookie", cookie.split(';').next().unwrap())
        .header("X-Forwarded-For", CLAIMED);
    assert_eq!(balancer.call(&wrong.without_key()).status(), 422);
    let audit = "/audit?action=account.sign_in_failed";
    let named = eventually("a line of the audit log", || {
        let entries = balancer.call(&with_key(Request::get(audit))).json();
        let named = &entries["entries"][0]["details"]["address"];
        Some(named.as_str()?.to_owned())
    });
    assert_eq!(named, CLIENT);
}

#[test]
#[ignore = "needs nginx"]
fn nginx_passes_over_a_gateway_that_has_stopped() {
    let upstream = Upstream::ok();
    let (balancer, [mut first, _second], _) = behind_nginx(&upstream);
    first.process.signal("TERM");
    first.process.await_exit();
    for _ in 0..10 {
        assert_eq!(balancer.call(&Request::chat(HELLO)).status(), 200);
    }
}

#[test]
#[ignore = "needs HAProxy"]
fn haproxy_as_documented_serves_streams_large_calls_and_names_the_client() {
    let upstream = Upstream::ok();
    let (balancer, gateways, logs) = behind_haproxy(&upstream, "");
    serves(&balancer, &upstream, [&logs[0], &logs[1]]);
    // Its checks reach the operations port without a header, and no gateway counts one of its connections.
    for stack in &gateways {
        let refused = r#"monitor_connections_ended_total{reason="proxy_header"}"#;
        assert_eq!(stack.metric(refused), 0.0);
    }
    passes_streams_at_once(|upstream| {
        let (balancer, gateways, _) = behind_haproxy(upstream, "");
        (balancer, gateways)
    });
}

#[test]
#[ignore = "needs HAProxy"]
fn no_call_fails_while_a_gateway_with_default_settings_stops_behind_haproxy() {
    let upstream = Upstream::ok();
    let (balancer, [mut first, second], logs) = behind_haproxy(&upstream, "");
    let lines = |log: &Path| {
        std::fs::read_to_string(log)
            .unwrap_or_default()
            .lines()
            .count()
    };
    eventually("both serve", || {
        assert_eq!(balancer.call(&Request::chat(HELLO)).status(), 200);
        logs.iter().all(|log| lines(log) > 0).then_some(())
    });
    // HAProxy checks each of them every two seconds.
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(5) {
        assert_eq!(balancer.call(&Request::chat(HELLO)).status(), 200);
    }
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut statuses = Vec::new();
                    while !stopped.load(Ordering::Relaxed) {
                        statuses.push(balancer.call(&Request::chat(HELLO)).status());
                    }
                    statuses
                })
            })
            .collect();
        first.process.signal("TERM");
        first.process.await_stderr("how long it waits", |text| {
            text.contains("accepted for another 7s").then_some(())
        });
        let (status, _) = first.process.await_exit();
        assert_eq!(status.code(), Some(0), "{}", first.stderr());
        stopped.store(true, Ordering::Relaxed);
        for caller in callers {
            let statuses = caller.join().unwrap();
            assert!(statuses.len() > 10, "{}", statuses.len());
            let failed: Vec<&u16> = statuses.iter().filter(|status| **status != 200).collect();
            assert!(
                failed.is_empty(),
                "{} of {}: {failed:?}",
                failed.len(),
                statuses.len()
            );
        }
    });
    assert_eq!(second.operations("/readyz").status(), 200);
}

#[test]
fn the_yaml_of_the_page_can_be_read_and_its_settings_are_valid() {
    let mut kinds = Vec::new();
    for block in blocks("yaml") {
        let documents =
            Yaml::load_from_str(&block).unwrap_or_else(|error| panic!("{error}:\n{block}"));
        for document in &documents {
            assert!(
                document.as_mapping().is_some_and(|map| !map.is_empty()),
                "{block}"
            );
            if let Some(kind) = document.as_mapping_get("kind") {
                kinds.push(kind.as_str().unwrap().to_owned());
            }
            if let Some(data) = document.as_mapping_get("data") {
                check(
                    data.as_mapping_get("gateway.yaml")
                        .unwrap()
                        .as_str()
                        .unwrap(),
                );
            }
        }
        if documents
            .iter()
            .all(|it| it.as_mapping_get("kind").is_none())
            && !block.contains("static_resources")
        {
            check(&format!(
                "{block}\nupstream: {{url: \"https://model.example\"}}\n"
            ));
        }
    }
    assert_eq!(kinds, ["ConfigMap", "Service", "StatefulSet", "Ingress"]);
}

/// `monitor check` accepts these settings of a gateway.
#[track_caller]
fn check(settings: &str) {
    let folder = Folder::new();
    let file = folder.write("gateway.yaml", settings);
    let checked = Command::new(support::monitor())
        .args(["check", "--role", "gateway", "--config"])
        .arg(file)
        .env_remove("MONITOR_URL")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}\n{settings}");
}
