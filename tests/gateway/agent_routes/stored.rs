//! `GET /v1/responses/{id}` and `POST /v1/responses/{id}/cancel`: the answer of a background response is recorded where
//! it is delivered.

use super::Api;
use crate::sync::{SYNC, sync};
use serde_json::{Value, json};
use support::backend::{Backend, Manner};
use support::request::Request;
use support::stack::{Folder, Stack};
use support::upstream::{SSE_HEAD, Upstream, response, sse};
use support::{KEY, eventually};

const PATH: &str = "/v1/responses/resp_1";
/// A call whose prompt is registered, as a sign that nothing else is.
const NEXT: &str = "next";

fn get() -> Request {
    Request::get(PATH)
        .header("X-Session-Id", "s-1")
        .header("X-User-Id", "u-1")
}

/// The stored answer with this status.
fn stored(status: &str) -> String {
    let mut answer: Value =
        serde_json::from_str(&Api::Responses.answer("Hello \u{416}", "ls")).unwrap();
    answer["status"] = status.into();
    answer.to_string()
}

#[test]
fn a_stored_answer_passes_to_the_byte_and_is_registered_with_an_empty_prompt() {
    // §1.2, CONTRACT 4, 8, 27: whole, compressed, and as a stream.
    let whole = stored("completed");
    let packed = zstd::encode_all(whole.as_bytes(), 3).unwrap();
    let stream = Api::Responses.stream("Hello \u{416}", "ls");
    let frames: Vec<&str> = stream.iter().map(String::as_str).collect();
    let (streaming, streamed) = (format!("{PATH}?stream=true"), stream.concat());
    let plain = "Content-Type: application/json\r\n";
    let coded = "Content-Type: application/json\r\nContent-Encoding: zstd\r\n";
    for (path, raw, body) in [
        (
            PATH,
            response(200, plain, whole.as_bytes()),
            whole.as_bytes(),
        ),
        (PATH, response(200, coded, &packed), packed.as_slice()),
        (streaming.as_str(), sse(&frames), streamed.as_bytes()),
    ] {
        let (upstream, backend) = (Upstream::raw(raw), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let call = Request::get(path)
            .header("X-Session-Id", "s-1")
            .header("X-User-Id", "u-1");
        let got = stack.call(&call);
        assert_eq!((got.status(), got.body.as_slice()), (200, body), "{path}");
        let sent = upstream.last();
        assert_eq!(sent.head.start_line, format!("GET {path} HTTP/1.1"));
        assert!(sent.head.values("x-session-id").is_empty());
        let (pre, post) = backend.await_exchange();
        assert_eq!(
            (pre.message(), post.message()),
            ("", Api::Responses.recorded("Hello \u{416}", "ls").as_str())
        );
        assert_eq!(pre.exchange(), post.exchange());
        for record in [&pre, &post] {
            assert_eq!(*record.parameter("session_id"), "s-1");
            assert_eq!(*record.parameter("user_id"), "u-1");
            assert!(record.parameter("incomplete").is_null(), "{path}");
            assert!(record.parameter("error").is_null(), "{path}");
        }
    }
}

#[test]
fn an_answer_without_its_end_is_registered_and_a_poll_leaves_no_record() {
    let table = [
        (200, stored("completed"), true),
        (200, stored("incomplete"), true),
        (200, stored("failed"), true),
        (200, stored("queued"), true),
        (200, stored("in_progress"), true),
        (
            200,
            json!({"id": "resp_1", "status": "in_progress", "output": []}).to_string(),
            false,
        ),
        (
            200,
            json!({"id": "resp_1", "status": "failed", "output": []}).to_string(),
            false,
        ),
        (
            200,
            json!({"id": "resp_1", "status": "queued", "output": null}).to_string(),
            false,
        ),
        (
            404,
            json!({"error": {"message": "no such response", "type": "x", "code": 404}}).to_string(),
            false,
        ),
    ];
    for (status, body, is_recorded) in table {
        let answer = body.clone();
        let upstream =
            Upstream::answering(
                move |request| match request.head.start_line.starts_with("GET") {
                    true => support::upstream::json(status, &answer),
                    false => support::upstream::json(200, &Api::Responses.answer("", "")),
                },
            );
        let backend = Backend::start();
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let got = stack.call(&get());
        assert_eq!((got.status(), got.text()), (status, body.clone()));
        assert_eq!(stack.call(&Api::Responses.call(NEXT, false)).status(), 200);
        let calls = backend.await_posts(if is_recorded { 2 } else { 1 });
        let prompts: Vec<&str> = calls
            .iter()
            .filter(|call| call.is_pre())
            .map(|call| call.message())
            .collect();
        assert_eq!(prompts.contains(&""), is_recorded, "{body}");
        assert!(prompts.contains(&NEXT), "{body}");
    }
}

#[test]
fn what_a_cancel_delivers_is_registered_also_of_an_unfinished_answer() {
    // §1.2: a client reads it there, and fetches it no more.
    for status in ["cancelled", "in_progress"] {
        let (upstream, backend) = (Upstream::json(200, &stored(status)), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let path = format!("{PATH}/cancel");
        let call = Request::post(&path, "").header("X-Session-Id", "s-1");
        assert_eq!(stack.call(&call).text(), stored(status));
        let sent = upstream.last();
        assert_eq!(sent.head.start_line, format!("POST {path} HTTP/1.1"));
        let (pre, post) = backend.await_exchange();
        assert_eq!(
            (pre.message(), post.message()),
            ("", Api::Responses.recorded("Hello \u{416}", "ls").as_str()),
            "{status}"
        );
        assert_eq!(*post.parameter("session_id"), "s-1");
    }
}

#[test]
fn the_record_of_a_stored_answer_is_marked() {
    // Each delivery repeats the tokens of the call that made the answer.
    for (call, mark) in [
        (get(), json!(true)),
        (Request::post(&format!("{PATH}/cancel"), ""), json!(true)),
        (Api::Responses.call("hello", false), Value::Null),
    ] {
        let upstream = Upstream::json(200, &stored("completed"));
        let backend = Backend::start();
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        assert_eq!(stack.call(&call).status(), 200);
        let (pre, post) = backend.await_exchange();
        assert_eq!(*post.parameter("stored_response"), mark, "{}", post.json);
        assert_eq!(post.parameter("usage")["total_tokens"], 5);
        assert!(pre.parameter("stored_response").is_null());
    }
}

#[test]
fn the_mark_of_a_stored_answer_outlives_a_restart() {
    // CONTRACT 23.
    let upstream = Upstream::json(200, &stored("completed"));
    let (backend, folder) = (Backend::that(Manner::Refuses(503)), Folder::new());
    let start = || {
        let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
        stack.folder(&folder).start()
    };
    let mut first = start();
    assert_eq!(first.call(&get()).status(), 200);
    first.process.signal("TERM");
    first.process.await_exit();
    backend.recovers();
    let _second = start();
    let calls = backend.await_accepted(2);
    let post = calls.iter().find(|call| !call.is_pre()).unwrap();
    assert_eq!(*post.parameter("stored_response"), true);
}

#[test]
fn a_stored_answer_that_breaks_off_is_registered_as_far_as_it_came() {
    // CONTRACT 17, 19.
    let frames = Api::Responses.stream("Hello", "ls");
    let begun: Vec<&str> = frames.iter().map(String::as_str).take(9).collect();
    let raw = sse(&begun);
    let cut = raw[..raw.len() - 5].to_vec();
    let upstream = Upstream::scripted(move |peer| {
        if peer.read_request().is_some() {
            peer.send(&cut);
        }
    });
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let got = stack.call(&Request::get(&format!("{PATH}?stream=true")));
    assert!(got.text().starts_with(&begun.concat()), "{}", got.text());
    let (_, post) = backend.await_exchange();
    assert_eq!(post.parameter("incomplete"), &json!(true));
    assert_eq!(post.parameter("error")["closed_by"], "upstream");
    assert!("Hello".starts_with(post.message()) && !post.message().is_empty());
}

#[test]
fn a_stored_stream_reaches_the_client_while_it_goes_on() {
    // CONTRACT 18: no frame waits for the next one.
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let mut conn = Request::get(&format!("{PATH}?stream=true")).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    assert_eq!(conn.final_head().status(), 200);
    let frames = Api::Responses.stream("Hello", "ls");
    for frame in &frames {
        feed.chunk(frame);
        assert_eq!(conn.read_until(frame.as_bytes()), frame.as_bytes());
    }
    feed.end();
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), Api::Responses.recorded("Hello", "ls"));
}

#[test]
fn an_answer_is_registered_in_sync_mode_where_only_prompts_are_checked() {
    // CONTRACT 15: `below.rs` has the policies that check answers.
    let (upstream, backend) = (Upstream::json(200, &stored("completed")), Backend::start());
    let stack = sync(&upstream, "").monitor(&backend).start();
    let got = stack.call(&get().header("X-Application-Id", SYNC));
    assert_eq!(got.text(), stored("completed"));
    let (pre, post) = backend.await_exchange();
    assert_eq!(pre.json["application_id"], SYNC);
    assert_eq!(
        post.message(),
        Api::Responses.recorded("Hello \u{416}", "ls")
    );
}

#[test]
fn the_analysis_server_takes_and_shows_it() {
    // CONTRACT 27: an empty message is valid.
    let upstream = Upstream::json(200, &stored("completed"));
    let stack = Stack::all().upstream(&upstream).start();
    assert_eq!(stack.call(&get()).status(), 200);
    let list = eventually("the records are stored", || {
        let records = stack.analysis("/records?session_id=s-1", KEY).json()["records"].clone();
        records.as_array().filter(|list| list.len() == 2).cloned()
    });
    let said = |name: &str| {
        let record = list.iter().find(|record| record["record"] == name).unwrap();
        let id = record["request_id"].as_str().unwrap();
        stack.analysis(&format!("/records/{id}"), KEY).json()
    };
    let (prompt, answer) = (said("user_prompt"), said("llm_answer"));
    assert_eq!(prompt["exchange_id"], answer["exchange_id"]);
    assert_eq!(prompt["cleaned_text"], "", "{prompt}");
    assert!(
        answer["cleaned_text"]
            .as_str()
            .unwrap()
            .starts_with("Hello \u{416}"),
        "{answer}"
    );
}
