//! The heads of requests and answers on their way through the gateway.

#![allow(clippy::unwrap_used)]

use super::upstream_head::authority;
use super::*;
use crate::config::BaseUrl;
use http::HeaderValue;

fn base() -> BaseUrl {
    BaseUrl {
        tls: false,
        host: "model.example".into(),
        port: 8080,
        prefix: "/base".into(),
    }
}

fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
    let field = |(name, value): &(&'static str, &'static str)| {
        let name = HeaderName::try_from(*name).unwrap();
        (name, HeaderValue::from_static(value))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in fields.iter().map(field) {
        headers.append(name, value);
    }
    headers
}

fn request(fields: &[(&'static str, &'static str)]) -> RequestHeader {
    let mut head = RequestHeader::build("POST", b"/v1/chat/completions?a=1", None).unwrap();
    for (name, value) in fields {
        head.append_header((*name).to_owned(), *value).unwrap();
    }
    head
}

fn response(status: u16, fields: &[(&'static str, &'static str)]) -> ResponseHeader {
    let mut head = ResponseHeader::build(status, None).unwrap();
    for (name, value) in fields {
        head.append_header((*name).to_owned(), *value).unwrap();
    }
    head
}

fn for_upstream(head: &RequestHeader, id: &str, length: Option<usize>) -> RequestHeader {
    let target = UpstreamTarget::new(&base()).unwrap();
    let head = UpstreamHead::new(head, &target, id, length).unwrap();
    head.to_header().unwrap()
}

fn names(headers: &HeaderMap) -> Vec<&str> {
    let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

// --- Requests ---

#[test]
fn extension_and_hop_by_hop_headers_are_removed_in_both_spellings_and_the_rest_stays() {
    let head = request(&[
        ("X-Monitor-Api-Key", "k"),
        ("x_session_id", "s"),
        ("x-attached_files", "[]"),
        (
            "Connection",
            "close, X-Custom, authorization, X-Api-Key, content-encoding",
        ),
        ("Content-Encoding", "br"),
        ("X-Custom", "1"),
        ("Authorization", "Bearer up"),
        ("x-api-key", "up"),
        ("Expect", "100-continue"),
        ("keep_alive", "5"),
        ("content_length", "5"),
        ("te-x", "a header of its own"),
        ("te_x", "another one"),
        ("a_b", "1"),
        ("X-Kept", "yes"),
    ]);
    let head = for_upstream(&head, "id-1", Some(7));
    let kept = [
        "a_b",
        "authorization",
        "content-encoding",
        "content-length",
        "host",
        "te-x",
        "te_x",
        "x-api-key",
        "x-kept",
        "x-request-id",
    ];
    assert_eq!(names(&head.headers), kept);
    assert_eq!(head.headers["host"], "model.example:8080");
    assert_eq!(head.headers["content-length"], "7");
    assert_eq!(head.headers["x-request-id"], "id-1");
    assert_eq!(head.raw_path(), b"/base/v1/chat/completions?a=1");
}

#[test]
fn a_body_that_is_relayed_keeps_its_framing_and_one_that_is_held_gets_a_length() {
    for (fields, held, length) in [
        (&[("Content-Length", "5")][..], None, Some("5")),
        (&[("Content-Length", "5, 5")], None, Some("5")),
        (&[("X", "1")], None, None),
        (&[("Content-Length", "5")], Some(9), Some("9")),
    ] {
        let mut head = request(fields);
        head.set_version(Version::HTTP_2);
        let head = for_upstream(&head, "id", held);
        let found = head.headers.get(CONTENT_LENGTH);
        assert_eq!(found.map(|value| value.to_str().unwrap()), length);
        assert_eq!(head.version == Version::HTTP_11, held.is_some());
    }
}

#[test]
fn the_upstreams_host_has_no_default_port_and_addresses_stand_in_brackets() {
    for (tls, host, port, expected) in [
        (false, "m.example", 80, "m.example"),
        (false, "m.example", 443, "m.example:443"),
        (true, "m.example", 443, "m.example"),
        (true, "m.example", 80, "m.example:80"),
        (false, "::1", 80, "[::1]"),
        (false, "::1", 8080, "[::1]:8080"),
    ] {
        let (host, prefix) = (host.into(), String::new());
        let base = BaseUrl {
            tls,
            host,
            port,
            prefix,
        };
        assert_eq!(authority(&base), expected);
    }
}

#[test]
fn ids_are_read_without_blanks_and_an_empty_one_is_none() {
    let of = |fields| {
        let found = Extensions::of(&headers(fields));
        [found.application_id, found.user_id, found.session_id]
    };
    let all = [
        ("x-application-id", " a "),
        ("x-user-id", "u"),
        ("x-session-id", "s"),
    ];
    assert_eq!(of(&all), ["a", "u", "s"].map(|id| Some(id.to_owned())));
    assert_eq!(of(&[("x-user-id", "  ")]), [None, None, None]);
}

#[test]
fn a_header_with_two_values_is_named_and_one_that_is_repeated_is_not() {
    for (fields, expected) in [
        (&[("x-user-id", "a"), ("x-user-id", " a")][..], None),
        (&[("x-user-id", "a"), ("x-user-id", "b")], Some("X-User-Id")),
        (&[("host", "a"), ("host", "a"), ("host", "b")], Some("Host")),
        (
            &[("content-type", "a"), ("content-type", "b")],
            Some("Content-Type"),
        ),
        (&[("x-other", "a"), ("x-other", "b")], None),
        (&[], None),
    ] {
        assert_eq!(ambiguous(&headers(fields)), expected, "{fields:?}");
    }
}

#[test]
fn a_request_id_is_kept_when_it_is_one_visible_word_of_200_characters_at_most() {
    let longest = "a".repeat(200);
    let longer = "a".repeat(201);
    for (values, is_kept) in [
        (&["abc-1"][..], true),
        (&["a"], true),
        (&[&longest], true),
        (&[&longer], false),
        (&[""], false),
        (&["two words"], false),
        (&["a", "a"], true),
        (&["a", "b"], false),
        (&[], false),
    ] {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(REQUEST_ID, value.parse().unwrap());
        }
        let id = request_id(&headers);
        assert_eq!(values.first() == Some(&&*id), is_kept, "{values:?}");
        assert!(is_kept || Uuid::parse_str(&id).is_ok(), "{id}");
    }
}

#[test]
fn only_a_path_or_an_address_of_the_web_has_a_path() {
    for (target, expected) in [
        (&b"/v1/models?a=1"[..], "/v1/models"),
        (b"http://any.example/v1/models", "/v1/models"),
        (b"HTTPS://any.example/v1/models", "/v1/models"),
        (b"ftp://any.example/v1/models", ""),
        (b"*", ""),
    ] {
        let head = RequestHeader::build("GET", target, None).unwrap();
        assert_eq!(path(&head), expected, "{target:?}");
    }
}

#[test]
fn only_a_client_of_http_1_1_waits_for_100_continue() {
    for (version, value, expected) in [
        (Version::HTTP_11, "100-Continue", true),
        (Version::HTTP_11, "200-ok", false),
        (Version::HTTP_10, "100-continue", false),
    ] {
        let mut head = request(&[("Expect", value)]);
        head.set_version(version);
        assert_eq!(expects_continue(&head), expected, "{version:?} {value}");
    }
    assert!(!expects_continue(&request(&[])));
}

// --- Framing (CONTRACT 10) ---

#[test]
fn a_head_whose_framing_two_servers_could_read_differently_is_refused() {
    const CHUNKED: (&str, &str) = ("Transfer-Encoding", "chunked");
    const LENGTH: (&str, &str) = ("Content-Length", "5");
    let plain: &[u8] = b"POST / HTTP/1.1\r\nA: b\r\n\r\n";
    for (fields, raw, is_refused) in [
        (&[][..], plain, false),
        (&[LENGTH], plain, false),
        (&[LENGTH, LENGTH], plain, false),
        (&[LENGTH, ("Content-Length", "6")], plain, true),
        (&[CHUNKED], plain, false),
        (&[("Transfer-Encoding", "CHUNKED")], plain, false),
        (&[("Transfer-Encoding", "gzip, chunked")], plain, true),
        (&[CHUNKED, CHUNKED], plain, true),
        // The head is as it was received: what parsed it may have dropped the length.
        (
            &[CHUNKED],
            b"POST / HTTP/1.1\r\ncontent-LENGTH : 5\r\n\r\n",
            true,
        ),
        (
            &[LENGTH],
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
            false,
        ),
        (&[], b"POST / HTTP/1.1\nA: b\r\n\r\n", true),
        (&[], b"\nPOST / HTTP/1.1\r\nA: b\r\n\r\n", true),
    ] {
        let refused = check_framing(&request(fields), raw).is_err();
        assert_eq!(refused, is_refused, "{fields:?} {raw:?}");
    }
    let connect = RequestHeader::build("CONNECT", b"/", None).unwrap();
    assert!(check_framing(&connect, plain).is_err());
}

// --- Answers ---

#[test]
fn an_answer_of_unknown_length_is_chunked_for_a_client_of_http_1_1() {
    const STREAM: (&str, &str) = ("Content-Type", "Text/Event-Stream; charset=utf-8");
    const LENGTH: (&str, &str) = ("Content-Length", "5");
    for (client, status, fields, is_chunked) in [
        (Version::HTTP_11, 200, &[][..], true),
        (Version::HTTP_2, 200, &[], false),
        (Version::HTTP_11, 200, &[LENGTH], false),
        (Version::HTTP_11, 200, &[STREAM, LENGTH], true),
        (Version::HTTP_11, 100, &[], false),
        (Version::HTTP_11, 204, &[], false),
        (Version::HTTP_11, 304, &[], false),
        (Version::HTTP_11, 404, &[], true),
    ] {
        let mut head = response(status, fields);
        for_client(&mut head, client, "id").unwrap();
        let coding = head.headers.get(TRANSFER_ENCODING);
        assert_eq!(
            coding.is_some(),
            is_chunked,
            "{client:?} {status} {fields:?}"
        );
        let is_sized = head.headers.contains_key(CONTENT_LENGTH);
        assert!(!(is_sized && is_chunked), "{fields:?}");
        assert_eq!(head.version, Version::HTTP_11);
    }
}

#[test]
fn only_the_media_type_says_that_an_answer_is_a_stream_of_events() {
    for (kind, expected) in [
        ("text/event-stream", true),
        ("Text/Event-Stream;charset=utf-8", true),
        ("text/event", false),
        ("application/json", false),
    ] {
        let head = response(200, &[("Content-Type", kind)]);
        assert_eq!(is_event_stream(&head), expected, "{kind}");
    }
    assert!(!is_event_stream(&response(200, &[])));
}

#[test]
fn headers_of_the_upstreams_connection_stay_there_and_its_request_id_moves() {
    let mut head = response(
        200,
        &[
            ("Connection", "X-Hop, content-type"),
            ("X-Hop", "1"),
            ("Keep-Alive", "timeout=5"),
            ("Content-Type", "application/json"),
            ("Content-Length", "2"),
            ("X-User-Id", "the upstream's own"),
            ("X-Request-Id", "theirs"),
        ],
    );
    for_client(&mut head, Version::HTTP_11, "ours").unwrap();
    let kept = [
        "content-length",
        "content-type",
        "x-request-id",
        "x-upstream-request-id",
        "x-user-id",
    ];
    assert_eq!(names(&head.headers), kept);
    assert_eq!(head.headers["x-request-id"], "ours");
    assert_eq!(head.headers["x-upstream-request-id"], "theirs");

    let mut same = response(200, &[("X-Request-Id", "ours")]);
    for_client(&mut same, Version::HTTP_11, "ours").unwrap();
    assert!(!same.headers.contains_key("x-upstream-request-id"));
}

#[test]
fn only_a_redirection_to_a_path_stays_at_the_gateway() {
    for (status, location, expected) in [
        (307, Some("https://other.example/v1/chat/completions"), true),
        (302, Some("//other.example/"), true),
        (308, Some("/\\other.example/"), true),
        (301, Some("/\t/other.example/"), true),
        (307, Some("other:80"), true),
        (307, Some(""), true),
        (307, Some("/v1/models/"), false),
        (307, Some("/"), false),
        (304, None, false),
        (201, Some("https://other.example/"), false),
    ] {
        let fields: Vec<_> = location
            .map(|location| ("Location", location))
            .into_iter()
            .collect();
        let head = response(status, &fields);
        assert_eq!(leads_past_gateway(&head), expected, "{status} {location:?}");
    }
}
