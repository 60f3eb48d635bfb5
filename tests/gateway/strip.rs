//! What of a request's head reaches the upstream: §2.1 last sentence, CONTRACT 5 and 8.

use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};
use support::{KEY, contains};

/// Occurs in every value that must stay behind.
const MARK: &str = "stays-here";

const EXTENSIONS: [&str; 6] = [
    "X-Monitor-Api-Key",
    "X-Application-Id",
    "X-User-Id",
    "X-Session-Id",
    "X-Attached-Files",
    "X-AttachedFiles",
];

fn every_endpoint_with_extensions() -> [Request; 3] {
    Request::every_endpoint().map(|mut request| {
        for name in &EXTENSIONS[1..] {
            request = request
                .header(name, MARK)
                .header(&name.to_lowercase(), MARK);
        }
        for name in EXTENSIONS {
            request = request.header(&name.replace('-', "_"), MARK);
        }
        request
    })
}

#[track_caller]
fn assert_stripped(upstream: &Upstream) {
    let request = upstream.last();
    for (name, value) in &request.head.headers {
        let twin = name.replace('_', "-");
        assert!(
            !EXTENSIONS.iter().any(|e| e.eq_ignore_ascii_case(&twin)),
            "{name} went upstream"
        );
        assert!(
            !value.contains(MARK) && !value.contains(KEY),
            "{name}: {value} went upstream"
        );
    }
}

#[test]
fn no_gateway_header_reaches_the_upstream_on_any_route() {
    // §2.1, CONTRACT 8: names, alias, underscore twins.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in every_endpoint_with_extensions() {
        assert_eq!(stack.call(&request).status(), 200, "{}", request.path());
        assert_stripped(&upstream);
    }
}

#[test]
fn a_gateway_header_named_in_connection_is_still_used_and_still_stripped() {
    // CONTRACT 8: also when named in Connection.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let named = format!("keep-alive, {}, X-Hop", EXTENSIONS.join(", "));
    for request in every_endpoint_with_extensions() {
        let request = request.header("Connection", &named).header("X-Hop", MARK);
        assert_eq!(stack.call(&request).status(), 200, "{}", request.path());
        assert_stripped(&upstream);
        assert!(!upstream.last().head.has("x-hop"), "RFC 9110 7.6.1");
    }
}

#[test]
fn a_gateway_header_sent_as_a_trailer_stays_here() {
    // CONTRACT 8. A gateway may refuse trailers or drop them; it must not pass these on.
    let upstream = Upstream::scripted(|peer| {
        while let Some(head) = peer.read_head() {
            assert!(!head.has("trailer"));
            peer.read_body();
            peer.send(support::upstream::json(200, ANSWER));
        }
    });
    let stack = Stack::before(&upstream);
    for request in &Request::every_endpoint()[..2] {
        let whole = request
            .clone()
            .chunked(20)
            .header("Trailer", "X-User-Id")
            .bytes();
        let mut bytes = whole[..whole.len() - 2].to_vec();
        bytes.extend(format!("X-User-Id: {MARK}\r\n\r\n").as_bytes());
        let mut conn = support::http::Conn::open(stack.gateway_addr);
        conn.send(&bytes);
        let status = conn.final_head().status();
        assert!([200, 400].contains(&status), "{status}");
    }
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    for head in upstream.seen().heads {
        assert!(!contains(&head.raw, MARK.as_bytes()));
    }
}

#[test]
fn authorization_and_unknown_headers_go_through_unchanged() {
    // §5.2, CONTRACT 8.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let request = request
            .header("Authorization", "Bearer sk-Upstream+/=Key")
            .header("OpenAI-Organization", "org-1")
            .header("X-Two", "first")
            .header("X-Two", "second")
            .header("Accept", "text/event-stream")
            .header("Accept-Encoding", "gzip, br")
            .header("User-Agent", "Test/1.0 (x; y)");
        assert_eq!(stack.call(&request).status(), 200);
        let head = upstream.last().head;
        assert_eq!(head.values("authorization"), ["Bearer sk-Upstream+/=Key"]);
        assert_eq!(head.header("openai-organization"), Some("org-1"));
        assert_eq!(head.values("x-two"), ["first", "second"]);
        assert_eq!(head.header("accept"), Some("text/event-stream"));
        assert_eq!(head.header("accept-encoding"), Some("gzip, br"));
        assert_eq!(head.header("user-agent"), Some("Test/1.0 (x; y)"));
    }
}

#[test]
fn host_is_the_upstreams() {
    // CONTRACT 8.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        assert_eq!(stack.call(&request).status(), 200);
        let host = upstream.address().to_string();
        assert_eq!(upstream.last().head.values("host"), [host.as_str()]);
    }
}

#[test]
fn x_request_id_is_kept_or_made_and_the_client_and_the_upstream_see_the_same() {
    // CONTRACT 5.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let answer = stack.call(&request.clone().header("X-Request-Id", "client-made-7"));
        assert_eq!(answer.head.values("x-request-id"), ["client-made-7"]);
        assert_eq!(
            upstream.last().head.values("x-request-id"),
            ["client-made-7"]
        );

        let answer = stack.call(&request);
        let made = answer
            .head
            .header("x-request-id")
            .expect("one is made")
            .to_owned();
        assert!(!made.is_empty());
        assert_eq!(upstream.last().head.values("x-request-id"), [made.as_str()]);
    }
}

#[test]
fn hop_by_hop_headers_of_the_client_are_not_forwarded() {
    // CONTRACT 8: ours to set; a client's `Connection: close` must not close the upstream's.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let request = request
            .header("Connection", "close")
            .header("Keep-Alive", "timeout=5")
            .header("Proxy-Connection", "close")
            .header("TE", "trailers")
            .header("Proxy-Authorization", "Basic eA==")
            .header("Upgrade", "websocket");
        assert_eq!(stack.call(&request).status(), 200);
        let head = upstream.last().head;
        for name in [
            "keep-alive",
            "proxy-connection",
            "te",
            "proxy-authorization",
            "upgrade",
        ] {
            assert!(
                !head.has(name),
                "{name} went upstream on {}",
                request.path()
            );
        }
        let connection = head.values("connection").join(",").to_lowercase();
        assert!(!connection.contains("close"), "{connection}");
    }
    // Monitored and transparent calls may have a pool each, so two at most.
    assert!(upstream.connections() < 3, "upstream connections are kept");
}
