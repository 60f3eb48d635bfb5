//! What is registered at the backend, when, and for whom: §1.2, §4.2, §5, CONTRACT 5, 7, 11, 17.
//! Which text is recorded stands in `texts`.

use std::collections::HashSet;
use std::time::{Duration, Instant};
use support::backend::{Backend, Manner};
use support::fault::refusing_address;
use support::request::{EMBEDDINGS, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Upstream, delta, json, response, sse};
use support::{KEY, eventually};

const APPLICATION: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8e";
const ANOTHER: &str = "0b9a8c7d-6e5f-4a3b-8c1d-2e3f4a5b6c7d";

#[test]
fn an_exchange_is_registered_before_and_after_the_upstream_call() {
    // §1.2, §4.2, CONTRACT 5.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let request = Request::chat(HELLO)
        .header("X-Application-Id", APPLICATION)
        .header("X-User-Id", "user-7")
        .header("X-Session-Id", "session-9")
        .header("Authorization", "Bearer sk-upstream-only");
    assert_eq!(stack.call(&request).status(), 200);
    let calls = backend.await_posts(1);
    let paths: Vec<&str> = calls.iter().map(|call| call.path.as_str()).collect();
    assert_eq!(
        paths,
        ["/process_request/", "/process_response/"],
        "pre comes before post"
    );
    for call in &calls {
        let bearer = format!("Bearer {KEY}");
        assert_eq!(call.head.values("authorization"), [bearer.as_str()], "§4.2");
        assert!(
            call.head
                .header("content-type")
                .unwrap()
                .starts_with("application/json"),
            "§5"
        );
        assert_eq!(call.json["application_id"], APPLICATION);
        assert_eq!(*call.parameter("user_id"), "user-7");
        assert_eq!(*call.parameter("session_id"), "session-9");
        assert!(call.parameter("error").is_null());
        assert!(
            !call.json.to_string().contains("sk-upstream-only"),
            "CONTRACT 8"
        );
    }
    assert_eq!(calls[0].message(), "hello");
    assert_eq!(calls[1].message(), "general greeting");
    assert_eq!(calls[0].exchange(), calls[1].exchange());
    uuid::Uuid::parse_str(calls[0].exchange()).expect("CONTRACT 5: a UUID");
}

#[test]
fn values_that_were_not_given_are_absent() {
    // §2.7, CONTRACT 7.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let (pre, post) = backend.await_exchange();
    for call in [pre, post] {
        assert!(call.json.get("application_id").is_none(), "{}", call.json);
        for name in ["user_id", "session_id", "error"] {
            assert!(
                call.json["additional_parameters"].get(name).is_none(),
                "{}",
                call.json
            );
        }
    }
}

#[test]
fn the_application_is_the_headers_else_the_configured_one() {
    // §2.1, §5.3, CONTRACT 7.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let builder = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = builder.env("MONITOR_APPLICATION_ID", ANOTHER).start();
    for (given, expected) in [(None, ANOTHER), (Some(APPLICATION), APPLICATION)] {
        let mut request = Request::chat(HELLO);
        if let Some(id) = given {
            request = request.header("X-Application-Id", id);
        }
        let before = backend.calls().len();
        assert_eq!(stack.call(&request).status(), 200);
        let calls = backend.await_posts(before / 2 + 1);
        assert!(
            calls[before..]
                .iter()
                .all(|call| call.json["application_id"] == expected)
        );
    }
}

#[test]
fn an_application_id_that_is_no_uuid_never_fails_the_call() {
    // CONTRACT 7.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    for id in ["not-a-uuid", "", "6f1c"] {
        let answer = stack.call(&Request::chat(HELLO).header("X-Application-Id", id));
        assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
    }
}

#[test]
fn every_exchange_has_an_id_of_its_own_and_its_records_are_in_order() {
    // CONTRACT 5, 11.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..10).for_each(|_| assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200))
            });
        }
    });
    let calls = backend.await_posts(40);
    let mut begun = HashSet::new();
    let mut ended = HashSet::new();
    for call in &calls {
        let exchange = call.exchange().to_owned();
        let new = if call.is_pre() {
            begun.insert(exchange)
        } else {
            assert!(begun.contains(&exchange), "pre-call first");
            ended.insert(exchange)
        };
        assert!(new, "registered once");
    }
    assert_eq!((begun.len(), ended.len()), (40, 40));
}

#[test]
fn transparent_routes_and_refused_requests_are_not_registered() {
    // §4.1 column "Monitoring applied"; CONTRACT 11 is of chat calls alone.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    assert_eq!(stack.call(&Request::post(EMBEDDINGS, HELLO)).status(), 200);
    assert_eq!(stack.call(&Request::get(MODELS)).status(), 200);
    assert_eq!(
        stack.call(&Request::chat(HELLO).without_key()).status(),
        401
    );
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(backend.await_posts(1).len(), 2);
}

#[test]
fn a_backend_that_fails_or_hangs_changes_nothing_for_the_client() {
    // CONTRACT 11.
    let stream = [delta(0, "a"), DONE.to_owned()].concat();
    let whole = stream.clone();
    let upstream = Upstream::answering(move |request| {
        let streams = String::from_utf8_lossy(&request.body).contains("\"stream\":true");
        if streams {
            sse(&[&stream])
        } else {
            json(200, ANSWER)
        }
    });
    for manner in [
        Manner::Hangs,
        Manner::Refuses(500),
        Manner::Refuses(401),
        Manner::Refuses(422),
    ] {
        let backend = Backend::that(manner);
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let start = Instant::now();
        for _ in 0..5 {
            let answer = stack.call(&Request::chat(HELLO));
            assert_eq!(
                (answer.status(), answer.text().as_str()),
                (200, ANSWER),
                "{manner:?}"
            );
            assert_eq!(
                stack.call(&Request::chat(HELLO_STREAM)).text(),
                whole,
                "{manner:?}"
            );
        }
        assert!(
            start.elapsed() < Duration::from_secs(3),
            "{manner:?} delayed the client"
        );
    }
}

#[test]
fn a_backend_that_is_down_is_counted_and_said_and_nobody_waits_for_it() {
    // CONTRACT 7, 11.
    let upstream = Upstream::ok();
    let url = format!("http://{}", refusing_address());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("MONITOR_URL", url)
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("both records are kept and tried again", || {
        let kept = stack.metric("monitor_spool_records") == 2.0;
        (kept && stack.metric("monitor_telemetry_retries_total") > 1.0).then_some(())
    });
    stack
        .process
        .await_stderr("a warning about the backend", |text| {
            text.contains("not delivered, retrying").then_some(())
        });
}

#[test]
fn deliveries_and_refusals_are_counted() {
    // CONTRACT 7: the backend's refusal is counted and warned about.
    for (manner, outcome) in [
        (Manner::Answers, "delivered"),
        (Manner::Refuses(422), "refused"),
    ] {
        let (upstream, backend) = (Upstream::ok(), Backend::that(manner));
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
        let series =
            format!(r#"monitor_telemetry_records_total{{outcome="{outcome}",stage="llm_answer"}}"#);
        eventually(&series, || (stack.metric(&series) == 1.0).then_some(()));
    }
}

#[test]
fn a_failed_exchange_is_registered_with_its_error() {
    // §1.2 last sentence, CONTRACT 17.
    let envelope = r#"{"error":{"message":"slow down","type":"rate_limit_error","code":"x"}}"#;
    let plain = response(500, "Content-Type: text/plain\r\n", b"boom");
    let gone = Upstream::scripted(|peer| {
        peer.read_request();
    });
    let cases = [
        (
            Upstream::json(429, envelope),
            "rate_limit_error",
            429,
            "upstream",
        ),
        (Upstream::raw(plain), "upstream_error", 500, "upstream"),
        (gone, "gateway_error", 502, "upstream"),
    ];
    for (upstream, kind, code, closed_by) in cases {
        let backend = Backend::start();
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), code);
        let (pre, post) = backend.await_exchange();
        assert_eq!(pre.message(), "hello");
        let error = post.parameter("error");
        assert_eq!(
            (&error["type"], &error["code"]),
            (&kind.into(), &code.into()),
            "{error}"
        );
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{error}"
        );
        assert_eq!(error["closed_by"], closed_by, "{error}");
        // The upstream's own words may quote the prompt or a key.
        assert!(!post.json.to_string().contains("slow down"));
    }
}

#[test]
fn an_unreachable_upstream_is_registered_too() {
    // CONTRACT 17: connect.
    let backend = Backend::start();
    let url = format!("http://{}", refusing_address());
    let stack = Stack::gateway()
        .env("UPSTREAM_URL", url)
        .monitor(&backend)
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
    let (_, post) = backend.await_exchange();
    let error = post.parameter("error");
    assert_eq!(
        (&error["type"], &error["code"]),
        (&"gateway_error".into(), &502.into()),
        "{error}"
    );
    assert!(["upstream", "gateway"].contains(&error["closed_by"].as_str().unwrap()));
}

#[test]
fn a_stream_that_breaks_is_registered_with_its_partial_text() {
    // CONTRACT 17, 19.
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let mut conn = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    feed.send(support::upstream::SSE_HEAD);
    feed.chunk(delta(0, "so far"));
    conn.read_head_once_and_until(b"\n\n");
    feed.reset();
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), "so far");
    assert_eq!(*post.parameter("incomplete"), true);
    let error = post.parameter("error");
    assert_eq!(
        (&error["code"], &error["closed_by"]),
        (&502.into(), &"upstream".into()),
        "{error}"
    );
}

#[test]
fn no_secret_and_no_text_reaches_a_log_or_a_metric() {
    // §2.1, CONTRACT 8.
    const SECRETS: [&str; 5] = [
        "mon_s3cret-access",
        "sk-s3cret-upstream",
        "s3cret prompt",
        "s3cret answer",
        "s3cret error",
    ];
    let answer = ANSWER.replace("general greeting", "s3cret answer");
    let upstream = Upstream::answering(move |request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        if text.contains("fail") {
            response(500, "", b"s3cret error")
        } else {
            json(200, &answer)
        }
    });
    for manner in [Manner::Answers, Manner::Refuses(500), Manner::Refuses(401)] {
        let backend = Backend::that(manner);
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .yaml("log: {level: debug}")
            .start();
        for text in ["s3cret prompt", "s3cret prompt, fail"] {
            let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
            for body in [body.as_str(), &body[1..]] {
                let request = Request::chat(body)
                    .without_key()
                    .header("X-Monitor-Api-Key", SECRETS[0])
                    .header("Authorization", &format!("Bearer {}", SECRETS[1]));
                stack.call(&request);
            }
        }
        eventually("the backend was asked", || {
            (backend.calls().len() > 1).then_some(())
        });
        backend.recovers();
        backend.await_posts(2);
        let outputs = [stack.stderr(), stack.process.stdout(), stack.metrics()];
        for (output, secret) in outputs.iter().flat_map(|o| SECRETS.map(|s| (o, s))) {
            assert!(!output.contains(secret), "{secret} in:\n{output}");
        }
    }
}
