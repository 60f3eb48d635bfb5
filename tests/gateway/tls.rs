//! TLS on both sides: https upstreams with a private authority, and TLS listeners (CONTRACT 34).

use std::net::SocketAddr;
use support::assert_envelope;
use support::fault::free_port;
use support::http::Conn;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Folder, Stack};
use support::tls::Identity;
use support::upstream::{ANSWER, DONE, Upstream, delta, json, sse};

fn https_upstream(identity: &Identity) -> Upstream {
    let answer = |peer: &mut support::server::Peer| {
        while let Some(request) = peer.read_request() {
            let streams = String::from_utf8_lossy(&request.body).contains("\"stream\":true");
            peer.send(if streams {
                sse(&[&delta(0, "x"), DONE])
            } else {
                json(200, ANSWER)
            });
        }
    };
    Upstream::over("https", identity.wrap(), Box::new(answer))
}

#[test]
fn an_upstream_over_https_with_a_private_authority_works() {
    // `upstream.ca`, beside `upstream.url` of CONTRACT 34.
    let (identity, folder) = (Identity::new(), Folder::new());
    let ca = folder.write("ca.pem", &identity.cert_pem);
    let upstream = https_upstream(&identity);
    for host in ["127.0.0.1", "localhost"] {
        let stack = Stack::gateway()
            .env(
                "UPSTREAM_URL",
                format!("https://{host}:{}", upstream.address().port()),
            )
            .yaml(&format!("upstream: {{ca: \"{}\"}}", ca.display()))
            .start();
        for request in Request::every_endpoint() {
            let answer = stack.call(&request);
            assert_eq!(
                (answer.status(), answer.text().as_str()),
                (200, ANSWER),
                "{host} {}",
                request.path()
            );
            assert!(!upstream.last().head.has("x-monitor-api-key"));
        }
        assert_eq!(
            stack.call(&Request::chat(HELLO_STREAM)).text(),
            delta(0, "x") + DONE
        );
    }
}

#[test]
fn a_certificate_that_nobody_vouches_for_gives_502() {
    // §7.2 row 502: TLS. Nothing of the request reaches such an upstream.
    let upstream = https_upstream(&Identity::new());
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let answer = stack.call(&request);
        assert_eq!(answer.status(), 502);
        assert_envelope(&answer.body, "gateway_error", 502);
    }
    assert_eq!(upstream.heads(), 0);
}

#[test]
fn https_towards_an_upstream_without_tls_gives_502() {
    // §7.2 row 502: TLS.
    let upstream = Upstream::scripted(|peer| peer.send("HTTP/1.1 400 Bad Request\r\n\r\n"));
    let url = format!("https://{}", upstream.address());
    let stack = Stack::gateway().env("UPSTREAM_URL", url).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
}

/// A gateway with a listener in clear text, and the address of one with TLS.
fn with_tls_listener(identity: &Identity, upstream: &Upstream) -> (Stack, SocketAddr) {
    let folder = Folder::new();
    let (cert, key) = (
        folder.write("cert.pem", &identity.cert_pem),
        folder.write("key.pem", &identity.key_pem),
    );
    let started = (0..5).find_map(|_| {
        let (clear, secure) = (free_port(), free_port());
        let yaml = format!(
            "listen:\n  - 127.0.0.1:{clear}\n  - {{address: 127.0.0.1:{secure}, tls: {{cert: \"{}\", key: \"{}\"}}}}",
            cert.display(),
            key.display()
        );
        let builder = Stack::gateway().upstream(upstream).yaml(&yaml).listening_by_yaml(clear);
        Some((builder.try_start()?, SocketAddr::from(([127, 0, 0, 1], secure))))
    });
    started.expect("free ports")
}

#[test]
fn a_tls_listener_serves_clients_and_offers_http2() {
    // CONTRACT 34: `listen` takes a list, `tls` per listener.
    let (identity, upstream) = (Identity::new(), Upstream::ok());
    let (stack, secure) = with_tls_listener(&identity, &upstream);
    let (mut conn, chosen) = identity.connect(secure, &["http/1.1"]);
    assert_eq!(chosen.as_deref(), Some("http/1.1"));
    conn.send(&Request::chat(HELLO).bytes());
    let answer = conn.response();
    assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
    conn.send(&Request::chat(HELLO).without_key().bytes());
    assert_eq!(conn.response().status(), 401);
    let (_, chosen) = identity.connect(secure, &["h2", "http/1.1"]);
    assert_eq!(chosen.as_deref(), Some("h2"));
    assert_eq!(
        stack.call(&Request::chat(HELLO)).status(),
        200,
        "the clear listener beside it"
    );
}

#[test]
fn a_request_in_clear_text_to_a_tls_port_is_answered_in_clear_text() {
    let (identity, upstream) = (Identity::new(), Upstream::ok());
    let (stack, secure) = with_tls_listener(&identity, &upstream);
    let mut client = Conn::open(secure);
    client.send(&Request::chat(HELLO).bytes());
    let answer = client.response();
    assert_eq!(answer.status(), 400);
    assert!(answer.text().contains("use https"), "{}", answer.text());
    assert!(client.is_closed());
    // A client that says nothing keeps nobody out.
    let _silent = Conn::open(secure);
    let (mut conn, _) = identity.connect(secure, &["http/1.1"]);
    conn.send(&Request::chat(HELLO).bytes());
    assert_eq!(conn.response().status(), 200);
    drop(stack);
}
