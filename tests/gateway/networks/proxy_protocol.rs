//! The PROXY protocol on listeners where it is switched on: the address in it is the client's, the bytes behind it
//! are the connection's, and a connection without it is refused, whoever it is from.

use super::clients;
use std::net::SocketAddr;
use std::path::PathBuf;
use support::api::authorised;
use support::fault::free_port;
use support::frames::{END_HEADERS, END_STREAM, HEADERS, SETTINGS, frame, head};
use support::http::{Conn, Response};
use support::request::{HELLO, MODELS, Request};
use support::stack::{Builder, Folder, Stack};
use support::tls::Identity;
use support::upstream::{ANSWER, Upstream};
use support::{KEY, eventually};

const V1: &[u8] = b"PROXY TCP4 203.0.113.5 198.51.100.1 56324 443\r\n";
const V1_IPV6: &[u8] = b"PROXY TCP6 2001:db8::5 2001:db8::1 56324 443\r\n";
const UNKNOWN: &[u8] = b"PROXY UNKNOWN\r\n";
const TRUSTED: &str = "trusted_proxies: {networks: [127.0.0.0/8]}";
const UNTRUSTED: &str = "trusted_proxies: {networks: [10.0.0.0/8]}";
const NO_HEADER: &str = r#"monitor_connections_ended_total{reason="proxy_header"}"#;
const NO_PROXY: &str = r#"monitor_connections_ended_total{reason="proxy_untrusted"}"#;

/// Version 2 with this command, family and rest.
fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend([command, family]);
    header.extend(u16::try_from(rest.len()).unwrap().to_be_bytes());
    header.extend(rest);
    header
}

fn v2_ipv4() -> Vec<u8> {
    v2(
        0x21,
        0x11,
        &[203, 0, 113, 6, 198, 51, 100, 1, 0xdc, 0x04, 1, 0xbb],
    )
}

/// A gateway whose one listener requires the header, with an access log.
struct World {
    stack: Stack,
    log: PathBuf,
    _folder: std::sync::Arc<Folder>,
}

fn gateway(upstream: &Upstream, trusted: &str, tls: &str) -> World {
    let folder = Folder::new();
    let log = folder.path().join("access.log");
    let port = free_port();
    let stack = Stack::gateway()
        .upstream(upstream)
        .listening_by_yaml(port)
        .yaml(&format!(
            "listen: [{{address: 127.0.0.1:{port}, proxy_protocol: true{tls}}}]"
        ))
        .yaml(trusted)
        .yaml(&format!(
            "log: {{access: {{to: file, file: \"{}\"}}}}",
            log.display()
        ))
        .start();
    World {
        stack,
        log,
        _folder: folder,
    }
}

fn through(address: SocketAddr, header: &[u8], request: &Request) -> Response {
    let mut conn = Conn::open(address);
    conn.send(&[header, &request.bytes()].concat());
    conn.response()
}

/// Whether the connection ends without an answer.
fn is_refused(address: SocketAddr, bytes: &[u8]) -> bool {
    let mut conn = Conn::open(address);
    let _ = conn.try_send(bytes);
    conn.try_head().is_none()
}

#[test]
fn the_client_is_the_one_that_a_header_of_either_version_names() {
    let upstream = Upstream::ok();
    let World { stack, log, .. } = &gateway(&upstream, TRUSTED, "");
    let at = stack.gateway_addr;
    let mut v6 = [0; 36];
    v6[..2].copy_from_slice(&[0x20, 0x01]);
    v6[15] = 9;
    let with_more = [
        &[203, 0, 113, 7, 198, 51, 100, 1, 0, 1, 0, 2][..],
        &[4, 0, 1, 0],
    ]
    .concat();
    let table: Vec<(Vec<u8>, &str)> = vec![
        (V1.to_vec(), "203.0.113.5"),
        (V1_IPV6.to_vec(), "2001:db8::5"),
        (v2_ipv4(), "203.0.113.6"),
        (v2(0x21, 0x11, &with_more), "203.0.113.7"),
        (v2(0x21, 0x21, &v6), "2001::9"),
        // The proxy's own connections, and clients without an address.
        (UNKNOWN.to_vec(), "127.0.0.1"),
        (v2(0x20, 0x00, &[]), "127.0.0.1"),
    ];
    for (number, (header, client)) in table.iter().enumerate() {
        let answer = through(at, header, &Request::chat(HELLO));
        assert_eq!(
            (answer.status(), answer.text().as_str()),
            (200, ANSWER),
            "{client}"
        );
        assert_eq!(clients(log, number + 1)[number], *client);
    }
    // The header is one of the connection: its next requests have none.
    let mut conn = Conn::open(at);
    conn.send(&[V1, &Request::get(MODELS).bytes()].concat());
    assert_eq!(conn.response().status(), 200);
    conn.send(&Request::get(MODELS).bytes());
    assert_eq!(conn.response().status(), 200);
    assert_eq!(
        clients(log, table.len() + 2)[table.len() + 1],
        "203.0.113.5"
    );
    assert_eq!(stack.metric(NO_HEADER) + stack.metric(NO_PROXY), 0.0);
}

#[test]
fn a_header_is_read_whatever_its_pieces_and_nothing_behind_it() {
    let upstream = Upstream::ok();
    let World { stack, .. } = &gateway(&upstream, TRUSTED, "");
    for header in [V1.to_vec(), v2_ipv4()] {
        for piece in [1, 7, 13] {
            let mut conn = Conn::open(stack.gateway_addr);
            let bytes = [&header[..], &Request::chat(HELLO).bytes()].concat();
            for piece in bytes.chunks(piece) {
                conn.send(piece);
            }
            assert_eq!(conn.response().text(), ANSWER);
            assert_eq!(upstream.last().body, HELLO.as_bytes());
        }
    }
}

#[test]
fn a_connection_without_a_valid_header_is_refused_and_counted() {
    let upstream = Upstream::ok();
    let World { stack, .. } = &gateway(&upstream, TRUSTED, "");
    let request = Request::chat(HELLO).bytes();
    let long = [b"PROXY TCP4 ".as_slice(), &b"1".repeat(200), b"\r\n"].concat();
    let wrong: Vec<Vec<u8>> = vec![
        request.clone(),
        b"PROXY TCP4 203.0.113.5 198.51.100.1 56324\r\n".to_vec(),
        b"PROXY TCP4 203.0.113.5 198.51.100.1 56324 443\n".to_vec(),
        b"PROXY TCP4 2001:db8::1 198.51.100.1 56324 443\r\n".to_vec(),
        long,
        v2(0x11, 0x11, &[0; 12]),
        v2(0x21, 0x12, &[0; 12]),
        v2(0x21, 0x11, &[0; 11]),
        v2(0x21, 0x11, &[0; 5_000]),
        [0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, 0].to_vec(),
    ];
    for (number, header) in wrong.iter().enumerate() {
        let bytes = [&header[..], &request].concat();
        assert!(is_refused(stack.gateway_addr, &bytes), "{header:?}");
        eventually("it is counted", || {
            (stack.metric(NO_HEADER) == (number + 1) as f64).then_some(())
        });
    }
    // One that stops in the middle of its header.
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&V1[..20]);
    drop(conn);
    let all = (wrong.len() + 1) as f64;
    eventually("it is counted", || {
        (stack.metric(NO_HEADER) == all).then_some(())
    });
    // Health checks that connect and leave are nobody's fault.
    drop(Conn::open(stack.gateway_addr));
    assert_eq!(
        through(stack.gateway_addr, V1, &Request::chat(HELLO)).status(),
        200
    );
    assert_eq!(stack.metric(NO_HEADER), all);
    assert_eq!(stack.metric(NO_PROXY), 0.0);
    let said = stack.stderr();
    assert!(
        said.contains("client connection closed: proxy_header"),
        "{said}"
    );
    assert!(!said.contains("203.0.113.5"), "{said}");
}

#[test]
fn a_header_of_somebody_else_than_a_trusted_proxy_is_refused() {
    let upstream = Upstream::ok();
    let World { stack, .. } = &gateway(&upstream, UNTRUSTED, "");
    assert_eq!(stack.metric(NO_PROXY), 0.0, "the start looks for itself");
    for (number, header) in [V1.to_vec(), v2_ipv4(), Vec::new()].iter().enumerate() {
        let bytes = [&header[..], &Request::chat(HELLO).bytes()].concat();
        assert!(is_refused(stack.gateway_addr, &bytes));
        eventually("it is counted", || {
            (stack.metric(NO_PROXY) == (number + 1) as f64).then_some(())
        });
    }
    upstream.assert_untouched();
    // A reload changes whom the gateway trusts.
    let text = std::fs::read_to_string(stack.configuration()).unwrap();
    std::fs::write(stack.configuration(), text.replace(UNTRUSTED, TRUSTED)).unwrap();
    stack.process.signal("HUP");
    eventually("the proxy is trusted", || {
        let bytes = [V1, &Request::chat(HELLO).bytes()].concat();
        (!is_refused(stack.gateway_addr, &bytes)).then_some(())
    });
}

#[test]
fn a_header_may_come_before_tls_and_before_http2() {
    let (upstream, identity) = (Upstream::ok(), Identity::new());
    let folder = Folder::new();
    let cert = folder.write("cert.pem", &identity.cert_pem);
    let key = folder.write("key.pem", &identity.key_pem);
    let tls = format!(
        ", tls: {{cert: \"{}\", key: \"{}\"}}",
        cert.display(),
        key.display()
    );
    let World { stack, log, .. } = &gateway(&upstream, TRUSTED, &tls);
    let mut conn = identity.connect_behind(V1, stack.gateway_addr);
    conn.send(&Request::chat(HELLO).bytes());
    assert_eq!(conn.response().text(), ANSWER);
    assert_eq!(clients(log, 1)[0], "203.0.113.5");
    // Without TLS behind it, one gets the answer of a port that speaks TLS.
    let clear = through(stack.gateway_addr, V1, &Request::chat(HELLO));
    assert!(clear.text().contains("https"), "{}", clear.text());

    let World { stack, log, .. } = &gateway(&upstream, TRUSTED, "");
    let mut conn = Conn::open(stack.gateway_addr);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let request = frame(HEADERS, END_HEADERS | END_STREAM, 1, &head("GET", MODELS));
    conn.send(
        &[
            &v2_ipv4()[..],
            preface,
            &frame(SETTINGS, 0, 0, &[]),
            &request,
        ]
        .concat(),
    );
    assert_eq!(clients(log, 1)[0], "203.0.113.6");
}

#[test]
fn the_gateway_counts_connections_by_the_client_that_the_header_names() {
    let upstream = Upstream::ok();
    let limits = format!("{TRUSTED}\nlimits: {{client_connections: 1, header_timeout: 60s}}");
    let World { stack, .. } = &gateway(&upstream, &limits, "");
    let open = |header: &[u8]| {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&[header, &Request::chat(HELLO).without_key().bytes()].concat());
        conn
    };
    let mut first = open(V1);
    assert_eq!(first.response().status(), 401);
    let mut second = open(V1);
    // Others are served, a network of 64 bits as one.
    assert_eq!(open(&v2_ipv4()).response().status(), 401);
    let mut of_network = open(V1_IPV6);
    assert_eq!(of_network.response().status(), 401);
    let mut neighbor = open(b"PROXY TCP6 2001:db8::77 2001:db8::1 56324 443\r\n");
    second.assert_quiet(std::time::Duration::from_millis(300));
    neighbor.assert_quiet(std::time::Duration::from_millis(1));
    drop((first, of_network));
    assert_eq!(second.response().status(), 401);
    assert_eq!(neighbor.response().status(), 401);
    // The proxy itself is not bounded.
    let own: Vec<_> = (0..4).map(|_| open(UNKNOWN)).collect();
    for mut conn in own {
        assert_eq!(conn.response().status(), 401);
    }
}

fn analysis(trusted: &str) -> Stack {
    let port = free_port();
    let builder: Builder = Stack::analysis_server().listening_by_yaml(port);
    builder
        .yaml(&format!(
            "listen: [{{address: 127.0.0.1:{port}, proxy_protocol: true}}]"
        ))
        .yaml(trusted)
        .yaml("limits: {client_connections: 1}")
        .start()
}

#[test]
fn the_analysis_listener_takes_it_too_and_counts_connections_by_the_client_it_names() {
    let stack = analysis(TRUSTED);
    let at = stack.analysis_addr;
    let list = Request::get("/openapi.json").without_key();
    // The one connection that this client may have stays open.
    let mut first = Conn::open(at);
    first.send(&[V1, &list.bytes()].concat());
    assert_eq!(first.response().status(), 200);
    assert_eq!(
        through(at, &v2_ipv4(), &list).status(),
        200,
        "another client"
    );
    let mut second = Conn::open(at);
    second.send(&[V1, &list.bytes()].concat());
    second.assert_quiet(std::time::Duration::from_millis(300));
    drop(first);
    assert_eq!(second.response().status(), 200);
    drop(second);
    let bytes = authorised(Request::get("/applications").without_key()).bytes();
    assert!(is_refused(at, &bytes));
    eventually("it is counted", || {
        (stack.metric(NO_HEADER) == 1.0).then_some(())
    });
    let stack = analysis(UNTRUSTED);
    let bytes = [V1, &bytes].concat();
    assert!(is_refused(stack.analysis_addr, &bytes));
    eventually("it is counted", || {
        (stack.metric(NO_PROXY) == 1.0).then_some(())
    });
    assert!(!stack.stderr().contains(KEY));
}

#[test]
fn a_listener_that_requires_it_needs_proxies_to_take_it_from() {
    let upstream = Upstream::ok();
    let refused = |yaml: &str| {
        let (status, stderr) = Stack::gateway()
            .upstream(&upstream)
            .listening_by_yaml(free_port())
            .yaml(yaml)
            .refused();
        assert!(!status.success(), "{yaml}");
        stderr
    };
    for (yaml, words) in [
        (
            "listen: {address: 127.0.0.1:0, proxy_protocol: true}",
            "set trusted_proxies.networks",
        ),
        (
            "listen: {address: 127.0.0.1:0, proxy_protocol: v2}",
            "allowed: true, false",
        ),
        (
            "trusted_proxies: {networks: [0.0.0.0/0]}",
            "trusts every address",
        ),
        (
            "trusted_proxies: {networks: [10.0.0.1/8]}",
            "bits set beyond its prefix",
        ),
        (
            "trusted_proxies: {header: forwarded}",
            "set trusted_proxies.networks",
        ),
        (
            "trusted_proxies: {networks: [10.0.0.0/8], header: x-real-ip}",
            "allowed: x-forwarded-for, forwarded, none",
        ),
    ] {
        let stderr = refused(yaml);
        assert!(stderr.contains(words), "{yaml}: {stderr}");
    }
}
