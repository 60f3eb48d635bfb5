//! Browsers that run pages of other websites: nothing is said to them unless their origin is listed; then preflights
//! are answered before the access key is asked for, and answers may be read. Cookies are never asked for.

use support::KEY;
use support::api::authorised;
use support::http::Response;
use support::request::{CHAT, EMBEDDINGS, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Upstream, delta, response};

const LISTED: &str = "https://app.example";
const ALSO_LISTED: &str = "http://localhost:3000";
const ORIGINS: &str = "cors: {origins: [\"https://App.example:443\", \"http://localhost:3000\"]}";
const ASKED: &str = "authorization,content-type,x-monitor-api-key,x-stainless-os";

fn preflight(path: &str, origin: &str, method: &str) -> Request {
    Request::new("OPTIONS", path)
        .without_key()
        .header("Origin", origin)
        .header("Access-Control-Request-Method", method)
        .header("Access-Control-Request-Headers", ASKED)
}

/// The headers that browsers look at, other than `Vary`.
fn said(answer: &Response) -> Vec<(&'static str, String)> {
    let names = [
        "access-control-allow-origin",
        "access-control-allow-credentials",
        "access-control-allow-methods",
        "access-control-allow-headers",
    ];
    let named = names.iter().flat_map(|name| {
        let values = answer.head.values(name).into_iter();
        values.map(|value| (*name, value.to_owned()))
    });
    named.collect()
}

fn may_read(answer: &Response, origin: &str) {
    let expected = ("access-control-allow-origin", origin.to_owned());
    assert_eq!(said(answer), [expected], "{}", answer.text());
    assert_eq!(
        answer.head.header("vary").map(str::to_ascii_lowercase),
        Some("origin".into())
    );
    let exposed = answer.head.header("access-control-expose-headers").unwrap();
    assert_eq!(exposed, "*");
}

#[test]
fn without_a_list_nothing_is_said_to_browsers() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let asked = stack.call(&preflight(CHAT, LISTED, "POST"));
    assert_eq!(asked.status(), 401);
    assert!(said(&asked).is_empty());
    let call = stack.call(&Request::chat(HELLO).header("Origin", LISTED));
    assert_eq!(call.text(), ANSWER);
    assert!(said(&call).is_empty() && !call.head.has("vary"));
}

#[test]
fn a_listed_website_is_told_that_it_may_call_before_any_key_is_asked_for() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream).yaml(ORIGINS).start();
    for (path, methods) in [(CHAT, "POST"), (EMBEDDINGS, "POST"), (MODELS, "GET")] {
        for origin in [LISTED, ALSO_LISTED] {
            let answer = stack.call(&preflight(path, origin, methods));
            assert_eq!(answer.status(), 204, "{}", answer.text());
            let expected = [
                ("access-control-allow-origin", origin.to_owned()),
                ("access-control-allow-methods", methods.to_owned()),
                ("access-control-allow-headers", ASKED.to_owned()),
            ];
            assert_eq!(said(&answer), expected);
            assert_eq!(answer.head.header("access-control-max-age"), Some("600"));
        }
    }
    let docs = stack.call(&preflight("/openapi.json", LISTED, "GET"));
    assert_eq!(docs.status(), 204);
    upstream.assert_untouched();
    // A path that does not exist, a question that is none, and websites that are not listed.
    assert_eq!(
        stack
            .call(&preflight("/v1/nowhere", LISTED, "POST"))
            .status(),
        401
    );
    let options = Request::new("OPTIONS", CHAT)
        .without_key()
        .header("Origin", LISTED);
    assert_eq!(stack.call(&options).status(), 401);
    for other in [
        "https://evil.example",
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.example",
        "null",
        "*",
    ] {
        let answer = stack.call(&preflight(CHAT, other, "POST"));
        assert_eq!(answer.status(), 401, "{other}");
        assert!(said(&answer).is_empty(), "{other}");
    }
}

#[test]
fn a_listed_website_may_read_every_answer_and_no_other_may() {
    let upstream = Upstream::answering(|received| {
        let headers = "Content-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n\
                       Access-Control-Allow-Credentials: true\r\n";
        let status = if received.body.ends_with(b"{}") {
            422
        } else {
            200
        };
        response(status, headers, ANSWER.as_bytes())
    });
    let stack = Stack::gateway().upstream(&upstream).yaml(ORIGINS).start();
    let calls = [
        (200, Request::chat(HELLO)),
        (422, Request::chat("{}")),
        (422, Request::post(EMBEDDINGS, "{}")),
        (200, Request::get(MODELS)),
        (200, Request::get("/openapi.json").without_key()),
        (400, Request::chat("no JSON")),
        (401, Request::chat(HELLO).without_key()),
        (404, Request::get("/nowhere").without_key()),
    ];
    for (status, call) in &calls {
        let answer = stack.call(&call.clone().header("Origin", LISTED));
        assert_eq!(answer.status(), *status, "{}", answer.text());
        let may = ("access-control-allow-origin", LISTED.to_owned());
        assert_eq!(said(&answer), [may], "{status}");
        for other in [
            call.clone().header("Origin", "https://evil.example"),
            call.clone(),
        ] {
            let answer = stack.call(&other);
            assert_eq!(answer.status(), *status);
            assert!(said(&answer).is_empty(), "{status}: {:?}", said(&answer));
            let vary = answer.head.values("vary").join(",").to_ascii_lowercase();
            assert!(vary.contains("origin"), "caches keep origins apart: {vary}");
        }
    }
    may_read(
        &stack.call(&calls[0].1.clone().header("Origin", ALSO_LISTED)),
        ALSO_LISTED,
    );
    let two = calls[0]
        .1
        .clone()
        .header("Origin", LISTED)
        .header("Origin", "https://evil.example");
    assert!(said(&stack.call(&two)).is_empty());
}

#[test]
fn a_stream_may_be_read_too() {
    let upstream = Upstream::sse(&[&delta(0, "one"), DONE]);
    let stack = Stack::gateway().upstream(&upstream).yaml(ORIGINS).start();
    let answer = stack.call(&Request::chat(HELLO_STREAM).header("Origin", LISTED));
    assert!(answer.text().ends_with(DONE));
    may_read(&answer, LISTED);
}

#[test]
fn the_analysis_api_has_a_list_of_its_own_and_the_web_ui_has_none() {
    let stack = Stack::all().yaml(&format!("  {ORIGINS}")).start();
    let at = stack.analysis_addr;
    let path = "/process_request/";
    let asked = preflight(path, LISTED, "POST").call(at);
    assert_eq!(asked.status(), 204);
    assert_eq!(said(&asked)[0].1, LISTED);
    assert!(said(&asked)[1].1.contains("POST"));
    assert_eq!(said(&asked)[2].1, ASKED);
    for (status, request) in [
        (200, authorised(Request::get("/applications").without_key())),
        (401, Request::get("/applications").without_key()),
        (404, authorised(Request::get("/nowhere").without_key())),
    ] {
        let answer = request.clone().header("Origin", LISTED).call(at);
        assert_eq!(answer.status(), status, "{}", answer.text());
        let may = ("access-control-allow-origin", LISTED.to_owned());
        assert_eq!(said(&answer), [may]);
        let answer = request.header("Origin", "https://evil.example").call(at);
        assert_eq!(answer.status(), status);
        assert!(said(&answer).is_empty());
    }
    let other = preflight(path, "https://evil.example", "POST").call(at);
    assert_eq!(other.status(), 405, "{}", other.text());
    assert!(said(&other).is_empty());
    for page in ["/ui/sign-in", "/ui/records"] {
        let shown = Request::get(page)
            .without_key()
            .header("Origin", LISTED)
            .call(at);
        assert!(said(&shown).is_empty(), "{page}");
        let asked = preflight(page, LISTED, "GET").call(at);
        assert!(asked.status() != 204 && said(&asked).is_empty(), "{page}");
    }
    // The gateway of the same process has no list.
    let call = Request::chat(HELLO).header("Origin", LISTED);
    assert!(said(&stack.call(&call)).is_empty());
    assert!(!stack.stderr().contains(KEY));
}

#[test]
fn a_list_of_everybody_is_refused() {
    for (origins, words) in [
        ("\"*\"", "is every website"),
        ("\"null\"", "is shared by"),
        ("app.example", "is not an absolute URL"),
        ("\"https://app.example/\"", "has a path"),
        ("\"https://*.app.example\"", "has no valid host name"),
    ] {
        let yaml = format!("cors: {{origins: [{origins}]}}");
        let (status, stderr) = Stack::gateway()
            .upstream(&Upstream::ok())
            .yaml(&yaml)
            .refused();
        assert!(!status.success(), "{origins}");
        assert!(
            stderr.contains("cors.origins[0]") && stderr.contains(words),
            "{stderr}"
        );
    }
}
