//! Which versions of TLS and which ciphers a listener speaks, and which sessions it goes on with.

use crate::tls::{Files, listening};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use support::fault::free_port;
use support::http::Conn;
use support::line::order;
use support::request::Request;
use support::stack::Stack;
use support::tls::{Authority, Client};
use support::upstream::Upstream;

/// A ClientHello of TLS 1.1 with two suites that its servers had.
const HELLO_TLS11: &[u8] = &[
    0x16, 0x03, 0x01, 0x00, 0x2f, 0x01, 0x00, 0x00, 0x2b, 0x03, 0x02, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    0x00, 0x00, 0x04, 0xc0, 0x14, 0x00, 0x35, 0x01, 0x00,
];
/// A record with an alert, and one that is fatal.
const ALERT: u8 = 21;
const FATAL: u8 = 2;

#[test]
fn only_tls_1_2_and_1_3_are_spoken_and_weak_ciphers_are_not() {
    let (_stack, secure) = over_tls();
    let mut socket = TcpStream::connect(secure).unwrap();
    socket.write_all(HELLO_TLS11).unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let refused = (answer.first(), answer.get(5));
    assert_eq!(refused, (Some(&ALERT), Some(&FATAL)), "{answer:?}");
}

/// A gateway with a certificate.
fn over_tls() -> (Stack, SocketAddr) {
    let (authority, files, upstream) = (Authority::new(), Files::new(), Upstream::ok());
    let (cert, key) = files.put("server", &authority.identity());
    let gateway = |list: &str| {
        Stack::gateway()
            .upstream(&upstream)
            .yaml(&format!("listen:\n  {list}"))
    };
    listening(gateway, &format!("cert: \"{cert}\", key: \"{key}\""))
}

#[test]
#[ignore = "needs sslscan"]
fn sslscan_finds_nothing_old_and_nothing_weak() {
    // It cannot tell about compression, which the program does not have.
    let (_stack, address) = over_tls();
    let scan = Command::new("sslscan")
        .args(["--no-colour", &address.to_string()])
        .stdin(Stdio::null())
        .output()
        .expect("sslscan is installed");
    let text = String::from_utf8_lossy(&scan.stdout).into_owned();
    for (line, state) in [
        ("SSLv2", "disabled"),
        ("SSLv3", "disabled"),
        ("TLSv1.0", "disabled"),
        ("TLSv1.1", "disabled"),
        ("TLSv1.2", "enabled"),
        ("TLSv1.3", "enabled"),
    ] {
        let found = text.lines().find(|found| found.starts_with(line));
        let found = found.unwrap_or_else(|| panic!("no {line} in:\n{text}"));
        assert!(found.ends_with(state), "{found}");
    }
    for line in text.lines().filter(|line| line.contains("vulnerable")) {
        assert!(line.contains("not vulnerable"), "{line}");
    }
    let ciphers = text.lines().filter(|line| line.contains(" bits "));
    for cipher in ciphers {
        let weak = ["RC4", "3DES", "DES-", "NULL", "EXP", "MD5", "CBC", "anon"];
        assert!(!weak.iter().any(|word| cipher.contains(word)), "{cipher}");
    }
}

/// The status of GET /openapi.json; None where the connection is refused, in whatever moment.
fn status(client: &Client, address: SocketAddr) -> Option<u16> {
    let mut conn = client.connect(address)?;
    let request = Request::get("/openapi.json").bytes();
    conn.try_send(&request).ok()?;
    Some(conn.try_head()?.status())
}

#[test]
fn the_api_lets_go_of_a_client_that_says_nothing_in_its_handshake() {
    // limits.header_timeout, as on the gateway's listeners.
    let (authority, files, port) = (Authority::new(), Files::new(), free_port());
    let (cert, key) = files.put("server", &authority.identity());
    let tls = format!("{{cert: \"{cert}\", key: \"{key}\"}}");
    let stack = Stack::all_with_printed_key().yaml(&format!(
        "limits: {{header_timeout: 400ms}}\nanalysis:\n  listen: {{address: \"127.0.0.1:{port}\", tls: {tls}}}"
    ));
    let stack = stack.analysis_by_yaml(port).start();
    let api = SocketAddr::from(([127, 0, 0, 1], port));
    let mut silent = Conn::open(api);
    assert!(silent.is_closed());
    let ended = r#"monitor_connections_ended_total{reason="handshake"}"#;
    assert!(stack.metric(ended) >= 1.0);
    assert_eq!(status(&authority.client(None), api), Some(200));
}

#[test]
fn contract_35_no_session_outlives_the_authority_that_vouched_for_its_client() {
    let (one, two, files) = (Authority::new(), Authority::new(), Files::new());
    let (cert, key) = files.put("server", &one.identity());
    let ca = files.write("ca.pem", &one.pem);
    let tls = format!("cert: \"{cert}\", key: \"{key}\", client_ca: \"{ca}\"");
    let (upstream, port) = (Upstream::ok(), free_port());
    let everything = |list: &str| {
        let api = format!("{{address: \"127.0.0.1:{port}\", tls: {{{tls}}}}}");
        let yaml = format!("listen:\n  {list}\nanalysis:\n  listen: {api}");
        let stack = Stack::all_with_printed_key().upstream(&upstream);
        stack.yaml(&yaml).analysis_by_yaml(port)
    };
    let (stack, gateway) = listening(everything, &tls);
    let api = SocketAddr::from(([127, 0, 0, 1], port));
    let clients = [gateway, api].map(|address| (one.client(Some(&one.identity())), address));
    for (client, address) in &clients {
        for _ in 0..2 {
            assert_eq!(status(client, *address), Some(200));
        }
    }
    files.write("ca.pem", &two.pem);
    let reloaded = order(&stack, "reload", "all");
    assert!(reloaded.status.success(), "{reloaded:?}");
    for (client, address) in &clients {
        assert_eq!(status(client, *address), None, "{address}");
    }
}
