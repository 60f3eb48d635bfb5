//! Gateway headers where a strip list might miss them: CONTRACT 6 and 8.

use support::frames::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, field, frame, head};
use support::http::Conn;
use support::request::{CHAT, EMBEDDINGS, HELLO, MODELS, Request};
use support::stack::Stack;
use support::upstream::Upstream;
use support::{KEY, contains};

const MARK: &str = "stays-here";
const NAMES: [&str; 6] = [
    "X-Monitor-Api-Key",
    "X_Monitor_Api_Key",
    "X-Application-Id",
    "X_User_Id",
    "X-Session_Id",
    "X-AttachedFiles",
];

/// Asserts that of everything the upstream was sent nothing is the gateway's.
#[track_caller]
fn assert_nothing_of_ours(upstream: &Upstream) {
    for head in upstream.seen().heads {
        let text = String::from_utf8_lossy(&head.raw).to_lowercase();
        for name in NAMES {
            let dashed = name.to_lowercase().replace('_', "-");
            assert!(!text.replace('_', "-").contains(&dashed), "{text}");
        }
        assert!(!contains(&head.raw, MARK.as_bytes()), "{text}");
        assert!(!contains(&head.raw, KEY.as_bytes()), "{text}");
        assert!(!head.has("trailer"), "{text}");
    }
}

#[test]
fn an_access_key_beside_its_underscore_twin_is_the_dashed_one() {
    // CONTRACT 6, 8. The twin is no key, be it alone, equal or different, and never goes on.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let bare = request.clone().without_key();
        for twin in ["X_Monitor_Api_Key", "X-Monitor_Api-Key"] {
            let alone = bare.clone().header(twin, KEY);
            assert_eq!(stack.call(&alone).status(), 401, "{alone:?}");
            for value in [KEY, MARK] {
                let both = request.clone().header(twin, value);
                assert_eq!(stack.call(&both).status(), 200, "{both:?}");
            }
        }
        for (first, second) in [(KEY, KEY), (KEY, MARK), (MARK, KEY)] {
            let twice = bare
                .clone()
                .header("X-Monitor-Api-Key", first)
                .header("x-monitor-api-key", second)
                .header("Connection", "x-monitor-api-key, x_monitor_api_key");
            let expected = if first == second { 200 } else { 401 };
            assert_eq!(stack.call(&twice).status(), expected, "{twice:?}");
        }
        let listed = bare.header("X-Monitor-Api-Key", &format!("{KEY}, {KEY}"));
        assert_eq!(stack.call(&listed).status(), 401, "a list is no key");
    }
    assert_eq!(
        upstream.heads(),
        15,
        "five accepted variants of three routes"
    );
    assert_nothing_of_ours(&upstream);
}

#[test]
fn trailers_of_a_chunked_request_are_no_headers_and_go_nowhere() {
    // RFC 9110 6.5: a key in a trailer admits nobody.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let trailers = NAMES.map(|name| format!("{name}: {MARK}\r\n")).concat();
    for path in [CHAT, EMBEDDINGS] {
        let request = Request::post(path, HELLO)
            .chunked(20)
            .header("Trailer", &NAMES.join(", "));
        let with = |request: &Request, trailers: &str| {
            let whole = request.bytes();
            let mut conn = Conn::open(stack.gateway_addr);
            conn.send(&[&whole[..whole.len() - 2], trailers.as_bytes(), b"\r\n"].concat());
            conn.response().status()
        };
        assert_eq!(with(&request, &trailers), 200, "{path}");
        assert_eq!(upstream.last().body, HELLO.as_bytes());
        let key = format!("X-Monitor-Api-Key: {KEY}\r\n");
        assert_eq!(with(&request.without_key(), &key), 401, "{path}");
    }
    assert_eq!(upstream.heads(), 2);
    assert_nothing_of_ours(&upstream);
}

#[test]
fn trailers_of_an_http2_request_go_nowhere_either() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let trailers: Vec<u8> = NAMES
        .iter()
        .flat_map(|name| field(&name.to_lowercase(), MARK))
        .collect();
    for (method, path) in [("POST", CHAT), ("POST", EMBEDDINGS), ("GET", MODELS)] {
        let mut frames = Frames::open(stack.gateway_addr, &[]);
        let mut block = head(method, path);
        for name in &NAMES[1..] {
            block.extend(field(&name.to_lowercase(), MARK));
        }
        let request = [
            frame(HEADERS, END_HEADERS, 1, &block),
            frame(DATA, 0, 1, HELLO.as_bytes()),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers),
        ];
        frames.send(&request.concat());
        let answer = frames.find(|frame| frame.stream == 1).unwrap();
        assert_eq!((answer.kind, answer.payload[0]), (HEADERS, 0x88), "{path}");
        frames.find(|frame| frame.kind == DATA && frame.flags & END_STREAM != 0);
        assert_eq!(upstream.last().head.target(), path);
    }
    assert_eq!(upstream.heads(), 3);
    assert_nothing_of_ours(&upstream);
}
